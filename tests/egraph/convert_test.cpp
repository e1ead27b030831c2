#include <catch2/catch.hpp>

#include "fusewright/egraph/convert.hpp"
#include "fusewright/graph/graph.hpp"

namespace fusewright::egraph {
namespace {

using graph::Builder;
using graph::Graph;
using graph::Value;

std::shared_ptr<const ops::OpTable> table() { return std::make_shared<const ops::OpTable>(ops::OpTable::builtin()); }

ops::Type f32(std::initializer_list<std::int64_t> dims) {
  return ops::Type::tensor(ops::DType::kF32, ops::Shape(dims.begin(), dims.end()));
}

Graph rebuilt(const Graph& graph) {
  const Imported imported = from_graph(graph);
  auto out = to_graph(graph, imported, select_smallest(imported));
  REQUIRE(out.has_value());
  const Status status = graph::verify(*out);
  if (!status) FAIL(print_error(status.error()));
  return *std::move(out);
}

}  // namespace

TEST_CASE("a graph comes back from its e-graph with equal nodes joined", "[egraph]") {
  Graph graph = graph::make_graph(table(), "test");
  graph.sources = {{"a", "add", {}}, {"b", "add", {}}};
  Builder b(graph, graph.entry);
  const Value x = b.parameter(f32({4}), "x"), y = b.parameter(f32({4}), "y");
  b.parameter(f32({4}), "unused");
  b.set_origin({graph::SourceId(0)}, "first");
  const Value s = *b.add("add", {x, y});
  b.set_origin({graph::SourceId(1)}, "second");
  const Value t = *b.add("add", {y, x});
  b.set_origin({}, "");
  b.set_results({*b.add("mul", {s, t})});
  const Graph out = rebuilt(graph);
  REQUIRE(out.nodes.size() == 5);
  CHECK(out.entry_computation().parameters.size() == 3);
  CHECK(out.outputs.size() == 1);
  const graph::Node& sum = out[out[out.entry_computation().results[0].node].operands[0].node];
  CHECK(sum.sources == graph::SourceSet{graph::SourceId(0), graph::SourceId(1)});
  CHECK(graph::print(out) == graph::print(rebuilt(graph)));
}

TEST_CASE("several results, effects and bodies survive the e-graph", "[egraph]") {
  Graph graph = graph::make_graph(table(), "test");
  Builder b(graph, graph.entry);
  const Value x = b.parameter(f32({8}), "x");
  const auto top = b.add(graph.table->require("top_k"), {x}, {{"k", std::int64_t{2}}, {"axis", std::int64_t{0}}});
  if (!top) FAIL(print_error(top.error()));
  // Two draws are two values, however equal they look.
  const Value low = b.constant(ops::scalar_tensor(ops::DType::kF32, 0)),
              high = b.constant(ops::scalar_tensor(ops::DType::kF32, 1));
  const ops::Attrs attrs = {{"shape", ops::Shape{Dim(2)}}, {"dtype", ops::DType::kF32}};
  const auto draw = [&] { return b.add_typed(graph.table->require("rng_uniform"), {low, high}, attrs, {f32({2})})[0]; };
  const Value u = draw(), v = draw();
  // A body that takes `x` from around it.
  const auto body = graph::add_computation(graph, "body", graph.entry);
  Builder inner(graph, body);
  const Value p = inner.parameter(f32({2}), "p");
  inner.set_results({*inner.add("add", {p, *inner.add("slice", {x},
                                                      {{"starts", std::vector<std::int64_t>{0}},
                                                       {"limits", std::vector<std::int64_t>{2}},
                                                       {"strides", std::vector<std::int64_t>{1}}})})});
  const auto called = b.add_typed(graph.table->require("call"), {u}, {}, {f32({2})}, {body});
  b.set_results({(*top)[1], *b.add("add", {called[0], v}), (*top)[0]});
  REQUIRE(graph::verify(graph).has_value());
  const Graph out = rebuilt(graph);
  CHECK(out.nodes.size() == graph.nodes.size());
  CHECK(out.entry_computation().results[0].result == 1);
  CHECK(out.entry_computation().results[2].result == 0);
}

TEST_CASE("a result that nothing reads is no term", "[egraph]") {
  Graph graph = graph::make_graph(table(), "test");
  Builder b(graph, graph.entry);
  const Value x = b.parameter(f32({8}), "x");
  const auto top = b.add(graph.table->require("top_k"), {x}, {{"k", std::int64_t{2}}, {"axis", std::int64_t{0}}});
  if (!top) FAIL(print_error(top.error()));
  b.set_results({(*top)[1]});
  const Imported imported = from_graph(graph);
  CHECK(imported.at((*top)[0]) == imported.egraph.none());
  CHECK(imported.at((*top)[1]) == imported.results[0]);
  CHECK(rebuilt(graph).entry_computation().results[0].result == 1);
}

TEST_CASE("a chain of 100,000 nodes goes through the e-graph", "[egraph]") {
  Graph graph = graph::make_graph(table(), "chain");
  Builder b(graph, graph.entry);
  Value v = b.parameter(f32({4}), "x");
  for (int i = 0; i < 50000; ++i) v = *b.add("exp", {*b.add("neg", {v})});
  b.set_results({v});
  CHECK(rebuilt(graph).nodes.size() == graph.nodes.size());
}

TEST_CASE("a selection with a cycle or a hole is an error", "[egraph]") {
  Graph graph = graph::make_graph(table(), "test");
  Builder b(graph, graph.entry);
  const Value x = b.parameter(f32({4}), "x");
  const Value y = *b.add("neg", {x});
  b.set_results({*b.add("neg", {y})});
  Imported imported = from_graph(graph);
  imported.egraph.unite(imported.results[0], imported.at(x));
  imported.egraph.rebuild();
  Selection selection = select_smallest(imported);
  CHECK(to_graph(graph, imported, selection).has_value());
  const EClassId root = imported.egraph.find(imported.results[0]);
  selection.choice[root.index] = founder(imported.results[0]);
  CHECK_FALSE(to_graph(graph, imported, selection).has_value());
  selection.choice[root.index] = ENodeId();
  CHECK_FALSE(to_graph(graph, imported, selection).has_value());
}

}  // namespace fusewright::egraph
