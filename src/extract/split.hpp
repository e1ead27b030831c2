#pragma once

#include <vector>

#include "evaluate.hpp"

namespace fusewright::extract {

/// Takes kernels apart whose arithmetic is slowed down by values that registers do not hold, where their pieces cost
/// less together. A piece is a stretch of the kernel's nodes in topological order, with what it needs of those that
/// other kernels compute as well; the kernel is cut in two at the place that costs least, then each half in turn.
/// Afterwards no such kernel costs more than its nodes one by one.
/// @param declined  told of each value that is stored now and why.
/// @returns the reason where it stopped before, or nothing.
std::string split_kernels(const Graph& graph, const Uses& uses, const NodeFacts& facts, Evaluator& evaluator,
                          std::vector<Kernel>& kernels, std::vector<Declined>& declined, const FusionOptions& options);

}  // namespace fusewright::extract
