#pragma once

#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <vector>

#include "fusewright/graph/graph.hpp"

namespace fusewright::graph {

/// Boost.Graph's view of one computation: vertex i is its i-th node, edges run from maker to user.
struct Flow {
  using BoostGraph = boost::compressed_sparse_row_graph<boost::bidirectionalS>;
  const Computation* computation = nullptr;
  BoostGraph graph;
  std::vector<std::size_t> position;  ///< by node id; kNowhere for nodes of other computations
  static constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

  std::size_t size() const { return computation->nodes.size(); }
  NodeId node(std::size_t vertex) const { return computation->nodes[vertex]; }
};

/// Of the entry where no computation is named. One edge for each pair, however often the value is used.
Flow flow_of(const Graph& graph, ComputationId computation);

}  // namespace fusewright::graph
