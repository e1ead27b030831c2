#pragma once

#include <map>
#include <string>
#include <vector>

#include "fusewright/egraph/egraph.hpp"
#include "fusewright/graph/graph.hpp"

namespace fusewright::egraph {

/// The entry computation of a graph as an e-graph. Equal nodes are one node; nodes with effects, control flow or bodies
/// of their own keep their identity. A body is not looked into: the values that it takes from around it are further
/// operands of its owner.
struct Imported {
  EGraph egraph;
  std::vector<EClassId> results;  ///< terms of the entry's results, in order

  /// The term of a value of the entry computation; `none()` for a result of several that nothing reads.
  EClassId at(graph::Value value) const { return terms[first_term[value.node.index] + value.result]; }
  /// The graph node that an e-node was first made from; invalid for nodes that rules made and for results of packs.
  graph::NodeId origin(ENodeId n) const { return n.index < origins.size() ? origins[n.index] : graph::NodeId(); }

  std::vector<std::uint32_t> first_term;  ///< by graph node, into `terms`
  std::vector<EClassId> terms;
  std::vector<graph::NodeId> origins;  ///< by e-node
};
Imported from_graph(const graph::Graph& graph, EGraphOptions options = {});

/// Values outside a computation that a node's bodies use, sorted.
std::vector<graph::Value> captures(const graph::Graph& graph, graph::NodeId node);

/// One e-node for each class that is needed; by canonical class number.
struct Selection {
  std::vector<ENodeId> choice;

  ENodeId operator[](EClassId canonical) const {
    return canonical.index < choice.size() ? choice[canonical.index] : ENodeId();
  }
};
/// The selection that computes every class by the cheapest number of nodes, in which a graph node counts less than one
/// that a rule made: without rules this is the graph itself. For tests and tools; plans come from extract/.
Selection select_smallest(const Imported& imported);

/// The graph that a selection describes: same ports, same sources, nodes in topological order. Nodes of the model keep
/// their names; others are named by their operator. Node sources: its own (EGraph::own_sources or, of a rule's node,
/// those of all that the rule matched) and those of the model's nodes that it was found equal to. Errors: a class
/// without a choice, or a cycle (kCheckFailed).
/// @param chosen  where given, gets the e-node that each node of the new graph is, by name.
Result<graph::Graph> to_graph(const graph::Graph& source, const Imported& imported, const Selection& selection,
                              std::map<std::string, ENodeId>* chosen = nullptr);

/// Source nodes by e-node, through all rule applications that made it.
class Provenance {
 public:
  explicit Provenance(const EGraph& egraph) : egraph_(egraph) {}
  const SourceSet& sources(ENodeId n);

 private:
  const EGraph& egraph_;
  std::vector<SourceSet> sets_;      // by application
  std::vector<std::uint8_t> known_;  // by application
};

}  // namespace fusewright::egraph
