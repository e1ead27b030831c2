#pragma once

#include <vector>

#include "fusewright/graph/graph.hpp"

namespace fusewright::prove {

/// By result of the graph, in which no composite operator is left: whether the sign of a zero in it is left open,
/// because it comes from an operator that takes one of two equal values (max, min, clamp and what folds by them, sorts
/// that are not stable). What such a value flows through passes this on, unless its result shows no sign of a zero.
std::vector<bool> open_zeros(const graph::Graph& graph);

}  // namespace fusewright::prove
