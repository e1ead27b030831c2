#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "fusewright/egraph/facts.hpp"
#include "fusewright/egraph/ids.hpp"
#include "fusewright/egraph/interner.hpp"
#include "fusewright/egraph/node_table.hpp"
#include "fusewright/graph/graph.hpp"
#include "fusewright/support/large_vector.hpp"

namespace fusewright::egraph {

using graph::SourceSet;
using ops::OpId;

/// One operator applied to classes. A node of an operator with several results is a *pack*: its class has a tuple type,
/// and each result is a node of the internal operator `result_op()` over that class, with the number of the result as
/// its attributes.
struct ENode {
  OpId op;
  AttrsId attrs;
  TypeId type;              ///< of its class
  std::uint32_t first = 0;  ///< of its operand slots
  std::uint16_t arity = 0;
  bool dead = false;      ///< congruent to another node of its class; never seen by matchers or extractors
  bool commutes = false;  ///< in the first two operands
};

/// Why two terms are equal.
struct Reason {
  enum class Kind : std::uint8_t {
    kGiven,              ///< stated from outside (a test, two equal nodes of the model)
    kCongruence,         ///< same operator, operands equal one by one
    kCongruenceSwapped,  ///< the same with the first two operands exchanged
    kApplication,
  };
  Kind kind = Kind::kGiven;
  ApplicationId application;  ///< kApplication
};

/// A rule applied once. Its match record (see ematch.hpp) and its notes end where those of the next one begin; see
/// EGraph::matched and EGraph::notes.
struct Application {
  PatternId pattern;
  std::uint32_t first = 0;
  std::uint32_t first_note = 0;
};

/// Something that an application relied on beyond its match: two terms were equal (its right-hand side met a node made
/// of other, equal terms), or, without `b`, what was known of `a` let a guard hold.
struct Note {
  EClassId a, b;
};

/// A union that was refused because what is known of the two classes differs.
struct Conflict {
  EClassId a, b;
  Reason reason;
  bool types = false;  ///< types differ; else the values of two constants do
};

struct EGraphOptions {
  bool record =
      true;  ///< justifications (proof forest, applications, provenance); without them nothing can be explained
};

/// E-graph over the operators of a table: flat arrays, hash-consing, deferred rebuilding, no recursion.
///
/// Nodes are numbered in order of creation; node n founds class n. Between `unite` and `rebuild` find() is exact,
/// congruence and hash-consing are not. Same calls, same numbers, on every machine.
///
/// A call that finds no memory throws std::bad_alloc and has done nothing; rebuild() goes on when it is called again.
class EGraph {
 public:
  explicit EGraph(std::shared_ptr<const ops::OpTable> table, EGraphOptions options = {});

  // Adding and joining ------------------------------------------------------------------------------
  AttrsId intern(const ops::Attrs& attrs) { return attrs_.intern(attrs); }
  AttrsId intern_distinct(const ops::Attrs& attrs) { return attrs_.distinct(attrs); }  ///< for nodes with an identity
  bool is_distinct(AttrsId id) const { return attrs_.is_distinct(id); }
  TypeId intern(const ops::Type& type) { return types_.intern(type); }
  /// The node of this operator on these operands: the one that is there, or a new one. `none()` stands for an operand
  /// left out.
  /// @param type  of the result; a tuple of the results for a pack.
  ENodeId add(OpId op, AttrsId attrs, std::span<const EClassId> operands, TypeId type);
  /// The same without adding: invalid when it is not there (exact only after rebuild).
  ENodeId lookup(OpId op, AttrsId attrs, std::span<const EClassId> operands, TypeId type) const;
  /// Result `k` of a pack.
  ENodeId add_result(EClassId pack, std::uint32_t k, TypeId type);

  /// Hints to the processor that add() will be called with this: first the place in the table, then the node that
  /// seems to be there, if any.
  std::uint32_t prefetch_slot(OpId op, AttrsId attrs, std::span<const EClassId> operands) const;
  ENodeId prefetch_node(std::uint32_t hash) const {
    const std::uint32_t n = hashcons_.peek(hash);
    if (n == NodeTable::kNone) return {};
    __builtin_prefetch(&nodes_[n]);
    return ENodeId(n);
  }
  /// The same for unite().
  void prefetch_class(EClassId c) const {
    const std::uint32_t root = find(c).index;
    __builtin_prefetch(&uses_[root]);
    __builtin_prefetch(&facts_of_[root]);
    if (options_.record) __builtin_prefetch(&proof_[c.index]);
  }
  void prefetch(ENodeId n) const { __builtin_prefetch(&nodes_[n.index]); }
  void prefetch_operands(ENodeId n) const { __builtin_prefetch(operands_.data() + place(nodes_[n.index])); }

  enum class Union : std::uint8_t { kMerged, kSame, kRefused };
  /// States that two terms are equal. Refused, with an entry in conflicts(), when their types or constant values
  /// differ.
  Union unite(EClassId a, EClassId b, Reason reason = {});
  /// Restores congruence, hash-consing and facts.
  void rebuild();
  bool needs_rebuild() const { return !stale_.empty() || !changed_facts_.empty(); }

  // Reading -----------------------------------------------------------------------------------------
  EClassId find(EClassId c) const {
    std::uint32_t i = c.index;
    while (parents_[i] != i) i = parents_[i];
    return EClassId(i);
  }
  EClassId none() const { return EClassId(0); }
  OpId result_op() const { return OpId(table_->size()); }
  std::size_t node_count() const { return nodes_.size(); }  ///< dead ones included
  std::size_t live_nodes() const { return live_; }
  std::size_t class_count() const { return classes_alive_; }
  const ENode& operator[](ENodeId n) const { return nodes_[n.index]; }
  std::span<const EClassId> operands(ENodeId n) const {
    return {operands_.data() + place(nodes_[n.index]), nodes_[n.index].arity};
  }
  /// As the node was made: terms, whose classes are its operands.
  std::span<const EClassId> original_operands(ENodeId n) const {
    const ENode& node = nodes_[n.index];
    return {operands_.data() + place(node) + (options_.record ? node.arity : 0), node.arity};
  }
  const ops::Type& type(EClassId c) const { return types_[nodes_[c.index].type]; }
  TypeId type_id(EClassId c) const { return nodes_[c.index].type; }
  const ops::Type& type(TypeId t) const { return types_[t]; }
  /// Attributes; of a node of result_op() use result_number.
  const ops::Attrs& attrs(ENodeId n) const { return attrs_[nodes_[n.index].attrs]; }
  const ops::Attrs& attrs(AttrsId id) const { return attrs_[id]; }
  std::uint32_t result_number(ENodeId n) const { return nodes_[n.index].attrs.index; }
  Fact fact(EClassId c) const { return facts_of_[find(c).index]; }
  const Facts& facts() const { return facts_; }
  Facts& facts() { return facts_; }
  const ops::OpTable& table() const { return *table_; }
  std::shared_ptr<const ops::OpTable> table_pointer() const { return table_; }
  /// Calls `f(ENodeId, operand position)` for each live node that reads the class, in no stated but a fixed order.
  template <class F>
  void for_each_use(EClassId c, F&& f) const;
  std::span<const Conflict> conflicts() const { return conflicts_; }
  std::size_t bytes() const;  ///< memory held by the arrays

  /// Rounds: nodes remember the last round in which they, or the class of an operand, changed.
  std::uint32_t round() const { return round_; }
  void next_round() { ++round_; }
  std::uint32_t changed_in(ENodeId n) const { return stamps_[n.index]; }

  // Justifications ----------------------------------------------------------------------------------
  bool records() const { return options_.record; }
  /// Nodes made and classes joined until end_application() are this application's doing.
  ApplicationId begin_application(PatternId pattern, std::span<const MatchWord> matched);
  /// Forgets the application if it changed nothing. @returns whether it did. Without an application, nothing happens.
  bool end_application();
  std::size_t application_count() const { return applications_.size(); }
  const Application& operator[](ApplicationId id) const { return applications_[id.index]; }
  std::span<const MatchWord> matched(ApplicationId id) const {
    const std::size_t end = id.index + 1 < applications_.size() ? applications_[id.index + 1].first : matched_.size();
    return std::span(matched_.begin(), end).subspan(applications_[id.index].first);
  }
  std::span<const Note> notes(ApplicationId id) const {
    const std::size_t end =
        id.index + 1 < applications_.size() ? applications_[id.index + 1].first_note : notes_.size();
    return std::span(notes_.begin(), end).subspan(applications_[id.index].first_note);
  }
  void note(EClassId a, EClassId b = {}) {
    if (options_.record && current_.valid() && a != b) notes_.push_back({a, b});
  }
  /// The node that what is known of a class was first known of.
  ENodeId witness(EClassId c) const {
    const std::uint32_t root = find(c).index;
    return root < witnesses_.size() ? witnesses_[root] : ENodeId(root);
  }
  /// The application that made the node; invalid for nodes of the model.
  ApplicationId made_by(ENodeId n) const;
  /// Neighbour of a term in the proof forest and why they are equal; the term itself at a root.
  EClassId proof_parent(EClassId term) const { return EClassId(proof_[term.index].parent); }
  Reason proof_reason(EClassId term) const;

  /// Source nodes of a node that came from the model. Adding the same node again joins the sets.
  void add_sources(ENodeId n, const SourceSet& sources);
  const SourceSet& own_sources(ENodeId n) const {
    return source_sets_[n.index < source_of_.size() ? source_of_[n.index].index : 0];
  }

 private:
  struct ProofLink {
    std::uint32_t parent;
    std::uint32_t reason;  // 0 given, 1 and 2 congruence, 3 + application
  };

  std::uint32_t find_index(std::uint32_t i) {  // path halving: shortens what later finds walk
    while (parents_[i] != i) {
      parents_[i] = parents_[parents_[i]];
      i = parents_[i];
    }
    return i;
  }
  /// Of a node's operands in the pool. Where justifications are recorded, they stand twice in a row: as they are by
  /// now, then as the node was made.
  std::size_t place(const ENode& n) const { return options_.record ? 2 * std::size_t{n.first} : n.first; }
  bool same_key(std::uint32_t node, OpId op, AttrsId attrs, std::span<const EClassId> operands, TypeId type) const;
  std::uint32_t hash_key(OpId op, AttrsId attrs, std::span<const EClassId> operands, bool commutes) const;
  struct NewNode {
    OpId op;
    AttrsId attrs;
    TypeId type;
    bool commutes;
    std::uint32_t hash;
  };
  ENodeId create(const NewNode& made, std::span<const EClassId> operands, std::span<const EClassId> original);
  void make_room(std::size_t arity);
  void make_room_to_unite(std::uint32_t a, std::uint32_t b);
  void note_difference(std::uint32_t node, std::span<const EClassId> operands);
  Fact fact_of(OpId op, AttrsId attrs, std::span<const EClassId> operands);
  void set_fact(std::uint32_t root, Fact fact, std::uint32_t witness);
  void refresh_node(std::uint32_t node);
  void refresh_facts(std::uint32_t root);
  void link_proof(std::uint32_t a, std::uint32_t b, std::uint32_t reason);
  void grow_table();

  std::shared_ptr<const ops::OpTable> table_;
  EGraphOptions options_;
  AttrsInterner attrs_;
  TypeInterner types_;
  Facts facts_;

  // By node.
  LargeVector<ENode> nodes_;
  LargeVector<std::uint32_t> stamps_;
  LargeVector<std::uint32_t> parents_;  // union-find
  LargeVector<Fact> facts_of_;          // by canonical class
  static constexpr std::uint32_t kNoSlot = 0xffffffffU;
  struct Uses {
    std::uint32_t last = kNoSlot;  // operand slot; those of a class form a list, the newest first
    std::uint32_t count = 0;
    std::uint32_t terms = 1;  // size of the proof tree
  };
  LargeVector<Uses> uses_;          // by canonical class
  LargeVector<EClassId> operands_;  // the pool, see place()
  struct Slot {
    std::uint32_t next;
    std::uint32_t node;
  };
  LargeVector<Slot> slots_;  // by operand slot

  NodeTable hashcons_;
  LargeVector<std::uint32_t> stale_;          // nodes with an operand class that was joined to another
  LargeVector<std::uint32_t> changed_facts_;  // classes that became known
  std::vector<std::uint8_t> commutes_;        // by operator
  std::vector<EClassId> scratch_;
  std::vector<Fact> fact_scratch_;
  std::size_t live_ = 0, classes_alive_ = 0;
  std::uint32_t round_ = 1;

  LargeVector<ProofLink> proof_;
  struct Maker {
    std::uint32_t first;  // node; up to that of the next
    ApplicationId application;
  };
  LargeVector<Maker> makers_;
  LargeVector<SourceSetId> source_of_;  // by node, up to the last one that has any
  std::vector<SourceSet> source_sets_;
  LargeVector<Application> applications_;
  LargeVector<MatchWord> matched_;
  LargeVector<Note> notes_;
  LargeVector<ENodeId> witnesses_;  // by canonical class, up to the last one that is not its own
  LargeVector<Conflict> conflicts_;
  ApplicationId current_;
  bool current_changed_ = false;
};

template <class F>
void EGraph::for_each_use(EClassId c, F&& f) const {
  for (std::uint32_t slot = uses_[find(c).index].last; slot != kNoSlot; slot = slots_[slot].next) {
    const std::uint32_t node = slots_[slot].node;
    if (!nodes_[node].dead) f(ENodeId(node), slot - nodes_[node].first);
  }
}

}  // namespace fusewright::egraph
