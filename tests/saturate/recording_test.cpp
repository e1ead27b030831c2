#include "tests/saturate/helpers.hpp"

namespace fusewright::saturate {

TEST_CASE("matches of one shape are told apart by what is known of their values", "[saturate]") {
  const auto rules = rules_of(R"(
    rewrite halves { match a / s where splat(s), value(s) == 2 to a * 0.5 }
    rewrite doubles { match a * s where splat(s) let t = value(s) * 2 to (a * t) * 0.5 })");
  Model m(rules);
  m.input("x", f32({4}));
  m.input("y", f32({4}));
  m.input("z", f32({4}));
  std::vector<Value> results;
  for (const char* text : {"x / 2", "y / 3", "z / 2", "x * 0.5", "y * 0.5", "z * 0.5"}) results.push_back(m.eval(text));
  Options options = all_exactness();
  options.limits.iterations = 1;
  const Saturated s = must_saturate(m.finish(results), rules, options);
  CHECK(equal(s, results[0], results[3]));
  CHECK_FALSE(equal(s, results[1], results[4]));
  CHECK(equal(s, results[2], results[5]));
  check_replays(s);
}

TEST_CASE("matches of one shape are told apart by their attributes and by which values are the same", "[saturate]") {
  const auto rules = rules_of(R"(
    rewrite reversed-maximum { match max(reverse(a) as r, b) where same(a, b), r.axes == [1] to max(b, b) })");
  Model m(rules);
  m.input("x", f32({4, 4}));
  m.input("y", f32({4, 4}));
  std::vector<Value> results;
  for (const char* text :
       {"max(reverse(x, axes = [1]), x)", "max(reverse(x, axes = [1]), y)", "max(reverse(y, axes = [0]), y)",
        "max(reverse(y, axes = [1]), y)", "max(x, x)", "max(y, y)"})
    results.push_back(m.eval(text));
  const Saturated s = must_saturate(m.finish(results), rules);
  CHECK(equal(s, results[0], results[4]));
  CHECK_FALSE(equal(s, results[1], results[4]));
  CHECK_FALSE(equal(s, results[1], results[5]));
  CHECK_FALSE(equal(s, results[2], results[5]));
  CHECK(equal(s, results[3], results[5]));
  const RuleTrace& trace = s.trace.rules[0];
  CHECK(trace.applied == 2);
  REQUIRE(trace.refused.size() == 2);
  CHECK(trace.refused[0] == 1);
  CHECK(trace.refused[1] == 1);
  check_replays(s);
}

TEST_CASE("a match is made like one that came before larger patterns were compiled", "[saturate]") {
  const auto rules = rules_of(R"(
    rewrite halves { match tanh(a) where rank(a) == 1 to sinh(a) * 0.5 }
    rewrite later { match atan2(a, b) to tanh(a) }
    rewrite wakes { match cosh(a) to sqrt(a) }
    rewrite large { match sqrt(a) * b + max(c, d) * max(e, f) to max(c, d) * max(e, f) + sqrt(a) * b })");
  Model m(rules);
  m.input("x", f32({4}));
  m.input("y", f32({4}));
  const Value first = m.eval("tanh(x)"), second = m.eval("cosh(x) + max(x, y)"), half = m.eval("sinh(y) * 0.5");
  const Value made = m.eval("atan2(y, x)");
  const Saturated s = must_saturate(m.finish({first, second, half, made}), rules);
  CHECK(equal(s, made, half));
  check_replays(s);
}

}  // namespace fusewright::saturate
