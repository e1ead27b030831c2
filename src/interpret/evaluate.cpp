#include "fusewright/interpret/evaluate.hpp"

#include <algorithm>

#include "src/interpret/scalar.hpp"
#include "src/interpret/walk.hpp"

namespace fusewright::interpret {
namespace {

// Values are tensors.
struct TensorDomain {
  using Value = Tensor;

  static const Tensor& tensor(const Tensor& value) { return value; }
  static Tensor exact(Tensor value) { return value; }

  Result<Tensors> node(const ops::OpInfo& info, std::span<const Tensor> operands, const ops::Attrs& attrs,
                       std::span<const ops::Type> types, std::uint64_t seed, const Nested<Tensor>* nested) {
    const NodeFn function = find_node_fn(info);
    if (function == nullptr) return cannot_evaluate(info, attrs);
    ScalarBody body;
    if (nested != nullptr)
      body = [&](std::span<const Scalar> args) { return run_nested<TensorDomain>(*nested, args, operands); };
    return function({info, operands, attrs, types, seed, nested == nullptr ? nullptr : &body});
  }

  Result<std::int64_t> decide(const Tensor& value) {
    if (value.elements() != 1) return fail("control flow hangs on a value of type " + to_string(value.type()));
    return ops::get_int(value, 0);
  }

  Result<Tensor> stack(std::span<const Tensor> elements, const ops::Type& element) {
    return stack_tensors(elements, element);
  }
};

}  // namespace

Result<std::vector<ops::Tensor>> evaluate(const graph::Graph& graph, std::span<const ops::Tensor> inputs,
                                          const EvaluateOptions& options) {
  return evaluate_observed(graph, inputs, {}, options);
}

Result<std::vector<ops::Tensor>> evaluate_observed(const graph::Graph& graph, std::span<const ops::Tensor> inputs,
                                                   const Observer& observer, const EvaluateOptions& options) {
  FW_TRY_STATUS(check_inputs(graph, inputs));
  TensorDomain domain;
  return Walker<TensorDomain>(graph, domain, options).run_entry(Tensors(inputs.begin(), inputs.end()), observer);
}

Result<std::vector<ops::Tensor>> evaluate_values(const graph::Graph& graph, std::span<const ops::Tensor> inputs,
                                                 std::span<const graph::Value> wanted, const EvaluateOptions& options) {
  FW_TRY_STATUS(check_inputs(graph, inputs));
  for (const graph::Value value : wanted)
    if (!value.valid() || value.node.index >= graph.nodes.size() || graph[value.node].parent != graph.entry)
      return fail("a wanted value is no value of the entry computation");
  Tensors out(wanted.size());
  const auto keep = [&](graph::Value value, const Tensor& tensor) {
    for (std::size_t i = 0; i < wanted.size(); ++i)
      if (wanted[i] == value) out[i] = tensor;
  };
  TensorDomain domain;
  Walker<TensorDomain> walker(graph, domain, options);
  FW_TRY(const Tensors nothing,
         walker.run_entry(Tensors(inputs.begin(), inputs.end()), keep, needed_nodes(graph, wanted)));
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (!present(out[i]))
      return fail("'" + graph[wanted[i].node].name + "' has no result " + std::to_string(wanted[i].result));
  return out;
}

Result<std::vector<ops::Tensor>> evaluate_node(const ops::OpTable& table, ops::OpId op,
                                               std::span<const ops::Tensor> operands, const ops::Attrs& attrs,
                                               std::span<const ops::Type> types, const EvaluateOptions& options) {
  const ops::OpInfo& info = table[op];
  if (info.body) {
    FW_TRY(const graph::Graph graph, composite_graph(table, op, operands, attrs));
    Tensors args;
    std::ranges::copy_if(operands, std::back_inserter(args), present);
    return evaluate(graph, args, options);
  }
  std::vector<ops::Type> operand_types;
  for (const Tensor& operand : operands) operand_types.push_back(present(operand) ? operand.type() : ops::Type());
  FW_TRY(const ops::Attrs complete, table.complete_attrs(op, attrs, operand_types));
  std::vector<ops::Type> result_types(types.begin(), types.end());
  if (result_types.empty() && find_node_fn(info) != nullptr) {
    FW_TRY(result_types, actual_types(table, op, operands, complete));
  }
  TensorDomain domain;
  return domain.node(info, operands, complete, result_types, options.seed, nullptr);
}

}  // namespace fusewright::interpret
