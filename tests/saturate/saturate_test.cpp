#include <random>

#include "fusewright/rule/needs.hpp"
#include "tests/saturate/helpers.hpp"

namespace fusewright::saturate {
namespace {

// These end by themselves.
constexpr const char* kCleanup = R"(
  rewrite add-zero { match x + 0 to x }
  rewrite mul-one { match x * 1 to x }
  rewrite sub-self exactness(approximate(0.1)) { match x - x to 0 }
  rewrite neg-of-neg { match -(-x) to x }
  rewrite add-assoc exactness(reassociating) { match a + (b + c) to (a + b) + c }
  rewrite fold-scale exactness(reassociating) { match (x * a) * b where constant(a, b) to x * fold(a * b) }
)";
// These need not: 0 = 0 * (1 + 1) = ...
const std::string kAlgebra = std::string(kCleanup) + R"(
  rewrite distribute exactness(factoring) { match a * (b + c) to a * b + a * c }
  rewrite factor exactness(factoring) { match a * b + a * c to a * (b + c) }
)";

}  // namespace

TEST_CASE("rules join classes and say how often", "[saturate]") {
  const auto rules = rules_of(kCleanup);
  Model m(rules);
  const Value x = m.input("x", f32({4}));
  const Value y = m.eval("-(-(x * 1 + 0))");
  const Saturated s = must_saturate(m.finish({y}), rules);
  CHECK(s.trace.saturated());
  CHECK(equal(s, x, y));
  for (const RuleTrace& rule : s.trace.rules) {
    INFO(rule.name);
    if (rule.name == "mul-one" || rule.name == "add-zero" || rule.name == "neg-of-neg") CHECK(rule.applied >= 1);
    if (rule.name == "sub-self") CHECK(rule.applied == 0);
  }
  check_replays(s);
  const auto out = egraph::to_graph(m.graph, s.imported, egraph::select_smallest(s.imported));
  REQUIRE(out.has_value());
  CHECK(out->nodes.size() == 1);
}

TEST_CASE("commutative operators match either way round and literals match splats", "[saturate]") {
  const auto rules = rules_of(kCleanup);
  Model m(rules);
  const Value x = m.input("x", f32({2, 3}));
  const Value y = m.eval("0 + (1 * x)");
  const Value z = m.eval("2 * x");
  const Saturated s = must_saturate(m.finish({y, z}), rules);
  CHECK(equal(s, x, y));
  CHECK_FALSE(equal(s, x, z));
}

TEST_CASE("a pattern looks through the canonical broadcast", "[saturate]") {
  const auto rules = rules_of(R"(
    rewrite scale-of-dot { match dot(x, w) as d * s where constant(s), rank(s) == 1 to dot(x, fold(w * s), ..d) })");
  Model m(rules);
  m.input("x", f32({8, 4}));
  m.input("w", f32({4, 16}));
  m.input("v", f32({16}));
  m.constant("s", *ops::make_tensor(ops::DType::kF32, {16}));
  const Value y = m.eval("dot(x, w, lhs_contract = [1], rhs_contract = [0]) * s");
  const Value no = m.eval("dot(x, w, lhs_contract = [1], rhs_contract = [0]) * v");
  const Saturated s = must_saturate(m.finish({y, no}), rules);
  CHECK(s.trace.rules[0].applied == 0);  // w is no constant, so fold refuses
  CHECK(s.trace.rules[0].errors == 1);
  CHECK_FALSE(s.trace.diagnostics.empty());

  Model k(rules);
  k.input("x", f32({8, 4}));
  k.constant("w", *ops::make_tensor(ops::DType::kF32, {4, 16}));
  k.constant("s", *ops::make_tensor(ops::DType::kF32, {16}));
  const Value z = k.eval("dot(x, w, lhs_contract = [1], rhs_contract = [0]) * s");
  const Saturated t = must_saturate(k.finish({z}), rules);
  CHECK(t.trace.rules[0].applied == 1);
  CHECK(t.trace.rules[0].refused[0] + t.trace.rules[0].refused[1] >= 1);  // s wide has rank 2
  check_replays(t);
}

TEST_CASE("guards are counted apart, and why-not names the instruction that let nothing through", "[saturate]") {
  const auto rules = rules_of(R"(
    rewrite only-vectors { match exp(log(x)) where rank(x) == 1, dim(x, 0) > 4 to x }
    rewrite never { match tanh(exp(x)) to x })");
  Model m(rules);
  m.input("x", f32({2}));
  m.input("y", f32({2, 2}));
  const Value a = m.eval("exp(log(x))"), b = m.eval("exp(log(y))"), c = m.eval("tanh(x)");
  const Saturated s = must_saturate(m.finish({a, b, c}), rules);
  const RuleTrace& vectors = s.trace.rules[1];
  REQUIRE(vectors.name == "only-vectors");
  REQUIRE(vectors.refused.size() == 2);
  CHECK(vectors.refused[0] == 1);
  CHECK(vectors.refused[1] == 1);
  const auto why = why_not(*rules, s.program, s.trace, s.trace.rules[0].rule);
  REQUIRE_FALSE(why.empty());
  CHECK(why.back().passed == 0);
  CHECK(why.back().instruction == "n1 = exp in r1");
}

TEST_CASE("a rule is compiled when its operators occur, be it that another rule makes them", "[saturate]") {
  const auto rules = rules_of(R"(
    rewrite last { match sinh(cosh(x)) to tanh(x) }
    rewrite first { match exp(log(x)) to cosh(x) }
    rewrite second { match neg(cosh(x)) to sinh(cosh(x)) }
    rewrite absent { match sinh(atan2(x, y)) to x })");
  Model m(rules);
  m.input("x", f32({4}));
  const Value a = m.eval("neg(exp(log(x)))"), b = m.eval("tanh(x)");
  const Saturated s = must_saturate(m.finish({a, b}), rules);
  CHECK(equal(s, a, b));
  check_replays(s);
  CHECK(s.program.patterns.size() == 3);
  REQUIRE(s.trace.rules.size() == 3);
  CHECK(s.trace.rules[0].name == rules->rewrites[s.trace.rules[0].rule.index].name);
  CHECK(std::ranges::is_sorted(s.trace.rules, {}, &RuleTrace::rule));
  const auto never = asleep(*rules, s.trace);
  REQUIRE(never.size() == 1);
  const auto why = why_not(*rules, s.program, s.trace, never[0].rule);
  REQUIRE(why.size() == 1);
  CHECK(why[0].instruction == "atan2 anywhere in the graph");
  CHECK(why[0].tried == 0);
}

TEST_CASE("composite operators expand and are recognised, to the same classes", "[saturate]") {
  const auto rules = rules_of("op twice_tanh(x) = tanh(x) + tanh(x)");
  Model m(rules);
  m.input("x", f32({4}));
  const Value composite = m.eval("twice_tanh(x)");
  const Value body = m.eval("tanh(x) + tanh(x)");
  const Saturated s = must_saturate(m.finish({composite, body}), rules);
  CHECK(s.trace.saturated());
  CHECK(equal(s, composite, body));
  check_replays(s);
}

TEST_CASE("exactness selects the rules before the search", "[saturate]") {
  const auto rules = rules_of(kAlgebra);
  Model m(rules);
  m.input("x", f32({4}));
  const Value a = m.eval("x - x"), b = m.eval("x * 0.5");
  const Saturated s = must_saturate(m.finish({a, b}), rules, default_exactness());
  for (const RuleTrace& rule : s.trace.rules) {
    CHECK(rule.name != "sub-self");
    CHECK(rule.name != "factor");
  }
}

TEST_CASE("a right-hand side of another type is a diagnostic that names the rule", "[saturate]") {
  const auto rules = rules_of(R"(
    rewrite bad-shape { match exp(x) to reduce_sum(x, axes = [0]) }
    rewrite bad-dtype { match log(x) to convert(x, dtype = s32) })");
  Model m(rules);
  m.input("x", f32({4, 4}));
  const Value y = m.eval("exp(x)"), z = m.eval("log(x)");
  const Saturated s = must_saturate(m.finish({y, z}), rules);
  CHECK_FALSE(equal(s, y, z));
  REQUIRE(s.trace.diagnostics.size() == 2);
  CHECK(print_diagnostic(s.trace.diagnostics[0]).find("rewrite 'bad-dtype' makes s32[4,4] of f32[4,4]") !=
        std::string::npos);
  CHECK(print_diagnostic(s.trace.diagnostics[1]).find("rewrite 'bad-shape' makes f32[4] of f32[4,4]") !=
        std::string::npos);
}

TEST_CASE("a rule that makes two constants equal is refused, naming both sides", "[saturate]") {
  const auto rules = rules_of(R"(
    rewrite one-is-two { match exp(x) where is_one(x) to 2 }
    rewrite no-exp { match tanh(exp(x)) where is_one(x) to 3 }
    rewrite not-three { match tanh(x) where splat(x) to 4 })");
  Model m(rules);
  m.constant("one", ops::scalar_tensor(ops::DType::kF32, 1));
  const Value y = m.eval("exp(one)"), z = m.eval("tanh(exp(one))");
  const Saturated s = must_saturate(m.finish({y, z}), rules);
  REQUIRE(s.trace.diagnostics.size() >= 1);
  const std::string text = print_diagnostic(s.trace.diagnostics[0]);
  CHECK(text.find("makes two different constants equal") != std::string::npos);
  CHECK(text.find("the value on the left was made by rewrite 'no-exp'") != std::string::npos);
  CHECK(text.find("the value on the right was made by this rewrite") != std::string::npos);
}

TEST_CASE("limits stop inside an iteration and say so with their numbers", "[saturate]") {
  const auto rules = rules_of(R"(
    rewrite assoc exactness(reassociating) { match a + (b + c) to (a + b) + c }
    rewrite assoc-back exactness(reassociating) { match (a + b) + c to a + (b + c) })");
  Model m(rules);
  std::string sum = "x0";
  m.input("x0", f32({4}));
  for (int i = 1; i < 14; ++i) {
    const std::string name = "x" + std::to_string(i);
    m.input(name.c_str(), f32({4}));
    sum = "(" + sum + " + " + name + ")";
  }
  const Graph& graph = m.finish({m.eval(sum)});
  Options options = all_exactness();
  options.limits.nodes = 5000;
  const Saturated nodes = must_saturate(graph, rules, options);
  REQUIRE(nodes.trace.stop_reasons.size() == 1);
  CHECK(nodes.trace.stop_reasons[0].kind == StopReason::Kind::kNodes);
  CHECK(nodes.graph().live_nodes() <= 5010);
  CHECK(to_string(nodes.trace.stop_reasons[0]).starts_with("node limit: 500"));
  CHECK(egraph::to_graph(graph, nodes.imported, egraph::select_smallest(nodes.imported)).has_value());

  options.limits.nodes = 1U << 30;
  options.limits.seconds = 0.05;
  CHECK(must_saturate(graph, rules, options).trace.seconds < 5);
  options.limits.seconds = 100;
  options.limits.bytes = 4 << 20;
  const Saturated bytes = must_saturate(graph, rules, options);
  CHECK(bytes.trace.stop_reasons[0].kind == StopReason::Kind::kBytes);
  options.limits.bytes = std::uint64_t{1} << 40;
  options.limits.matches_per_rule = 50;
  const Saturated matches = must_saturate(graph, rules, options);
  CHECK(matches.trace.stop_reasons[0].kind == StopReason::Kind::kMatches);
  CHECK(matches.trace.stop_reasons[0].rule.starts_with("assoc"));
  for (const RuleTrace& rule : matches.trace.rules) CHECK(rule.matches <= 50 * matches.trace.iterations.size());
  options.limits.matches_per_rule = 1U << 30;
  options.limits.iterations = 2;
  CHECK(must_saturate(graph, rules, options).trace.stop_reasons[0].kind == StopReason::Kind::kIterations);
  std::atomic<bool> cancel = true;
  options.cancel = &cancel;
  CHECK(must_saturate(graph, rules, options).trace.stop_reasons[0].kind == StopReason::Kind::kCancelled);
}

TEST_CASE("matching only what changed finds what matching everything finds", "[saturate]") {
  // The program is run once as the runner does it, and once by hand with every iteration from scratch.
  const auto rules = rules_of(kAlgebra);
  Model m(rules);
  for (const char* name : {"x", "y", "z"}) m.input(name, f32({4}));
  const Value v = m.eval("x * (y + (z + x * 1)) + x * (y - y)");
  const Graph& graph = m.finish({v});
  Options options = all_exactness();
  options.limits.iterations = 4;
  const Saturated fast = must_saturate(graph, rules, options);

  const egraph::Imported slow = saturated_from_scratch(graph, *rules, 4);
  CHECK(fast.graph().live_nodes() == slow.egraph.live_nodes());
  CHECK(fast.graph().class_count() == slow.egraph.class_count());
}

TEST_CASE("the same run twice gives the same numbers, and shuffled rules the same classes", "[saturate]") {
  const auto rules = rules_of(kAlgebra);
  Model m(rules);
  for (const char* name : {"x", "y", "z", "w"}) m.input(name, f32({4}));
  const Value v = m.eval("x * (y + (z + w * 1)) + x * (y + 0)");
  const Graph& graph = m.finish({v});
  Options options = all_exactness();
  options.limits.iterations = 3;
  const Saturated first = must_saturate(graph, rules, options), second = must_saturate(graph, rules, options);
  REQUIRE(first.graph().node_count() == second.graph().node_count());
  for (std::size_t i = 0; i < first.graph().node_count(); ++i) {
    REQUIRE(first.graph().find(EClassId(i)) == second.graph().find(EClassId(i)));
    REQUIRE(first.graph()[ENodeId(i)].op == second.graph()[ENodeId(i)].op);
  }
  auto shuffled = std::make_shared<rule::RuleSet>(*rules);
  std::shuffle(shuffled->rewrites.begin(), shuffled->rewrites.end(), std::mt19937(7));
  shuffled->needs = std::make_shared<const rule::Needs>(*shuffled->table, shuffled->rewrites);
  const Saturated other = must_saturate(graph, shuffled, options);
  CHECK(other.graph().live_nodes() == first.graph().live_nodes());
  CHECK(other.graph().class_count() == first.graph().class_count());
  check_replays(first);
}

TEST_CASE("a rule's node knows the source nodes that it came from", "[saturate]") {
  const auto rules = rules_of(kCleanup);
  Model m(rules);
  m.graph.sources = {{"scale1", "mul", {}}, {"scale2", "mul", {}}};
  m.input("x", f32({4}));
  m.constant("a", ops::scalar_tensor(ops::DType::kF32, 3));
  m.constant("b", ops::scalar_tensor(ops::DType::kF32, 5));
  m.builder.set_origin({graph::SourceId(0)}, "scale1");
  m.env["s"] = Builder::pack(m.eval("x * a"));
  m.builder.set_origin({graph::SourceId(1)}, "scale2");
  const Value y = m.eval("s * b");
  const Saturated s = must_saturate(m.finish({y}), rules);
  egraph::Provenance provenance(s.graph());
  bool found = false;
  egraph::Index index;
  index.refresh(s.graph());
  for (const auto& [op, n] : index.nodes(s.graph().find(s.imported.at(y)))) {
    if (!s.graph().made_by(n).valid()) continue;
    found = true;
    CHECK(provenance.sources(n) == graph::SourceSet{graph::SourceId(0), graph::SourceId(1)});
    CHECK(s.rule(s.graph().made_by(n)).name == "fold-scale");
  }
  CHECK(found);
}

TEST_CASE("a chain of 100,000 nodes saturates", "[saturate]") {
  const auto rules = rules_of(kCleanup);
  Model m(rules);
  Value v = m.input("x", f32({4}));
  for (int i = 0; i < 50000; ++i) v = *m.builder.add("neg", {*m.builder.add("exp", {v})});
  for (int i = 0; i < 50; ++i) v = *m.builder.add("neg", {v});
  const Saturated s = must_saturate(m.finish({v}), rules);
  CHECK(s.trace.saturated());
  CHECK(s.trace.seconds < 10);
}

TEST_CASE("a chain of 100,000 operators saturates and is explained without recursion", "[saturate]") {
  const auto rules = rules_of("rewrite neg-of-neg { match neg(neg(x)) to x }");
  Model m(rules);
  const Value x = m.input("x", f32({4}));
  std::vector<Value> chain{x};
  const ops::OpId neg = m.graph.table->require("neg");
  for (int i = 0; i < 100000; ++i) {
    const auto next = m.builder.apply(neg, {Builder::pack(chain.back())}, {}, {});
    REQUIRE(next.has_value());
    chain.push_back(Builder::unpack((*next)[0]));
  }
  const Saturated s = must_saturate(m.finish({chain.back()}), rules);
  CHECK(s.trace.saturated());
  CHECK(equal(s, x, chain.back()));
  CHECK_FALSE(equal(s, x, chain[99999]));
  const egraph::Explanation why = egraph::explain(s.graph(), s.program, s.imported.at(chain.back()), s.imported.at(x));
  CHECK(why.applications.size() >= 50000);
}

}  // namespace fusewright::saturate
