#include "fusewright/plan/sources.hpp"

#include <algorithm>
#include <iterator>
#include <set>

#include "fusewright/support/distinct.hpp"

namespace fusewright::plan {

using graph::Graph;
using graph::SourceId;
using graph::SourceSet;

namespace {

/// By node of the entry: whether it depends on constants alone.
std::vector<bool> constant_nodes(const Graph& graph) {
  std::vector<bool> constant(graph.nodes.size(), false);
  for (const NodeId id : graph.entry_computation().nodes) {
    const graph::Node& node = graph[id];
    constant[id.index] =
        graph.info(id).name != "parameter" && node.computations.empty() &&
        std::ranges::all_of(node.operands, [&](Value v) { return !v.valid() || constant[v.node.index]; });
  }
  return constant;
}

}  // namespace

Sources::Sources(const Graph& graph)
    : graph_(graph), constant_(constant_nodes(graph)), computed_(graph.sources.size(), false) {
  for (const NodeId id : graph.entry_computation().nodes)
    if (!constant_[id.index])
      for (const SourceId s : graph[id].sources) computed_[s.index] = true;
}

std::vector<NodeId> Sources::nodes(SourceId source) const {
  std::vector<NodeId> nodes;
  for (const NodeId id : graph_.entry_computation().nodes) {
    const SourceSet& sources = graph_[id].sources;
    if (std::binary_search(sources.begin(), sources.end(), source) && stands_for(id, source)) nodes.push_back(id);
  }
  return nodes;
}

KernelSources::KernelSources(const Graph& graph, const Graph& model)
    : graph_(graph),
      model_(model),
      sources_(graph),
      constant_node_(constant_nodes(model)),
      constant_(model.sources.size(), false),
      model_node_(model.sources.size()) {
  for (const NodeId id : model.entry_computation().nodes)
    for (const SourceId s : model[id].sources) {
      if (constant_node_[id.index])
        constant_[s.index] = true;
      else
        model_node_[s.index].push_back(id);
    }
  for (std::size_t s = 0; s < constant_.size(); ++s) constant_[s] = constant_[s] && model_node_[s].empty();
}

SourceSet KernelSources::of(const std::vector<NodeId>& nodes) const {
  SourceSet all;
  const auto collect = [&](bool constants) {
    for (const NodeId id : nodes)
      for (const SourceId s : graph_[id].sources)
        if (constant_[s.index] == constants && sources_.stands_for(id, s)) all.push_back(s);
    sort_distinct(all);
  };
  collect(false);
  if (all.empty())
    collect(true);
  else
    all = graph::merge(all, constants_read(nodes, all));
  return all;
}

// Those that the kernel's nodes come from, found from their readers: there may be very many others of the same value.
SourceSet KernelSources::constants_read(const std::vector<NodeId>& nodes, const SourceSet& computed) const {
  std::vector<NodeId> holders;
  std::ranges::copy_if(nodes, std::back_inserter(holders), [&](NodeId id) {
    return std::ranges::any_of(graph_[id].sources, [&](SourceId s) { return constant_[s.index]; });
  });
  if (holders.empty()) return {};
  const auto comes_from = [&](SourceId s) {
    return std::ranges::any_of(holders, [&](NodeId id) {
      const SourceSet& sources = graph_[id].sources;
      return std::binary_search(sources.begin(), sources.end(), s) && sources_.stands_for(id, s);
    });
  };
  std::set<NodeId> seen;
  std::vector<NodeId> stack;
  for (const SourceId s : computed) stack.insert(stack.end(), model_node_[s.index].begin(), model_node_[s.index].end());
  SourceSet found;
  while (!stack.empty()) {
    const NodeId at = stack.back();
    stack.pop_back();
    for (const Value v : model_[at].operands) {
      if (!v.valid() || !constant_node_[v.node.index] || !seen.insert(v.node).second) continue;
      for (const SourceId s : model_[v.node].sources)
        if (constant_[s.index] && comes_from(s)) found.push_back(s);
      stack.push_back(v.node);
    }
  }
  sort_distinct(found);
  return found;
}

std::vector<std::string> KernelSources::names(const SourceSet& sources) const {
  std::vector<std::string> names;
  for (const SourceId s : sources) names.push_back(model_.sources[s.index].name);
  sort_distinct(names);
  return names;
}

}  // namespace fusewright::plan
