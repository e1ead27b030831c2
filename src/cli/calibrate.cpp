#include "fusewright/driver/calibrate.hpp"

#include <fmt/format.h>

#include "commands.hpp"
#include "fusewright/support/file.hpp"
#include "options.hpp"
#include "terminal.hpp"

namespace fusewright::cli {

namespace {

struct CalibrateArguments {
  driver::CalibrateOptions options;
  std::string output;
  bool json = false;
};

void print_text(const cost::Device& device) {
  fmt::print("{}, {} {}\n", device.name, device.shape.cores, device.shape.cores == 1 ? "thread" : "threads");
  fmt::print("  launch           {:8.3g} us\n", 1e6 * device.launch_seconds);
  fmt::print("  to other cores   {:8.3g} us\n", 1e6 * device.handoff_seconds);
  for (const cost::MemoryLevel& level : device.memory)
    fmt::print("  {:16} {:8.3g} GB/s{}\n", level.name, 1e-9 * level.bytes_per_second,
               level.bytes > 0 ? fmt::format(", {:.3g} MiB", static_cast<double>(level.bytes) / (1 << 20)) : "");
  fmt::print("  operations       {:8.3g} G/s of f32\n", 1e-9 * device.unit_rate);
  fmt::print("  multiply-adds    {:8.3g} GFLOP/s of f32\n", 1e-9 * device.contraction_flops);
  for (const auto& [dtype, factor] : device.dtype_factor) fmt::print("    {:14} {:8.3g} of that\n", dtype, factor);
}

Result<int> calibrate(const CalibrateArguments& args) {
  driver::CalibrateOptions options = args.options;
  const auto progress = progress_line();
  options.progress = progress;
  FW_TRY(const cost::Device device, driver::calibrate(options));
  if (progress) progress("");
  if (!args.output.empty()) FW_TRY_STATUS(write_file(args.output, {cost::print_device(device)}));
  if (args.json)
    print_json(nlohmann::ordered_json::parse(cost::print_device(device)));
  else
    print_text(device);
  return kOk;
}

}  // namespace

void add_calibrate(CLI::App& app, Outcome& outcome) {
  auto args = std::make_shared<CalibrateArguments>();
  CLI::App& command = add_command(app, outcome, "calibrate", "Measure this CPU for the cost model",
                                  "  fusewright calibrate\n"
                                  "  fusewright calibrate -o this-machine.json\n"
                                  "  fusewright run model.onnx --device-file this-machine.json\n"
                                  "\nMeasure while nothing else runs.\n",
                                  args, calibrate);
  command.add_option("-o,--output", args->output, "write a device file, for --device-file")->type_name("FILE.json");
  command.add_option("--name", args->options.name, "of the description (default: by the vector extension)")
      ->type_name("NAME");
  command
      .add_option("--threads", args->options.threads, "that kernels will run with, 0 for one on each core (default 0)")
      ->type_name("N")
      ->check(CLI::Range(0, 1024));
  command.add_option("--time", args->options.seconds, "seconds for each of some fifteen figures")
      ->type_name("S")
      ->capture_default_str()
      ->check(not_negative());
  command.add_flag("--json", args->json, "print the device file (docs/JSON.md)");
}

}  // namespace fusewright::cli
