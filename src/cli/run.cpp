#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "commands.hpp"

namespace fusewright::cli {

namespace {

using Json = nlohmann::ordered_json;

struct RunArguments {
  ModelArguments model;
  std::string output, labels;
  std::optional<double> rtol, atol;
  bool check = false;
  int repeats = 0;
  bool bench = false;
};

/// What a run or benchmark found.
struct Outcome {
  std::vector<ops::Tensor> outputs;
  std::vector<runtime::GroupRun> groups;
  std::optional<driver::CheckReport> check;
  std::optional<double> accuracy;
  std::vector<std::string> wrong;  ///< stored outputs that were not met
  std::vector<double> seconds;     ///< of each repeat
  double seconds_compile = 0;
  std::int64_t peak_bytes = 0;
};

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

std::int64_t launches(const kernel::Kernel& kernel) { return static_cast<std::int64_t>(kernel.launches.size()); }

Json group_json(const driver::Compilation& c, const Outcome& out, const kernel::Executable& executable, std::size_t g) {
  const plan::Group& group = c.plan->groups[g];
  Json json;
  json["id"] = g;
  json["name"] = group.name;
  json["kind"] = schedule::name(group.schedule.kind);
  json["fuse_rule"] = group.fuse_rule;
  json["rewrites"] = Json::array();
  for (const plan::RewriteUse& use : group.rewrites)
    json["rewrites"].push_back({{"rule", use.rule}, {"exactness", use.exactness}, {"source_nodes", use.source_nodes}});
  json["nodes"] = group.source_nodes;
  const auto names = [&](const std::vector<plan::Value>& values) {
    Json list = Json::array();
    for (const plan::Value v : values) list.push_back(c.plan->graph[v.node].name);
    return list;
  };
  json["inputs"] = names(group.inputs);
  json["outputs"] = names(group.outputs);
  json["kernels"] = launches(c.kernels[g]);
  json["bytes"] = group.bytes;
  const kernel::Counters& counters = out.groups[g].counters;
  if (counters.loads + counters.stores > 0) json["bytes_counted"] = counters.load_bytes + counters.store_bytes;
  json["flops"] = group.flops;
  if (executable.registers(g) >= 0) json["registers"] = executable.registers(g);
  if (executable.shared_bytes(g) >= 0) json["shared_bytes"] = executable.shared_bytes(g);
  json["seconds_estimated"] = group.seconds_estimated;
  json["seconds"] = out.groups[g].seconds;
  return json;
}

Json to_json(const RunArguments& args, const driver::Compilation& c, const Outcome& out,
             const kernel::Executable& executable) {
  Json json;
  json["model"] = args.model.model;
  json["device"] = args.model.device;
  std::int64_t kernels = 0, bytes = 0;
  for (const kernel::Kernel& k : c.kernels) kernels += launches(k);
  for (const plan::Group& group : c.plan->groups) bytes += group.bytes;
  json["kernels"] = kernels;
  json["bytes"] = bytes;
  json["groups"] = Json::array();
  for (std::size_t g = 0; g < c.plan->groups.size(); ++g) json["groups"].push_back(group_json(c, out, executable, g));
  json["views"] = Json::array();
  for (const plan::View& view : c.plan->views)
    json["views"].push_back({{"value", c.plan->graph[view.value.node].name}, {"of", c.plan->graph[view.of.node].name}});
  json["unfused"] = {{"kernels", c.plan->unfused_kernels},
                     {"bytes", c.plan->unfused_bytes},
                     {"seconds_estimated", c.plan->unfused_seconds_estimated}};
  if (out.check)
    json["check"] = {{"ok", out.check->ok},
                     {"worst_group", out.check->worst_group},
                     {"max_error", out.check->max_error},
                     {"bound", out.check->bound},
                     {"end_to_end_error", out.check->end_to_end_error},
                     {"failures", out.check->failures}};
  if (out.accuracy) json["accuracy"] = *out.accuracy;
  json["extraction"] = {
      {"cost", c.plan->extraction.cost}, {"bound", c.plan->extraction.bound}, {"gap", c.plan->extraction.gap}};
  json["stop_reasons"] = c.stop_reasons;
  json["phases"] = Json::object();
  for (const auto& [name, seconds] : c.phases) json["phases"][name] = seconds;
  json["peak_bytes"] = out.peak_bytes;
  if (args.bench) {
    json["seconds_median"] = median(out.seconds);
    json["seconds_min"] = *std::min_element(out.seconds.begin(), out.seconds.end());
    json["seconds_compile"] = out.seconds_compile;
    json["repeats"] = out.seconds.size();
  }
  return json;
}

void print_text(const RunArguments& args, const driver::Compilation& c, const Outcome& out) {
  std::int64_t kernels = 0, bytes = 0;
  fmt::print("{:>4}  {:40} {:>8} {:>12} {:>11} {:>11}  {}\n", "", "kernel", "launches", "bytes", "estimate us",
             "seconds us", "rule");
  for (std::size_t g = 0; g < c.plan->groups.size(); ++g) {
    const plan::Group& group = c.plan->groups[g];
    kernels += launches(c.kernels[g]);
    bytes += group.bytes;
    fmt::print("{:>4}  {:40} {:>8} {:>12} {:>11.1f} {:>11.1f}  {}\n", g, group.name, launches(c.kernels[g]),
               group.bytes, 1e6 * group.seconds_estimated, 1e6 * out.groups[g].seconds, group.fuse_rule);
  }
  fmt::print("{} kernels, {} bytes (unfused: {} kernels, {} bytes)\n", kernels, bytes, c.plan->unfused_kernels,
             c.plan->unfused_bytes);
  for (const std::string& reason : c.stop_reasons) fmt::print("stopped: {}\n", reason);
  if (args.bench)
    fmt::print("median {:.3f} ms, least {:.3f} ms of {} runs; compiled in {:.2f} s\n", 1e3 * median(out.seconds),
               1e3 * *std::min_element(out.seconds.begin(), out.seconds.end()), out.seconds.size(),
               out.seconds_compile);
  if (out.check)
    fmt::print(
        "check {}: worst group {}, error {:.3g} of {:.3g} allowed; outputs differ from the reference by at most "
        "{:.3g}\n",
        out.check->ok ? "ok" : "FAILED", out.check->worst_group, out.check->max_error, out.check->bound,
        out.check->end_to_end_error);
  if (out.accuracy) fmt::print("accuracy {:.4f}\n", *out.accuracy);
}

Status compare_stored(const RunArguments& args, const driver::Compilation& c, std::span<const ops::Tensor> inputs,
                      Outcome& out) {
  if (args.model.data.empty()) return {};
  FW_TRY(const std::vector<ops::Tensor> stored, driver::read_expected(args.model.data));
  std::vector<interpret::Bounded> bounds;
  const bool tolerance = args.rtol || args.atol;
  if (!stored.empty() && !tolerance) {
    FW_TRY(bounds, interpret::evaluate_with_bounds(c.imported, inputs));
  }
  if (stored.size() > out.outputs.size())
    out.wrong.push_back(fmt::format("{} stored outputs, the model has {}", stored.size(), out.outputs.size()));
  for (std::size_t o = 0; o < std::min(stored.size(), out.outputs.size()); ++o) {
    interpret::CompareReport compared;
    if (tolerance) {
      compared = interpret::compare_tolerance(out.outputs[o], stored[o], args.rtol.value_or(0), args.atol.value_or(0));
    } else {
      // The stored values are another implementation's: it may err by as much as ours, the other way. Over a whole
      // model the running bound is far from sharp, so half of the dtype's digits must agree in any case.
      interpret::Bounded expected = std::move(bounds[o]);
      const double most = ops::is_float(stored[o].dtype) ? driver::half_of_digits(stored[o], c.imported)
                                                         : std::numeric_limits<double>::infinity();
      for (double& radius : expected.radius) radius = std::min(2 * radius, most);
      expected.value = stored[o];
      compared = interpret::compare(out.outputs[o], expected);
    }
    if (!compared.ok) out.wrong.push_back(fmt::format("output {}: {}", o, compared.message));
  }
  return {};
}

Status write_outputs(const std::string& folder, const std::vector<ops::Tensor>& outputs) {
  if (folder.empty()) return {};
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return fail(fmt::format("{}: {}", folder, error.message()));
  for (std::size_t o = 0; o < outputs.size(); ++o)
    FW_TRY_STATUS(ops::write_npy(fmt::format("{}/output_{}.npy", folder, o), outputs[o]));
  return {};
}

Status repeat(const RunArguments& args, runtime::Instance& instance, std::span<const ops::Tensor> inputs, int threads,
              Outcome& out) {
  constexpr double kBudget = 1.0;  // seconds, when the number of repeats is not given
  std::vector<std::vector<double>> by_group(out.groups.size());
  double total = 0;
  for (int i = 0; i < 2; ++i) {  // caches and threads warm
    FW_TRY(out.outputs, instance.run(inputs, threads, &out.groups));
  }
  while (args.repeats > 0 ? out.seconds.size() < static_cast<std::size_t>(args.repeats)
                          : (total < kBudget && out.seconds.size() < 1000) || out.seconds.size() < 5) {
    out.outputs.clear();
    const auto start = std::chrono::steady_clock::now();
    FW_TRY(out.outputs, instance.run(inputs, threads, &out.groups));
    out.seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    total += out.seconds.back();
    by_group.resize(out.groups.size());
    for (std::size_t g = 0; g < out.groups.size(); ++g) by_group[g].push_back(out.groups[g].seconds);
  }
  for (std::size_t g = 0; g < out.groups.size(); ++g) out.groups[g].seconds = median(by_group[g]);
  return {};
}

Result<int> execute(const RunArguments& args) {
  const auto start = std::chrono::steady_clock::now();
  FW_TRY(driver::CompileOptions options, compile_options(args.model));
  FW_TRY(driver::Compilation c, driver::compile(options));
  FW_TRY(std::vector<ops::Tensor> inputs, driver::bind_inputs(c.imported, options));
  FW_TRY(const driver::Backend* backend, driver::find_backend(args.model.device));
  if (options.progress) options.progress("generate code");
  std::vector<kernel::Kernel> runnable;
  for (const kernel::Kernel& k : c.kernels)
    if (!k.launches.empty()) runnable.push_back(k);
  Result<std::unique_ptr<kernel::Executable>> executable = runnable.size() == c.kernels.size()
                                                               ? backend->compile(runnable)
                                                               : Result<std::unique_ptr<kernel::Executable>>(nullptr);
  if (!executable) return std::unexpected(executable.error());
  Result<runtime::Instance> made = runtime::Instance::make(c.plan, c.kernels, *std::move(executable));
  if (!made) {
    const auto file = std::make_shared<SourceText>(SourceText{args.model.model, ""});
    return std::unexpected(with_place(std::move(made).error(), {file, 0, 0}));
  }
  runtime::Instance& instance = *made;
  Outcome out;
  out.seconds_compile = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  c.phases.emplace_back("codegen", out.seconds_compile);
  for (std::size_t i = 0; i + 1 < c.phases.size(); ++i) c.phases.back().second -= c.phases[i].second;

  const int threads = thread_count(args.model);
  if (options.progress) options.progress(args.check ? "run and check" : "run");
  if (args.check) {
    FW_TRY(out.check, driver::check_run(c, instance, inputs, threads, &out.outputs, &out.groups));
  } else {
    FW_TRY(out.outputs, instance.run(inputs, threads, &out.groups));
  }
  if (args.bench) FW_TRY_STATUS(repeat(args, instance, inputs, threads, out));
  FW_TRY_STATUS(compare_stored(args, c, inputs, out));
  if (!args.labels.empty()) {
    FW_TRY(const ops::Tensor labels, ops::read_npy(args.labels));
    if (out.outputs.empty()) return fail("--labels: the model has no output");
    FW_TRY(out.accuracy, driver::accuracy(out.outputs.front(), labels));
  }
  FW_TRY_STATUS(write_outputs(args.output, out.outputs));
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  out.peak_bytes = static_cast<std::int64_t>(usage.ru_maxrss) * 1024;
  if (options.progress) options.progress("");

  if (args.model.json)
    fmt::print("{}\n", to_json(args, c, out, instance.executable()).dump(2));
  else
    print_text(args, c, out);
  if (out.check)
    for (const std::string& failure : out.check->failures) fmt::print(stderr, "check: {}\n", failure);
  for (const std::string& wrong : out.wrong) fmt::print(stderr, "wrong result: {}\n", wrong);
  return (out.check && !out.check->ok) || !out.wrong.empty() ? kWrong : kOk;
}

void add(CLI::App& app, int& exit, const char* name, const char* description, bool bench) {
  auto args = std::make_shared<RunArguments>();
  args->bench = bench;
  CLI::App* command = app.add_subcommand(name, description);
  add_model_options(*command, args->model);
  command->add_flag("--check", args->check,
                    "compare every kernel with the reference evaluator, within its error bound");
  command->add_option("--output", args->output, "write output_N.npy here")->type_name("DIR");
  command->add_option("--labels", args->labels, "print the accuracy of output 0 against these classes")
      ->type_name("FILE.npy");
  command->add_option("--rtol", args->rtol, "relative tolerance against stored outputs (default: the error bound)")
      ->check(not_negative());
  command->add_option("--atol", args->atol, "absolute tolerance against stored outputs (default: the error bound)")
      ->check(not_negative());
  if (bench)
    command->add_option("--repeats", args->repeats, "number of timed runs (default: for about a second)")
        ->check(CLI::Range(1, 1000000));
  command->callback([args, &exit] {
    const Result<int> code = execute(*args);
    exit = code ? *code : report(code.error());
  });
}

}  // namespace

void add_run(CLI::App& app, int& exit) { add(app, exit, "run", "Fuse a model, run it, and say what ran", false); }
void add_bench(CLI::App& app, int& exit) {
  add(app, exit, "bench", "Time a model: median and least seconds over repeated runs", true);
}

}  // namespace fusewright::cli
