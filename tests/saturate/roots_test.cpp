#include "tests/saturate/helpers.hpp"

namespace fusewright::saturate {
namespace {

constexpr const char* kSiblings = R"(
  rewrite siblings exactness(reassociating) {
    match dot(x, constant() as a, lhs_contract = [1], rhs_contract = [0]) as p,
          dot(x, constant() as b, lhs_contract = [1], rhs_contract = [0]) as q
    where rank(x) == 2, dtype(p) == dtype(q)
    let wide = dot(x, fold(concat(a, b, axis = 1)), ..p)
    to slice(wide, starts = [0, 0], limits = [dim(x, 0), dim(a, 1)], strides = [1, 1]),
       slice(wide, starts = [0, dim(a, 1)], limits = [dim(x, 0), dim(a, 1) + dim(b, 1)], strides = [1, 1])
  }
)";

const RuleTrace& trace_of(const Saturated& s, const std::string& rule) {
  for (const RuleTrace& trace : s.trace.rules)
    if (trace.name == rule) return trace;
  FAIL("no rule " << rule);
  return s.trace.rules[0];
}

}  // namespace

TEST_CASE("two roots that share an input are joined, each with a value of its own", "[saturate]") {
  const auto rules = rules_of(kSiblings);
  Model m(rules);
  m.input("x", f32({8, 4}));
  m.input("y", f32({8, 4}));
  m.constant("a", *ops::make_tensor(ops::DType::kF32, {4, 2}));
  m.constant("b", *ops::make_tensor(ops::DType::kF32, {4, 3}));
  const Value p = m.eval("dot(x, a, lhs_contract = [1], rhs_contract = [0])");
  const Value q = m.eval("dot(x, b, lhs_contract = [1], rhs_contract = [0])");
  const Value apart = m.eval("dot(y, b, lhs_contract = [1], rhs_contract = [0])");
  const Saturated s = must_saturate(m.finish({p, q, apart}), rules);
  CHECK(s.trace.saturated());
  CHECK(trace_of(s, "siblings").matches == 1);  // a set of two, not two pairs
  CHECK(trace_of(s, "siblings").applied == 1);
  CHECK(has_operator(s, p, "slice"));
  CHECK(has_operator(s, q, "slice"));
  CHECK_FALSE(has_operator(s, apart, "slice"));
  check_replays(s);
}

TEST_CASE("why-not tells roots that share nothing in the model from roots that are not there", "[saturate]") {
  const auto rules = rules_of("rewrite both { match exp(x) as p, log(x) as q to p, q }");
  for (const bool shared : {true, false}) {
    Model m(rules);
    m.input("x", f32({4}));
    m.input("y", f32({4}));
    const Value a = m.eval("exp(x)"), b = m.eval(shared ? "log(x)" : "log(y)");
    const Saturated s = must_saturate(m.finish({a, b}), rules);
    const auto why = why_not(*rules, s.program, s.trace, s.trace.rules[0].rule);
    REQUIRE_FALSE(why.empty());
    CHECK(why.back().instruction == "roots with what they share in common");
    CHECK(why.back().tried == 1);
    CHECK(why.back().passed == (shared ? 1 : 0));
  }
}

TEST_CASE("of roots that are written alike, the first order in which the guards hold is taken", "[saturate]") {
  const auto rules = rules_of(R"(
    rewrite neighbours {
      match slice(x, starts = a, limits = b) as p, slice(x, starts = c, limits = d) as q
      where rank(x) == 1, b == c
      to exp(p), log(q)
    }
  )");
  for (const bool swapped : {false, true}) {
    Model m(rules);
    m.input("x", f32({8}));
    Value first, second;
    if (swapped) second = m.eval("slice(x, [3], [8], [1])");
    first = m.eval("slice(x, [0], [3], [1])");
    if (!swapped) second = m.eval("slice(x, [3], [8], [1])");
    Options options = all_exactness();
    options.limits.iterations = 1;
    const Saturated s = must_saturate(m.finish({first, second}), rules, options);
    CHECK(trace_of(s, "neighbours").applied == 1);
    CHECK(has_operator(s, first, "exp"));
    CHECK(has_operator(s, second, "log"));
    check_replays(s);
  }
}

TEST_CASE("roots share values and attributes, and what one rule makes joins with what was there", "[saturate]") {
  const auto rules = rules_of(R"(
    rewrite mean-and-peak {
      match reduce_sum(x, axes = a) as s, reduce_max(x, axes = a) as m, s + tanh(m) as both
      to s, m, both * 1
    }
    rewrite later { match log(exp(x)) to x }
  )");
  Model m(rules);
  m.input("x", f32({4, 8}));
  m.env["late"] = Builder::pack(m.eval("log(exp(x))"));
  const Value both = m.eval("reduce_sum(x, axes = [1]) + tanh(reduce_max(late, axes = [1]))");
  const Value other = m.eval("reduce_sum(x, axes = [0])");
  const Saturated s = must_saturate(m.finish({both, other}), rules);
  CHECK(trace_of(s, "mean-and-peak").matches == 1);
  CHECK(has_operator(s, both, "mul"));
  check_replays(s);

  // From scratch in each round, everything is found again and nothing more.
  const egraph::Imported slow = saturated_from_scratch(m.graph, *rules, 4);
  CHECK(s.graph().live_nodes() == slow.egraph.live_nodes());
  CHECK(s.graph().class_count() == slow.egraph.class_count());
}

TEST_CASE("three roots of one input are joined once, and never a value with itself", "[saturate]") {
  const auto rules = rules_of(R"(
    rewrite three {
      match dot(x, constant(), lhs_contract = [0], rhs_contract = [0]) as p,
            dot(x, constant(), lhs_contract = [0], rhs_contract = [0]) as q,
            dot(x, constant(), lhs_contract = [0], rhs_contract = [0]) as r
      to p * 1, q * 1, r * 1
    }
  )");
  Model m(rules);
  m.input("x", f32({4}));
  std::vector<Value> products;
  for (const char* name : {"a", "b", "c", "d"}) {
    m.constant(name, *ops::make_tensor(ops::DType::kF32, {4, 2 + name[0] - 'a'}));
    products.push_back(m.eval("dot(x, " + std::string(name) + ", lhs_contract = [0], rhs_contract = [0])"));
  }
  const Saturated s = must_saturate(m.finish(products), rules);
  CHECK(trace_of(s, "three").matches == 4);  // sets of three out of four
  check_replays(s);
}

TEST_CASE("a join that finds too much stops its rule and no other", "[saturate]") {
  const auto rules = rules_of(R"(
    rewrite pairs { match (exp(x) + y) as p, (exp(x) * y) as q to p, q }
    rewrite of-log { match log(x) to tanh(x) }
  )");
  Model m(rules);
  m.input("x", f32({4}));
  std::vector<Value> results;
  for (int i = 0; i < 10; ++i) {
    const std::string y = "y" + std::to_string(i);
    m.input(y.c_str(), f32({4}));
    results.push_back(m.eval("exp(x) + " + y));
    results.push_back(m.eval("exp(x) * " + y));
  }
  results.push_back(m.eval("log(x)"));
  Options options = all_exactness();
  options.limits.matches_per_rule = 4;
  const Saturated s = must_saturate(m.finish(results), rules, options);
  REQUIRE(s.trace.stop_reasons.size() == 1);
  CHECK(s.trace.stop_reasons[0].rule == "pairs");
  CHECK(trace_of(s, "of-log").applied == 1);
}

TEST_CASE("a join whose last root is nowhere does not try for ever", "[saturate]") {
  const auto rules = rules_of(R"(
    rewrite triples { match (exp(x) + y) as p, (exp(x) * z) as q, (exp(x) - w) as r to p, q, r }
  )");
  Model m(rules);
  m.input("x", f32({4}));
  m.input("v", f32({4}));
  std::vector<Value> results = {m.eval("exp(v) - x")};
  for (int i = 0; i < 20; ++i) {
    const std::string y = "y" + std::to_string(i);
    m.input(y.c_str(), f32({4}));
    results.push_back(m.eval("exp(x) + " + y));
    results.push_back(m.eval("exp(x) * " + y));
  }
  Options options = all_exactness();
  options.limits.matches_per_rule = 30;
  const Saturated s = must_saturate(m.finish(results), rules, options);
  REQUIRE(s.trace.stop_reasons.size() == 1);
  CHECK(s.trace.stop_reasons[0].kind == StopReason::Kind::kMatches);
  CHECK(trace_of(s, "triples").matches == 0);
}

}  // namespace fusewright::saturate
