#include "src/prove/fuse.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "fusewright/extract/admit.hpp"
#include "fusewright/interpret/evaluate.hpp"
#include "fusewright/interpret/inputs.hpp"
#include "fusewright/plan/plan.hpp"
#include "fusewright/prove/instance.hpp"
#include "src/prove/region_eval.hpp"
#include "src/prove/values.hpp"

namespace fusewright::prove {

using graph::Graph;
using graph::NodeId;
using graph::Value;
using ops::DType;
using ops::Type;
using rule::Segment;
using Kind = InstanceNode::Kind;

namespace {

constexpr std::uint32_t kLongestBody = 4;
constexpr std::uint64_t kRandomBodies = 400;
constexpr std::size_t kReaders = 24;  // ways in which an operator's own reader is tried, for one type
constexpr std::size_t kWanted = 8;    // types that readers want of one operator

/// SplitMix64.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t below(std::uint64_t n) {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return (z ^ (z >> 31)) % n;
  }

 private:
  std::uint64_t state_;
};

/// Results of an operator by itself. How elements are found depends on shapes alone, so every shape of f32 and one of
/// each other dtype; elementwise operators find them all in the same way.
const std::vector<Type>& lone_types(bool elementwise) {
  static const auto kTypes = [] {
    std::vector<Type> all, few;
    Space space;
    space.extents = {1, 2};
    for (std::int64_t rank = 0; rank <= 3; ++rank)
      for (ops::Shape& shape : shapes_of_rank(rank, space)) all.push_back(Type::tensor(DType::kF32, std::move(shape)));
    for (const ops::Shape& shape : {ops::Shape{0, 2}, {3}, {1, 2, 2, 2}})
      all.push_back(Type::tensor(DType::kF32, shape));
    for (const DType dtype : {DType::kF32, DType::kS32, DType::kPred, DType::kF16, DType::kS64}) {
      all.push_back(Type::tensor(dtype, {2, 3}));
      for (const ops::Shape& shape : {ops::Shape{}, {2, 3}, {0, 2}}) few.push_back(Type::tensor(dtype, shape));
    }
    return std::pair(all, few);
  }();
  return elementwise ? kTypes.second : kTypes.first;
}

/// One operator of a chain, last ones first.
struct Link {
  const Segment* segment;
  ops::OpId op;
};

/// Makes terms for a chain of operators from the result down: of each operator one operand goes on, the others are
/// inputs of the kernel.
class ChainBuilder {
 public:
  /// Which of a link's ways to get its type are taken; the others are drawn.
  using Picks = std::map<std::size_t, std::size_t>;

  ChainBuilder(const std::vector<Link>& links, Random& random, SourceCache& cache, const ops::OpTable& table)
      : table_(table), links_(links), random_(random), cache_(cache), seen_(links.size()) {}

  std::optional<Instance> run(const Type& root, const Picks& picks) {
    picks_ = &picks;
    const auto made = link(0, root);
    if (!made) return std::nullopt;
    term_.root = *made;
    return std::move(term_);
  }
  /// The type that a link was asked for, and how many ways there are to get it; none where it was not reached.
  struct Seen {
    std::optional<Type> type;
    std::size_t ways = 0;
  };
  const Seen& seen(std::size_t link) const { return seen_[link]; }
  /// Leaf that a capture of the rule named.
  const std::map<std::string, std::uint32_t>& captured() const { return captured_; }

 private:
  std::uint32_t leaf(const Type& type) {
    term_.nodes.push_back({.kind = Kind::kParameter, .type = type});
    return static_cast<std::uint32_t>(term_.nodes.size() - 1);
  }

  std::optional<std::uint32_t> link(std::size_t i, const Type& type) {
    if (i == links_.size()) return leaf(type);
    const ops::OpInfo& info = table_[links_[i].op];
    const bool variadic = !info.operands.empty() && info.operands.back().variadic;
    std::size_t operands = info.operands.size();
    if (variadic) operands = info.name.starts_with("dynamic") ? operands - 1 + type.shape.size() : operands + 1;
    Space space;
    space.extents = {1, 2};
    const std::vector<Source>& all = cache_.sources(links_[i].op, type, 0, operands, space).ways;
    seen_[i] = {type, all.size()};
    const auto pick = picks_->find(i);
    if (all.empty() || (pick != picks_->end() && pick->second >= all.size())) return std::nullopt;
    const Source& source = all[pick != picks_->end() ? pick->second : random_.below(all.size())];
    InstanceNode node{.kind = Kind::kApply, .type = type, .op = links_[i].op, .attrs = source.attrs};
    const std::size_t goes_on =
        source.operands.empty() ? 0 : random_.below(std::min<std::size_t>(source.operands.size(), 3));
    for (std::size_t k = 0; k < source.operands.size(); ++k) {
      if (k == goes_on) {
        const auto below = link(i + 1, source.operands[k]);
        if (!below) return std::nullopt;
        node.operands.push_back(*below);
      } else {
        // Now and then the same value again.
        const bool again = k > goes_on && source.operands[k] == source.operands[goes_on] && random_.below(3) == 0;
        node.operands.push_back(again ? node.operands[goes_on] : leaf(source.operands[k]));
      }
      if (k < links_[i].segment->captures.size()) captured_[links_[i].segment->captures[k].name] = node.operands.back();
    }
    term_.nodes.push_back(std::move(node));
    return static_cast<std::uint32_t>(term_.nodes.size() - 1);
  }

  const ops::OpTable& table_;
  const std::vector<Link>& links_;
  Random& random_;
  SourceCache& cache_;
  const Picks* picks_ = nullptr;
  Instance term_;
  std::map<std::string, std::uint32_t> captured_;
  std::vector<Seen> seen_;  // by link
};

/// The graph of `copies` such terms, which share the given leaves; all their results leave the region.
Result<Graph> graph_of_copies(std::shared_ptr<const ops::OpTable> table, const Instance& term, std::uint32_t copies,
                              const std::vector<std::uint32_t>& shared, std::optional<std::uint32_t> side_output) {
  Graph graph = graph::make_graph(std::move(table), "region");
  graph::Builder builder(graph, graph.entry);
  std::vector<Value> results, first;
  for (std::uint32_t copy = 0; copy < copies; ++copy) {
    std::vector<Value> values;
    for (std::uint32_t i = 0; i < term.nodes.size(); ++i) {
      const InstanceNode& node = term.nodes[i];
      if (node.kind == Kind::kParameter) {
        const bool old = copy > 0 && std::ranges::find(shared, i) != shared.end();
        values.push_back(old ? first[i] : builder.parameter(node.type, fmt::format("v{}_{}", i, copy)));
        continue;
      }
      std::vector<Value> operands;
      for (const std::uint32_t o : node.operands) operands.push_back(values[o]);
      FW_TRY(const std::vector<Value> made, builder.add(node.op, std::move(operands), node.attrs));
      values.push_back(made[node.result]);
      if (copy == 0 && side_output == i && i != term.root) results.push_back(made[0]);
    }
    if (copy == 0) first = values;
    results.push_back(values[term.root]);
  }
  builder.set_results(std::move(results));
  return graph::expand_composites(graph, [](const ops::OpInfo&) { return true; });
}

class FuseSearch {
 public:
  FuseSearch(const rule::RuleSet& rules, const rule::FuseRule& rule, Search& search)
      : rules_(rules), rule_(rule), search_(search), cache_(*rules.table) {}

  void run() {
    for (const rule::FuseRoot& root : rule_.roots)
      if (!each_alone(root)) return;
    search_.space = fmt::format("{} operators alone, {} ways", operators_, search_.instances);
    const std::uint64_t alone = search_.instances;
    for (const rule::FuseRoot& root : rule_.roots)
      for (std::uint64_t i = 0; i < kRandomBodies; ++i)
        if (!random_chain(root)) return;
    search_.space += fmt::format("; {} random bodies to length {}", search_.instances - alone, kLongestBody);
  }

 private:
  static std::uint32_t most(const Segment& segment) { return std::min(segment.max, kLongestBody); }

  /// Every operator of every segment, the other segments as short as they may be.
  bool each_alone(const rule::FuseRoot& root) {
    for (std::size_t s = 0; s < root.segments.size(); ++s)
      for (const ops::OpId op : root.segments[s].ops.ops) {
        std::vector<Link> links;
        std::size_t slot = 0;
        for (std::size_t k = root.segments.size(); k-- > 0;) {
          const Segment& segment = root.segments[k];
          if (k == s) slot = links.size();
          if (k == s) links.push_back({&segment, op});
          for (std::uint32_t n = 0; k != s && n < segment.min; ++n)
            links.push_back({&segment, segment.ops.ops[random_.below(segment.ops.ops.size())]});
        }
        const std::uint64_t before = search_.instances;
        if (!each_way(root, links, slot)) return false;
        operators_ += search_.instances > before ? 1 : 0;
      }
    return true;
  }

  /// Every way to get the first types that the link's reader wants of it; of the last link, of all types.
  bool each_way(const rule::FuseRoot& root, const std::vector<Link>& links, std::size_t slot) {
    std::vector<Type> wanted;
    const bool elementwise = (*rules_.table)[links[slot].op].op_class == ops::OpClass::kElementwise;
    for (const Type& type : lone_types(slot == 0 && elementwise)) {
      std::size_t readers = 1;
      for (std::size_t r = 0; r < readers; r += slot == 0 ? 1 : std::max<std::size_t>(1, readers / kReaders)) {
        std::size_t ways = 1;
        for (std::size_t way = 0; way < ways; ++way) {
          ChainBuilder::Picks picks = {{0, r}};
          picks[slot] = way;
          ChainBuilder builder(links, random_, cache_, *rules_.table);
          const auto term = builder.run(type, picks);
          if (slot != 0) readers = builder.seen(0).ways;
          const ChainBuilder::Seen& own = builder.seen(slot);
          if (!own.type) break;
          if (way == 0 && std::ranges::find(wanted, *own.type) != wanted.end()) break;
          if (way == 0 && slot != 0 && wanted.size() == (elementwise ? 2 : kWanted)) return true;
          if (way == 0) wanted.push_back(*own.type);
          ways = own.ways;
          if (term && !compare(root, *term, builder.captured(), std::nullopt)) return false;
        }
      }
    }
    return true;
  }

  bool random_chain(const rule::FuseRoot& root) {
    std::vector<Link> links;
    for (std::size_t k = root.segments.size(); k-- > 0;) {
      const Segment& segment = root.segments[k];
      const auto count = segment.min + static_cast<std::uint32_t>(random_.below(most(segment) - segment.min + 1));
      for (std::uint32_t n = 0; n < count; ++n)
        links.push_back({&segment, segment.ops.ops[random_.below(segment.ops.ops.size())]});
    }
    const std::vector<Type>& types = lone_types(false);
    ChainBuilder builder(links, random_, cache_, *rules_.table);
    const auto term = builder.run(types[random_.below(types.size())], {});
    if (!term) return true;
    const auto side = static_cast<std::uint32_t>(random_.below(term->nodes.size()));
    const bool has_side = random_.below(2) == 0 && term->nodes[side].kind == Kind::kApply;
    return compare(root, *term, builder.captured(), has_side ? std::optional(side) : std::nullopt);
  }

  /// @returns whether the region's body has the graph's values, or the rule does not admit it.
  bool compare(const rule::FuseRoot& root, const Instance& term, const std::map<std::string, std::uint32_t>& captured,
               std::optional<std::uint32_t> side_output) {
    std::vector<std::uint32_t> shared;
    for (const std::string& name : root.shared)
      if (const auto at = captured.find(name); at != captured.end()) shared.push_back(at->second);
    const Result<Graph> graph =
        graph_of_copies(rules_.table, term, std::max<std::uint32_t>(root.min, 1), shared, side_output);
    if (!graph) return unknown(graph.error());
    std::vector<NodeId> nodes;
    std::vector<Value> inputs;
    for (const NodeId id : graph->entry_computation().nodes) {
      if (graph->info(id).name == "parameter")
        inputs.push_back({id, 0});
      else if (graph->info(id).name == "constant" && !(*graph)[id].types[0].shape.empty())
        inputs.push_back({id, 0});
      else if (graph->info(id).name != "constant")
        nodes.push_back(id);
    }
    const extract::Uses uses(*graph);
    if (nodes.empty() || !extract::admits(rule_, *graph, uses, nodes)) {
      ++search_.refused;
      return true;
    }
    return same_values(*graph, nodes, inputs, term);
  }

  // An instance of which nothing can be said.
  bool unknown(const Error& error) {
    ++search_.unknown;
    search_.unknown_reason = error.diagnostics.front().message;
    return true;
  }

  bool same_values(const Graph& graph, const std::vector<NodeId>& nodes, const std::vector<Value>& inputs,
                   const Instance& term) {
    std::vector<ops::Tensor> parameters, captures;
    for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
      auto made = interpret::make_input(graph.inputs[i].type, 5, i);
      if (!made) return unknown(made.error());
      parameters.push_back(*std::move(made));
    }
    std::size_t next = 0;
    for (const Value v : inputs)
      captures.push_back(graph.info(v.node).name == "parameter" ? parameters[next++]
                                                                : *graph[v.node].attrs.get<ops::TensorHandle>("value"));
    const auto expected = interpret::evaluate(graph, parameters);
    std::vector<Value> outputs;  // of a region they are distinct
    for (const Value v : graph.entry_computation().results)
      if (std::ranges::find(outputs, v) == outputs.end()) outputs.push_back(v);
    const auto region = plan::make_region(graph, nodes, inputs, outputs);
    if (!expected) return unknown(expected.error());
    if (!region) return unknown(region.error());
    ++search_.instances;
    const auto differs = [&](const std::string& reason) {
      search_.counterexample = {print_reject(*rules_.table, term), {}, reason};
      return false;
    };
    const auto found = evaluate_region(*rules_.table, *region, captures);
    if (!found) return differs("the region has no values: " + found.error().diagnostics[0].message);
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      const auto at = std::ranges::find(graph.entry_computation().results, outputs[k]);
      const auto& want = (*expected)[static_cast<std::size_t>(at - graph.entry_computation().results.begin())];
      if (const std::string reason = compare_bits(want, (*found)[k], false); !reason.empty()) return differs(reason);
    }
    return true;
  }

  const rule::RuleSet& rules_;
  const rule::FuseRule& rule_;
  Search& search_;
  SourceCache cache_;
  Random random_{20261};
  std::uint64_t operators_ = 0;
};

}  // namespace

Search search_fuse(const rule::RuleSet& rules, const rule::FuseRule& rule, const Budget&) {
  Search search;
  FuseSearch(rules, rule, search).run();
  return search;
}

}  // namespace fusewright::prove
