#include "fusewright/graph/graph.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "src/graph/renumber.hpp"

namespace fusewright::graph {

Graph make_graph(std::shared_ptr<const OpTable> table, std::string name) {
  Graph graph;
  graph.table = std::move(table);
  graph.name = std::move(name);
  graph.entry = add_computation(graph, "main");
  return graph;
}

ComputationId add_computation(Graph& graph, std::string name, ComputationId parent) {
  const ComputationId id(graph.computations.size());
  Computation computation;
  computation.name = std::move(name);
  computation.parent = parent;
  graph.computations.push_back(std::move(computation));
  return id;
}

SourceSet merge(const SourceSet& a, const SourceSet& b) {
  SourceSet out;
  out.reserve(a.size() + b.size());
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out));
  return out;
}

Graph renumber(Graph graph, const std::vector<bool>& keep_node, const std::vector<bool>& keep_computation) {
  std::vector<ComputationId> new_computation(graph.computations.size());
  std::vector<NodeId> new_node(graph.nodes.size());
  std::vector<Computation> computations;
  std::vector<Node> nodes;
  nodes.reserve(graph.nodes.size());
  for (std::size_t i = 0; i < graph.computations.size(); ++i) {
    if (!keep_computation[i]) continue;
    new_computation[i] = ComputationId(computations.size());
    Computation& from = graph.computations[i];
    std::vector<NodeId> kept;
    for (const NodeId id : from.nodes) {
      if (!keep_node[id.index]) continue;
      new_node[id.index] = NodeId(nodes.size());
      kept.push_back(new_node[id.index]);
      nodes.push_back(std::move(graph[id]));
    }
    from.nodes = std::move(kept);
    computations.push_back(std::move(from));
  }
  const auto moved = [&](Value value) {
    return value.valid() ? Value{new_node[value.node.index], value.result} : value;
  };
  for (Node& node : nodes) {
    node.parent = new_computation[node.parent.index];
    for (Value& operand : node.operands) operand = moved(operand);
    for (ComputationId& body : node.computations) body = new_computation[body.index];
  }
  for (Computation& computation : computations) {
    for (NodeId& parameter : computation.parameters) parameter = new_node[parameter.index];
    for (Value& result : computation.results) result = moved(result);
    if (computation.parent.valid()) computation.parent = new_computation[computation.parent.index];
  }
  graph.entry = new_computation[graph.entry.index];
  graph.nodes = std::move(nodes);
  graph.computations = std::move(computations);
  return graph;
}

Graph remove_dead(Graph graph) {
  std::vector<bool> node_alive(graph.nodes.size(), false);
  std::vector<bool> computation_alive(graph.computations.size(), false);
  std::vector<NodeId> work;
  const auto visit_node = [&](NodeId id) {
    if (node_alive[id.index]) return;
    node_alive[id.index] = true;
    work.push_back(id);
  };
  const auto visit_computation = [&](ComputationId id) {
    if (computation_alive[id.index]) return;
    computation_alive[id.index] = true;
    for (const NodeId parameter : graph[id].parameters) visit_node(parameter);
    for (const Value& result : graph[id].results)
      if (result.valid()) visit_node(result.node);
  };
  visit_computation(graph.entry);
  while (!work.empty()) {
    const NodeId id = work.back();
    work.pop_back();
    for (const Value& operand : graph[id].operands)
      if (operand.valid()) visit_node(operand.node);
    for (const ComputationId body : graph[id].computations) visit_computation(body);
  }
  return renumber(std::move(graph), node_alive, computation_alive);
}

}  // namespace fusewright::graph
