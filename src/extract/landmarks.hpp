#pragma once

#include <bitset>
#include <vector>

#include "fusewright/extract/admit.hpp"
#include "signature.hpp"

namespace fusewright::extract {

/// Some nodes spread over the model, and for each node which of them depend on it and on which of them it depends. A
/// dependence between nodes that are far from each other mostly leads through one of them: then it is known without a
/// search.
class Landmarks {
 public:
  static constexpr std::size_t kMost = 256;
  using Set = std::bitset<kMost>;

  Landmarks(const graph::Graph& graph, const Uses& uses, const NodeFacts& facts);

  /// Those that depend on the node, and itself where it is one. None for what depends on constants alone.
  const Set& behind(graph::NodeId node) const { return behind_[node.index]; }
  /// Those that the node depends on, and itself where it is one.
  const Set& before(graph::NodeId node) const { return before_[node.index]; }
  /// Takes the node out of the set if it is one.
  void remove(graph::NodeId node, Set& from) const {
    if (number_[node.index] != kNone) from.reset(number_[node.index]);
  }

 private:
  static constexpr std::uint32_t kNone = ~0U;

  std::vector<std::uint32_t> number_;  // by node
  std::vector<Set> behind_, before_;   // by node
};

}  // namespace fusewright::extract
