#include "fusewright/plan/sources.hpp"

#include <algorithm>
#include <set>

namespace fusewright::plan {

Sources::Sources(const graph::Graph& graph)
    : graph_(graph), constant_(graph.nodes.size(), false), computed_(graph.sources.size(), false) {
  for (const NodeId id : graph.entry_computation().nodes) {
    const graph::Node& node = graph[id];
    constant_[id.index] = graph.info(id).name != "parameter" && node.computations.empty() &&
                          std::all_of(node.operands.begin(), node.operands.end(),
                                      [&](Value v) { return !v.valid() || constant_[v.node.index]; });
    if (constant_[id.index]) continue;
    for (const graph::SourceId s : node.sources) computed_[s.index] = true;
  }
}

std::vector<NodeId> Sources::nodes(graph::SourceId source) const {
  std::vector<NodeId> nodes;
  for (const NodeId id : graph_.entry_computation().nodes) {
    const graph::SourceSet& sources = graph_[id].sources;
    if (std::binary_search(sources.begin(), sources.end(), source) && stands_for(id, source)) nodes.push_back(id);
  }
  return nodes;
}

std::vector<std::string> Sources::names(const std::vector<NodeId>& nodes) const {
  std::set<std::string> names;
  for (const NodeId id : nodes)
    for (const graph::SourceId s : graph_[id].sources)
      if (stands_for(id, s)) names.insert(graph_.sources[s.index].name);
  return {names.begin(), names.end()};
}

}  // namespace fusewright::plan
