#pragma once

#include <string>
#include <vector>

#include "evaluate.hpp"

namespace fusewright::extract {

/// Joins small kernels of one shape that share nothing, wherever they stand in the model, while one launch for all of
/// them pays. Kernels of one height (the longest way to a result) or of one depth (the longest way from the inputs)
/// never depend on each other and are joined without a search.
/// @returns the reason where it stopped before, or nothing.
std::string join_siblings(const Graph& graph, const Uses& uses, Evaluator& evaluator, std::vector<Kernel>& kernels,
                          const FusionOptions& options);

}  // namespace fusewright::extract
