#include "fusewright/interpret/uniform.hpp"

#include "helpers.hpp"

using namespace fusewright;
using namespace fusewright::interpret::testing;

namespace {

struct Model {
  Graph graph = graph::make_graph(table(), "m");
  Builder builder{graph, graph.entry};

  Value op(const std::string& name, std::vector<Value> operands, const Attrs& attrs = {}) {
    return builder.add(name, std::move(operands), attrs).value();
  }
  Graph folded(Value result) {
    builder.set_results({result});
    auto made = interpret::fold_uniform(graph);
    REQUIRE(made.has_value());
    REQUIRE(graph::verify(*made).has_value());
    return *std::move(made);
  }
};

int count(const Graph& graph, std::string_view op) {
  int n = 0;
  for (const graph::NodeId id : graph.entry_computation().nodes) n += graph.info(id).name == op ? 1 : 0;
  return n;
}

}  // namespace

TEST_CASE("what is computed from repeated numbers alone becomes one number", "[interpret]") {
  Model m;
  const Value x = m.builder.parameter(Type::tensor(DType::kF32, {2, 3}), "x");
  const Value ones = m.builder.constant(tensor(DType::kF32, {3, 1}, {1, 1, 1}));
  const Value twos = m.op("add", {ones, ones});
  const Value row = m.op("reshape", {twos}, {{"shape", Shape{3}}});
  const Graph graph = m.folded(m.op("mul", {x, m.op("broadcast", {row}, {{"dims", Ints{1}}, {"shape", Shape{2, 3}}})}));
  CHECK(count(graph, "add") == 0);
  CHECK(count(graph, "reshape") == 0);
  CHECK(count(graph, "broadcast") == 1);
  for (const graph::NodeId id : graph.entry_computation().nodes)
    if (graph.info(id).name == "constant") CHECK(graph[id].types[0].shape.empty());
  const auto before = interpret::evaluate(m.graph, std::vector{counting(DType::kF32, {2, 3}, 7, 3)});
  const auto after = interpret::evaluate(graph, std::vector{counting(DType::kF32, {2, 3}, 7, 3)});
  REQUIRE((before.has_value() && after.has_value()));
  for (std::int64_t i = 0; i < 6; ++i) CHECK(ops::get_double((*before)[0], i) == ops::get_double((*after)[0], i));
}

TEST_CASE("constants of different elements, and results, stay", "[interpret]") {
  Model m;
  const Value uneven = m.builder.constant(tensor(DType::kF32, {2}, {1, 2}));
  CHECK(count(m.folded(m.op("neg", {m.op("exp", {uneven})})), "exp") == 1);
  Model result;
  const Value same = result.builder.constant(tensor(DType::kF32, {2}, {1, 1}));
  const Graph graph = result.folded(same);
  CHECK(count(graph, "constant") == 1);
  CHECK(count(graph, "broadcast") == 0);
}
