#pragma once

#include <cstdint>
#include <string>

#include "fusewright/plan/plan.hpp"

namespace fusewright::plan {

/// Bytes of the tensors that a run of a plan holds at once. What kernels keep for themselves is not among them: packed
/// weights, sums on the way.
struct Memory {
  std::int64_t inputs = 0;         ///< parameters of the model
  std::int64_t constants = 0;      ///< weights, and what is computed of them when the model is loaded
  std::int64_t outputs = 0;        ///< of the model, but for those that are one of the others seen again
  std::int64_t intermediates = 0;  ///< BufferPlan::arena_bytes

  std::int64_t total() const { return inputs + constants + outputs + intermediates; }
};
Memory memory(const Plan& plan);

/// The group at which most bytes of intermediates are alive, and how many; none without groups that write any.
struct Crest {
  const Group* group = nullptr;
  std::int64_t bytes = 0;
};
Crest crest(const Plan& plan);

}  // namespace fusewright::plan
