#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "fusewright/driver/package.hpp"
#include "options.hpp"
#include "terminal.hpp"

namespace fusewright::cli {

namespace {

struct CompileArguments {
  ModelArguments model;
  std::string target = "x86", output;
  bool reference = false;
};

Result<int> execute(const CompileArguments& args) {
  FW_TRY(const driver::CodeTarget target, driver::parse_target(args.target));
  ModelArguments model = args.model;
  model.device = target.backend;
  if (model.device_file.empty()) model.device_file = target.device;
  FW_TRY(driver::CompileOptions options, compile_options(model));
  options.prepack = false;
  FW_TRY(const driver::Compilation c, driver::compile(options));
  std::optional<std::vector<ops::Tensor>> inputs;
  if (args.reference) {
    FW_TRY(inputs, driver::bind_inputs(c.imported, options));
  }
  if (options.progress) options.progress("generate code");
  FW_TRY(const std::int64_t bytes, driver::write_package(c, target, args.output, inputs));
  if (options.progress) options.progress("");
  std::size_t launches = 0;
  for (const kernel::Kernel& k : c.kernels) launches += k.launches.size();
  if (model.json) {
    const nlohmann::ordered_json json = {
        {"model", model.model},          {"target", target.name}, {"manifest", args.output + "/manifest.json"},
        {"groups", c.kernels.size()},    {"kernels", launches},   {"bytes_written", bytes},
        {"stop_reasons", c.stop_reasons}};
    print_json(json);
  } else {
    fmt::print("{}: {} kernels ({} launches) for {}, {} bytes\n", args.output, c.kernels.size(), launches, target.name,
               bytes);
  }
  return kOk;
}

}  // namespace

void add_compile(CLI::App& app, Outcome& outcome) {
  auto args = std::make_shared<CompileArguments>();
  CLI::App& command =
      add_command(app, outcome, "compile", "Write a model's kernels as files: objects or PTX, and a manifest",
                  "  fusewright compile model.onnx --dim batch=4 --target nvptx:sm_90 -o kernels\n"
                  "  fusewright compile model.hlo --target x86:avx2 -o kernels --reference\n",
                  args, execute);
  add_model_options(command, args->model);
  command
      .add_option("--target", args->target,
                  "x86 (this CPU), x86:avx2, x86:avx512, or nvptx:sm_80, sm_90, sm_100, sm_120")
      ->capture_default_str()
      ->type_name("TARGET")
      ->group("Output");
  command.add_option("-o,--output", args->output, "folder to write (required)")
      ->required()
      ->type_name("DIR")
      ->group("Output");
  command
      .add_flag("--reference", args->reference,
                "also write what each kernel gets and must answer, by the reference evaluator")
      ->group("Output");
}

}  // namespace fusewright::cli
