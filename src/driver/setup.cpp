#include <fmt/format.h>

#include <filesystem>

#include "backends/nvptx/nvptx.hpp"
#include "backends/sim/sim.hpp"
#include "backends/x86/x86.hpp"
#include "fusewright/driver/compile.hpp"
#include "fusewright/rule/check.hpp"

namespace fusewright::driver {

const std::vector<Backend>& backends() {
  static const std::vector<Backend> table{
      {"cpu", kernel::TargetFamily::kCpu, __builtin_cpu_supports("avx512f") ? "x86-avx512" : "x86-avx2",
       [](const auto& kernels) { return backend_x86::compile_x86(kernels); }},
      {"cuda", kernel::TargetFamily::kGpu, "h200",
       [](const auto& kernels) { return backend_nvptx::compile_cuda(kernels); }},
      {"sim", kernel::TargetFamily::kGpu, "h200",
       [](const auto& kernels) { return backend_sim::compile_sim(kernels); }},
  };
  return table;
}

Result<const Backend*> find_backend(const std::string& name) {
  std::vector<std::string> names;
  for (const Backend& backend : backends()) {
    if (backend.name == name) return &backend;
    names.push_back(backend.name);
  }
  const std::string near = nearest(name, names);
  return fail(fmt::format("no device '{}' (there are {}){}", name, fmt::join(names, ", "),
                          near.empty() ? "" : fmt::format("; did you mean '{}'?", near)));
}

namespace {
std::string data_folder(const std::string& in_share, const std::string& in_source) {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto installed = program.parent_path() / FUSEWRIGHT_INSTALLED_SHARE / in_share;
  return std::filesystem::is_directory(installed, error) ? installed.string() : in_source;
}
}  // namespace

std::string rules_folder() { return data_folder("rules", FUSEWRIGHT_RULES_DIR); }
std::string devices_folder() { return data_folder("devices", FUSEWRIGHT_DEVICES_DIR); }

Result<std::shared_ptr<const rule::RuleSet>> load_rules(const std::vector<std::string>& extra, bool builtin) {
  std::vector<std::string> paths;
  // The composite operators of the frontends are always there: without them models cannot be read.
  if (builtin)
    paths = {rules_folder()};
  else
    paths = {rules_folder() + "/operators.fuse", rules_folder() + "/onnx"};
  paths.insert(paths.end(), extra.begin(), extra.end());
  FW_TRY(rule::RuleSet rules, rule::load_rules(paths, ops::OpTable::builtin()));
  return std::make_shared<const rule::RuleSet>(std::move(rules));
}

}  // namespace fusewright::driver
