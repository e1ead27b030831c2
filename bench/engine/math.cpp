// The math microbenchmark of egg and egglog: 24 rules over uninterpreted operators, every rule applied to every match
// in each iteration. usage: bench_engine_math [iterations] [repeats] [--plain] [--profile] [--explain], or [--curve]
// for 1, 2, ... iterations; prints e-nodes and the seconds of the search alone: of the processor, not of the clock, so
// that other programs have little say.

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <random>

#include "fusewright/rule/check.hpp"
#include "fusewright/rule/parse.hpp"
#include "fusewright/saturate/apply.hpp"
#include "fusewright/saturate/saturate.hpp"
#include "fusewright/support/large_vector.hpp"

namespace {

using namespace fusewright;
using egraph::EClassId;

constexpr const char* kRules = R"(
rewrite a01 { match m_add(a, b) to m_add(b, a) }
rewrite a02 { match m_mul(a, b) to m_mul(b, a) }
rewrite a03 { match m_add(a, m_add(b, c)) to m_add(m_add(a, b), c) }
rewrite a04 { match m_mul(a, m_mul(b, c)) to m_mul(m_mul(a, b), c) }
rewrite a05 { match m_sub(a, b) to m_add(a, m_mul(m_const(-1), b)) }
rewrite a06 { match m_add(a, m_const(value = 0)) to a }
rewrite a07 { match m_mul(a, m_const(value = 0) as z) to z }
rewrite a08 { match m_mul(a, m_const(value = 1)) to a }
rewrite a09 { match m_sub(a, a) to m_const(0) }
rewrite a10 { match m_mul(a, m_add(b, c)) to m_add(m_mul(a, b), m_mul(a, c)) }
rewrite a11 { match m_add(m_mul(a, b), m_mul(a, c)) to m_mul(a, m_add(b, c)) }
rewrite a12 { match m_mul(m_pow(a, b), m_pow(a, c)) to m_pow(a, m_add(b, c)) }
rewrite a13 { match m_pow(a, m_const(value = 1)) to a }
rewrite a14 { match m_pow(a, m_const(value = 2)) to m_mul(a, a) }
rewrite a15 { match m_diff(x, m_add(a, b)) to m_add(m_diff(x, a), m_diff(x, b)) }
rewrite a16 { match m_diff(x, m_mul(a, b)) to m_add(m_mul(a, m_diff(x, b)), m_mul(b, m_diff(x, a))) }
rewrite a17 { match m_diff(x, m_sin(x)) to m_cos(x) }
rewrite a18 { match m_diff(x, m_cos(x)) to m_mul(m_const(-1), m_sin(x)) }
rewrite a19 { match m_integral(m_const(value = 1), x) to x }
rewrite a20 { match m_integral(m_cos(x), x) to m_sin(x) }
rewrite a21 { match m_integral(m_sin(x), x) to m_mul(m_const(-1), m_cos(x)) }
rewrite a22 { match m_integral(m_add(f, g), x) to m_add(m_integral(f, x), m_integral(g, x)) }
rewrite a23 { match m_integral(m_sub(f, g), x) to m_sub(m_integral(f, x), m_integral(g, x)) }
rewrite a24 { match m_integral(m_mul(a, b), x)
              to m_sub(m_mul(a, m_integral(b, x)), m_integral(m_mul(m_diff(x, a), m_integral(b, x)), x)) }
)";

Result<std::vector<ops::Type>> infer_scalar(const ops::OpInfo&, std::span<const ops::Type>, const ops::Attrs&) {
  return std::vector<ops::Type>{ops::Type::tensor(ops::DType::kF32, {})};
}

template <class T>
T must(Result<T> result) {
  if (result) return *std::move(result);
  fmt::print(stderr, "{}", print_error(result.error()));
  std::exit(2);
}

ops::OpTable math_table() {
  ops::OpTable table = ops::OpTable::builtin();
  const auto add = [&](const char* name, std::initializer_list<const char*> operands) {
    ops::OpInfo info;
    info.name = name;
    info.op_class = ops::OpClass::kUninterpreted;
    for (const char* operand : operands) info.operands.push_back({operand});
    info.infer = infer_scalar;
    if (operands.size() == 0) info.attrs.emplace_back().name = "value";
    must(table.add(std::move(info)));
  };
  for (const char* op : {"m_diff", "m_integral", "m_add", "m_sub", "m_mul", "m_div", "m_pow"}) add(op, {"a", "b"});
  for (const char* op : {"m_ln", "m_sqrt", "m_sin", "m_cos"}) add(op, {"a"});
  for (const char* op : {"m_const", "m_var"}) add(op, {});
  return table;
}

/// The seven terms of the benchmark.
void add_terms(egraph::EGraph& egraph) {
  egraph::TermBuilder builder(egraph);
  const ops::OpTable& table = egraph.table();
  const auto make = [&](const char* op, std::vector<std::optional<ops::TermValue>> operands,
                        const ops::Attrs& attrs = {}) {
    return must(builder.apply(table.require(op), operands, attrs, {}))[0];
  };
  const auto number = [&](std::int64_t n) { return make("m_const", {}, {{"value", n}}); };
  const auto variable = [&](std::int64_t n) { return make("m_var", {}, {{"value", n}}); };
  const auto x = variable(0), y = variable(1), five = variable(2);
  make("m_integral", {make("m_ln", {x}), x});
  make("m_integral", {make("m_add", {x, make("m_cos", {x})}), x});
  make("m_integral", {make("m_mul", {make("m_cos", {x}), x}), x});
  make("m_diff", {x, make("m_add", {number(1), make("m_mul", {number(2), x})})});
  make("m_diff",
       {x, make("m_sub", {make("m_pow", {x, number(3)}), make("m_mul", {number(7), make("m_pow", {x, number(2)})})})});
  make("m_add", {make("m_mul", {y, make("m_add", {x, y})}),
                 make("m_sub", {make("m_add", {x, number(2)}), make("m_add", {x, x})})});
  const auto root = make("m_sqrt", {five});
  make("m_div", {number(1), make("m_sub", {make("m_div", {make("m_add", {number(1), root}), number(2)}),
                                           make("m_div", {make("m_sub", {number(1), root}), number(2)})})});
}

double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

/// The host of a virtual machine takes free memory back and is slow to return it, twenty times as slow as the system
/// is to clear it: what the search is going to use is asked for before.
void fetch_memory() { LargeVector<std::uint8_t>().resize(std::size_t{512} << 20, 1); }

/// Replays the explanations of random equal pairs. @returns the longest time in seconds.
double check_explanations(const egraph::EGraph& egraph, const rule::RuleSet& rules, const match::Program& program,
                          std::size_t pairs) {
  std::mt19937_64 random(1);
  std::vector<std::pair<EClassId, EClassId>> chosen;
  while (chosen.size() < pairs) {
    const EClassId a(random() % (egraph.node_count() - 1) + 1);
    const EClassId b = egraph.find(a);
    if (a != b) chosen.emplace_back(a, b);
  }
  const auto apply = saturate::replayer(rules.rewrites, program);
  double worst = 0, total = 0;
  std::size_t longest = 0;
  for (const auto& [a, b] : chosen) {
    const double start = processor_seconds();
    const egraph::Explanation why = egraph::explain(egraph, program, a, b);
    const Status status = egraph::replay(egraph, program, why, a, b, apply);
    const double seconds = processor_seconds() - start;
    if (!status) {
      fmt::print(stderr, "{}", print_error(status.error()));
      std::exit(1);
    }
    worst = std::max(worst, seconds);
    total += seconds;
    longest = std::max(longest, why.applications.size());
  }
  fmt::print("{} explanations replay: {:.3f} ms on average, {:.3f} ms at most, up to {} applications\n", pairs,
             1e3 * total / static_cast<double>(pairs), 1e3 * worst, longest);
  return worst;
}

/// How the e-graph and the time grow together, by iterations: what a node costs must not depend on how many there are.
void print_curve(const rule::RuleSet& rules, saturate::Options options, egraph::EGraphOptions how) {
  fetch_memory();
  for (std::uint64_t last = options.limits.iterations, n = 1; n <= last; ++n) {
    options.limits.iterations = n;
    egraph::EGraph egraph(rules.table, how);
    add_terms(egraph);
    match::Program program;
    const double start = processor_seconds();
    must(saturate::run(egraph, rules, program, options));
    const double seconds = processor_seconds() - start;
    fmt::print("{} e-nodes {:.4f} s, {:.0f} ns each\n", egraph.live_nodes(), seconds,
               1e9 * seconds / static_cast<double>(egraph.live_nodes()));
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t iterations = 11;
  int repeats = 3;
  bool record = true, profile = false, curve = false;
  std::size_t explanations = 0;
  int position = 0;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--plain") == 0)
      record = false;
    else if (std::strcmp(argv[i], "--profile") == 0)
      profile = true;
    else if (std::strcmp(argv[i], "--curve") == 0)
      curve = true;
    else if (std::strcmp(argv[i], "--explain") == 0)
      explanations = 1000;
    else if (position++ == 0)
      iterations = std::strtoull(argv[i], nullptr, 10);
    else
      repeats = std::atoi(argv[i]);
  }
  const ops::OpTable base = math_table();
  const auto source = std::make_shared<const SourceText>(SourceText{"math.fuse", kRules});
  const rule::RuleSet rules = must(rule::check_rules({must(rule::parse_rules(source))}, base));
  saturate::Options options;
  options.limits = {.nodes = 1U << 28,
                    .iterations = iterations,
                    .matches_per_rule = ~std::uint64_t{0},
                    .seconds = 1e6,
                    .bytes = ~std::uint64_t{0}};
  if (curve) {
    print_curve(rules, options, {record});
    return 0;
  }
  double best = 1e9;
  for (int i = 0; i < repeats; ++i) {
    egraph::EGraph egraph(rules.table, {record});
    add_terms(egraph);
    match::Program program;
    fetch_memory();
    const double start = processor_seconds();
    const saturate::Trace trace = must(saturate::run(egraph, rules, program, options));
    best = std::min(best, processor_seconds() - start);
    if (i + 1 < repeats) continue;
    fmt::print("{} iterations: {} e-nodes, {} classes, {:.3f} s{}\n", trace.iterations.size(), egraph.live_nodes(),
               egraph.class_count(), best, record ? "" : " (plain)");
    if (profile) {
      double index = 0, match = 0, apply = 0, rebuild = 0;
      std::uint64_t matches = 0, applied = 0;
      for (const saturate::IterationTrace& it : trace.iterations) {
        index += it.index_seconds;
        match += it.match_seconds;
        apply += it.apply_seconds;
        rebuild += it.rebuild_seconds;
        matches += it.matches;
        applied += it.applied;
      }
      fmt::print("index {:.3f} match {:.3f} apply {:.3f} rebuild {:.3f} s, {} matches, {} applied, {} MB\n", index,
                 match, apply, rebuild, matches, applied, trace.bytes >> 20);
    }
    if (explanations > 0) check_explanations(egraph, rules, program, explanations);
  }
  return 0;
}
