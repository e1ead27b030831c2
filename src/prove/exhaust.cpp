#include "src/prove/exhaust.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "fusewright/prove/instance.hpp"
#include "src/prove/hints.hpp"
#include "src/prove/levels.hpp"
#include "src/prove/values.hpp"

namespace fusewright::prove {

using ops::DType;
using ops::Shape;
using ops::Type;

namespace {

void note_level(Search& search, const std::string& text) { search.space += (search.space.empty() ? "" : ", ") + text; }

std::vector<ops::TensorHandle> weights_of(const graph::Graph& graph, const Instance& instance) {
  // The made-up weights are the constants that graph_of wrote for them, in order.
  std::vector<ops::TensorHandle> constants;
  for (const graph::NodeId id : graph.entry_computation().nodes)
    if (graph.info(id).name == "constant") constants.push_back(graph[id].attrs.get<ops::TensorHandle>("value"));
  std::vector<ops::TensorHandle> out;
  std::size_t next = 0;
  for (const InstanceNode& node : instance.nodes) {
    if (node.kind != InstanceNode::Kind::kWeight && node.kind != InstanceNode::Kind::kNumber) continue;
    const ops::TensorHandle& value = constants[next++];
    if (node.kind != InstanceNode::Kind::kWeight) continue;
    // Weights too narrow to be told from each other and from numbers keep their values.
    const int bits = ops::bit_width(node.type.dtype);
    if (node.type.dtype == DType::kPred || bits < 8 || (ops::is_float(node.type.dtype) && bits < 16)) continue;
    if (value->elements() > 0) out.push_back(value);
  }
  return out;
}

/// Tries one instance. @returns whether the search goes on.
bool try_instance(const rule::RuleSet& rules, const LoneRule& rule, const Instance& instance, Search& search) {
  const Result<graph::Graph> left = graph_of(rules.table, instance);
  if (!left) return true;
  const Applied applied = apply_at_root(rule, *left);
  const auto differs = [&](std::string values, std::string reason) {
    search.counterexample = {print_reject(*rules.table, instance), std::move(values), std::move(reason)};
    return false;
  };
  if (!applied.error.empty()) return differs({}, "the right side is not defined: " + applied.error);
  if (applied.rewritten.empty() && applied.same == 0) {
    ++search.refused;
    return true;
  }
  ++search.instances;
  if (applied.left_out > 0) ++search.many_ways;
  const std::vector<ops::TensorHandle> weights = weights_of(*left, instance);
  for (const graph::Graph& right : applied.rewritten) {
    const Result<std::optional<Difference>> found =
        find_difference({*left, right, weights, rule.rule->exactness, false, &search.tried});
    if (!found) {
      --search.instances;
      if (search.unknown++ == 0) search.unknown_reason = found.error().diagnostics[0].message;
      return true;
    }
    if (*found) return differs((*found)->values, (*found)->reason);
    search.of_forms.resize(search.tried.bulk.size(), instance);
  }
  if (!has_elements(*left)) ++search.empty;
  return true;
}

constexpr std::uint64_t kBulkWork = 1 << 13;  // elements that are computed for each term allowed, of all forms
constexpr std::uint64_t kMostRows = 1 << 18;  // of one form
constexpr std::uint64_t kFewestRows = 1 << 6;
constexpr std::uint64_t kOneBound = 16;  // error bounds cost so many times the numbers alone

/// Many random values of each form of the terms that agreed on few.
void search_in_bulk(const rule::RuleSet& rules, const LoneRule& rule, const Budget& budget, Search& search) {
  std::uint64_t work = 0;
  for (const Form& form : search.tried.bulk) work += form.work();
  if (work == 0) return;
  const rule::Exactness& exactness = rule.rule->exactness;
  const std::uint64_t most = kBulkWork * budget.terms_per_level / (exactness.bitexact() ? 1 : kOneBound);
  const std::uint64_t rows = std::clamp(most / work, kFewestRows, kMostRows);
  for (std::size_t i = 0; i < search.tried.bulk.size(); ++i) {
    const auto found = find_difference_in_bulk(search.tried.bulk[i], exactness, static_cast<std::int64_t>(rows));
    if (!found || !*found) continue;
    search.counterexample = {print_reject(*rules.table, search.of_forms[i]), (*found)->values, (*found)->reason};
    return;
  }
  note_level(search, fmt::format("{} random values for each of {} forms", rows, search.tried.bulk.size()));
}

/// The instances of one level, smallest first.
class LevelSearch {
 public:
  LevelSearch(const rule::RuleSet& rules, const LoneRule& rule, const Budget& budget, SourceCache& cache,
              Search& search)
      : rules_(rules),
        rule_(rule),
        budget_(budget),
        search_(search),
        cache_(cache),
        roles_(roles_of(*rule.rule)),
        named_(dtypes_in(*rule.rule)),
        constants_(constants_in(*rule.rule)) {
    const GuardNumbers guards = numbers_by_guards(*rules.table, *rule.rule, tried_numbers(*rule.rule));
    numbers_ = further_numbers(*rule.rule, guards);
    std::ranges::copy(guards.attributes, std::back_inserter(constants_));
  }

  /// From now on operands that otherwise are of few dtypes are of all.
  void name_every_dtype() { named_ = all_dtypes(); }

  /// @returns whether no counterexample was found.
  bool run(const Level& level) {
    Tier tier;
    std::vector<Instance> terms;
    std::uint64_t one_in = find_tier(level, tier, terms) ? 1 : 0;
    if (one_in == 0 && (level.besides || level.optional)) return true;
    if (one_in == 0) {  // even the narrowest is too large: evenly spaced ones of it
      const std::uint64_t some = kLastTimes * budget_.terms_per_level, most = kMostCounted * some;
      const bool counted = list(level, tier, 0, most, terms);
      one_in = listed_ / some + (counted ? 1 : 2);
      list(level, tier, one_in, most, terms);
    }
    std::vector<std::pair<std::int64_t, std::size_t>> order;
    for (std::size_t i = 0; i < terms.size(); ++i) order.emplace_back(terms[i].size(), i);
    std::ranges::sort(order);
    const std::uint64_t before = search_.instances;
    bool good = true;
    for (std::size_t i = 0; i < order.size() && good; ++i)
      good = try_instance(rules_, rule_, terms[order[i].second], search_);
    if (search_.instances > before || !good || one_in > 1) {
      search_.sampled = search_.sampled || one_in > 1;
      note_level(search_, describe(level, tier, search_.instances - before, one_in));
    }
    return good;
  }

 private:
  static constexpr std::uint64_t kMostCounted = 2;   // times the terms allowed, where some of them are taken
  static constexpr std::uint64_t kWorkPerTerm = 50;  // ways to get a value that are tried for each term allowed

  /// The widest space of a level that is small enough, and its terms; else the narrowest. Where every number for every
  /// constant makes too many terms of all of them, fewer numbers do.
  bool find_tier(const Level& level, Tier& tier, std::vector<Instance>& terms) {
    const auto constants = std::ranges::count(roles_ | std::views::values, Role::kSplat);
    std::vector<std::size_t> numbers = {Tier().numbers};
    if (constants > 1) numbers.insert(numbers.end(), {3, 2, 1});
    for (const std::size_t of_each : numbers)
      for (const Tier& wide : level.tiers) {
        tier = wide;
        tier.numbers = of_each;
        std::uint64_t most = most_terms(level, wide, budget_.terms_per_level);
        if (constants > 2) most = std::min(most, budget_.terms_per_level);  // rather fewer numbers of each
        if (list(level, tier, 1, most, terms)) return true;
      }
    return false;
  }

  /// Every `step`-th term of the space, none for 0. @returns false when there are more than `most`, or not all are
  /// known.
  bool list(const Level& level, const Tier& tier, std::uint64_t step, std::uint64_t most,
            std::vector<Instance>& terms) {
    Space space = space_of(tier);
    space.named = named_;
    space.constants = constants_;
    space.numbers_of = numbers_;
    terms.clear();
    listed_ = 0;
    std::uint64_t work = kWorkPerTerm * most;
    bool all = true;
    for (const Type& root : root_types(level, tier))
      for (const rule::RewriteVariant& variant : rule_.rule->variants) {
        Enumeration enumeration{*rules_.table, *rule_.rule, variant, space, cache_, work, true};
        const bool whole = enumerate(enumeration, root, [&](const Instance& instance) {
          if (step != 0 && listed_ % step == 0) terms.push_back(instance);
          return ++listed_ <= most;
        });
        work = enumeration.work;
        all = all && whole && enumeration.all;
        if (!all && step == 1) return false;
      }
    return all;
  }

  const rule::RuleSet& rules_;
  const LoneRule& rule_;
  const Budget& budget_;
  Search& search_;
  SourceCache& cache_;
  std::map<std::string, Role> roles_;
  std::vector<DType> named_;
  std::vector<double> constants_;
  std::map<std::string, std::vector<double>> numbers_;  // by constant
  std::uint64_t listed_ = 0;
};

// --- Operators -------------------------------------------------------------------------------------------

/// One use of an operator and its body on the same parameters.
struct OpGraphs {
  graph::Graph call, body;
};

Result<graph::Graph> call_graph(const std::shared_ptr<const ops::OpTable>& table, ops::OpId op, const Source& use,
                                bool body) {
  graph::Graph graph = graph::make_graph(table, "operator");
  graph::Builder builder(graph, graph.entry);
  std::vector<std::optional<ops::TermValue>> operands;
  for (std::size_t i = 0; i < use.operands.size(); ++i) {
    if (!use.operands[i].is_tensor()) {
      operands.emplace_back();
      continue;
    }
    operands.emplace_back(graph::Builder::pack(builder.parameter(use.operands[i], (*table)[op].operands[i].name)));
  }
  Result<std::vector<ops::TermValue>> results =
      body ? ops::elaborate_body(*table, op, operands, use.attrs, builder) : builder.apply(op, operands, use.attrs, {});
  if (!results) return std::unexpected(std::move(results).error());
  std::vector<graph::Value> values;
  for (const ops::TermValue v : *results) values.push_back(graph::Builder::unpack(v));
  builder.set_results(std::move(values));
  return graph;
}

std::string print_call(const ops::OpInfo& op, const Source& use) {
  std::string inputs, arguments;
  for (std::size_t i = 0; i < use.operands.size(); ++i) {
    if (!use.operands[i].is_tensor()) continue;
    inputs += fmt::format("{}: {}  ", op.operands[i].name, ops::to_string(use.operands[i]));
    arguments += (arguments.empty() ? "" : ", ") + op.operands[i].name;
  }
  for (const auto& [name, value] : use.attrs.entries())
    arguments += fmt::format(", {} = {}", name, ops::to_string(value));
  return fmt::format("reject {{ {}match {}({}) }}", inputs, op.name, arguments);
}

constexpr std::size_t kMostOptional = 4;  // operands that are there or not, in every combination

class OpSearch {
 public:
  OpSearch(const rule::RuleSet& rules, ops::OpId op, const LoneRule* recognise, Search& search)
      : rules_(rules), op_(op), recognise_(recognise), search_(search) {}

  /// @returns whether the search goes on.
  bool try_use(const Source& use) {
    const auto differs = [&](std::string values, std::string reason) {
      search_.counterexample = {print_call((*rules_.table)[op_], use), std::move(values), std::move(reason)};
      return false;
    };
    const Result<graph::Graph> call = call_graph(rules_.table, op_, use, false);
    if (!call) return true;
    const Result<graph::Graph> body = call_graph(rules_.table, op_, use, true);
    if (!body) return differs({}, "the body has no type: " + body.error().diagnostics[0].message);
    for (std::size_t i = 0; i < call->outputs.size(); ++i)
      if (call->outputs[i].type != body->outputs[i].type)
        return differs({}, fmt::format("result {} is {}, its body {}", i, to_string(call->outputs[i].type),
                                       to_string(body->outputs[i].type)));
    ++search_.instances;
    if (!has_elements(*call)) ++search_.empty;
    Result<std::optional<Difference>> found = find_difference({*call, *body, {}, {}, false, &search_.tried});
    if (!found) return differs({}, "the body has no value: " + found.error().diagnostics[0].message);
    if (*found) return differs((*found)->values, (*found)->reason);
    return recognise_ == nullptr || try_recognise(*body, differs);
  }

 private:
  template <class Differs>
  bool try_recognise(const graph::Graph& body, const Differs& differs) {
    graph::Graph first = body;
    first[first.entry].results.resize(1);
    first.outputs.resize(1);
    const Applied applied = apply_at_root(*recognise_, first);
    if (!applied.error.empty()) return differs(std::string(), "recognising: " + applied.error);
    for (const graph::Graph& right : applied.rewritten) {
      const auto found = find_difference({first, right, {}, {}, true});
      if (found && *found) return differs((*found)->values, "recognising: " + (*found)->reason);
    }
    return true;
  }

  const rule::RuleSet& rules_;
  ops::OpId op_;
  const LoneRule* recognise_;
  Search& search_;
};

/// All uses of an operator in the space, or some where there are more than `most`.
Sources uses_in(const ops::OpTable& table, ops::OpId op, const Level& level, const Tier& tier, std::uint64_t most) {
  const ops::OpInfo& info = table[op];
  const Space space = space_of(tier);
  std::size_t optional = 0;
  for (const auto& operand : info.operands) optional += operand.optional ? 1 : 0;
  Sources uses;
  uses.all = optional <= kMostOptional;
  for (const Type& first : root_types(level, tier))
    for (std::size_t bits = 0; bits < (std::size_t{1} << std::min(optional, kMostOptional)); ++bits) {
      std::vector<bool> present;
      std::size_t k = 0;
      for (const auto& operand : info.operands) present.push_back(!operand.optional || (bits >> k++ & 1) != 0);
      Sources more = uses_of(table, op, first, present, space);
      uses.all = uses.all && more.all && uses.ways.size() + more.ways.size() <= most;
      std::ranges::move(more.ways, std::back_inserter(uses.ways));
      if (uses.ways.size() > most) return uses;
    }
  return uses;
}

/// Axes as long as two others together, and what conditions name: there a rule may do something else.
std::vector<Level> levels_besides(const ops::OpTable& table, const rule::RewriteRule& rule) {
  constexpr std::int64_t kRank = 4, kMostRank = 6;
  std::vector<std::int64_t> extents = sizes_in(rule);
  std::int64_t max_rank = kRank;
  for (const std::int64_t n : extents)
    if (n <= kMostRank) max_rank = std::max(max_rank, n);
  if (reshapes(table, rule) || max_rank > kRank) extents.insert(extents.end(), {2, 4});
  if (extents.empty()) return {};
  std::ranges::sort(extents);
  extents.erase(std::ranges::unique(extents).begin(), extents.end());
  return levels_with(extents, max_rank, true);
}

/// Other extents than usual, and higher ranks where they must be.
Search search_larger(const rule::RuleSet& rules, const LoneRule& rule, const Budget& budget, SourceCache& cache,
                     const std::vector<std::int64_t>& by_guards, std::int64_t max_rank) {
  Search search;
  std::vector<std::int64_t> extents = extents_in(*rule.rule);
  extents.insert(extents.end(), by_guards.begin(), by_guards.end());
  if (extents.empty()) extents = {2};
  if (max_rank > 4) extents.push_back(2);
  std::ranges::sort(extents);
  extents.erase(std::ranges::unique(extents).begin(), extents.end());
  LevelSearch at(rules, rule, budget, cache, search);
  at.name_every_dtype();
  for (Level& level : levels_with(extents, max_rank, false)) {
    level.optional = search.instances > search.empty;
    if (!at.run(level)) return search;
  }
  search_in_bulk(rules, rule, budget, search);
  if (search.instances > 0) search.space = "no instance is smaller: " + search.space;
  return search;
}

}  // namespace

Search search_rewrite(const rule::RuleSet& rules, const LoneRule& rule, const Budget& budget, SourceCache& cache) {
  Search search;
  LevelSearch at(rules, rule, budget, cache, search);
  for (const Level& level : levels())
    if (!at.run(level)) return search;
  const bool no_smaller = search.instances == search.empty;
  for (const Level& level : levels_besides(*rules.table, *rule.rule))
    if (!at.run(level)) return search;
  if (no_smaller && search.instances > search.empty) search.space = "no instance is smaller: " + search.space;
  search_in_bulk(rules, rule, budget, search);
  if (search.instances > search.empty || search.unknown > 0 || search.counterexample) return search;
  const GuardSizes sizes = sizes_by_guards(*rules.table, *rule.rule);
  constexpr std::int64_t kRank = 4, kNextRank = 5;
  const std::int64_t least = std::max(kRank, sizes.rank);
  for (const std::int64_t rank : {least, std::max(kNextRank, least)}) {
    Search wider = search_larger(rules, rule, budget, cache, sizes.extents, rank);
    if (wider.instances > wider.empty || wider.counterexample) return wider;
  }
  return search;
}

Search search_op(const rule::RuleSet& rules, ops::OpId op, const LoneRule* recognise, const Budget& budget) {
  Search search;
  OpSearch at(rules, op, recognise, search);
  for (const Level& level : levels()) {
    Sources uses;
    const Tier* tier = nullptr;
    for (const Tier& wide : level.tiers) {
      tier = &wide;
      uses = uses_in(*rules.table, op, level, wide, most_terms(level, wide, budget.terms_per_level));
      if (uses.all) break;
    }
    if (level.besides && !uses.all) continue;
    const std::uint64_t before = search.instances;
    search.sampled = search.sampled || !uses.all;
    for (const Source& use : uses.ways)
      if (!at.try_use(use)) return search;
    if (search.instances > before)
      note_level(search,
                 describe(level, *tier, search.instances - before, 1) + (uses.all ? "" : " (the first of more)"));
  }
  return search;
}

}  // namespace fusewright::prove
