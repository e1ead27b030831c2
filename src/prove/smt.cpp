#include "src/prove/smt.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "fusewright/prove/instance.hpp"
#include "src/prove/hints.hpp"
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
  std::set<DType> dtypes;
};

/// How large a value is when it is multiplied out: a sum of so many products of so many factors at the most.
struct Polynomial {
  std::set<graph::Value> factors;
  double degree = 1, products = 1;

  /// No more products than there are of so many factors.
  void bound() {
    double all = 1;
    for (double k = 1; k <= degree && all < products; ++k) all *= (static_cast<double>(factors.size()) + k) / k;
    products = std::min(products, all);
  }
};

/// Whether the solver can multiply out what a graph computes: it does so whatever it is asked.
bool is_small(const graph::Graph& graph) {
  constexpr double kMostProducts = 4096, kMostDegree = 64;
  std::map<graph::NodeId, Polynomial> known;
  for (const graph::NodeId id : graph.entry_computation().nodes) {
    const ops::OpInfo& info = graph.info(id);
    const bool sum = info.name == "add" || info.name == "sub";
    const bool product = info.name == "mul" || info.name == "div" || info.name == "dot" || info.name == "conv";
    const bool same = info.name == "neg" || info.name == "reduce_sum" || info.op_class == ops::OpClass::kMovement;
    Polynomial own;
    if (!sum && !product && !same) {
      own.factors = {{id, 0}};
    } else {
      own.degree = product ? 0 : 1;
      own.products = product ? 1 : 0;
      for (const graph::Value v : graph[id].operands) {
        const Polynomial& part = known.at(v.node);
        own.factors.insert(part.factors.begin(), part.factors.end());
        own.degree = product ? own.degree + part.degree : std::max(own.degree, part.degree);
        own.products = product ? own.products * part.products : own.products + part.products;
      }
      own.bound();
    }
    if (own.products > kMostProducts || own.degree > kMostDegree) return false;
    known.emplace(id, std::move(own));
  }
  return true;
}

bool same_results(Progress& progress, const graph::Graph& left_call, const graph::Graph& right_call, Theory theory) {
  z3::context& context = progress.context;
  // Composite operators are their bodies.
  const auto every = [](const ops::OpInfo&) { return true; };
  const auto left = graph::expand_composites(left_call, every), right = graph::expand_composites(right_call, every);
  if (!left || !right) return false;
  if (same_graph(*left, *right)) return true;
  if (theory != Theory::kSymbols && (!is_small(*left) || !is_small(*right))) return false;
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
        for (const InstanceNode& node : instance.nodes)
          for (const Dim& d : node.type.shape) progress.general = progress.general || !d.is_constant();
      }
      return !progress.failed;
    });
    progress.failed = progress.failed || !whole || !all.all;
  }
  return !progress.failed;
}

/// Whether constants whose numbers the rule reads may be others than those that are tried.
bool reads_any_number(const rule::RewriteRule& rule, const GuardNumbers& guards) {
  const auto open = [&](const std::string& name) { return !guards.settled.contains(name); };
  for (const auto& [name, role] : roles_of(rule))
    if (role == Role::kSplat && open(name)) return true;
  for (const rule::RewriteVariant& variant : rule.variants)
    for (const rule::PatternNode& node : variant.nodes) {
      const rule::LiteralPattern& literal = node.literal;
      const bool some = literal.any || literal.tolerance > 0 || literal.approximate;
      if (node.kind == rule::PatternNode::Kind::kLiteral && some && !literal.bind.empty() && open(literal.bind))
        return true;
    }
  return false;
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
                        const std::vector<DType>& dtypes, const std::string& name, const Space& numbers) {
  const std::int64_t least = least_rank(rules, rule);
  Progress progress;
  std::int64_t highest = -1;
  for (std::int64_t rank = 0; rank <= 4 && !progress.failed; ++rank) {
    if (highest >= least && progress.proved > kEnoughProofs) break;
    for (const DType dtype : dtypes) {
      std::uint32_t symbols = 0;
      Space space = numbers;
      space.symbols = &symbols;
      const std::uint64_t before = progress.proved;
      for (ops::Shape& shape : shapes_of_rank(rank, space))
        if (!try_terms(rules, rule, Type::tensor(dtype, std::move(shape)), space, theory, progress)) break;
      if (progress.failed && rank <= least) return {};
      if (progress.proved > before && !progress.failed) highest = rank;
    }
  }
  if (highest < 0 || (least > 2 && highest < least) || !progress.general) return {};
  return fmt::format("{}, symbolic extents to rank {} ({} terms)", name, highest, progress.proved);
}

/// Scalars of every dtype; elementwise operators do the same at every element of any shape.
std::string over_numbers(const rule::RuleSet& rules, const LoneRule& rule, const Space& numbers) {
  for (const rule::RewriteVariant& variant : rule.rule->variants)
    for (const rule::PatternNode& node : variant.nodes)
      for (const ops::OpId op : node.ops.ops)
        if ((*rules.table)[op].op_class != ops::OpClass::kElementwise) return {};
  Progress progress;
  std::string dtypes;
  Space space = numbers;
  space.max_rank = 0;
  for (const DType dtype : all_dtypes()) {
    if (dtype == DType::kF8E4M3FN) continue;  // not an IEEE format; the bounded search tries it
    if (!try_terms(rules, rule, Type::tensor(dtype, {}), space, Theory::kArithmetic, progress)) return {};
  }
  for (const DType dtype : progress.dtypes) dtypes += fmt::format(" {}", ops::name(dtype));
  if (progress.proved == 0) return {};
  return fmt::format("IEEE and bit-vector arithmetic, every number of{}", dtypes);
}

}  // namespace

std::string prove_by_solver(const rule::RuleSet& rules, const LoneRule& rule) {
  for (const rule::RewriteVariant& variant : rule.rule->variants)
    if (variant.roots.size() > 1) return {};  // terms of the solver have one value
  const GuardNumbers guards = numbers_by_guards(*rules.table, *rule.rule, tried_numbers(*rule.rule));
  if (reads_any_number(*rule.rule, guards)) return {};
  Space numbers;
  numbers.numbers_of = further_numbers(*rule.rule, guards);
  numbers.constants = constants_in(*rule.rule);
  // Symbols stand for no product of others and for no number, so that what holds of them is not all that the rule does.
  const bool all_shapes = !reshapes(*rules.table, *rule.rule) && sizes_in(*rule.rule).empty();
  if (!all_shapes) return rule.rule->exactness.bitexact() ? over_numbers(rules, rule, numbers) : std::string();
  std::string theory = over_shapes(rules, rule, Theory::kSymbols, {DType::kF32, DType::kS32, DType::kPred},
                                   "uninterpreted operators", numbers);
  if (!theory.empty()) return theory;
  if (rule.rule->exactness.bitexact()) return over_numbers(rules, rule, numbers);
  const auto may = [&](rule::ExactnessClass c) { return rule.rule->exactness.has(c); };
  using enum rule::ExactnessClass;
  if (!may(kReassociating) && !may(kFactoring) && !may(kApproximate)) return {};  // equal numbers round alike or not
  return over_shapes(rules, rule, Theory::kReals, {DType::kF32}, "reals", numbers);
}

}  // namespace fusewright::prove
