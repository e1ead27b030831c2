#include "src/prove/smt.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "fusewright/prove/instance.hpp"
#include "src/prove/same_graph.hpp"
#include "src/prove/smt_terms.hpp"

namespace fusewright::prove {

using ops::DType;
using ops::Type;

namespace {

constexpr unsigned kWork = 3'000'000;       // of one question, in the solver's own units: the same on every machine
constexpr std::uint64_t kMostTerms = 4000;  // of one root type; a rule with more is left to the bounded search
constexpr std::uint64_t kMostProofs = 1500;
constexpr std::uint64_t kEnoughProofs = 150;  // of the ranks that must be; higher ones are left out then
constexpr std::uint64_t kMostWays = 200'000;  // to get a value, that are tried for one root type

/// What came of all terms of one form.
struct Progress {
  z3::context context;
  std::uint64_t proved = 0;
  bool failed = false;
  std::map<unsigned, z3::expr> shown;  // equations by their ids; terms of many shapes come to one
  bool general = false;                ///< some term had an axis of any extent
  bool numbers = false;                ///< some term had a constant that the rule reads, of the table of numbers
  std::set<DType> dtypes;
};

bool same_results(Progress& progress, const graph::Graph& left_call, const graph::Graph& right_call, Theory theory) {
  z3::context& context = progress.context;
  // Composite operators are their bodies.
  const auto every = [](const ops::OpInfo&) { return true; };
  const auto left = graph::expand_composites(left_call, every), right = graph::expand_composites(right_call, every);
  if (!left || !right) return false;
  if (same_graph(*left, *right)) return true;
  try {
    TermReader reader(context, theory);
    const auto l = reader.result(*left), r = reader.result(*right);
    if (!l || !r || !z3::eq(l->get_sort(), r->get_sort())) return false;
    z3::params multiplied_out(context);
    multiplied_out.set("som", true);
    const z3::expr left_form = l->simplify(multiplied_out), right_form = r->simplify(multiplied_out);
    if (z3::eq(left_form, right_form)) return true;
    const z3::expr equation = left_form == right_form;
    if (progress.shown.contains(equation.id())) return true;
    z3::solver solver(context);
    z3::params limits(context);
    limits.set("rlimit", kWork);
    solver.set(limits);
    for (const z3::expr& e : reader.assumptions()) solver.add(e);
    solver.add(!equation);
    if (solver.check() != z3::unsat) return false;
    progress.shown.emplace(equation.id(), equation);
    return true;
  } catch (const z3::exception&) {
    return false;
  }
}

bool try_terms(const rule::RuleSet& rules, const LoneRule& rule, const Type& root, const Space& space, Theory theory,
               Progress& progress) {
  std::uint64_t terms = 0;
  SourceCache cache(*rules.table);
  for (const rule::RewriteVariant& variant : rule.rule->variants) {
    Enumeration all{*rules.table, *rule.rule, variant, space, cache, kMostWays, true};
    const bool whole = enumerate(all, root, [&](const Instance& instance) {
      if (++terms > kMostTerms || progress.proved > kMostProofs) progress.failed = true;
      if (progress.failed) return false;
      const auto left = graph_of(rules.table, instance, Weights::kUnknown);
      if (!left) {  // no term, unless it only lacks a constant of which nothing is known
        const bool weights = std::ranges::count(instance.nodes, InstanceNode::Kind::kWeight, &InstanceNode::kind) > 0;
        progress.failed = progress.failed || weights;
        return !weights;
      }
      const Applied applied = apply_at_root(rule, *left);
      if (!applied.error.empty()) progress.failed = true;
      for (const graph::Graph& right : applied.rewritten)
        if (!progress.failed && !same_results(progress, weights_as_parameters(*left, instance),
                                              weights_as_parameters(right, instance), theory))
          progress.failed = true;
      if (!applied.rewritten.empty() && !progress.failed) {
        ++progress.proved;
        progress.dtypes.insert(root.dtype);
        for (const InstanceNode& node : instance.nodes) {
          const bool read = node.kind == InstanceNode::Kind::kNumber && !node.name.empty();
          progress.numbers = progress.numbers || read;
          for (const Dim& d : node.type.shape) progress.general = progress.general || !d.is_constant();
        }
      }
      return !progress.failed;
    });
    progress.failed = progress.failed || !whole || !all.all;
  }
  return !progress.failed;
}

/// The rank up to which terms must be proved for the rule to be: convolutions and windows have an axis to slide along
/// from three on.
std::int64_t least_rank(const rule::RuleSet& rules, const LoneRule& rule) {
  for (const rule::RewriteVariant& variant : rule.rule->variants)
    for (const rule::PatternNode& node : variant.nodes)
      for (const ops::OpId op : node.ops.ops) {
        const ops::OpClass c = (*rules.table)[op].op_class;
        if (c == ops::OpClass::kConvolution || c == ops::OpClass::kWindow) return 3;
      }
  return 2;
}

/// Terms of every rank with symbols for extents.
std::string over_shapes(const rule::RuleSet& rules, const LoneRule& rule, Theory theory,
                        const std::vector<DType>& dtypes, const std::string& name) {
  const std::int64_t least = least_rank(rules, rule);
  Progress progress;
  std::int64_t highest = -1;
  for (std::int64_t rank = 0; rank <= 4 && !progress.failed; ++rank) {
    if (highest >= least && progress.proved > kEnoughProofs) break;
    for (const DType dtype : dtypes) {
      std::uint32_t symbols = 0;
      Space space;
      space.symbols = &symbols;
      const std::uint64_t before = progress.proved;
      for (ops::Shape& shape : shapes_of_rank(rank, space))
        if (!try_terms(rules, rule, Type::tensor(dtype, std::move(shape)), space, theory, progress)) break;
      if (progress.failed && rank <= least) return {};
      if (progress.proved > before && !progress.failed) highest = rank;
    }
  }
  if (highest < 0 || (least > 2 && highest < least) || !progress.general) return {};
  return fmt::format("{}, symbolic extents to rank {} ({} terms){}", name, highest, progress.proved,
                     progress.numbers ? ", numbers that it reads of a table" : "");
}

/// Scalars of every dtype; elementwise operators do the same at every element of any shape.
std::string over_numbers(const rule::RuleSet& rules, const LoneRule& rule) {
  for (const rule::RewriteVariant& variant : rule.rule->variants)
    for (const rule::PatternNode& node : variant.nodes)
      for (const ops::OpId op : node.ops.ops)
        if ((*rules.table)[op].op_class != ops::OpClass::kElementwise) return {};
  Progress progress;
  std::string dtypes;
  Space space;
  space.max_rank = 0;
  for (const DType dtype : all_dtypes()) {
    if (dtype == DType::kF8E4M3FN) continue;  // not an IEEE format; the bounded search tries it
    if (!try_terms(rules, rule, Type::tensor(dtype, {}), space, Theory::kArithmetic, progress)) return {};
  }
  for (const DType dtype : progress.dtypes) dtypes += fmt::format(" {}", ops::name(dtype));
  if (progress.proved == 0) return {};
  return fmt::format("IEEE and bit-vector arithmetic, every number of{}{}", dtypes,
                     progress.numbers ? ", but for numbers that it reads, of a table" : "");
}

}  // namespace

std::string prove_by_solver(const rule::RuleSet& rules, const LoneRule& rule) {
  for (const rule::RewriteVariant& variant : rule.rule->variants)
    if (variant.roots.size() > 1) return {};  // terms of the solver have one value
  std::string theory =
      over_shapes(rules, rule, Theory::kSymbols, {DType::kF32, DType::kS32, DType::kPred}, "uninterpreted operators");
  if (!theory.empty()) return theory;
  if (rule.rule->exactness.bitexact()) return over_numbers(rules, rule);
  return over_shapes(rules, rule, Theory::kReals, {DType::kF32}, "reals");
}

}  // namespace fusewright::prove
