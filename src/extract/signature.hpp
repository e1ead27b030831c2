#pragma once

#include <cstdint>
#include <vector>

#include "fusewright/extract/admit.hpp"
#include "fusewright/graph/graph.hpp"

namespace fusewright::extract {

/// What the planner knows of each node before it starts.
struct NodeFacts {
  std::vector<bool> constant;   ///< depends on constants alone
  std::vector<bool> load_time;  ///< of those, what is computed when the model is loaded; the others are left to readers
  std::vector<bool> duplicated;  ///< computed in every kernel that reads it, never stored

  /// Made of constants alone and no result: computed wherever it is read, or at load.
  bool is_number(graph::NodeId node, const Uses& uses) const {
    return constant[node.index] && !uses.node_is_result(node);
  }
};

/// What decides which kernel a set of nodes becomes, without the nodes' names: their operators, types and edges, what
/// is stored, and all that guards may ask. Blocks that a model repeats have the same signatures, so each is priced
/// once.
using Signature = std::vector<std::uint32_t>;

struct SignatureHash {
  std::size_t operator()(const Signature& signature) const noexcept;
};

class Signatures {
 public:
  Signatures(const graph::Graph& graph, const Uses& uses, const NodeFacts& facts);

  /// @param nodes    in topological order
  /// @param inputs   what they read from outside, scalar constants apart
  /// @param outputs  what is stored
  Signature of(const std::vector<graph::NodeId>& nodes, const std::vector<graph::Value>& inputs,
               const std::vector<graph::Value>& outputs);

  /// Of the same nodes with outputs, from that without.
  static Signature with_outputs(const Signature& unstored, const std::vector<graph::NodeId>& nodes,
                                const std::vector<graph::Value>& outputs);

 private:
  std::uint32_t use(graph::Value value) const;
  std::uint32_t reference(graph::Value value) const;

  const graph::Graph& graph_;
  const Uses& uses_;
  const NodeFacts& facts_;
  std::vector<std::uint8_t> sources_;  // by node: bits of constants and parameters
  std::vector<std::uint32_t> kind_;    // by node: equal where operator, attributes and types are
  std::vector<std::uint32_t> types_;   // by node: equal where the types of its results are
  std::vector<std::uint32_t> place_;   // by node: its place in the set that was asked for last
  std::vector<std::uint64_t> asked_;   // by node: when it was last asked for
  std::uint64_t now_ = 0;
};

}  // namespace fusewright::extract
