#pragma once

#include <span>
#include <string>
#include <vector>

#include "fusewright/graph/graph.hpp"

/// Graph algorithms over the data flow of one computation, the entry where none is named. An edge runs from a value's
/// node to each node that uses it, whether as an operand or from within one of its bodies. All run without recursion,
/// in time about linear in nodes and edges. Vectors that are indexed by node have graph.nodes.size() entries; nodes of
/// other computations have the value of a node that was not reached.
namespace fusewright::graph {

/// The computation's nodes, every one behind all that it uses. The same graph gives the same order.
/// Errors: a cycle, naming a node on it.
Result<std::vector<NodeId>> topological_order(const Graph& graph, ComputationId computation = {});

/// By node: whether a path leads from one of `from` to it (it may be one of them).
std::vector<bool> reachable_from(const Graph& graph, std::span<const NodeId> from, ComputationId computation = {});
/// By node: whether a path leads from it to one of `to` (it may be one of them).
std::vector<bool> reaching(const Graph& graph, std::span<const NodeId> to, ComputationId computation = {});

/// By node: its immediate dominator, the nearest other node that every path from a source (a node without operands) to
/// it goes through; invalid where there is none.
std::vector<NodeId> dominators(const Graph& graph, ComputationId computation = {});
/// By node: the nearest other node that every path from it to a result, or to a node that nobody uses, goes through;
/// invalid where there is none.
std::vector<NodeId> post_dominators(const Graph& graph, ComputationId computation = {});

/// By node: the number of its weakly connected component, counted from 0 in the order of first nodes; kNoComponent for
/// nodes of other computations.
inline constexpr std::uint32_t kNoComponent = static_cast<std::uint32_t>(-1);
std::vector<std::uint32_t> connected_components(const Graph& graph, ComputationId computation = {});

/// The computation in Graphviz's language: one vertex a node ("add f32[2,3]"), results drawn as double circles.
std::string print_dot(const Graph& graph, ComputationId computation = {});

}  // namespace fusewright::graph
