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
  /// Names of the model's nodes that these stand for, sorted.
  std::vector<std::string> names(const std::vector<NodeId>& nodes) const;

 private:
  bool stands_for(NodeId node, graph::SourceId source) const {
    return !constant_[node.index] || !computed_[source.index];
  }

  const graph::Graph& graph_;
  std::vector<bool> constant_;  // by node
  std::vector<bool> computed_;  // by source: some node of it is not constant
};

}  // namespace fusewright::plan
