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
    if (function == nullptr) {
      const std::string target = attrs.get_or<std::string>("target", "");
      return fail(ErrorKind::kUnsupported, info.name + (target.empty() ? "" : " of '" + target + "'") + " cannot be evaluated");
    }
    ScalarBody body;
    if (nested != nullptr) body = [&](std::span<const Scalar> args) { return run_nested(*nested, args, operands); };
    return function({info, operands, attrs, types, seed, nested == nullptr ? nullptr : &body});
  }

  Result<std::int64_t> decide(const Tensor& value) {
    if (value.elements() != 1) return fail("control flow hangs on a value of type " + to_string(value.type()));
    return ops::get_int(value, 0);
  }

  Result<Tensor> stack(std::span<const Tensor> elements, const ops::Type& element) {
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
      if (out.elements() > 0) std::memcpy(out.mutable_data() + i * elements[i].bytes(), elements[i].data(), elements[i].bytes());
    }
    return out;
  }

 private:
  // Rounds after every operation, as the same nodes would.
  static Scalar apply(const ScalarProgram::Step& step, const Scalar* x) { return scalar_op(step.op, step.from, step.to, x); }

  // `args` are elements of the operands in turn: of a combiner x0 .. xn and again x0 .. xn, of a comparator x0 twice, x1 twice.
  static Result<std::vector<Scalar>> run_nested(const Nested<Tensor>& nested, std::span<const Scalar> args,
                                                std::span<const Tensor> operands) {
    if (nested.program != nullptr && nested.program->parameters == args.size())
      return nested.program->run(args, apply, [](Scalar scalar) { return scalar; });
    // The dtypes of the arguments: those of the inits for a reduce (its operands are x..., init...), else each operand twice.
    Tensors tensors;
    const bool pairs = args.size() == 2 * operands.size();
    for (std::size_t k = 0; k < args.size(); ++k) {
      Tensor tensor = ops::scalar_tensor(operands[pairs ? k / 2 : k].dtype, 0);
      set_scalar(tensor, 0, args[k]);
      tensors.push_back(std::move(tensor));
    }
    FW_TRY(const Tensors results, nested.function(std::move(tensors)));
    std::vector<Scalar> out;
    for (const Tensor& result : results) {
      if (result.elements() != 1) return fail("its computation gives " + to_string(result.type()) + " where one element is wanted");
      out.push_back(get_scalar(result, 0));
    }
    return out;
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
  FW_TRY(const Tensors nothing, walker.run_entry(Tensors(inputs.begin(), inputs.end()), keep, needed_nodes(graph, wanted)));
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (!present(out[i])) return fail("'" + graph[wanted[i].node].name + "' has no result " + std::to_string(wanted[i].result));
  return out;
}

Result<std::vector<ops::Tensor>> evaluate_node(const ops::OpTable& table, ops::OpId op, std::span<const ops::Tensor> operands,
                                               const ops::Attrs& attrs, std::span<const ops::Type> types,
                                               const EvaluateOptions& options) {
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
