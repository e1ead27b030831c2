#pragma once

#include "fusewright/match/program.hpp"
#include "fusewright/support/ids.hpp"

namespace fusewright::egraph {

/// An e-node, and at the same time the term it was made as: node `n` founds class `n`, and both numbers stay valid for
/// good.
using ENodeId = Id<struct ENodeTag>;
/// A class of equal e-nodes. Any member's number names it; EGraph::find gives the canonical one.
using EClassId = Id<struct EClassTag>;
/// An interned set of attributes (and, for nodes that must never merge, their identity).
using AttrsId = Id<struct AttrsTag>;
/// An interned ops::Type.
using TypeId = Id<struct TypeTag>;
/// One entry of the log of rule applications.
using ApplicationId = Id<struct ApplicationTag>;
using match::PatternId;
/// A set of source nodes of the model file.
using SourceSetId = Id<struct SourceSetTag>;

/// One word of a match record: an e-node, or none; of a matched node also whether its first two operands were
/// exchanged.
struct MatchWord {
  static constexpr std::uint32_t kSwapped = 0x80000000U;
  static constexpr std::uint32_t kNone = 0xffffffffU;

  std::uint32_t word = kNone;

  constexpr MatchWord() = default;
  constexpr explicit MatchWord(ENodeId node, bool swapped = false) : word(node.index | (swapped ? kSwapped : 0)) {}
  constexpr bool none() const { return word == kNone; }
  constexpr ENodeId node() const { return ENodeId(word & ~kSwapped); }
  constexpr bool swapped() const { return (word & kSwapped) != 0; }
};

/// The term that node `n` was made as.
constexpr EClassId term(ENodeId n) { return EClassId(n.index); }
/// The node that founded the class of this number.
constexpr ENodeId founder(EClassId c) { return ENodeId(c.index); }

}  // namespace fusewright::egraph
