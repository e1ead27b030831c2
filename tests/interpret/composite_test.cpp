#include "tests/interpret/helpers.hpp"

#include "fusewright/interpret/error_model.hpp"
#include "tests/ops/make_expr.hpp"

using namespace fusewright;
using namespace fusewright::interpret::testing;
namespace expr = fusewright::tests;

namespace {

ops::OpInfo composite(const std::string& name, std::vector<ops::OperandSpec> operands, expr::ExprPtr result) {
  ops::OpInfo info;
  info.name = name;
  info.op_class = ops::OpClass::kComposite;
  info.operands = std::move(operands);
  auto body = std::make_shared<ops::OpBody>();
  body->results = {std::move(result)};
  info.body = std::move(body);
  return info;
}

// silu(x) = x * logistic(x); shifted(x, by?) = silu(x) + (by ?? 1).
std::shared_ptr<const ops::OpTable> with_silu() {
  auto out = std::make_shared<ops::OpTable>(ops::OpTable::builtin());
  get(out->add(composite("silu", {{"x", false, false}},
                         expr::bin(expr::id("x"), "*", expr::call("logistic", {expr::id("x")})))));
  get(out->add(
      composite("shifted", {{"x", false, false}, {"by", true, false}},
                expr::bin(expr::call("silu", {expr::id("x")}), "+", expr::bin(expr::id("by"), "??", expr::num(1))))));
  return out;
}

}  // namespace

TEST_CASE("a composite is evaluated by its body, which rounds after every operator", "[interpret]") {
  const auto table = with_silu();
  const std::vector<Tensor> operands = {vec(DType::kF16, {0, 1, -2, 3.5})};
  const Numbers silu = numbers(get(interpret::evaluate_node(*table, table->require("silu"), operands, {}))[0]);
  const Tensor logistic = node("logistic", operands);
  CHECK(silu == numbers(node("mul", {operands[0], logistic})));
}

TEST_CASE("composites nest, and operands may be left out", "[interpret]") {
  const auto table = with_silu();
  const std::vector<Tensor> without = {vec(DType::kF32, {0, 1}), Tensor{}};
  const std::vector<Tensor> with = {vec(DType::kF32, {0, 1}), vec(DType::kF32, {5, 5})};
  CHECK(numbers(get(interpret::evaluate_node(*table, table->require("shifted"), without, {}))[0])[0] == 1);
  CHECK(numbers(get(interpret::evaluate_node(*table, table->require("shifted"), with, {}))[0])[0] == 5);
}

TEST_CASE("composites in a graph are evaluated and bounded like their expansion", "[interpret]") {
  const auto table = with_silu();
  const auto build = [&](bool expanded) {
    Graph graph = graph::make_graph(table, "composite");
    Builder builder(graph, graph.entry);
    const Value x = builder.parameter(Type::tensor(DType::kF32, {3}), "x");
    builder.set_results(
        {expanded ? get(builder.add("mul", {x, get(builder.add("logistic", {x}))})) : get(builder.add("silu", {x}))});
    return graph;
  };
  const std::vector<Tensor> inputs = {vec(DType::kF32, {-1, 0.5, 4})};
  const auto composite = get(interpret::evaluate_with_bounds(build(false), inputs));
  const auto expanded = get(interpret::evaluate_with_bounds(build(true), inputs));
  CHECK(numbers(composite[0].value) == numbers(expanded[0].value));
  CHECK(composite[0].radius == expanded[0].radius);
  CHECK(numbers(get(interpret::evaluate(build(false), inputs))[0]) == numbers(expanded[0].value));
}
