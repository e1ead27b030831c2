#include "run.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "commands.hpp"
#include "fusewright/support/clock.hpp"
#include "terminal.hpp"

namespace fusewright::cli {

namespace {

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

Status compare_stored(const RunArguments& args, const driver::Compilation& c, std::span<const ops::Tensor> inputs,
                      RunReport& out) {
  if (args.model.data.empty()) return {};
  FW_TRY(const std::vector<ops::Tensor> stored, driver::read_expected(args.model.data));
  if (stored.empty()) return {};
  if (!args.rtol && !args.atol) {
    FW_TRY(out.wrong, driver::wrong_outputs(c.imported, inputs, out.outputs, stored));
    return {};
  }
  if (stored.size() > out.outputs.size())
    out.wrong.push_back(fmt::format("{} stored outputs, the model has {}", stored.size(), out.outputs.size()));
  for (std::size_t o = 0; o < std::min(stored.size(), out.outputs.size()); ++o) {
    const interpret::CompareReport compared =
        interpret::compare_tolerance(out.outputs[o], stored[o], args.rtol.value_or(0), args.atol.value_or(0));
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
              RunReport& out) {
  constexpr double kBudget = 1.0;  // seconds, when the number of repeats is not given
  std::vector<std::vector<double>> by_group(out.groups.size());
  double total = 0;
  for (int i = 0; i < 2; ++i) {  // caches and threads warm
    FW_TRY(out.outputs, instance.run(inputs, threads, &out.groups));
  }
  while (args.repeats > 0 ? out.seconds.size() < static_cast<std::size_t>(args.repeats)
                          : (total < kBudget && out.seconds.size() < 1000) || out.seconds.size() < 5) {
    out.outputs.clear();
    const auto start = Clock::now();
    FW_TRY(out.outputs, instance.run(inputs, threads, &out.groups));
    out.seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count());
    total += out.seconds.back();
    by_group.resize(out.groups.size());
    for (std::size_t g = 0; g < out.groups.size(); ++g) by_group[g].push_back(out.groups[g].seconds);
  }
  for (std::size_t g = 0; g < out.groups.size(); ++g) out.groups[g].seconds = median(by_group[g]);
  return {};
}

/// Runs, and compares with whatever there is to compare with.
Status run_and_compare(const RunArguments& args, const driver::Compilation& c, runtime::Instance& instance,
                       std::span<const ops::Tensor> inputs, RunReport& out) {
  const int threads = thread_count(args.model);
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
  return write_outputs(args.output, out.outputs);
}

/// From a compilation to something that runs; the phase "codegen" ends with it.
Result<runtime::Instance> load(const RunArguments& args, const driver::Compilation& c) {
  FW_TRY(const driver::Backend* backend, driver::find_backend(args.model.device));
  std::unique_ptr<kernel::Executable> executable;
  const bool complete = std::all_of(c.plan->groups.begin(), c.plan->groups.end(),
                                    [](const plan::Group& group) { return group.unsupported.empty(); });
  if (complete) {  // what is without a kernel, the runtime names
    FW_TRY(executable, backend->compile(c.kernels));
  }
  Result<runtime::Instance> made = runtime::Instance::make(c.plan, c.kernels, std::move(executable));
  if (made) return made;
  const auto file = std::make_shared<SourceText>(SourceText{args.model.model, ""});
  return std::unexpected(with_place(std::move(made).error(), {file, 0, 0}));
}

Result<int> execute(const RunArguments& args) {
  const auto start = Clock::now();
  FW_TRY(driver::CompileOptions options, compile_options(args.model));
  FW_TRY(driver::Compilation c, driver::compile(options));
  const auto before_inputs = Clock::now();
  FW_TRY(std::vector<ops::Tensor> inputs, driver::bind_inputs(c.imported, options));
  c.phases.emplace_back("inputs", seconds_since(before_inputs));
  if (options.progress) options.progress("generate code");
  const auto before_code = Clock::now();
  FW_TRY(runtime::Instance instance, load(args, c));
  c.phases.emplace_back("codegen", seconds_since(before_code));

  RunReport out;
  out.seconds_compile = seconds_since(start);
  if (options.progress) options.progress(args.check ? "run and check" : "run");
  const auto before_run = Clock::now();
  FW_TRY_STATUS(run_and_compare(args, c, instance, inputs, out));
  c.phases.emplace_back("run", seconds_since(before_run));
  FW_TRY_STATUS(report_profile(args.profile, c, seconds_since(start)));
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  out.peak_bytes = static_cast<std::int64_t>(usage.ru_maxrss) * 1024;
  for (std::size_t g = 0; g < c.kernels.size(); ++g) {
    out.registers.push_back(instance.executable().registers(g));
    out.shared_bytes.push_back(instance.executable().shared_bytes(g));
  }
  if (options.progress) options.progress("");

  if (args.model.json)
    print_json(to_json(args, c, out));
  else
    print_text(args, c, out);
  if (out.check)
    for (const std::string& failure : out.check->failures) fmt::print(stderr, "check: {}\n", failure);
  for (const std::string& wrong : out.wrong) fmt::print(stderr, "wrong result: {}\n", wrong);
  return (out.check && !out.check->ok) || !out.wrong.empty() ? kWrong : kOk;
}

constexpr const char* kRunExamples =
    "  fusewright run model.onnx --dim batch=4 --check\n"
    "  fusewright run model.onnx --input image=images.npy --labels labels.npy\n"
    "  fusewright run model.hlo --data folder --output results --json\n"
    "  fusewright run model.hlo --freeze 'w*' --device sim --check\n";
constexpr const char* kBenchExamples =
    "  fusewright bench model.onnx --dim batch=4 --threads 1\n"
    "  fusewright bench model.onnx --dim batch=4 --no-fuse --json\n"
    "\nAll times in JSON are in seconds, all sizes in bytes.\n";

void add(CLI::App& app, Outcome& outcome, bool bench) {
  auto args = std::make_shared<RunArguments>();
  args->bench = bench;
  CLI::App& command =
      bench ? add_command(app, outcome, "bench", "Time a model: median and least over repeated runs", kBenchExamples,
                          args, execute)
            : add_command(app, outcome, "run", "Fuse a model, run it, and say what ran", kRunExamples, args, execute);
  add_model_options(command, args->model);
  add_device_option(command, args->model);
  add_profile_options(command, args->profile);
  constexpr const char* kResults = "Results";
  command.add_flag("--check", args->check, "compare every kernel with the reference evaluator, within its error bound")
      ->group(kResults);
  command.add_option("--output", args->output, "folder to write output_N.npy to")->type_name("DIR")->group(kResults);
  command
      .add_option("--labels", args->labels,
                  "integers to compare the greatest element along the last axis of output 0 with: prints the accuracy")
      ->type_name("FILE.npy")
      ->group(kResults);
  command.add_option("--rtol", args->rtol, "relative tolerance against stored outputs (without both: the error bound)")
      ->check(not_negative())
      ->type_name("R")
      ->needs("--data")
      ->group(kResults);
  command.add_option("--atol", args->atol, "absolute tolerance against stored outputs (without both: the error bound)")
      ->check(not_negative())
      ->type_name("A")
      ->needs("--data")
      ->group(kResults);
  if (bench)
    command.add_option("--repeats", args->repeats, "number of timed runs (without it: for about a second)")
        ->check(CLI::Range(1, 1000000))
        ->type_name("N")
        ->group(kResults);
}

}  // namespace

void add_run(CLI::App& app, Outcome& outcome) { add(app, outcome, false); }
void add_bench(CLI::App& app, Outcome& outcome) { add(app, outcome, true); }

}  // namespace fusewright::cli
