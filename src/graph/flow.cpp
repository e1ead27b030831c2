#include "src/graph/flow.hpp"

#include <algorithm>
#include <utility>

namespace fusewright::graph {
namespace {

using Edge = std::pair<std::size_t, std::size_t>;

// Users of a node inside its bodies, however deep, stand for the node itself.
void add_captures(const Graph& graph, NodeId owner, std::size_t user, const std::vector<std::size_t>& position,
                  std::vector<Edge>& edges) {
  std::vector<ComputationId> work = graph[owner].computations;
  std::vector<ComputationId> seen;
  const auto use = [&](Value value) {
    if (value.valid() && position[value.node.index] != Flow::kNowhere)
      edges.emplace_back(position[value.node.index], user);
  };
  while (!work.empty()) {
    const ComputationId body = work.back();
    work.pop_back();
    if (std::find(seen.begin(), seen.end(), body) != seen.end()) continue;
    seen.push_back(body);
    for (const NodeId id : graph[body].nodes) {
      for (const Value& operand : graph[id].operands) use(operand);
      work.insert(work.end(), graph[id].computations.begin(), graph[id].computations.end());
    }
    for (const Value& result : graph[body].results) use(result);
  }
}

}  // namespace

Flow flow_of(const Graph& graph, ComputationId computation) {
  Flow flow;
  flow.computation = &graph[computation.valid() ? computation : graph.entry];
  flow.position.assign(graph.nodes.size(), Flow::kNowhere);
  for (std::size_t i = 0; i < flow.size(); ++i) flow.position[flow.node(i).index] = i;
  std::vector<Edge> edges;
  for (std::size_t i = 0; i < flow.size(); ++i) {
    for (const Value& operand : graph[flow.node(i)].operands)
      if (operand.valid() && flow.position[operand.node.index] != Flow::kNowhere)
        edges.emplace_back(flow.position[operand.node.index], i);
    add_captures(graph, flow.node(i), i, flow.position, edges);
  }
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  flow.graph = Flow::BoostGraph(boost::edges_are_unsorted_multi_pass, edges.begin(), edges.end(), flow.size());
  return flow;
}

}  // namespace fusewright::graph
