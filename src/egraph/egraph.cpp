#include "fusewright/egraph/egraph.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "fusewright/support/check.hpp"

namespace fusewright::egraph {
namespace {

enum ReasonCode : std::uint32_t { kGivenCode = 0, kCongruenceCode = 1, kSwappedCode = 2, kFirstApplication = 3 };

std::uint32_t code_of(Reason reason) {
  switch (reason.kind) {
    case Reason::Kind::kGiven: return kGivenCode;
    case Reason::Kind::kCongruence: return kCongruenceCode;
    case Reason::Kind::kCongruenceSwapped: return kSwappedCode;
    case Reason::Kind::kApplication: return kFirstApplication + reason.application.index;
  }
  return kGivenCode;
}

}  // namespace

EGraph::EGraph(std::shared_ptr<const ops::OpTable> table, EGraphOptions options)
    : table_(std::move(table)), options_(options), facts_(*table_) {
  commutes_.resize(table_->size(), 0);
  for (std::size_t i = 0; i < table_->size(); ++i) commutes_[i] = (*table_)[OpId(i)].commutative ? 1 : 0;
  source_sets_.emplace_back();
  // Class 0 stands for operands that are left out, so that operand lists need no special case.
  create({OpId(table_->size() + 1), intern(ops::Attrs()), intern(ops::Type()), false, 0}, {}, {});
  facts_of_[0] = Facts::constant();
  live_ = 0;
  classes_alive_ = 0;
}

std::uint32_t EGraph::hash_key(OpId op, AttrsId attrs, std::span<const EClassId> operands, bool commutes) const {
  std::uint64_t h = (std::uint64_t{op.index} << 32 | attrs.index) * 0x9e3779b97f4a7c15ULL;
  std::size_t i = 0;
  if (commutes && operands.size() >= 2) {
    const auto [low, high] = std::minmax(operands[0].index, operands[1].index);
    h = (h ^ (h >> 32) ^ (std::uint64_t{high} << 32 | low)) * 0xff51afd7ed558ccdULL;
    i = 2;
  }
  for (; i < operands.size(); ++i) h = (h ^ (h >> 32) ^ operands[i].index) * 0xff51afd7ed558ccdULL;
  return static_cast<std::uint32_t>((h ^ (h >> 29)) >> 3);
}

bool EGraph::same_key(std::uint32_t node, OpId op, AttrsId attrs, std::span<const EClassId> operands,
                      TypeId type) const {
  const ENode& n = nodes_[node];
  if (n.op != op || n.attrs != attrs || n.arity != operands.size() || n.dead || n.type != type) return false;
  const EClassId* own = operands_.data() + place(n);
  if (std::equal(operands.begin(), operands.end(), own)) return true;
  return n.commutes && n.arity >= 2 && operands[0] == own[1] && operands[1] == own[0] &&
         std::equal(operands.begin() + 2, operands.end(), own + 2);
}

ENodeId EGraph::add(OpId op, AttrsId attrs, std::span<const EClassId> operands, TypeId type) {
  scratch_.resize(operands.size());
  for (std::size_t i = 0; i < operands.size(); ++i) scratch_[i] = EClassId(find_index(operands[i].index));
  const bool commutes = op.index < commutes_.size() && commutes_[op.index] != 0;
  const std::uint32_t hash = hash_key(op, attrs, scratch_, commutes);
  // A node cannot be there if a class it reads has no reader; it is worth asking of classes made just now.
  const bool unread = std::ranges::any_of(
      scratch_, [&](EClassId c) { return c.index + 4 > nodes_.size() && c != none() && uses_[c.index].count == 0; });
  const std::uint32_t found =
      unread ? NodeTable::kNone
             : hashcons_.find(hash, [&](std::uint32_t node) { return same_key(node, op, attrs, scratch_, type); });
  if (found != NodeTable::kNone) {
    if (options_.record && current_.valid()) note_difference(found, operands);
    return ENodeId(found);
  }
  return create({op, attrs, type, commutes, hash}, scratch_, operands);
}

void EGraph::note_difference(std::uint32_t node, std::span<const EClassId> operands) {
  const ENode& n = nodes_[node];
  const EClassId* own = original_operands(ENodeId(node)).data();
  const bool swapped = n.commutes && n.arity >= 2 && find_index(own[0].index) != find_index(operands[0].index);
  for (std::size_t i = 0; i < operands.size(); ++i) note(operands[i], own[swapped && i < 2 ? 1 - i : i]);
}

ENodeId EGraph::lookup(OpId op, AttrsId attrs, std::span<const EClassId> operands, TypeId type) const {
  std::vector<EClassId> canonical(operands.begin(), operands.end());
  for (EClassId& c : canonical) c = find(c);
  const bool commutes = op.index < commutes_.size() && commutes_[op.index] != 0;
  const std::uint32_t found = hashcons_.find(hash_key(op, attrs, canonical, commutes), [&](std::uint32_t node) {
    return same_key(node, op, attrs, canonical, type);
  });
  return found == NodeTable::kNone ? ENodeId() : ENodeId(found);
}

std::uint32_t EGraph::prefetch_slot(OpId op, AttrsId attrs, std::span<const EClassId> operands) const {
  std::array<EClassId, 4> canonical;
  if (operands.size() > canonical.size()) return 0;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    canonical[i] = find(operands[i]);
    __builtin_prefetch(&uses_[canonical[i].index]);
  }
  const bool commutes = op.index < commutes_.size() && commutes_[op.index] != 0;
  const std::uint32_t hash = hash_key(op, attrs, std::span(canonical.data(), operands.size()), commutes);
  hashcons_.prefetch(hash);
  return hash;
}

ENodeId EGraph::add_result(EClassId pack, std::uint32_t k, TypeId type) {
  return add(result_op(), AttrsId(k), std::span(&pack, 1), type);
}

ENodeId EGraph::create(const NewNode& made, std::span<const EClassId> operands, std::span<const EClassId> original) {
  const auto& [op, attrs, type, commutes, hash] = made;
  const bool knows = facts_.may_know(op) || op == result_op();
  const Fact fact = knows ? fact_of(op, attrs, operands) : Fact();
  make_room(operands.size());
  const auto id = static_cast<std::uint32_t>(nodes_.size());
  const auto first = static_cast<std::uint32_t>(slots_.size());
  FW_CHECK(id < MatchWord::kSwapped && first + operands.size() < kNoSlot) << "e-graph full";
  nodes_.push_back({op, attrs, type, first, static_cast<std::uint16_t>(operands.size()), false, commutes});
  FW_CHECK(nodes_.back().arity == operands.size()) << "an operator of " << operands.size() << " operands";
  stamps_.push_back(round_);
  parents_.push_back(id);
  facts_of_.push_back(fact);
  uses_.push_back({});
  operands_.append(operands.begin(), operands.end());
  for (const EClassId c : operands) {
    Uses& uses = uses_[c.index];
    const bool asked = c != none();  // nobody ever asks who leaves an operand out
    slots_.push_back({asked ? std::exchange(uses.last, static_cast<std::uint32_t>(slots_.size())) : kNoSlot, id});
    if (asked) ++uses.count;
  }
  if (options_.record) {
    operands_.append(original.begin(), original.end());
    proof_.push_back({id, kGivenCode});
    if (makers_.empty() || makers_.back().application != current_) makers_.push_back({id, current_});
  }
  current_changed_ = true;
  ++live_;
  ++classes_alive_;
  hashcons_.insert(hash, id);
  return ENodeId(id);
}

/// All that can fail of making a node comes before anything is changed.
void EGraph::make_room(std::size_t arity) {
  if (hashcons_.full()) grow_table();
  nodes_.reserve_more(1);
  stamps_.reserve_more(1);
  parents_.reserve_more(1);
  facts_of_.reserve_more(1);
  uses_.reserve_more(1);
  slots_.reserve_more(arity);
  operands_.reserve_more(options_.record ? 2 * arity : arity);
  if (!options_.record) return;
  proof_.reserve_more(1);
  makers_.reserve_more(1);
}

void EGraph::grow_table() {
  if (2 * hashcons_.used() < 3 * live_) return hashcons_.grow();
  hashcons_.reset(live_);
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    const ENode& n = nodes_[i];
    if (n.dead) continue;
    hashcons_.insert(hash_key(n.op, n.attrs, operands(ENodeId(i)), n.commutes), i);
  }
}

Fact EGraph::fact_of(OpId op, AttrsId attrs, std::span<const EClassId> operands) {
  if (op == result_op()) return facts_of_[find_index(operands[0].index)].constant() ? Facts::constant() : Fact();
  fact_scratch_.clear();
  for (const EClassId c : operands) fact_scratch_.push_back(facts_of_[find_index(c.index)]);
  return facts_.of_node(op, attrs_[attrs], fact_scratch_);
}

EGraph::Union EGraph::unite(EClassId a, EClassId b, Reason reason) {
  std::uint32_t winner = find_index(a.index);
  std::uint32_t loser = find_index(b.index);
  if (winner == loser) return Union::kSame;
  make_room_to_unite(winner, loser);
  if (nodes_[winner].type != nodes_[loser].type) {
    conflicts_.push_back({a, b, reason, true});
    return Union::kRefused;
  }
  const auto joined = facts_.join(facts_of_[winner], facts_of_[loser]);
  const bool congruent = reason.kind == Reason::Kind::kCongruence || reason.kind == Reason::Kind::kCongruenceSwapped;
  if (!joined) {
    conflicts_.push_back({a, b, reason, false});
    if (!congruent) return Union::kRefused;  // congruent nodes are equal whatever was claimed of them
  }
  if (options_.record) link_proof(a.index, b.index, code_of(reason));
  // The heavier class stays, so that each node's path and each use is touched a logarithmic number of times.
  const auto weight = [&](std::uint32_t c) { return std::pair(uses_[c].count + uses_[c].terms, ~c); };
  if (weight(winner) < weight(loser)) std::swap(winner, loser);

  parents_[loser] = winner;
  --classes_alive_;
  current_changed_ = true;
  Uses& kept = uses_[winner];
  const Uses lost = uses_[loser];
  kept.terms += lost.terms;
  for (std::uint32_t slot = lost.last; slot != kNoSlot;) {
    if (!nodes_[slots_[slot].node].dead) stale_.push_back(slots_[slot].node);
    std::uint32_t& next = slots_[slot].next;
    slot = next;
    if (slot == kNoSlot) next = std::exchange(kept.last, lost.last);
  }
  kept.count += lost.count;
  const Fact fact = joined.value_or(facts_of_[winner]);
  if (fact != facts_of_[winner] || fact != facts_of_[loser]) {
    const std::uint32_t knowing = fact == facts_of_[winner] ? winner : loser;
    set_fact(winner, fact, knowing < witnesses_.size() ? witnesses_[knowing].index : knowing);
  }
  return Union::kMerged;
}

/// All that can fail of a union comes before anything is changed.
void EGraph::make_room_to_unite(std::uint32_t a, std::uint32_t b) {
  stale_.reserve_more(std::max(uses_[a].count, uses_[b].count));
  conflicts_.reserve_more(1);
  changed_facts_.reserve_more(1);
  if (options_.record) witnesses_.reserve(std::max(a, b) + std::size_t{1});
}

void EGraph::set_fact(std::uint32_t root, Fact fact, std::uint32_t witness) {
  changed_facts_.push_back(root);
  if (options_.record) {
    for (auto c = static_cast<std::uint32_t>(witnesses_.size()); c <= root; ++c) witnesses_.push_back(ENodeId(c));
    witnesses_[root] = ENodeId(witness);
  }
  facts_of_[root] = fact;
}

void EGraph::rebuild() {
  // Both lists grow while they are worked off; in order of entry, so that the outcome is fixed.
  std::size_t next_stale = 0, next_fact = 0;
  while (next_stale < stale_.size() || next_fact < changed_facts_.size()) {
    for (; next_stale < stale_.size(); ++next_stale) {
      // What comes soon is fetched step by step: nodes, operands, places in the table.
      const std::size_t coming = stale_.size() - next_stale - 1;
      if (coming >= 24) prefetch(ENodeId(stale_[next_stale + 24]));
      if (coming >= 16) prefetch_operands(ENodeId(stale_[next_stale + 16]));
      if (coming >= 8) {
        const ENodeId soon(stale_[next_stale + 8]);
        if (const ENode& node = nodes_[soon.index]; !node.dead) prefetch_slot(node.op, node.attrs, operands(soon));
      }
      refresh_node(stale_[next_stale]);
    }
    if (next_fact < changed_facts_.size()) refresh_facts(changed_facts_[next_fact++]);
  }
  stale_.clear();
  changed_facts_.clear();
}

void EGraph::refresh_node(std::uint32_t id) {
  ENode& n = nodes_[id];
  if (n.dead) return;
  const std::span<EClassId> own(operands_.data() + place(n), n.arity);
  scratch_.resize(own.size());
  bool moved = false;
  for (std::size_t i = 0; i < own.size(); ++i) {
    scratch_[i] = EClassId(find_index(own[i].index));
    moved |= scratch_[i] != own[i];
  }
  if (!moved) return;
  if (hashcons_.full()) grow_table();
  const std::uint32_t hash = hash_key(n.op, n.attrs, scratch_, n.commutes);
  const TypeId type = n.type;
  const std::uint32_t twin =
      hashcons_.find(hash, [&](std::uint32_t node) { return same_key(node, n.op, n.attrs, scratch_, type); });
  if (twin != NodeTable::kNone) make_room_to_unite(find_index(id), find_index(twin));
  // From here on nothing fails.
  std::ranges::copy(scratch_, own.begin());
  stamps_[id] = round_;
  // Of two congruent nodes the older stays: it may be the model's own.
  if (twin == NodeTable::kNone || id < twin) {
    if (twin != NodeTable::kNone) nodes_[twin].dead = true;
    hashcons_.insert(hash, id);
  }
  if (twin == NodeTable::kNone) return;
  const bool swapped = n.commutes && own[0] != operands_[place(nodes_[twin])];
  if (id > twin) n.dead = true;
  --live_;
  unite(EClassId(id), EClassId(twin), {swapped ? Reason::Kind::kCongruenceSwapped : Reason::Kind::kCongruence, {}});
}

void EGraph::refresh_facts(std::uint32_t c) {
  const std::uint32_t root = find_index(c);
  for (std::uint32_t slot = uses_[root].last; slot != kNoSlot; slot = slots_[slot].next) {
    const std::uint32_t user = slots_[slot].node;
    if (nodes_[user].dead) continue;
    stamps_[user] = round_;
    if (!facts_.may_know(nodes_[user].op) && nodes_[user].op != result_op()) continue;
    const std::uint32_t user_class = find_index(user);
    const auto joined =
        facts_.join(facts_of_[user_class], fact_of(nodes_[user].op, nodes_[user].attrs, operands(ENodeId(user))));
    if (!joined) {
      conflicts_.push_back({EClassId(user), EClassId(user_class), {Reason::Kind::kCongruence, {}}, false});
    } else if (*joined != facts_of_[user_class]) {
      set_fact(user_class, *joined, user);
    }
  }
}

void EGraph::link_proof(std::uint32_t a, std::uint32_t b, std::uint32_t reason) {
  // The smaller tree is hung below the other: its links from `a` up to its root are turned round.
  if (uses_[find_index(a)].terms > uses_[find_index(b)].terms) std::swap(a, b);
  std::uint32_t below = b;
  while (true) {
    const ProofLink link = proof_[a];
    proof_[a] = {below, reason};
    if (link.parent == a) return;
    below = a;
    a = link.parent;
    reason = link.reason;
  }
}

Reason EGraph::proof_reason(EClassId term) const {
  const std::uint32_t code = proof_[term.index].reason;
  switch (code) {
    case kGivenCode: return {Reason::Kind::kGiven, {}};
    case kCongruenceCode: return {Reason::Kind::kCongruence, {}};
    case kSwappedCode: return {Reason::Kind::kCongruenceSwapped, {}};
    default: return {Reason::Kind::kApplication, ApplicationId(code - kFirstApplication)};
  }
}

ApplicationId EGraph::begin_application(PatternId pattern, std::span<const MatchWord> matched) {
  current_changed_ = false;
  if (!options_.record) return {};
  applications_.reserve_more(1);
  matched_.reserve_more(matched.size());
  current_ = ApplicationId(applications_.size());
  applications_.push_back(
      {pattern, static_cast<std::uint32_t>(matched_.size()), static_cast<std::uint32_t>(notes_.size())});
  matched_.append(matched.begin(), matched.end());
  return current_;
}

bool EGraph::end_application() {
  if (current_.valid() && !current_changed_) {
    matched_.resize(applications_.back().first);
    notes_.resize(applications_.back().first_note);
    applications_.pop_back();
  }
  current_ = {};
  return current_changed_;
}

void EGraph::add_sources(ENodeId n, const SourceSet& sources) {
  if (!options_.record || sources.empty()) return;
  if (n.index >= source_of_.size()) source_of_.resize(n.index + 1, SourceSetId(0));
  SourceSetId& own = source_of_[n.index];
  if (own.index == 0) {
    own = SourceSetId(source_sets_.size());
    source_sets_.push_back(sources);
  } else {
    source_sets_[own.index] = graph::merge(source_sets_[own.index], sources);
  }
}

ApplicationId EGraph::made_by(ENodeId n) const {
  const auto next = std::ranges::upper_bound(makers_, n.index, {}, &Maker::first);
  return next == makers_.begin() ? ApplicationId() : (next - 1)->application;
}

std::size_t EGraph::bytes() const {
  return nodes_.bytes() + stamps_.bytes() + parents_.bytes() + facts_of_.bytes() + uses_.bytes() + operands_.bytes() +
         slots_.bytes() + hashcons_.bytes() + stale_.bytes() + proof_.bytes() + makers_.bytes() + source_of_.bytes() +
         applications_.bytes() + matched_.bytes() + notes_.bytes() + witnesses_.bytes();
}

}  // namespace fusewright::egraph
