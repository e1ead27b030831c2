#include <algorithm>
#include <utility>

#include "fusewright/graph/graph.hpp"
#include "src/graph/renumber.hpp"

namespace fusewright::graph {
namespace {

constexpr std::size_t kMostNodes = 50'000'000;
constexpr std::uint32_t kDeepest = 64;

class Expander {
 public:
  Expander(const Graph& graph, bool (*expand)(const ops::OpInfo&))
      : graph_(graph),
        expand_(expand),
        keep_(graph.nodes.size(), true),
        depth_(graph.nodes.size(), 0),
        first_result_(graph.nodes.size()) {}

  Result<Graph> run() {
    for (std::size_t c = 0; c < graph_.computations.size(); ++c) FW_TRY_STATUS(expand_computation(ComputationId(c)));
    // Bodies may use values of the bodies around them, whatever the order they were expanded in.
    for (Node& node : graph_.nodes)
      for (Value& operand : node.operands) operand = replaced(operand);
    for (Computation& computation : graph_.computations)
      for (Value& result : computation.results) result = replaced(result);
    const std::vector<bool> every_computation(graph_.computations.size(), true);
    return renumber(std::move(graph_), keep_, every_computation);
  }

 private:
  Status expand_computation(ComputationId id) {
    std::vector<NodeId> pending = std::exchange(graph_[id].nodes, {});
    std::reverse(pending.begin(), pending.end());
    while (!pending.empty()) {
      const NodeId node = pending.back();
      pending.pop_back();
      const ops::OpInfo& info = graph_.info(node);
      if (!info.body || !expand_(info)) {
        graph_[id].nodes.push_back(node);
        continue;
      }
      if (Status status = expand_node(id, node, pending); !status)
        return std::unexpected(with_context(std::move(status).error(), "node '" + graph_[node].name + "'"));
    }
    return {};
  }

  // The body's nodes come next in the list that is worked on: they may be composite themselves.
  Status expand_node(ComputationId id, NodeId node, std::vector<NodeId>& pending) {
    if (depth_[node.index] == kDeepest || graph_.nodes.size() > kMostNodes)
      return fail(ErrorKind::kUnsupported,
                  "expanding " + graph_.info(node).name + " does not end; is it made of itself?");
    Builder builder(graph_, id);
    builder.set_origin(graph_[node].sources, {});
    const std::size_t before = graph_[id].nodes.size();
    std::vector<std::optional<ops::TermValue>> operands;
    for (const Value& operand : graph_[node].operands)
      operands.push_back(operand.valid() ? std::optional(Builder::pack(replaced(operand))) : std::nullopt);
    const Attrs attrs = graph_[node].attrs;
    FW_TRY(const std::vector<ops::TermValue> results,
           ops::elaborate_body(*graph_.table, graph_[node].op, operands, attrs, builder));
    std::vector<NodeId>& list = graph_[id].nodes;
    pending.insert(pending.end(), list.rbegin(), list.rend() - static_cast<std::ptrdiff_t>(before));
    list.resize(before);
    keep_.resize(graph_.nodes.size(), true);
    depth_.resize(graph_.nodes.size(), depth_[node.index] + 1);
    first_result_.resize(graph_.nodes.size());
    keep_[node.index] = false;
    first_result_[node.index] = results_.size();
    for (const ops::TermValue result : results) results_.push_back(Builder::unpack(result));
    return {};
  }

  Value replaced(Value value) const {
    while (value.valid() && !keep_[value.node.index]) value = results_[first_result_[value.node.index] + value.result];
    return value;
  }

  Graph graph_;
  bool (*expand_)(const ops::OpInfo&);
  std::vector<bool> keep_;
  std::vector<std::uint32_t> depth_;       // of a node in the bodies it was expanded from
  std::vector<std::size_t> first_result_;  // of an expanded node, in results_
  std::vector<Value> results_;
};

}  // namespace

Result<Graph> expand_composites(const Graph& graph, bool (*expand)(const ops::OpInfo&)) {
  return Expander(graph, expand).run();
}

}  // namespace fusewright::graph
