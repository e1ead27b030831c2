#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <memory>
#include <thread>

#include "commands.hpp"

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

// NAME=VALUE, at the last '=' so that names may hold one.
Result<std::pair<std::string, std::string>> assignment(const std::string& option, const std::string& text) {
  const std::size_t at = text.rfind('=');
  if (at == std::string::npos || at == 0 || at + 1 == text.size())
    return fail(fmt::format("{} {}: expected NAME=VALUE", option, text));
  return std::pair(text.substr(0, at), text.substr(at + 1));
}

Result<std::int64_t> extent(const std::string& option, const std::string& text) {
  const auto value = number<std::int64_t>(text);
  if (!value || *value < 0) return fail(fmt::format("{}: '{}' is not a size", option, text));
  return *value;
}

Status read_limits(const std::string& text, saturate::Limits& limits) {
  if (text.empty()) return {};
  for (const std::string& part : split(text, ',')) {
    FW_TRY(const auto pair, assignment("--limit", part));
    const auto& [name, value] = pair;
    const auto amount = number<double>(value);
    if (!amount || !(*amount >= 0) || *amount > 1e18)
      return fail(fmt::format("--limit {}: '{}' is not an amount", name, value));
    if (name == "nodes")
      limits.nodes = static_cast<std::uint64_t>(*amount);
    else if (name == "iterations")
      limits.iterations = static_cast<std::uint64_t>(*amount);
    else if (name == "seconds")
      limits.seconds = *amount;
    else if (name == "bytes")
      limits.bytes = static_cast<std::uint64_t>(*amount);
    else
      return fail(fmt::format("--limit: no limit '{}' (there are nodes, iterations, seconds and bytes)", name));
  }
  return {};
}

std::vector<std::pair<std::string, std::string>> input_files(const ModelArguments& a) {
  std::vector<std::pair<std::string, std::string>> files;
  for (const std::string& text : a.inputs) {
    const std::size_t at = text.find('=');
    // A bare file name is input 0.
    files.emplace_back(at == std::string::npos ? "0" : text.substr(0, at),
                       at == std::string::npos ? text : text.substr(at + 1));
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
  command.add_option("model", a.model, "ONNX model (.onnx) or HLO text (.hlo, .txt)")->required()->type_name("MODEL");
  command.add_option("--rules", a.rules, "rule files or folders that add to the built-in library")
      ->type_name("DIR")
      ->allow_extra_args(false);
  command.add_flag("--no-builtin-rules", a.no_builtin_rules, "use only the rules of --rules");
  command.add_option("--input", a.inputs, "an input's values, by its name or number")
      ->type_name("NAME|INDEX=FILE.npy")
      ->allow_extra_args(false);
  command.add_option("--data", a.data, "folder of input_N (.npy or .pb) and, to compare with, output_N")
      ->type_name("DIR");
  command.add_option("--shape", a.shapes, "an input's extents: x=1,3,224,224")
      ->type_name("NAME=SIZES")
      ->allow_extra_args(false);
  command.add_option("--dim", a.dims, "a named extent: batch=4; '*=4' for all that nothing else binds")
      ->type_name("NAME=SIZE")
      ->allow_extra_args(false);
  command.add_option("--freeze", a.freeze, "make matching parameters constants; 'all' for every one without values")
      ->type_name("GLOB")
      ->allow_extra_args(false);
  command.add_flag("--random-weights", a.random_weights, "replace weights by seeded random ones");
  command.add_option("--seed", a.seed, "seed of inputs that are not given and of random weights")
      ->check(whole_number());
  command.add_option("--device", a.device, "where to run: cpu, sim, cuda")->capture_default_str()->type_name("DEVICE");
  command.add_option("--device-file", a.device_file, "device description to plan for (a name, or a .json file)")
      ->type_name("NAME|FILE");
  command.add_option("--exactness", a.exactness, "classes of rules that may be used")
      ->capture_default_str()
      ->type_name("CLASS,...");
  command.add_option("--limit", a.limit, "bounds of the search: nodes=N,iterations=N,seconds=S,bytes=B")
      ->type_name("NAME=N,...");
  command.add_flag("--no-fuse", a.no_fuse, "every operator as a kernel of its own");
  command.add_option("--threads", a.threads, "threads to run with; 0 for one on each core")->check(CLI::Range(0, 1024));
  command.add_flag("--json", a.json, "print one JSON object");
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
  FW_TRY(o.exactness, rule::parse_exactness(a.exactness));
  for (const std::string& text : a.shapes) {
    FW_TRY(const auto pair, assignment("--shape", text));
    std::vector<std::int64_t>& extents = o.shapes[pair.first];
    for (const std::string& part : split(pair.second, ',')) {
      FW_TRY(const std::int64_t value, extent("--shape " + pair.first, part));
      extents.push_back(value);
    }
  }
  for (const std::string& text : a.dims) {
    FW_TRY(const auto pair, assignment("--dim", text));
    FW_TRY(o.dims[pair.first], extent("--dim " + pair.first, pair.second));
  }
  FW_TRY_STATUS(read_limits(a.limit, o.limits));
  FW_TRY(o.inputs, driver::read_inputs(input_files(a)));
  if (!a.data.empty()) {
    FW_TRY(o.data, driver::read_data(a.data));
  }
  o.progress = progress_line();
  return o;
}

int thread_count(const ModelArguments& a) {
  return a.threads > 0 ? a.threads : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

int report(const Error& error) {
  std::fputs(print_error(error).c_str(), stderr);
  switch (error.kind) {
    case ErrorKind::kInput:
    case ErrorKind::kUnsupported: return kBadInput;
    case ErrorKind::kResource: return kNoResources;
    case ErrorKind::kCheckFailed: return kWrong;
  }
  return kBadInput;
}

std::function<void(const std::string&)> progress_line() {
  if (isatty(STDERR_FILENO) == 0) return {};
  const auto start = std::chrono::steady_clock::now();
  return [start](const std::string& phase) {
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (seconds > 1) fmt::print(stderr, "\r\033[K[{:.0f} s] {}", seconds, phase);
    if (phase.empty()) fmt::print(stderr, "\r\033[K");
    std::fflush(stderr);
  };
}

}  // namespace fusewright::cli
