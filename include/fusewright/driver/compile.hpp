#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fusewright/cost/device.hpp"
#include "fusewright/graph/graph.hpp"
#include "fusewright/kernel/executable.hpp"
#include "fusewright/plan/plan.hpp"
#include "fusewright/rule/rule.hpp"
#include "fusewright/saturate/saturate.hpp"

namespace fusewright::driver {

/// What a user says about one compilation; the command line's options under the same names.
struct CompileOptions {
  std::string model;               ///< path of an ONNX or HLO text file
  std::vector<std::string> rules;  ///< folders or files that add to the built-in library
  bool builtin_rules = true;
  bool fuse = true;
  std::string device = "cpu";  ///< a row of the backend table: "cpu", "sim", "cuda"
  std::string device_file;     ///< name or path of a device description; empty for the backend's own
  rule::Exactness exactness;   ///< allowed classes
  std::map<std::string, std::vector<std::int64_t>> shapes;
  std::map<std::string, std::int64_t> dims;
  std::map<std::string, ops::TensorHandle> inputs;  ///< `--input`, by name or number
  std::map<std::int64_t, ops::TensorHandle> data;   ///< input_N of `--data`, by N
  std::vector<std::string> freeze;
  bool random_weights = false;
  bool prepack = true;  ///< kernels may lay out weights once at load; not where they are written for others
  std::uint64_t seed = 0;
  saturate::Limits limits;
  std::optional<std::int64_t> memory;                      ///< bytes that a run may hold at once (plan::memory)
  std::function<void(const std::string& phase)> progress;  ///< told as each phase begins
  const std::atomic<bool>* cancel = nullptr;
};

/// Everything that came of it, each a plain value.
struct Compilation {
  graph::Graph imported;  ///< the model as read
  std::shared_ptr<const rule::RuleSet> rules;
  std::optional<saturate::Saturated> saturated;  ///< absent without fusion
  std::shared_ptr<const plan::Plan> plan;
  cost::Device device;
  std::vector<kernel::Kernel> kernels;    ///< one for each group, in order; an empty one for groups without a kernel
  std::vector<std::string> stop_reasons;  ///< limits that were reached
  std::vector<std::pair<std::string, double>> phases;  ///< seconds, in order
  std::vector<std::pair<std::string, double>> parts;   ///< of the phase "extract": seconds, in order
};

/// The whole compiler: model and rules in, plan and kernels out.
Result<Compilation> compile(const CompileOptions& options);
/// The same without kernels.
Result<Compilation> plan(const CompileOptions& options);
/// The same of a model that was read over the operators of these rules.
Result<Compilation> plan_imported(const CompileOptions& options, std::shared_ptr<const rule::RuleSet> rules,
                                  graph::Graph imported);

/// The same with kernels.
Result<Compilation> compile_imported(const CompileOptions& options, std::shared_ptr<const rule::RuleSet> rules,
                                     graph::Graph imported);

/// One row of the backend table.
struct Backend {
  std::string name;
  kernel::TargetFamily family;
  std::string device;  ///< its default device description
  kernel::CompileFn compile;
};
const std::vector<Backend>& backends();
/// Errors: a name that is not in the table, with the nearest one.
Result<const Backend*> find_backend(const std::string& name);

/// Where rules and device files lie: beside the installed program, else in the source tree.
std::string rules_folder();
std::string devices_folder();

Result<std::shared_ptr<const rule::RuleSet>> load_rules(const std::vector<std::string>& extra, bool builtin);

}  // namespace fusewright::driver
