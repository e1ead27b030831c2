#pragma once

#include <span>
#include <vector>

#include "fusewright/ops/op_table.hpp"
#include "fusewright/ops/tensor.hpp"
#include "fusewright/region/region.hpp"

namespace fusewright::prove {

/// What a region says that its outputs are, element by element through its index maps, as a kernel would read them:
/// every value that needs one element of each operand is computed where it is used; only what needs many (reductions,
/// contractions, windows, sorts) is computed whole by the reference evaluator.
/// @param inputs one tensor for each capture.
/// Errors: operators that the reference evaluator does not compute.
Result<std::vector<ops::Tensor>> evaluate_region(const ops::OpTable& table, const region::Region& region,
                                                 std::span<const ops::Tensor> inputs);

}  // namespace fusewright::prove
