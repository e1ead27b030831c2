#include "src/interpret/program.hpp"

#include <unordered_map>

#include "src/interpret/scalar.hpp"

namespace fusewright::interpret {
namespace {

bool is_scalar_step(const graph::Node& node, const ops::OpInfo& info) {
  if (!info.scalar || *info.scalar == ScalarOp::kBitcast || node.types.size() != 1) return false;
  return node.types[0].is_tensor() && node.types[0].rank() == 0;
}

}  // namespace

std::optional<ScalarProgram> compile_scalar_program(const graph::Graph& graph, graph::ComputationId id) {
  const graph::Computation& computation = graph[id];
  ScalarProgram program;
  std::unordered_map<std::uint32_t, std::size_t> slot;  // by node
  for (const graph::NodeId parameter : computation.parameters) {
    const ops::Type& type = graph[parameter].types[0];
    if (!type.is_tensor() || type.rank() != 0) return std::nullopt;
    slot[parameter.index] = program.parameters++;
    program.parameter_dtypes.push_back(type.dtype);
  }
  program.first_step = program.parameters;
  for (const graph::NodeId node : computation.nodes) {
    if (graph.info(node).name != "constant") continue;
    const Tensor& value = *graph[node].attrs.get<ops::TensorHandle>("value");
    if (!value.dims.empty()) return std::nullopt;
    program.constants.push_back({program.first_step, get_scalar(value, 0)});
    slot[node.index] = program.first_step++;
  }
  for (const graph::NodeId id_of_node : computation.nodes) {
    if (slot.contains(id_of_node.index)) continue;
    const graph::Node& node = graph[id_of_node];
    if (!is_scalar_step(node, graph.info(id_of_node))) return std::nullopt;
    ScalarProgram::Step step{*graph.info(id_of_node).scalar, DType::kF32, node.types[0].dtype, {}};
    for (const graph::Value operand : node.operands) {
      const auto at = slot.find(operand.node.index);
      if (at == slot.end()) return std::nullopt;
      step.operands.push_back(at->second);
      step.from = graph.type(operand).dtype;  // the last one's: the first of select is the predicate
    }
    if (!has_meaning(step.op, step.from)) return std::nullopt;
    slot[id_of_node.index] = program.first_step + program.steps.size();
    program.steps.push_back(std::move(step));
  }
  for (const graph::Value result : computation.results) {
    const auto at = slot.find(result.node.index);
    if (at == slot.end()) return std::nullopt;
    program.results.push_back(at->second);
  }
  return program;
}

}  // namespace fusewright::interpret
