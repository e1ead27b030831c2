#include "src/interpret/walk.hpp"

#include "fusewright/ops/expr.hpp"

namespace fusewright::interpret {

Result<graph::Graph> composite_graph(const ops::OpTable& table, ops::OpId op, std::span<const Tensor> operands,
                                     const ops::Attrs& attrs) {
  // The table is the caller's; the graph only borrows it.
  graph::Graph graph = graph::make_graph(std::shared_ptr<const ops::OpTable>(std::shared_ptr<void>(), &table), table[op].name);
  graph::Builder builder(graph, graph.entry);
  std::vector<std::optional<ops::TermValue>> terms;
  std::vector<ops::Type> types;
  for (const Tensor& operand : operands) {
    types.push_back(present(operand) ? operand.type() : ops::Type());
    terms.emplace_back();
    if (present(operand)) terms.back() = graph::Builder::pack(builder.parameter(types.back(), "operand_" + std::to_string(terms.size())));
  }
  FW_TRY(const ops::Attrs complete, table.complete_attrs(op, attrs, types));
  FW_TRY(const std::vector<ops::TermValue> results, ops::elaborate_body(table, op, terms, complete, builder));
  std::vector<graph::Value> values;
  for (const ops::TermValue result : results) values.push_back(graph::Builder::unpack(result));
  builder.set_results(std::move(values));
  return graph;
}

Result<std::vector<ops::Type>> actual_types(const ops::OpTable& table, ops::OpId op, std::span<const Tensor> operands,
                                            const ops::Attrs& attrs) {
  std::vector<ops::Type> operand_types;
  for (const Tensor& operand : operands) operand_types.push_back(present(operand) ? operand.type() : ops::Type());
  FW_TRY(std::vector<ops::Type> types, table.infer(op, operand_types, attrs));
  for (const ops::Type& type : types)
    if (!type.is_tensor() || !ops::is_static(type.shape))
      return fail("its result is " + to_string(type) + ", whose shape is not bound");
  return types;
}

Error at_node(const graph::Graph& graph, graph::NodeId id, Error error) {
  const graph::Node& node = graph[id];
  const Span span = node.sources.empty() ? Span{} : graph.sources[node.sources[0].index].span;
  return with_context(std::move(error), "node '" + node.name + "' (" + graph.info(id).name + ")", span);
}

Status check_inputs(const graph::Graph& graph, std::span<const Tensor> inputs) {
  const graph::Computation& entry = graph.entry_computation();
  if (inputs.size() != entry.parameters.size())
    return fail("the graph takes " + std::to_string(entry.parameters.size()) + " inputs, not " + std::to_string(inputs.size()));
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ops::Type& type = graph[entry.parameters[i]].types[0];
    const std::string name = "input " + std::to_string(i) + " ('" + graph[entry.parameters[i]].name + "')";
    if (!type.is_tensor()) continue;
    if (!present(inputs[i])) return fail(name + " is missing");
    bool fits = type.dtype == inputs[i].dtype && type.shape.size() == inputs[i].dims.size();
    for (std::size_t axis = 0; fits && axis < inputs[i].dims.size(); ++axis)
      fits = type.shape[axis].constant().value_or(inputs[i].dims[axis]) == inputs[i].dims[axis];
    if (!fits) return fail(name + " is " + to_string(inputs[i].type()) + " where the graph takes " + to_string(type));
  }
  return {};
}

}  // namespace fusewright::interpret
