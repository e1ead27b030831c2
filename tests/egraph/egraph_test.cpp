#include <catch2/catch.hpp>

#include <map>
#include <random>
#include <set>

#include "fusewright/egraph/builder.hpp"
#include "fusewright/egraph/dot.hpp"
#include "fusewright/egraph/egraph.hpp"
#include "fusewright/egraph/index.hpp"

namespace fusewright::egraph {
namespace {

Result<std::vector<ops::Type>> infer_scalar(const ops::OpInfo&, std::span<const ops::Type>, const ops::Attrs&) {
  return std::vector<ops::Type>{ops::Type::tensor(ops::DType::kF32, {})};
}

/// f/1, g/2, c/2 commutative, leaf/0 with a number.
std::shared_ptr<const ops::OpTable> toy_table() {
  auto table = std::make_shared<ops::OpTable>(ops::OpTable::builtin());
  const auto add = [&](const char* name, std::size_t operands, bool commutative, ops::OpClass op_class) {
    ops::OpInfo info;
    info.name = name;
    info.op_class = op_class;
    for (std::size_t i = 0; i < operands; ++i) info.operands.push_back({"x" + std::to_string(i)});
    info.commutative = commutative;
    info.infer = infer_scalar;
    if (operands == 0) info.attrs.emplace_back().name = "value";
    REQUIRE(table->add(std::move(info)).has_value());
  };
  add("toy_leaf", 0, false, ops::OpClass::kUninterpreted);
  add("toy_known", 0, false, ops::OpClass::kSource);
  add("toy_f", 1, false, ops::OpClass::kElementwise);
  add("toy_g", 2, false, ops::OpClass::kElementwise);
  add("toy_c", 2, true, ops::OpClass::kElementwise);
  return table;
}

struct Term {
  std::string op;
  std::int64_t value = 0;
  std::vector<std::size_t> operands;
};

/// Congruence closure by trying everything until nothing changes.
class Naive {
 public:
  std::size_t add(Term term) {
    terms_.push_back(std::move(term));
    parents_.push_back(parents_.size());
    return terms_.size() - 1;
  }
  void unite(std::size_t a, std::size_t b) { parents_[find(a)] = find(b); }
  void close() {
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t i = 0; i < terms_.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
          if (find(i) == find(j) || !congruent(terms_[i], terms_[j])) continue;
          unite(i, j);
          changed = true;
        }
      }
    }
  }
  std::size_t find(std::size_t i) const {
    while (parents_[i] != i) i = parents_[i];
    return i;
  }
  /// By class: can it be computed from `toy_known` alone?
  std::map<std::size_t, bool> constant() const {
    std::map<std::size_t, bool> known;
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t i = 0; i < terms_.size(); ++i) {
        if (known[find(i)] || terms_[i].op == "toy_leaf") continue;
        bool all = true;
        for (const std::size_t operand : terms_[i].operands) all = all && known[find(operand)];
        if (!all) continue;
        known[find(i)] = true;
        changed = true;
      }
    }
    return known;
  }

 private:
  bool congruent(const Term& a, const Term& b) const {
    if (a.op != b.op || a.value != b.value || a.operands.size() != b.operands.size()) return false;
    const auto same = [&](std::size_t i, std::size_t j) { return find(a.operands[i]) == find(b.operands[j]); };
    bool straight = true;
    for (std::size_t i = 0; i < a.operands.size(); ++i) straight = straight && same(i, i);
    return straight || (a.op == "toy_c" && same(0, 1) && same(1, 0));
  }
  std::vector<Term> terms_;
  std::vector<std::size_t> parents_;
};

EClassId make(EGraph& egraph, const char* op, const std::vector<EClassId>& operands, std::int64_t value = 0) {
  const AttrsId attrs = egraph.intern(operands.empty() ? ops::Attrs{{"value", value}} : ops::Attrs());
  const TypeId type = egraph.intern(ops::Type::tensor(ops::DType::kF32, {}));
  return term(egraph.add(egraph.table().require(op), attrs, operands, type));
}

}  // namespace

TEST_CASE("the e-graph agrees with a naive congruence closure on random terms and unions", "[egraph]") {
  const auto table = toy_table();
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    EGraph egraph(table);
    Naive naive;
    std::vector<EClassId> terms;
    const auto pick = [&] { return random() % terms.size(); };
    const auto grow = [&] {
      const std::uint32_t kind = random() % 10;
      if (terms.size() < 3 || kind == 0) {
        const char* op = random() % 2 == 0 ? "toy_leaf" : "toy_known";
        const auto value = static_cast<std::int64_t>(random() % 4);
        naive.add({op, value, {}});
        terms.push_back(make(egraph, op, {}, value));
      } else if (kind < 4) {
        const std::size_t a = pick();
        naive.add({"toy_f", 0, {a}});
        terms.push_back(make(egraph, "toy_f", {terms[a]}));
      } else {
        const std::size_t a = pick(), b = pick();
        const char* op = kind < 7 ? "toy_g" : "toy_c";
        naive.add({op, 0, {a, b}});
        terms.push_back(make(egraph, op, {terms[a], terms[b]}));
      }
    };
    for (int step = 0; step < 6; ++step) {
      for (int i = 0; i < 12; ++i) grow();
      for (int i = 0; i < 3; ++i) {
        const std::size_t a = pick(), b = pick();
        egraph.unite(terms[a], terms[b]);
        naive.unite(a, b);
      }
      if (step % 2 == 0) egraph.rebuild();  // growing on a stale e-graph must come out the same
    }
    egraph.rebuild();
    naive.close();
    const auto constant = naive.constant();
    for (std::size_t i = 0; i < terms.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        INFO("seed " << seed << " terms " << i << " and " << j);
        REQUIRE((egraph.find(terms[i]) == egraph.find(terms[j])) == (naive.find(i) == naive.find(j)));
      }
      REQUIRE(egraph.fact(terms[i]).constant() == constant.at(naive.find(i)));
    }

    // Hash-consing: no two live nodes are equal, and each is found again.
    std::set<std::tuple<std::uint32_t, std::uint32_t, std::vector<std::uint32_t>>> seen;
    std::size_t live = 0;
    for (std::size_t i = 1; i < egraph.node_count(); ++i) {
      const ENodeId n(i);
      if (egraph[n].dead) continue;
      ++live;
      std::vector<std::uint32_t> operands;
      for (const EClassId c : egraph.operands(n)) {
        REQUIRE(egraph.find(c) == c);
        operands.push_back(c.index);
      }
      if (egraph[n].commutes) std::sort(operands.begin(), operands.end());
      REQUIRE(seen.emplace(egraph[n].op.index, egraph[n].attrs.index, operands).second);
      REQUIRE(egraph.lookup(egraph[n].op, egraph[n].attrs, egraph.operands(n), egraph.type_id(term(n))) == n);
    }
    REQUIRE(live == egraph.live_nodes());

    Index index;
    index.refresh(egraph);
    std::size_t listed = 0;
    for (const EClassId c : index.classes()) {
      for (const auto& [op, n] : index.nodes(c)) {
        REQUIRE(egraph.find(term(n)) == c);
        ++listed;
      }
    }
    REQUIRE(listed == live);
    REQUIRE(index.classes().size() == egraph.class_count());
  }
}

TEST_CASE("commutative operands are one node either way round", "[egraph]") {
  EGraph egraph(toy_table());
  const EClassId a = make(egraph, "toy_leaf", {}, 1), b = make(egraph, "toy_leaf", {}, 2);
  CHECK(make(egraph, "toy_c", {a, b}) == make(egraph, "toy_c", {b, a}));
  CHECK(make(egraph, "toy_g", {a, b}) != make(egraph, "toy_g", {b, a}));
}

TEST_CASE("a union of unequal types is refused and recorded, not made", "[egraph]") {
  EGraph egraph(toy_table());
  const EClassId a = make(egraph, "toy_leaf", {}, 1);
  const TypeId other = egraph.intern(ops::Type::tensor(ops::DType::kF32, {Dim(2)}));
  const EClassId b =
      term(egraph.add(egraph.table().require("toy_leaf"), egraph.intern({{"value", std::int64_t{9}}}), {}, other));
  CHECK(egraph.unite(a, b) == EGraph::Union::kRefused);
  REQUIRE(egraph.conflicts().size() == 1);
  CHECK(egraph.conflicts()[0].types);
  CHECK(egraph.find(a) != egraph.find(b));
}

TEST_CASE("two constants of different value are never equal", "[egraph]") {
  EGraph egraph(toy_table());
  TermBuilder builder(egraph);
  const auto constant = [&](double value) {
    const auto tensor = std::make_shared<const ops::Tensor>(ops::scalar_tensor(ops::DType::kF32, value));
    return TermBuilder::unpack((*builder.apply(egraph.table().require("constant"), {}, {{"value", tensor}}, {}))[0]);
  };
  const EClassId one = constant(1), two = constant(2);
  CHECK(constant(1) == one);
  CHECK(egraph.unite(one, two) == EGraph::Union::kRefused);
  REQUIRE(egraph.conflicts().size() == 1);
  CHECK_FALSE(egraph.conflicts()[0].types);
}

TEST_CASE("a value goes through broadcast and reshape", "[egraph]") {
  EGraph egraph(toy_table());
  TermBuilder builder(egraph);
  const auto tensor = std::make_shared<const ops::Tensor>(ops::scalar_tensor(ops::DType::kF32, 0.5));
  const auto half = (*builder.apply(egraph.table().require("constant"), {}, {{"value", tensor}}, {}))[0];
  const auto wide = *ops::align_to(egraph.table(), half, {Dim(2), Dim(3)}, builder);
  const Fact fact = egraph.fact(TermBuilder::unpack(wide));
  REQUIRE(fact.has_splat());
  CHECK(fact.constant());
  CHECK(egraph.facts().splat_of(fact).number == 0.5);
  CHECK(std::get<bool>(*builder.query("constant", {wide, half}, {})));
}

TEST_CASE("a chain of 100,000 congruences closes without recursion", "[egraph]") {
  EGraph egraph(toy_table());
  const EClassId a = make(egraph, "toy_leaf", {}, 1), b = make(egraph, "toy_leaf", {}, 2);
  EClassId left = a, right = b;
  for (int i = 0; i < 100000; ++i) {
    left = make(egraph, "toy_f", {left});
    right = make(egraph, "toy_f", {right});
  }
  egraph.unite(a, b);
  egraph.rebuild();
  CHECK(egraph.find(left) == egraph.find(right));
  CHECK(egraph.live_nodes() == 100002);
}

TEST_CASE("a drawing has every live node and class once, or says how many are not in it", "[egraph]") {
  EGraph egraph(toy_table());
  const EClassId a = make(egraph, "toy_leaf", {}, 1), b = make(egraph, "toy_leaf", {}, 2);
  const EClassId f = make(egraph, "toy_f", {a}), g = make(egraph, "toy_g", {f, b});
  egraph.unite(f, a);  // f of itself
  egraph.rebuild();
  const auto count = [](const std::string& text, const std::string& word) {
    std::size_t n = 0;
    for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++n;
    return n;
  };
  const std::string whole = print_dot(egraph, std::span(&g, 1));
  CHECK(count(whole, " [label=\"toy_") == egraph.live_nodes());
  CHECK(count(whole, "subgraph") == egraph.class_count());
  CHECK(count(whole, " -> ") == 3);
  CHECK(count(whole, "peripheries=2") == 1);
  CHECK(count(whole, "the first") == 0);
  const std::string cut = print_dot(egraph, std::span(&g, 1), 1);
  CHECK(count(cut, " [label=\"toy_") == 1);
  CHECK(count(cut, "the first 1 of 4 nodes, in 1 of 3 classes; 2 arrows lead to what is not drawn") == 1);
}

}  // namespace fusewright::egraph
