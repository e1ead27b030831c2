#pragma once

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include <catch2/catch.hpp>

#include "fusewright/egraph/egraph.hpp"

namespace fusewright::egraph {

/// What holds of every rebuilt e-graph, looked at from scratch: find is idempotent, equal keys are one live node, dead
/// nodes have a live twin in their class, uses and counts are complete, and what is known of classes is the least that
/// follows from their nodes.
class Invariants {
 public:
  explicit Invariants(EGraph& egraph) : egraph_(egraph) {}

  void check() {
    REQUIRE_FALSE(egraph_.needs_rebuild());
    classes_and_keys();
    uses();
    if (egraph_.conflicts().empty()) facts();
  }

 private:
  using Key = std::tuple<std::uint32_t, std::uint32_t, std::vector<EClassId>, std::uint32_t>;

  Key key(ENodeId n) const {
    const ENode& node = egraph_[n];
    std::vector<EClassId> operands;
    for (const EClassId c : egraph_.original_operands(n)) operands.push_back(egraph_.find(c));
    if (node.commutes && operands.size() >= 2 && operands[1] < operands[0]) std::swap(operands[0], operands[1]);
    return {node.op.index, node.attrs.index, std::move(operands), node.type.index};
  }

  void classes_and_keys() {
    std::map<Key, ENodeId> live;
    std::size_t roots = 0;
    for (std::uint32_t i = 1; i < egraph_.node_count(); ++i) {
      const ENodeId n(i);
      const EClassId c = egraph_.find(term(n));
      REQUIRE(egraph_.find(c) == c);
      REQUIRE(egraph_.type_id(c) == egraph_.type_id(term(n)));
      if (c == term(n)) ++roots;
      if (egraph_[n].dead) continue;
      REQUIRE(live.emplace(key(n), n).second);
      std::vector<EClassId> now(egraph_.operands(n).begin(), egraph_.operands(n).end());
      for (const EClassId operand : now) REQUIRE(egraph_.find(operand) == operand);
      REQUIRE(egraph_.lookup(egraph_[n].op, egraph_[n].attrs, now, egraph_[n].type) == n);
    }
    for (std::uint32_t i = 1; i < egraph_.node_count(); ++i) {
      const auto twin = live.find(key(ENodeId(i)));
      REQUIRE(twin != live.end());
      REQUIRE(egraph_.find(term(twin->second)) == egraph_.find(term(ENodeId(i))));
    }
    REQUIRE(live.size() == egraph_.live_nodes());
    REQUIRE(roots == egraph_.class_count());
  }

  void uses() {
    std::vector<std::pair<ENodeId, std::uint32_t>> wanted, found;
    for (std::uint32_t i = 1; i < egraph_.node_count(); ++i) {
      const ENodeId n(i);
      const auto operands = egraph_.operands(n);
      for (std::uint32_t k = 0; k < operands.size() && !egraph_[n].dead; ++k)
        if (operands[k] != egraph_.none()) wanted.emplace_back(n, k);
      if (egraph_.find(term(n)) != term(n)) continue;
      egraph_.for_each_use(term(n), [&](ENodeId user, std::uint32_t position) {
        REQUIRE(egraph_.operands(user)[position] == term(n));
        found.emplace_back(user, position);
      });
    }
    std::ranges::sort(found);
    REQUIRE(found == wanted);
  }

  void facts() {
    std::vector<Fact> known(egraph_.node_count());
    for (bool changed = true; changed;) {
      changed = false;
      for (std::uint32_t i = 1; i < egraph_.node_count(); ++i) {
        const ENodeId n(i);
        if (egraph_[n].dead) continue;
        std::vector<Fact> operands;
        for (const EClassId c : egraph_.operands(n))
          operands.push_back(c == egraph_.none() ? Facts::constant() : known[c.index]);
        const bool result = egraph_[n].op == egraph_.result_op();
        const Fact own = !result                  ? egraph_.facts().of_node(egraph_[n].op, egraph_.attrs(n), operands)
                         : operands[0].constant() ? Facts::constant()
                                                  : Fact();
        Fact& fact = known[egraph_.find(term(n)).index];
        const auto joined = egraph_.facts().join(fact, own);
        REQUIRE(joined.has_value());
        changed |= *joined != fact;
        fact = *joined;
      }
    }
    for (std::uint32_t i = 1; i < egraph_.node_count(); ++i) {
      const EClassId c = egraph_.find(EClassId(i));
      REQUIRE(egraph_.fact(EClassId(i)) == known[c.index]);
    }
  }

  EGraph& egraph_;
};

}  // namespace fusewright::egraph
