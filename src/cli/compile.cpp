#include <fmt/format.h>

#include <filesystem>

#include "commands.hpp"
#include "fusewright/driver/package.hpp"

namespace fusewright::cli {

namespace {

struct CompileArguments {
  ModelArguments model;
  std::string target = "x86", output;
  bool reference = false;
};

Result<int> execute(CompileArguments args) {
  FW_TRY(const driver::CodeTarget target, driver::parse_target(args.target));
  args.model.device = target.backend;
  if (args.model.device_file.empty()) args.model.device_file = target.device;
  FW_TRY(driver::CompileOptions options, compile_options(args.model));
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
  fmt::print("{}: {} kernels ({} launches) for {}, {} bytes\n", args.output, c.kernels.size(), launches, target.name,
             bytes);
  return kOk;
}

}  // namespace

void add_compile(CLI::App& app, int& exit) {
  auto args = std::make_shared<CompileArguments>();
  CLI::App* command = app.add_subcommand("compile", "Write a model's kernels as files: objects or PTX, and a manifest");
  add_model_options(*command, args->model);
  command
      ->add_option("--target", args->target,
                   "x86, x86:avx2, x86:avx512, nvptx:sm_80, nvptx:sm_90, nvptx:sm_100, nvptx:sm_120")
      ->capture_default_str()
      ->type_name("TARGET");
  command->add_option("-o,--output", args->output, "folder to write")->required()->type_name("DIR");
  command->add_flag("--reference", args->reference,
                    "also write what each kernel gets and must answer, by the reference evaluator");
  command->callback([args, &exit] {
    const Result<int> code = execute(*args);
    exit = code ? *code : report(code.error());
  });
}

}  // namespace fusewright::cli
