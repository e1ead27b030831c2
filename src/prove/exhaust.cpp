#include "src/prove/exhaust.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "fusewright/prove/instance.hpp"
#include "src/prove/values.hpp"

namespace fusewright::prove {

using ops::DType;
using ops::Shape;
using ops::Type;

namespace {

/// Root types that are tried together.
struct Level {
  std::string name;
  std::vector<std::int64_t> ranks;
  std::vector<std::int64_t> extents;
  std::vector<DType> dtypes;
};

/// Small ranks with every dtype and with nothing in an axis, then every shape with one dtype of each kind.
std::vector<Level> levels() {
  const std::vector<DType> kinds = {DType::kF32, DType::kS32, DType::kPred};
  return {{"rank 0", {0}, {1}, all_dtypes()},
          {"rank 1", {1}, {0, 1, 2, 3}, all_dtypes()},
          {"rank 2", {2}, {0, 1, 2, 3}, kinds},
          {"rank 3", {3}, {1, 2, 3}, kinds},
          {"rank 4", {4}, {1, 2, 3}, {DType::kF32}}};
}

std::vector<Type> root_types(const Level& level, const Space& space) {
  std::vector<Type> out;
  for (const std::int64_t rank : level.ranks)
    for (const DType dtype : level.dtypes)
      for (Shape& shape : shapes_of_rank(rank, space)) out.push_back(Type::tensor(dtype, std::move(shape)));
  return out;
}

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
  const std::vector<ops::TensorHandle> weights = weights_of(*left, instance);
  for (const graph::Graph& right : applied.rewritten) {
    const Result<std::optional<Difference>> found = find_difference({*left, right, weights, rule.rule->exactness});
    if (!found) {
      --search.instances;
      if (search.unknown++ == 0) search.unknown_reason = found.error().diagnostics[0].message;
      return true;
    }
    if (*found) return differs((*found)->values, (*found)->reason);
  }
  return true;
}

/// The instances of one level, smallest first; where there are too many, evenly spaced ones of each root type.
class LevelSearch {
 public:
  LevelSearch(const rule::RuleSet& rules, const LoneRule& rule, const Budget& budget, Search& search)
      : rules_(rules), rule_(rule), budget_(budget), search_(search), cache_(*rules.table) {}

  /// @returns whether no counterexample was found.
  bool run(const Level& level) {
    Space space;
    space.extents = level.extents;
    const std::vector<Type> roots = root_types(level, space);
    std::vector<Instance> chosen;
    std::uint64_t all = 0;
    bool cut = false;
    const std::uint64_t each = std::max<std::uint64_t>(budget_.instances_per_level / roots.size(), 1);
    for (const Type& root : roots) {
      const std::uint64_t count = listed(root, space, 1, 0, nullptr);
      all += count;
      cut = cut || count >= budget_.terms_per_type;
      const std::uint64_t step = (count + each - 1) / each;
      if (count > 0) listed(root, space, step, chosen.size() % step, &chosen);
    }
    cut = cache_.take_cut() || cut;
    std::vector<std::pair<std::int64_t, std::size_t>> order;
    for (std::size_t i = 0; i < chosen.size(); ++i) order.emplace_back(chosen[i].size(), i);
    std::ranges::sort(order);
    const std::uint64_t before = search_.instances;
    bool good = true;
    for (std::size_t i = 0; i < order.size() && good; ++i)
      good = try_instance(rules_, rule_, chosen[order[i].second], search_);
    const std::uint64_t tried = search_.instances - before;
    if (tried > 0 || !good) {
      const bool complete = chosen.size() == all && !cut;
      search_.sampled = search_.sampled || !complete;
      search_.space += fmt::format(
          "{}{}: {} {}", search_.space.empty() ? "" : ", ", level.name, tried,
          complete
              ? "(all)"
              : fmt::format("(1 in {:.0f}{})",
                            static_cast<double>(all) / static_cast<double>(std::max<std::size_t>(chosen.size(), 1)),
                            cut ? " or more" : ""));
    }
    return good;
  }

 private:
  /// How many terms there are, each variant of the rule with its share; every `step`-th is put into `chosen`.
  std::uint64_t listed(const Type& root, const Space& space, std::uint64_t step, std::uint64_t offset,
                       std::vector<Instance>* chosen) {
    const std::vector<rule::RewriteVariant>& variants = rule_.rule->variants;
    const std::uint64_t share = budget_.terms_per_type / variants.size() + 1;
    std::uint64_t count = 0;
    for (const rule::RewriteVariant& variant : variants) {
      std::uint64_t own = 0;
      enumerate(*rules_.table, *rule_.rule, variant, root, space, cache_, [&](const Instance& instance) {
        if (chosen != nullptr && count % step == offset) chosen->push_back(instance);
        ++count;
        return ++own < share;
      });
    }
    return count;
  }

  const rule::RuleSet& rules_;
  const LoneRule& rule_;
  const Budget& budget_;
  Search& search_;
  SourceCache cache_;
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
    Result<std::optional<Difference>> found = find_difference({*call, *body, {}, {}});
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
      const auto found = find_difference({first, right, {}, {}});
      if (found && *found) return differs((*found)->values, "recognising: " + (*found)->reason);
    }
    return true;
  }

  const rule::RuleSet& rules_;
  ops::OpId op_;
  const LoneRule* recognise_;
  Search& search_;
};

}  // namespace

Search search_rewrite(const rule::RuleSet& rules, const LoneRule& rule, const Budget& budget) {
  Search search;
  LevelSearch at(rules, rule, budget, search);
  for (const Level& level : levels())
    if (!at.run(level)) break;
  return search;
}

Search search_op(const rule::RuleSet& rules, ops::OpId op, const LoneRule* recognise, const Budget& budget) {
  Search search;
  OpSearch at(rules, op, recognise, search);
  const ops::OpInfo& info = (*rules.table)[op];
  std::size_t optional = 0;
  for (const auto& operand : info.operands) optional += operand.optional ? 1 : 0;
  for (const Level& level : levels()) {
    Space space;
    space.extents = level.extents;
    std::vector<Source> uses;
    for (const Type& first : root_types(level, space))
      for (std::size_t bits = 0; bits < (std::size_t{1} << std::min<std::size_t>(optional, 4)); ++bits) {
        std::vector<bool> present;
        std::size_t k = 0;
        for (const auto& operand : info.operands) present.push_back(!operand.optional || (bits >> k++ & 1) != 0);
        for (Source& use : uses_of(*rules.table, op, first, present, space)) uses.push_back(std::move(use));
      }
    const std::size_t step = std::max<std::size_t>(1, uses.size() / budget.instances_per_level);
    const std::uint64_t before = search.instances;
    search.sampled = search.sampled || step > 1;
    for (std::size_t i = 0; i < uses.size(); i += step)
      if (!at.try_use(uses[i])) return search;
    if (search.instances > before)
      search.space += fmt::format("{}{}: {}{}", search.space.empty() ? "" : ", ", level.name, search.instances - before,
                                  step == 1 ? " (all)" : fmt::format(" (1 in {})", step));
  }
  return search;
}

}  // namespace fusewright::prove
