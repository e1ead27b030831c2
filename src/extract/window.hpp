#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

#include "evaluate.hpp"

namespace fusewright::extract {

using UnitSet = std::uint64_t;    ///< over the window's units
using ChoiceSet = std::uint32_t;  ///< over the values that may be stored

/// Calls `f` with the number of each member, rising.
template <class Set, class F>
void each(Set set, F&& f) {
  for (; set != 0; set &= set - 1) f(static_cast<std::uint32_t>(std::countr_zero(set)));
}

/// A neighbourhood of a plan, by numbers: what may be stored in it, and what binds it to the rest. Nodes that every
/// kernel computes together, whatever is stored, are one unit.
struct Window {
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  /// Made of constants alone, and computed in every kernel that needs it: no kernel is chosen by it.
  struct Constant {
    NodeId node;
    std::uint32_t before = 0;  ///< the node that it stands in front of
    UnitSet readers = 0;       ///< that need it, if only for other constants
  };
  struct Unit {
    NodeId last;                   ///< what the others are computed for
    UnitSet operands = 0;          ///< those inside that it reads
    ChoiceSet after = 0;           ///< what must be stored before what it reads outside is there
    double arithmetic = 0;         ///< seconds that no kernel goes below
    std::uint32_t operators = 0;   ///< those that are not computed again for nothing
    std::uint32_t choice = kNone;  ///< its number among the choices
  };

  std::vector<NodeId> nodes;               ///< topological
  std::vector<std::uint32_t> unit_of;      ///< by node
  std::vector<Constant> constants;         ///< topological
  std::vector<Unit> units;                 ///< topological
  std::vector<std::uint32_t> choices;      ///< units
  std::vector<std::vector<Value>> values;  ///< of each choice: what storing it writes
  UnitSet views = 0;                       ///< no kernels where they are alone
  ChoiceSet needed = 0;                    ///< read outside, or results of the model
  std::vector<UnitSet> kernels;            ///< as it stands
  double seconds = 0;                      ///< as it stands

  /// What a kernel of these computes: their nodes and the constants that they need, topological.
  std::vector<NodeId> members(UnitSet set) const;
  /// Units of which a kernel computes these nodes.
  UnitSet set_of(const std::vector<NodeId>& some) const;
  /// Tensors that a kernel writes which stores these, in the order of the nodes.
  std::vector<Value> outputs(ChoiceSet stored) const;
  /// What a kernel computes that stores `stored` where `there` can be read.
  UnitSet cone(ChoiceSet stored, ChoiceSet there) const;
  UnitSet all() const { return ~UnitSet(0) >> (64 - units.size()); }
  ChoiceSet bit(std::uint32_t unit) const {
    return units[unit].choice == kNone ? 0 : ChoiceSet(1) << units[unit].choice;
  }
};

/// All that decides how a window is solved, without the names of its nodes.
Signature signature(const Window& window, Evaluator& evaluator);

/// A kernel of a solved window.
struct Piece {
  UnitSet units = 0;
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
