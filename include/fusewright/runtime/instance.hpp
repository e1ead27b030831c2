#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "fusewright/kernel/executable.hpp"
#include "fusewright/ops/tensor.hpp"
#include "fusewright/plan/plan.hpp"

namespace fusewright::runtime {

/// What one group did in one run.
struct GroupRun {
  double seconds = 0;
  kernel::Counters counters;
};

/// Shown after each group that ran: the tensors that it read and wrote, valid during the call.
using GroupObserver =
    std::function<Status(std::size_t group, std::span<const ops::Tensor> inputs, std::span<const ops::Tensor> outputs)>;

/// A plan ready to run: weights folded and laid out, memory planned, kernels loaded.
class Instance {
 public:
  /// @param kernels one for each group of the plan, in order, which `executable` was compiled from.
  /// Errors: a group without a kernel, named with its operator and why (kUnsupported); no memory (kResource).
  static Result<Instance> make(std::shared_ptr<const plan::Plan> plan, const std::vector<kernel::Kernel>& kernels,
                               std::unique_ptr<kernel::Executable> executable);

  /// Runs the groups in order. Outputs are tensors of their own; an output that is a parameter or constant shares its
  /// bytes.
  /// @param inputs one for each parameter, with its dtype and extents.
  /// @param groups where given, gets one entry for each group.
  Result<std::vector<ops::Tensor>> run(std::span<const ops::Tensor> inputs, int threads,
                                       std::vector<GroupRun>* groups = nullptr, const GroupObserver& observer = {});

  const kernel::Executable& executable() const { return *executable_; }
  std::int64_t arena_bytes() const { return arena_bytes_; }
  /// Weights computed at load, for reading groups again in checks.
  const ops::Tensor* constant(plan::Value value) const;

 private:
  Instance() = default;
  Status fold_constants();
  Status prepare(const std::vector<kernel::Kernel>& kernels);
  Result<ops::Tensor> output(plan::Value value);

  std::shared_ptr<const plan::Plan> plan_;
  std::unique_ptr<kernel::Executable> executable_;
  std::vector<std::pair<plan::Value, ops::Tensor>> constants_;  // sorted
  std::vector<std::pair<plan::Value, ops::Tensor>> slots_;      // intermediates in the arena, sorted
  std::vector<std::pair<plan::Value, ops::Tensor>>
      outputs_;                                        // of the last run; used again once the caller let go of them
  std::vector<std::vector<ops::Tensor>> temporaries_;  // by group, packed weights among them
  std::int64_t arena_bytes_ = 0;
};

}  // namespace fusewright::runtime
