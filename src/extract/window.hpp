#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

#include "evaluate.hpp"

namespace fusewright::extract {

using NodeSet = std::uint64_t;    ///< over the window's nodes
using ChoiceSet = std::uint32_t;  ///< over the values that may be stored

/// Calls `f` with the number of each member, rising.
template <class Set, class F>
void each(Set set, F&& f) {
  for (; set != 0; set &= set - 1) f(static_cast<std::uint32_t>(std::countr_zero(set)));
}

/// A neighbourhood of a plan, by numbers: what may be stored in it, and what binds it to the rest.
struct Window {
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  std::vector<NodeId> nodes;               ///< topological
  std::vector<NodeSet> operands;           ///< of each node, those inside
  std::vector<ChoiceSet> after;            ///< of each node: what must be stored before what it reads outside is there
  std::vector<double> arithmetic;          ///< of each node, seconds that no kernel goes below
  std::vector<std::uint32_t> choice;       ///< of each node: its number among the choices, or kNone
  std::vector<std::uint32_t> choices;      ///< numbers of nodes
  std::vector<std::vector<Value>> values;  ///< of each choice: what storing it writes
  NodeSet free = 0;                        ///< computed again for nothing
  NodeSet views = 0;                       ///< no kernels where they are alone
  ChoiceSet needed = 0;                    ///< read outside, or results of the model
  std::vector<NodeSet> kernels;            ///< as it stands
  double seconds = 0;                      ///< as it stands

  std::vector<NodeId> members(NodeSet set) const;
  NodeSet set_of(const std::vector<NodeId>& some) const;
  /// Tensors that a kernel writes which stores these, in the order of the nodes.
  std::vector<Value> outputs(ChoiceSet stored) const;
  /// What a kernel computes that stores `stored` where `there` can be read.
  NodeSet cone(ChoiceSet stored, ChoiceSet there) const;
  ChoiceSet bit(std::uint32_t node) const { return choice[node] == kNone ? 0 : ChoiceSet(1) << choice[node]; }
};

/// All that decides how a window is solved, without the names of its nodes.
Signature signature(const Window& window, Evaluator& evaluator);

/// A kernel of a solved window.
struct Piece {
  NodeSet nodes = 0;
  ChoiceSet stored = 0;
  const Priced* price = nullptr;
};

/// The cheapest way to compute a window, as kernels in any order.
/// @param worthwhile  share of what the window costs now that a change of it must save, and so must each further kernel
///                    and each operator that is computed again.
/// @returns nothing where none is better than what there is.
std::vector<Piece> solve(const Window& window, Evaluator& evaluator, const Graph& graph, const cost::Device& device,
                         double worthwhile);

}  // namespace fusewright::extract
