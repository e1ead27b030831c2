#include "src/interpret/schedule.hpp"

#include <algorithm>

namespace fusewright::interpret {
namespace {

using graph::ComputationId;
using graph::Graph;
using graph::NodeId;
using graph::Value;

// Values that a computation and the bodies nested in it read but do not make, sorted. An explicit stack, because bodies
// may be nested as deeply as the model likes; a body is done when those inside it are.
std::vector<std::vector<Value>> captured_values(const Graph& graph) {
  std::vector<std::vector<Value>> captured(graph.computations.size());
  std::vector<std::uint8_t> state(graph.computations.size(), 0);  // 1: being visited, 2: done
  for (std::size_t root = 0; root < graph.computations.size(); ++root) {
    std::vector<ComputationId> stack = {ComputationId(root)};
    while (!stack.empty()) {
      const ComputationId id = stack.back();
      if (state[id.index] == 2) {
        stack.pop_back();
        continue;
      }
      if (state[id.index] == 0) {
        state[id.index] = 1;
        for (const NodeId node : graph[id].nodes)
          for (const ComputationId body : graph[node].computations)
            if (state[body.index] == 0) stack.push_back(body);
        continue;
      }
      std::vector<Value>& values = captured[id.index];
      const auto read = [&](Value value) {
        if (value.valid() && graph[value.node].parent != id) values.push_back(value);
      };
      for (const NodeId node : graph[id].nodes) {
        for (const Value operand : graph[node].operands) read(operand);
        for (const ComputationId body : graph[node].computations)
          for (const Value value : captured[body.index]) read(value);
      }
      for (const Value result : graph[id].results) read(result);
      std::ranges::sort(values);
      values.erase(std::ranges::unique(values).begin(), values.end());
      state[id.index] = 2;
      stack.pop_back();
    }
  }
  return captured;
}

}  // namespace

Schedule make_schedule(const Graph& graph) {
  Schedule schedule;
  schedule.position.resize(graph.nodes.size(), 0);
  schedule.dies.resize(graph.computations.size());
  for (const graph::Computation& computation : graph.computations)
    for (std::size_t i = 0; i < computation.nodes.size(); ++i)
      schedule.position[computation.nodes[i].index] = static_cast<std::uint32_t>(i);
  const std::vector<std::vector<Value>> captured = captured_values(graph);
  // Last reader of each value, by node and result; a value without readers dies where it is made.
  std::vector<std::vector<std::uint32_t>> last(graph.nodes.size());
  constexpr std::uint32_t kForever = 0xffff'ffff;
  for (std::size_t c = 0; c < graph.computations.size(); ++c) {
    const graph::Computation& computation = graph.computations[c];
    const auto read = [&](Value value, std::uint32_t by) {
      if (!value.valid() || graph[value.node].parent != ComputationId(c)) return;
      std::uint32_t& at = last[value.node.index][value.result];
      at = std::max(at, by);
    };
    for (std::uint32_t i = 0; i < computation.nodes.size(); ++i) {
      const graph::Node& node = graph[computation.nodes[i]];
      last[computation.nodes[i].index].assign(node.types.size(), i);
      for (const Value operand : node.operands) read(operand, i);
      for (const ComputationId body : node.computations)
        for (const Value value : captured[body.index]) read(value, i);
    }
    for (const Value result : computation.results) read(result, kForever);
    schedule.dies[c].resize(computation.nodes.size());
    for (const NodeId node : computation.nodes)
      for (std::uint32_t r = 0; r < last[node.index].size(); ++r)
        if (last[node.index][r] != kForever) schedule.dies[c][last[node.index][r]].push_back({node, r});
  }
  return schedule;
}

std::vector<bool> needed_nodes(const Graph& graph, std::span<const Value> wanted) {
  const std::vector<std::vector<Value>> captured = captured_values(graph);
  std::vector<bool> needed(graph.nodes.size(), true);
  for (const NodeId node : graph.entry_computation().nodes) needed[node.index] = false;
  for (const Value value : wanted) needed[value.node.index] = true;
  const std::vector<NodeId>& nodes = graph.entry_computation().nodes;
  for (std::size_t i = nodes.size(); i-- > 0;) {
    if (!needed[nodes[i].index]) continue;
    for (const Value operand : graph[nodes[i]].operands)
      if (operand.valid()) needed[operand.node.index] = true;
    for (const ComputationId body : graph[nodes[i]].computations)
      for (const Value value : captured[body.index]) needed[value.node.index] = true;
  }
  return needed;
}

}  // namespace fusewright::interpret
