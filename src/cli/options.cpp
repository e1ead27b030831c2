#include "options.hpp"

#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <cmath>
#include <map>
#include <thread>

#include "fusewright/driver/profile.hpp"
#include "fusewright/support/file.hpp"
#include "help.hpp"
#include "terminal.hpp"

namespace fusewright::cli {

namespace {

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == at)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

template <class T>
std::optional<T> number(const std::string& text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

/// Bytes, as in 2GiB, 500MB or 4e6; from 1 to 1e18.
Result<std::int64_t> memory_size(const std::string& text) {
  static const std::map<std::string, double> kUnits = {
      {"", 1},      {"b", 1},      {"kb", 1e3},        {"mb", 1e6},           {"gb", 1e9},
      {"tb", 1e12}, {"kib", 1024}, {"mib", 1048576.0}, {"gib", 1073741824.0}, {"tib", 1099511627776.0}};
  const std::size_t digits = text.find_last_of("0123456789.") + 1;
  std::string unit;
  for (const char c : text.substr(digits))
    if (c != ' ') unit += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const auto amount = number<double>(text.substr(0, digits));
  const auto scale = kUnits.find(unit);
  if (!amount || scale == kUnits.end() || !(*amount * scale->second >= 1) || *amount * scale->second > 1e18)
    return fail(fmt::format("--memory: '{}' is not a size from 1 byte on, as in 500MB or 2GiB", text));
  return static_cast<std::int64_t>(*amount * scale->second);
}

// NAME=VALUE, at the last '=' so that names may hold one.
Result<std::pair<std::string, std::string>> assignment(const std::string& option, const std::string& text) {
  const std::size_t at = text.rfind('=');
  if (at == std::string::npos || at == 0 || at + 1 == text.size())
    return fail(fmt::format("{} {}: expected NAME=VALUE", option, text));
  return std::pair(text.substr(0, at), text.substr(at + 1));
}

/// Errors: the name has another value already.
template <class Map>
Status assign(const std::string& option, Map& into, const std::string& name, typename Map::mapped_type value) {
  if (const auto [at, fresh] = into.emplace(name, value); !fresh && at->second != value)
    return fail(fmt::format("{}: '{}' is given two values", option, name));
  return {};
}

Result<std::int64_t> extent(const std::string& option, const std::string& text) {
  const auto value = number<std::int64_t>(text);
  if (!value || *value < 0) return fail(fmt::format("{}: '{}' is not a size", option, text));
  return *value;
}

Status read_limits(const std::vector<std::string>& texts, saturate::Limits& limits) {
  static const std::vector<std::string> kNames{"nodes", "iterations", "seconds", "bytes"};
  const std::map<std::string, std::uint64_t*> counts{
      {"nodes", &limits.nodes}, {"iterations", &limits.iterations}, {"bytes", &limits.bytes}};
  std::vector<std::string> parts;
  for (const std::string& text : texts)
    for (std::string& part : split(text, ',')) parts.push_back(std::move(part));
  std::map<std::string, double> given;
  for (const std::string& part : parts) {
    FW_TRY(const auto pair, assignment("--limit", part));
    const auto& [name, value] = pair;
    const auto amount = number<double>(value);
    if (!amount || !(*amount >= 0) || *amount > 1e18)
      return fail(fmt::format("--limit {}: '{}' is not an amount", name, value));
    FW_TRY_STATUS(assign("--limit", given, name, *amount));
    if (name == "seconds") {
      limits.seconds = *amount;
      continue;
    }
    const auto count = counts.find(name);
    if (count == counts.end())
      return fail(fmt::format("--limit: no limit '{}' (there are {}){}", name, fmt::join(kNames, ", "),
                              did_you_mean(name, kNames)));
    *count->second = static_cast<std::uint64_t>(*amount);
    if (static_cast<double>(*count->second) != *amount)
      return fail(fmt::format("--limit {}: '{}' is not a whole number", name, value));
  }
  return {};
}

Result<std::vector<std::pair<std::string, std::string>>> input_files(const ModelArguments& a) {
  std::vector<std::pair<std::string, std::string>> files;
  std::map<std::string, std::string> given;
  for (const std::string& text : a.inputs) {
    const std::size_t at = text.find('=');
    if (at == 0 || at + 1 == text.size())
      return fail(fmt::format("--input {}: expected NAME=FILE.npy or INDEX=FILE.npy", text));
    // A bare file name is input 0.
    files.emplace_back(at == std::string::npos ? "0" : text.substr(0, at),
                       at == std::string::npos ? text : text.substr(at + 1));
    FW_TRY_STATUS(assign("--input", given, files.back().first, files.back().second));
  }
  return files;
}

}  // namespace

CLI::Validator not_empty() {
  return {[](std::string& text) { return text.empty() ? std::string("expected a value") : std::string(); }, "", ""};
}

CLI::Validator whole_number() {
  return {[](std::string& text) {
            return number<std::uint64_t>(text) ? ""
                                               : fmt::format("'{}' is not a whole number from 0 to 2^64 - 1", text);
          },
          "", ""};
}

CLI::Validator not_negative() {
  return {[](std::string& text) {
            const auto value = number<double>(text);
            return value && *value >= 0 && std::isfinite(*value) ? ""
                                                                 : fmt::format("'{}' is not a number from 0 on", text);
          },
          "", ""};
}

void add_model_options(CLI::App& command, ModelArguments& a) {
  const auto option = [&](const char* group, const char* name, auto& into, const char* type, const char* help) {
    return command.add_option(name, into, help)->type_name(type)->group(group)->allow_extra_args(false);
  };
  const auto flag = [&](const char* group, const char* name, bool& into, const char* help) {
    command.add_flag(name, into, help)->group(group);
  };
  command.add_option("model", a.model, "ONNX model (.onnx) or HLO text (.hlo, .txt)")->required()->type_name("MODEL");

  constexpr const char* kModel = "Model and inputs";
  option(
      kModel, "--input", a.inputs, "NAME|INDEX=FILE.npy",
      "values of an input, by its name or its number from 0; may be repeated. Inputs not given are made from --seed: "
      "floats N(0,1), integers uniform in [0,8), pred even");
  option(kModel, "--data", a.data, "DIR",
         "folder of input_N and output_N (.npy or .pb): outputs are compared with what is stored");
  option(kModel, "--shape", a.shapes, "NAME=SIZES", "extents of an input, as in x=1,3,224,224; may be repeated");
  option(kModel, "--dim", a.dims, "NAME=SIZE",
         "a named extent, as in batch=4; '*=4' for all that nothing else binds; may be repeated");
  option(kModel, "--freeze", a.freeze, "GLOB",
         "make the parameters whose names match constants, so that they are folded; 'all' for every one without "
         "--input or --data; may be repeated");
  flag(kModel, "--random-weights", a.random_weights,
       "replace float weights by seeded random ones: He-scaled from rank 2 on, else uniform in [0.5, 2]");
  option(kModel, "--seed", a.seed, "N", "of inputs that are not given and of random weights")
      ->check(whole_number())
      ->capture_default_str();

  constexpr const char* kRules = "Rules and search";
  option(kRules, "--rules", a.rules, "DIR|FILE", "rule files that add to the built-in library; may be repeated");
  flag(kRules, "--no-builtin-rules", a.no_builtin_rules, "use only the rules of --rules");
  flag(kRules, "--no-fuse", a.no_fuse, "no rules at all: every operator a kernel of its own");
  option(kRules, "--exactness", a.exactness, "CLASS,...",
         "what rules may change in the numbers: bitexact, reassociating, contracting, factoring, approximate, "
         "excess_precision")
      ->capture_default_str();
  option(kRules, "--limit", a.limits, "NAME=N,...",
         "bounds of the search: nodes=N, iterations=N, seconds=S, bytes=B (of memory); the best plan so far is kept");

  option(kRules, "--memory", a.memory, "SIZE",
         "bytes that a run may hold at once, as in 2GiB or 500MB: inputs, weights, outputs and what lies between "
         "kernels. Kernels are put in another order, and less is stored and more computed again, until it fits")
      ->excludes("--no-fuse");

  constexpr const char* kMachine = "Machine";
  option(kMachine, "--device-file", a.device_file, "NAME|FILE",
         "description of the machine to plan for: a name from backends/devices, or a .json file");
  option(kMachine, "--threads", a.threads, "N",
         "threads to run with, 0 for one on each core; plans and results do not depend on it")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  flag("Output", "--json", a.json, "print one JSON object (docs/JSON.md)");
}

void add_device_option(CLI::App& command, ModelArguments& a) {
  command.add_option("--device", a.device, "cpu, sim (the GPU kernels, simulated) or cuda")
      ->capture_default_str()
      ->type_name("DEVICE")
      ->group("Machine");
}

Result<driver::CompileOptions> compile_options(const ModelArguments& a) {
  driver::CompileOptions o;
  o.model = a.model;
  o.rules = a.rules;
  o.builtin_rules = !a.no_builtin_rules;
  o.fuse = !a.no_fuse;
  o.device = a.device;
  o.device_file = a.device_file;
  o.freeze = a.freeze;
  o.random_weights = a.random_weights;
  o.seed = a.seed;
  Result<rule::Exactness> exactness = rule::parse_exactness(a.exactness);
  if (!exactness) return std::unexpected(with_context(std::move(exactness).error(), "--exactness"));
  o.exactness = *exactness;
  for (const std::string& text : a.shapes) {
    FW_TRY(const auto pair, assignment("--shape", text));
    std::vector<std::int64_t> extents;
    for (const std::string& part : split(pair.second, ',')) {
      FW_TRY(const std::int64_t value, extent("--shape " + pair.first, part));
      extents.push_back(value);
    }
    FW_TRY_STATUS(assign("--shape", o.shapes, pair.first, std::move(extents)));
  }
  for (const std::string& text : a.dims) {
    FW_TRY(const auto pair, assignment("--dim", text));
    FW_TRY(const std::int64_t value, extent("--dim " + pair.first, pair.second));
    FW_TRY_STATUS(assign("--dim", o.dims, pair.first, value));
  }
  FW_TRY_STATUS(read_limits(a.limits, o.limits));
  if (!a.memory.empty()) {
    FW_TRY(o.memory, memory_size(a.memory));
  }
  FW_TRY(const auto files, input_files(a));
  FW_TRY(o.inputs, driver::read_inputs(files));
  if (!a.data.empty()) {
    FW_TRY(o.data, driver::read_data(a.data));
  }
  o.progress = progress_line();
  return o;
}

void add_profile_options(CLI::App& command, ProfileArguments& arguments) {
  command.add_flag("--profile", arguments.print, "say on stderr where the time went: phases and rewrites")
      ->group("Output");
  command.add_option("--trace", arguments.trace, "write the profile for Chrome's tracing or Perfetto")
      ->type_name("FILE.json")
      ->check(not_empty())
      ->group("Output");
}

Status report_profile(const ProfileArguments& arguments, const driver::Compilation& compilation, double seconds) {
  if (!arguments.print && arguments.trace.empty()) return {};
  const driver::Profile profile = driver::profile_of(compilation, seconds);
  if (arguments.print) fmt::print(stderr, "{}", driver::print_profile(profile));
  if (arguments.trace.empty()) return {};
  return write_file(arguments.trace, {driver::trace_events(profile)});
}

int thread_count(const ModelArguments& a) {
  return a.threads > 0 ? a.threads : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace fusewright::cli
