#pragma once

#include <span>
#include <vector>

#include "fusewright/interpret/evaluate.hpp"

namespace fusewright::interpret {

/// By result and element: whether a number left the range of its format on the way there. It overflowed, or a product,
/// quotient, power or exponential that is not zero has become zero or subnormal. (A pole is no overflow: 1 / 0 is
/// infinite.) What a selection leaves has no part in it; an operator that is not elementwise is held to have used all
/// elements of its operands for each of its own.
/// Errors: as evaluate.
Result<std::vector<std::vector<bool>>> out_of_range(const graph::Graph& graph, std::span<const ops::Tensor> inputs,
                                                    const EvaluateOptions& options = {});

}  // namespace fusewright::interpret
