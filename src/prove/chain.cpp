#include "src/prove/chain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace fusewright::prove {

using graph::Graph;
using graph::Value;
using ops::DType;
using ops::Type;
using Kind = InstanceNode::Kind;

namespace {

class ChainBuilder {
 public:
  ChainBuilder(const ops::OpTable& table, const std::vector<Link>& links, Random& random, SourceCache& cache)
      : table_(table), links_(links), random_(random), cache_(cache) {
    space_.extents = {1, 2};
  }

  std::optional<Chain> run(const Type& root) {
    const auto made = link(0, root);
    if (!made) return std::nullopt;
    out_.term.root = *made;
    return std::move(out_);
  }

 private:
  std::uint32_t add(InstanceNode node) {
    out_.term.nodes.push_back(std::move(node));
    return static_cast<std::uint32_t>(out_.term.nodes.size() - 1);
  }

  /// What the pattern calls an operand of a link; empty where it has no name.
  std::string name_at(std::size_t i, std::size_t operand) const {
    const rule::Segment* segment = links_[i].segment;
    return segment != nullptr && operand < segment->captures.size() ? segment->captures[operand].name : std::string();
  }

  /// The operand of a link that the next one computes: the one that is called so, else any that no other link computes.
  std::optional<std::size_t> continued(std::size_t i, std::size_t operands) {
    std::set<std::string> below;
    for (std::size_t k = i + 1; k < links_.size(); ++k)
      if (links_[k].segment != nullptr && !links_[k].segment->name.empty()) below.insert(links_[k].segment->name);
    const rule::Segment* next = i + 1 < links_.size() ? links_[i + 1].segment : nullptr;
    std::vector<std::size_t> free;
    for (std::size_t k = 0; k < std::min<std::size_t>(operands, 3); ++k) {
      const std::string name = name_at(i, k);
      if (next != nullptr && !next->name.empty() && name == next->name) return k;
      if (!below.contains(name)) free.push_back(k);
    }
    if (free.empty()) return std::nullopt;
    return free[random_.below(free.size())];
  }

  /// Recursion as deep as the chain is long.
  std::optional<std::uint32_t> link(std::size_t i, const Type& type) {
    if (i == links_.size()) return add({.kind = Kind::kParameter, .type = type});
    const ops::OpId op = links_[i].op;
    const std::vector<Source>& ways = cache_.sources(op, type, 0, operand_count(table_[op], type), space_).ways;
    if (ways.empty()) return std::nullopt;
    const Source& source = ways[random_.below(ways.size())];
    const std::size_t operands = source.operands.size();
    InstanceNode node{.kind = Kind::kApply, .type = type, .op = op, .attrs = source.attrs};
    const rule::Segment* segment = links_[i].segment;
    const std::optional<std::size_t> goes_on = continued(i, operands);
    if (operands > 0 && !goes_on) return std::nullopt;
    node.operands.resize(operands);
    const auto name_of = [&](std::size_t k) { return name_at(i, k); };
    if (goes_on) {  // first: further operands may be values of it
      const auto below = link(i + 1, source.operands[*goes_on]);
      if (!below) return std::nullopt;
      node.operands[*goes_on] = *below;
    }
    for (std::size_t k = 0; k < operands; ++k) {
      const auto known = out_.captured.find(name_of(k));
      if (known != out_.captured.end()) {  // one name, one value
        const bool same = k == goes_on ? node.operands[k] == known->second
                                       : out_.term.nodes[known->second].type == source.operands[k];
        if (!same) return std::nullopt;
        node.operands[k] = known->second;
      } else if (k != goes_on) {
        const bool again = k > *goes_on && source.operands[k] == source.operands[*goes_on] && random_.below(3) == 0;
        node.operands[k] =
            again ? node.operands[*goes_on] : add({.kind = Kind::kParameter, .type = source.operands[k]});
      }
      if (!name_of(k).empty()) out_.captured[name_of(k)] = node.operands[k];
    }
    const bool last = segment != nullptr && (i == 0 || links_[i - 1].segment != segment);
    const std::uint32_t made = add(std::move(node));
    if (last && !segment->name.empty()) out_.captured[segment->name] = made;
    return made;
  }

  const ops::OpTable& table_;
  const std::vector<Link>& links_;
  Random& random_;
  SourceCache& cache_;
  Space space_;
  Chain out_;
};

}  // namespace

std::size_t operand_count(const ops::OpInfo& op, const Type& result) {
  const std::size_t named = op.operands.size();
  if (op.operands.empty() || !op.operands.back().variadic) return named;
  // An index for each axis; of all others two operands.
  return op.name.starts_with("dynamic") ? named - 1 + result.shape.size() : named + 1;
}

std::optional<Chain> draw_chain(const ops::OpTable& table, const std::vector<Link>& links, const Type& root,
                                Random& random, SourceCache& cache) {
  return ChainBuilder(table, links, random, cache).run(root);
}

const std::vector<Type>& chain_types() {
  static const std::vector<Type> kTypes = [] {
    std::vector<Type> out;
    for (const DType dtype : {DType::kF32, DType::kPred, DType::kS32, DType::kS64, DType::kF16})
      out.push_back(Type::tensor(dtype, {2, 3}));
    Space space;
    space.extents = {1, 2};
    for (std::int64_t rank = 0; rank <= 3; ++rank)
      for (ops::Shape& shape : shapes_of_rank(rank, space)) out.push_back(Type::tensor(DType::kF32, std::move(shape)));
    for (const ops::Shape& shape : {ops::Shape{0, 2}, {3}, {1, 2, 2, 2}})
      out.push_back(Type::tensor(DType::kF32, shape));
    return out;
  }();
  return kTypes;
}

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
      const bool leaves = i == term.root || (copy == 0 && side_output == i);
      if (leaves) results.insert(results.end(), made.begin(), made.end());
    }
    if (copy == 0) first = values;
  }
  builder.set_results(std::move(results));
  return graph::expand_composites(graph, [](const ops::OpInfo&) { return true; });
}

}  // namespace fusewright::prove
