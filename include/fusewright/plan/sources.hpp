#pragma once

#include <string>
#include <vector>

#include "fusewright/graph/graph.hpp"
#include "fusewright/plan/plan.hpp"

namespace fusewright::plan {

/// Which nodes of a graph stand for which nodes of the model. A constant, or what is made of constants alone, comes
/// from every node that happens to use it: it stands for one only where nothing else does.
class Sources {
 public:
  explicit Sources(const graph::Graph& graph);

  /// Topological.
  std::vector<NodeId> nodes(graph::SourceId source) const;
  bool is_constant(NodeId node) const { return constant_[node.index]; }
  bool stands_for(NodeId node, graph::SourceId source) const {
    return !constant_[node.index] || !computed_[source.index];
  }

 private:
  const graph::Graph& graph_;
  std::vector<bool> constant_;  // by node
  std::vector<bool> computed_;  // by source: some node of it is not constant
};

/// Which nodes of the model kernels stand for. Equal constants of the model are one in the plan, wherever they are
/// read: a kernel stands for those that what it computes reads in the model, not for those of all other kernels.
class KernelSources {
 public:
  /// @param graph  of the plan
  /// @param model  it was made from; sources of both have the same numbers
  KernelSources(const graph::Graph& graph, const graph::Graph& model);

  const Sources& sources() const { return sources_; }
  graph::SourceSet of(const std::vector<NodeId>& nodes) const;
  /// Sorted.
  std::vector<std::string> names(const graph::SourceSet& sources) const;

 private:
  graph::SourceSet constants_read(const std::vector<NodeId>& nodes, const graph::SourceSet& computed) const;

  const graph::Graph& graph_;
  const graph::Graph& model_;
  Sources sources_;
  std::vector<bool> constant_node_;              // by node of the model
  std::vector<bool> constant_;                   // by source: nodes of the model, and all are constant
  std::vector<std::vector<NodeId>> model_node_;  // by source: those that are not constant
};

}  // namespace fusewright::plan
