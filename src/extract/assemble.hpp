#pragma once

#include <vector>

#include "evaluate.hpp"

namespace fusewright::extract {

/// Turns the finished partition into a plan: groups in an order in which every tensor is written before it is read,
/// views, what is computed at load, and why each edge between two groups was cut. Cost is the sum of the groups', the
/// bound zero. The plan's graph and the names of the groups' source nodes are left to the caller.
plan::Plan assemble(const Graph& graph, const Uses& uses, const std::vector<Kernel>& kernels,
                    const std::vector<Declined>& declined, const NodeFacts& facts);

}  // namespace fusewright::extract
