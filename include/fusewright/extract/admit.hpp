#pragma once

#include <expected>
#include <string>
#include <vector>

#include "fusewright/graph/graph.hpp"
#include "fusewright/rule/rule.hpp"

namespace fusewright::extract {

/// Who reads each value of the entry computation. Values read by nested bodies count as read by the body's owner.
class Uses {
 public:
  explicit Uses(const graph::Graph& graph);

  const std::vector<graph::NodeId>& readers(graph::NodeId node) const {
    return readers_[node.index];
  }  ///< sorted, distinct
  bool is_result(graph::Value value) const;
  bool node_is_result(graph::NodeId node) const { return result_[node.index]; }
  std::uint32_t position(graph::NodeId node) const { return position_[node.index]; }  ///< in topological order

 private:
  std::vector<std::vector<graph::NodeId>> readers_;
  std::vector<bool> result_;
  std::vector<graph::Value> results_;  // sorted
  std::vector<std::uint32_t> position_;
};

/// Why a rule does not admit a set of nodes as one region.
struct NotAdmitted {
  bool by_guard = false;
  std::string reason;  ///< names the rule, and the segment or the guard
};

/// Whether the nodes (in topological order) can be assigned to the rule's segments, and its guards hold.
/// @returns the places of those that stand in `no_duplicate` segments: no other kernel may compute them too.
std::expected<std::vector<std::uint32_t>, NotAdmitted> admits(const rule::FuseRule& rule, const graph::Graph& graph,
                                                              const Uses& uses,
                                                              const std::vector<graph::NodeId>& nodes);
/// The same of nodes whose edges are known, to ask for several rules.
class Inside;
std::expected<std::vector<std::uint32_t>, NotAdmitted> admits(const rule::FuseRule& rule, const graph::Graph& graph,
                                                              const Uses& uses, const Inside& inside);

}  // namespace fusewright::extract
