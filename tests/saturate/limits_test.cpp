#include "tests/egraph/invariants.hpp"
#include "tests/saturate/helpers.hpp"

// One root with a million matches: limits hold in the middle of a round.

namespace fusewright::saturate {
namespace {

constexpr int kMany = 1000;

/// exp of a class of many sums, times the same: every pair of them is a match of `pairs`, and none of `never`.
struct Crowd {
  std::shared_ptr<const rule::RuleSet> rules = rules_of(R"(
    rewrite pairs exactness(approximate(0.1)) { match pow(a - b, c - d) to max(a, d) - min(b, c) }
    rewrite never exactness(approximate(0.1)) { match atan2(a - b, c - exp(d)) to a }
  )");
  egraph::EGraph egraph{rules->table};
  egraph::TermBuilder builder{egraph};
  match::Program program;
  Options options = all_exactness();

  /// @param op  on the class.
  explicit Crowd(const std::string& op) {
    options.limits.matches_per_rule = std::uint64_t{10} * kMany * kMany;
    EClassId all;
    for (std::uint64_t i = 0; i <= kMany; ++i) {
      const EClassId x = leaf(i);
      const EClassId difference = make("sub", {x, x});
      if (i > 0) egraph.unite(all, difference);
      all = difference;
    }
    make(op, {all, all});
    egraph.rebuild();
  }
  EClassId leaf(std::uint64_t i) {
    const ops::Attrs attrs = {{"number", static_cast<std::int64_t>(i)}};
    return egraph::term(
        egraph.add(rules->table->require("parameter"), egraph.intern(attrs), {}, egraph.intern(f32({}))));
  }
  EClassId make(const std::string& op, std::vector<EClassId> operands) {
    std::vector<std::optional<ops::TermValue>> values;
    for (const EClassId c : operands) values.emplace_back(egraph::TermBuilder::pack(c));
    const auto made = builder.apply(rules->table->require(op), values, {}, {});
    if (!made) FAIL(print_error(made.error()));
    return egraph::TermBuilder::unpack((*made)[0]);
  }
  StopReason stop(Trace* whole = nullptr) {
    auto trace = run(egraph, *rules, program, options);
    REQUIRE(trace.has_value());
    REQUIRE(trace->stop_reasons.size() == 1);
    REQUIRE(trace->iterations.size() == 1);
    egraph::Invariants(egraph).check();
    if (whole != nullptr) *whole = *trace;
    return trace->stop_reasons[0];
  }
};

}  // namespace

TEST_CASE("limits hold inside a round of a million matches", "[saturate]") {
  Trace trace;
  SECTION("of time") {
    Crowd crowd("pow");
    crowd.options.limits.seconds = 0.005;
    CHECK(crowd.stop(&trace).kind == StopReason::Kind::kSeconds);
    CHECK(trace.rules[0].matches < kMany * kMany / 2);
  }
  SECTION("of memory") {
    Crowd crowd("pow");
    crowd.options.limits.bytes = crowd.egraph.bytes() + (1U << 20);
    const StopReason stop = crowd.stop(&trace);
    CHECK(stop.kind == StopReason::Kind::kBytes);
    CHECK(stop.reached < stop.limit + (1U << 20));
    CHECK(trace.rules[0].applied == 0);
  }
  SECTION("of nodes") {
    Crowd crowd("pow");
    crowd.options.limits.nodes = 3 * kMany;
    const StopReason stop = crowd.stop();
    CHECK(stop.kind == StopReason::Kind::kNodes);
    CHECK(stop.reached < 3 * kMany + 10);
  }
  SECTION("of matches") {
    Crowd crowd("pow");
    crowd.options.limits.matches_per_rule = 2 * kMany;
    crowd.options.limits.iterations = 1;  // reached as well
    auto done = run(crowd.egraph, *crowd.rules, crowd.program, crowd.options);
    REQUIRE(done.has_value());
    CHECK(done->stop_reasons[0].kind == StopReason::Kind::kMatches);
    CHECK(done->rules[0].matches == 2 * kMany);
  }
}

TEST_CASE("a search that finds nothing in a million nodes ends in time", "[saturate]") {
  Crowd crowd("atan2");
  crowd.make("exp", {crowd.leaf(0)});
  crowd.options.limits.seconds = 0.001;
  CHECK(crowd.stop().kind == StopReason::Kind::kSeconds);
}

}  // namespace fusewright::saturate
