#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fusewright/egraph/egraph.hpp"
#include "fusewright/support/large_vector.hpp"

namespace fusewright::egraph {

/// The live nodes of a rebuilt e-graph by class and by operator: a picture that stays while the e-graph grows.
class Index {
 public:
  struct Entry {
    OpId op;
    ENodeId node;
  };

  /// Takes a new picture. Nodes whose class or its fact is not as in the last picture count as changed in this round,
  /// as do those that the e-graph stamped. Precondition: !egraph.needs_rebuild().
  void refresh(const EGraph& egraph);

  /// Canonical class at the time of the picture.
  EClassId class_of(ENodeId n) const { return class_of_[n.index]; }
  EClassId class_of(EClassId c) const { return class_of_[c.index]; }
  /// Nodes of a class, by operator and then by number.
  std::span<const Entry> nodes(EClassId c) const {
    return {entries_.data() + class_begin_[c.index], entries_.data() + class_begin_[c.index + 1]};
  }
  std::span<const Entry> nodes(EClassId c, OpId op) const;
  std::span<const ENodeId> nodes_of_op(OpId op) const;
  /// Canonical classes in order of number; the class of operands left out is not among them.
  const std::vector<EClassId>& classes() const { return classes_; }
  std::size_t node_count() const { return class_of_.size(); }
  /// The round in which the node was last seen to change.
  std::uint32_t changed_in(ENodeId n) const { return changed_[n.index]; }

 private:
  LargeVector<EClassId> class_of_;
  LargeVector<Fact> facts_;
  LargeVector<std::uint32_t> changed_;
  LargeVector<std::uint32_t> class_begin_;
  LargeVector<Entry> entries_;
  std::vector<std::uint32_t> op_begin_;
  LargeVector<ENodeId> by_op_;
  std::vector<EClassId> classes_;
};

}  // namespace fusewright::egraph
