#pragma once

#include <expected>
#include <span>
#include <string>
#include <utility>
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

/// The numbers 0 to size - 1, every one behind those that `edges` (first, after) put before it. An order that is right
/// already stays as it is. Errors: a number on a cycle.
std::expected<std::vector<std::size_t>, std::size_t> stable_order(
    std::size_t size, std::vector<std::pair<std::size_t, std::size_t>> edges);

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

/// Nodes drawn in one box with its own caption.
struct DotBox {
  std::string label;
  std::vector<NodeId> nodes;
};
/// The computation in Graphviz's language: one vertex a node ("add f32[2,3]"), results drawn with two lines. A node of
/// several boxes is drawn in the first, with a broken line; edges between boxes are bold and named by their bytes.
/// Of more than `most` nodes the first are drawn, and the caption says how many are not.
std::string print_dot(const Graph& graph, ComputationId computation = {}, const std::vector<DotBox>& boxes = {},
                      std::size_t most = static_cast<std::size_t>(-1));

}  // namespace fusewright::graph
