#pragma once

#include <vector>

#include "fusewright/graph/graph.hpp"

namespace fusewright::interpret {

/// What walking a graph needs to know beforehand: where each node stands in its computation, and when values die.
struct Schedule {
  std::vector<std::uint32_t> position;  ///< of each node within its computation
  /// By computation and position: values of that computation that nobody reads after this node. Values that nested
  /// bodies capture count as read by the node that owns the body; results live on.
  std::vector<std::vector<std::vector<graph::Value>>> dies;
};
Schedule make_schedule(const graph::Graph& graph);

/// Nodes of the entry that the values need, as flags by node; every node of nested bodies is set.
std::vector<bool> needed_nodes(const graph::Graph& graph, std::span<const graph::Value> wanted);

}  // namespace fusewright::interpret
