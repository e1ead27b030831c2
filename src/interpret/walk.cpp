#include "src/interpret/walk.hpp"

#include "fusewright/ops/expr.hpp"
#include "src/interpret/scalar.hpp"

namespace fusewright::interpret {

Result<graph::Graph> composite_graph(const ops::OpTable& table, ops::OpId op, std::span<const Tensor> operands,
                                     const ops::Attrs& attrs) {
  // The table is the caller's; the graph only borrows it.
  graph::Graph graph =
      graph::make_graph(std::shared_ptr<const ops::OpTable>(std::shared_ptr<void>(), &table), table[op].name);
  graph::Builder builder(graph, graph.entry);
  std::vector<std::optional<ops::TermValue>> terms;
  std::vector<ops::Type> types;
  for (const Tensor& operand : operands) {
    types.push_back(present(operand) ? operand.type() : ops::Type());
    terms.emplace_back();
    if (present(operand))
      terms.back() = graph::Builder::pack(builder.parameter(types.back(), "operand_" + std::to_string(terms.size())));
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
    return fail("the graph takes " + std::to_string(entry.parameters.size()) + " inputs, not " +
                std::to_string(inputs.size()));
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

std::unexpected<Error> cannot_evaluate(const ops::OpInfo& info, const ops::Attrs& attrs) {
  const std::string target = attrs.get_or<std::string>("target", "");
  return fail(ErrorKind::kUnsupported,
              info.name + (target.empty() ? "" : " of '" + target + "'") + " cannot be evaluated");
}

Result<Tensor> stack_tensors(std::span<const Tensor> elements, const ops::Type& element) {
  Dims dims = {static_cast<std::int64_t>(elements.size())};
  if (elements.empty()) {
    for (const Dim& dim : element.shape) dims.push_back(dim.constant().value_or(0));
    return ops::make_tensor(element.dtype, std::move(dims));
  }
  dims.insert(dims.end(), elements[0].dims.begin(), elements[0].dims.end());
  FW_TRY(Tensor out, ops::make_tensor(elements[0].dtype, std::move(dims)));
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (elements[i].dims != elements[0].dims || elements[i].dtype != out.dtype)
      return fail("a scan gives " + to_string(elements[0].type()) + " and then " + to_string(elements[i].type()));
    if (out.elements() > 0)
      std::memcpy(out.mutable_data() + i * elements[i].bytes(), elements[i].data(), elements[i].bytes());
  }
  return out;
}

std::vector<Scalar> run_scalars(const ScalarProgram& program, std::span<const Scalar> args) {
  return program.run(
      args, [](const ScalarProgram::Step& step, const Scalar* x) { return scalar_op(step.op, step.from, step.to, x); },
      [](Scalar scalar) { return scalar; });
}

}  // namespace fusewright::interpret
