#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "evaluate.hpp"

namespace fusewright::extract {

/// Pairs of kernels, by number, of which the second reads what the first writes, if only from within a body.
std::vector<std::pair<std::size_t, std::size_t>> kernel_edges(const Graph& graph, const Uses& uses,
                                                              const std::vector<Kernel>& kernels);

/// Where kernels stand in the flow from the model's inputs to its results, by number.
struct Levels {
  std::vector<std::uint32_t> depth;   ///< kernels on the longest way to it from one that reads from none
  std::vector<std::uint32_t> height;  ///< kernels on the longest way from it to one that none reads from
};
/// Nothing where kernels depend on each other in a circle.
std::optional<Levels> find_levels(const Graph& graph, const Uses& uses, const std::vector<Kernel>& kernels);

}  // namespace fusewright::extract
