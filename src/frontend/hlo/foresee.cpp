#include "src/frontend/hlo/foresee.hpp"

#include <algorithm>
#include <set>

#include "fusewright/interpret/evaluate.hpp"

namespace fusewright::frontend_hlo {

using graph::NodeId;
using graph::Value;
using ops::Tensor;

namespace {

constexpr std::int64_t kSmall = 64;  // elements of a tensor that is followed

bool is_small(const ops::Type& type) {
  return type.is_tensor() && ops::is_static(type.shape) &&
         ops::element_count(type.shape).value_or(kSmall + 1) <= kSmall;
}

/// Whether the node's results follow from its operands alone.
bool computes(const graph::Graph& graph, NodeId id) {
  const graph::Node& node = graph[id];
  const ops::OpClass op_class = graph.info(id).op_class;
  return node.computations.empty() && op_class != ops::OpClass::kSource && op_class != ops::OpClass::kControl &&
         op_class != ops::OpClass::kEffect && op_class != ops::OpClass::kUninterpreted &&
         std::ranges::all_of(node.types, is_small);
}

/// The small nodes that the wanted values are computed from. Nodes are numbered as they are made, operands first.
std::set<NodeId> nodes_behind(const graph::Graph& graph, std::span<const Value> wanted) {
  std::set<NodeId> nodes;
  std::vector<NodeId> pending;
  for (const Value value : wanted) pending.push_back(value.node);
  while (!pending.empty()) {
    const NodeId id = pending.back();
    pending.pop_back();
    if (!std::ranges::all_of(graph[id].types, is_small) || !nodes.insert(id).second) continue;
    if (!computes(graph, id)) continue;
    for (const Value operand : graph[id].operands)
      if (operand.valid()) pending.push_back(operand.node);
  }
  return nodes;
}

}  // namespace

Known foresee(const graph::Graph& graph, graph::ComputationId computation, std::span<const Value> wanted,
              std::span<const std::optional<Tensor>> parameters) {
  std::map<Value, Tensor> known;
  const std::vector<NodeId>& own = graph[computation].parameters;
  for (std::size_t i = 0; i < std::min(own.size(), parameters.size()); ++i)
    if (parameters[i]) known.emplace(Value{own[i], 0}, *parameters[i]);
  for (const NodeId id : nodes_behind(graph, wanted)) {
    const graph::Node& node = graph[id];
    if (graph.info(id).name == "constant") {
      known.emplace(Value{id, 0}, *node.attrs.get<ops::TensorHandle>("value"));
      continue;
    }
    if (!computes(graph, id)) continue;
    std::vector<Tensor> operands;
    bool all = true;
    for (const Value operand : node.operands) {
      const auto at = known.find(operand);
      all = all && (!operand.valid() || at != known.end());
      operands.push_back(at == known.end() ? Tensor{} : at->second);
    }
    if (!all) continue;
    Result<std::vector<Tensor>> results =
        interpret::evaluate_node(*graph.table, node.op, operands, node.attrs, node.types);
    if (!results) continue;  // the run says why, should it come to that
    for (std::uint32_t k = 0; k < results->size(); ++k) known.emplace(Value{id, k}, std::move((*results)[k]));
  }
  Known out;
  for (const Value value : wanted) {
    const auto at = known.find(value);
    out.push_back(at == known.end() ? std::nullopt : std::optional(at->second));
  }
  return out;
}

std::optional<Foreseen> foresee_loop(const graph::Graph& graph, graph::ComputationId condition,
                                     graph::ComputationId body, Known state, std::size_t most) {
  Foreseen loop;
  while (true) {
    const Known holds = foresee(graph, condition, graph[condition].results, state);
    if (!holds[0]) return std::nullopt;
    if (ops::get_int(*holds[0], 0) == 0) return loop;
    if (loop.states.size() >= most) return std::nullopt;
    loop.states.push_back(state);
    state = foresee(graph, body, graph[body].results, state);
  }
}

}  // namespace fusewright::frontend_hlo
