#include "fusewright/graph/graph.hpp"

#include <catch2/catch.hpp>

#include "tests/ops/make_expr.hpp"

using namespace fusewright;
using namespace fusewright::graph;
using ops::DType;
using ops::Shape;

namespace {

using Ints = std::vector<std::int64_t>;

std::shared_ptr<const OpTable> table() {
  static const auto kTable = std::make_shared<const OpTable>(OpTable::builtin());
  return kTable;
}

Type f32(Shape shape) { return Type::tensor(DType::kF32, std::move(shape)); }

// exp(x + y) * y, with a dead sine of x.
Graph small_graph() {
  Graph graph = make_graph(table(), "small");
  graph.sources = {{"%add.1", "add", {}}};
  Builder builder(graph, graph.entry);
  const Value x = builder.parameter(f32({2, 3}), "x");
  const Value y = builder.parameter(f32({2, 3}), "y");
  builder.set_origin({SourceId(0)}, "add.1");
  const Value sum = builder.add("add", {x, y}).value();
  builder.set_origin({}, "");
  builder.add("sin", {x}).value();
  const Value e = builder.add("exp", {sum}).value();
  builder.set_results({builder.add("mul", {e, y}).value()});
  return graph;
}

std::string error_of(const Status& status) { return status ? "" : status.error().diagnostics[0].message; }

bool expand_all(const ops::OpInfo&) { return true; }

}  // namespace

TEST_CASE("a graph that the builder made is valid and prints", "[graph]") {
  const Graph graph = small_graph();
  CHECK(error_of(verify(graph)).empty());
  CHECK(print(graph) ==
        "graph \"small\"\n"
        "computation main {\n"
        "  %x.0 = parameter() {index=0, name=\"x\"} : f32[2,3]\n"
        "  %y.1 = parameter() {index=1, name=\"y\"} : f32[2,3]\n"
        "  %add.2 = add(%x.0, %y.1) : f32[2,3]\n"
        "  %sin.3 = sin(%x.0) : f32[2,3]\n"
        "  %exp.4 = exp(%add.2) : f32[2,3]\n"
        "  %mul.5 = mul(%exp.4, %y.1) : f32[2,3]\n"
        "  return %mul.5 as \"output_0\"\n"
        "}\n");
  CHECK(graph.inputs[1].name == "y");
  CHECK(graph.outputs[0].type == f32({2, 3}));
  CHECK(graph[NodeId(2)].sources == SourceSet{SourceId(0)});
  CHECK(print(small_graph()) == print(graph));
}

TEST_CASE("the builder refuses what the operator refuses, at the place given", "[graph]") {
  Graph graph = make_graph(table(), "bad");
  Builder builder(graph, graph.entry);
  const Value x = builder.parameter(f32({2}), "x");
  const Value y = builder.parameter(f32({3}), "y");
  const auto source = std::make_shared<const SourceText>(SourceText{"m.hlo", "add(x, y)"});
  const Result<Value> sum = builder.add("add", {x, y}, {}, {source, 0, 3});
  REQUIRE_FALSE(sum.has_value());
  CHECK(print_error(sum.error()) == "m.hlo:1:1: error: operands of add have shapes [2] and [3]\n  add(x, y)\n  ^~~\n");
  CHECK_FALSE(builder.add("frobnicate", {x}).has_value());
  CHECK_FALSE(builder.add("add", {x, Value()}).has_value());
  CHECK(graph.nodes.size() == 2);
}

TEST_CASE("align_to is the identity, a broadcast, or a reshape and a broadcast", "[graph]") {
  Graph graph = make_graph(table(), "align");
  Builder builder(graph, graph.entry);
  const auto align = [&](Shape from, Shape to) -> std::string {
    const Result<Value> out = builder.align_to(builder.parameter(f32(std::move(from)), "x"), to);
    if (!out) return out.error().diagnostics[0].message;
    const Node& node = graph[out->node];
    std::string text = graph.info(out->node).name;
    if (node.attrs.has("dims")) text += " " + ops::to_string(*node.attrs.find("dims"));
    if (!node.operands.empty()) text += " of " + ops::to_string(graph.type(node.operands[0]));
    return text;
  };
  CHECK(align({2, 3}, {2, 3}) == "parameter");
  CHECK(align({}, {2, 3}) == "broadcast [] of f32[]");
  CHECK(align({3}, {2, 3}) == "broadcast [1] of f32[3]");
  CHECK(align({2, 1}, {2, 3}) == "broadcast [0] of f32[2]");
  CHECK(align({1, 1}, {2, 3}) == "broadcast [] of f32[]");
  CHECK(align({1, 3}, {1, 1, 3}) == "broadcast [1,2] of f32[1,3]");
  CHECK(align({2}, {2, 3}) == "shape [2] does not broadcast to [2,3]: axis 1 is 2 and 3");
  CHECK(align({2, 3}, {3}) == "shape [2,3] does not broadcast to [3]");
  CHECK(align({2}, {1}) == "shape [2] does not broadcast to [1]: axis 0 is 2 and 1");
}

TEST_CASE("remove_dead keeps what reaches a result, and every parameter", "[graph]") {
  const Graph graph = remove_dead(small_graph());
  CHECK(error_of(verify(graph)).empty());
  CHECK(graph.nodes.size() == 5);
  CHECK(print(graph).find("sin") == std::string::npos);
  CHECK(graph[NodeId(3)].name == "exp.4");
}

namespace {

// while (x < limit) x = x + step, where both bodies capture values of the entry; `unused` owns a dead body.
Graph loop_graph() {
  Graph graph = make_graph(table(), "loop");
  Builder entry(graph, graph.entry);
  const Value x = entry.parameter(f32({}), "x");
  const Value limit = entry.add("exp", {x}).value();
  const Value step = entry.add("abs", {x}).value();
  const ComputationId condition = add_computation(graph, "condition", graph.entry);
  Builder test(graph, condition);
  test.set_results({test.add("lt", {test.parameter(f32({}), "i"), limit}).value()});
  const ComputationId body = add_computation(graph, "body", graph.entry);
  Builder work(graph, body);
  work.set_results({work.add("add", {work.parameter(f32({}), "i"), step}).value()});
  const ComputationId unused = add_computation(graph, "unused");
  Builder nobody(graph, unused);
  nobody.set_results({nobody.parameter(f32({}), "z")});
  const OpId loop = table()->require("while");
  entry.add_typed(table()->require("call"), {x}, {}, {f32({})}, {unused});
  entry.set_results(entry.add_typed(loop, {x}, {}, {f32({})}, {condition, body}));
  return graph;
}

}  // namespace

TEST_CASE("nested bodies print below their node and may use values around them", "[graph]") {
  const Graph graph = loop_graph();
  CHECK(error_of(verify(graph)).empty());
  CHECK(print(graph).find("  %while.9 = while(%x.0) : f32[]\n"
                          "    computation condition {\n"
                          "      %i.3 = parameter() {index=0, name=\"i\"} : f32[]\n"
                          "      %lt.4 = lt(%i.3, %exp.1) : pred[]\n"
                          "      return %lt.4\n"
                          "    }\n") != std::string::npos);
  const Graph alive = remove_dead(graph);
  CHECK(error_of(verify(alive)).empty());
  CHECK(alive.computations.size() == 3);
  CHECK(alive.nodes.size() == graph.nodes.size() - 2);
}

TEST_CASE("verify finds what a broken pass leaves behind", "[graph]") {
  const Graph good = small_graph();
  const auto broken = [&](auto change) {
    Graph graph = good;
    change(graph);
    return error_of(verify(graph));
  };
  CHECK(broken([](Graph& g) { std::swap(g[g.entry].nodes[2], g[g.entry].nodes[4]); }) ==
        "node 'exp.4': it uses 'add.2', which comes later");
  CHECK(broken([](Graph& g) { g.nodes[2].types[0] = f32({3, 2}); }) == "node 'add.2': its type is not f32[2,3]");
  CHECK(broken([](Graph& g) { g.nodes[2].name = "exp.4"; }) == "two nodes have the name 'exp.4'");
  CHECK(broken([](Graph& g) { g.nodes[2].operands[0].result = 1; }) == "node 'add.2': it uses result 1 of 'x.0'");
  CHECK(broken([](Graph& g) { g.nodes[2].attrs.set("axis", std::int64_t{0}); }) ==
        "node 'add.2': add has no attribute 'axis'");
  CHECK(broken([](Graph& g) { g.nodes[2].sources = {SourceId(7)}; }) ==
        "node 'add.2': it names a source node that is not there");
  CHECK(broken([](Graph& g) { g.nodes[2].computations = {g.entry}; }) == "node 'add.2': it has 1 bodies");
  CHECK(broken([](Graph& g) { g[g.entry].nodes.push_back(NodeId(2)); }) == "node 'add.2' is listed twice");
  CHECK_FALSE(broken([](Graph& g) { g.inputs.pop_back(); }).empty());
  CHECK_FALSE(broken([](Graph& g) { g.outputs[0].type = f32({}); }).empty());
  CHECK_FALSE(broken([](Graph& g) { g[g.entry].results[0] = {NodeId(99), 0}; }).empty());
  CHECK_FALSE(broken([](Graph& g) { g[g.entry].parameters[0] = NodeId(2); }).empty());
  Graph captured = loop_graph();
  std::vector<NodeId>& nodes = captured[captured.entry].nodes;
  std::swap(nodes[1], nodes[4]);  // the loop now comes before the limit that its condition captures
  CHECK(error_of(verify(captured)) == "node 'lt.4': it captures 'exp.1', which comes later");
}

TEST_CASE("merging source sets keeps them sorted and without repeats", "[graph]") {
  CHECK(merge({SourceId(1), SourceId(3)}, {SourceId(2), SourceId(3)}) ==
        SourceSet{SourceId(1), SourceId(2), SourceId(3)});
  CHECK(merge({}, {}).empty());
}

TEST_CASE("composites expand until none is left, with the sources of the node they were", "[graph]") {
  using namespace fusewright::tests;
  auto ops = std::make_shared<OpTable>(OpTable::builtin());
  REQUIRE(ops->add(composite("silu", {{"x"}}, {}, {}, {bin(id("x"), "*", call("logistic", {id("x")}))})));
  REQUIRE(ops->add(composite("same", {{"x"}}, {}, {}, {id("x")})));
  REQUIRE(ops->add(composite("twice", {{"x"}}, {}, {}, {call("same", {call("silu", {call("silu", {id("x")})})})})));
  Graph graph = make_graph(ops, "composites");
  graph.sources = {{"node", "Twice", {}}};
  Builder builder(graph, graph.entry);
  const Value x = builder.parameter(f32({2}), "x");
  builder.set_origin({SourceId(0)}, "t");
  const Value t = builder.add("twice", {x}).value();
  const Value u = builder.add("same", {builder.add("exp", {t}).value()}).value();
  builder.set_results({u, t});
  REQUIRE(error_of(verify(graph)).empty());

  const Graph expanded = expand_composites(graph, expand_all).value();
  CHECK(error_of(verify(expanded)).empty());
  std::string names;
  for (const NodeId id : expanded.entry_computation().nodes) names += expanded.info(id).name + " ";
  CHECK(names == "parameter logistic mul logistic mul exp ");
  CHECK(expanded.info(expanded.entry_computation().results[0].node).name == "exp");
  CHECK(expanded.info(expanded.entry_computation().results[1].node).name == "mul");
  CHECK(expanded[NodeId(1)].sources == SourceSet{SourceId(0)});

  const Graph partly = expand_composites(graph, [](const ops::OpInfo& info) { return info.name != "silu"; }).value();
  CHECK(error_of(verify(partly)).empty());
  CHECK(partly.nodes.size() == 4);
}

TEST_CASE("a composite made of itself does not expand forever", "[graph]") {
  using namespace fusewright::tests;
  auto ops = std::make_shared<OpTable>(OpTable::builtin());
  REQUIRE(ops->add(composite("again", {{"x"}}, {}, {}, {call("again", {id("x")})})));
  Graph graph = make_graph(ops, "again");
  Builder builder(graph, graph.entry);
  const Value x = builder.parameter(f32({2}), "x");
  builder.set_results(builder.add_typed(ops->require("again"), {x}, {}, {f32({2})}));
  CHECK_FALSE(expand_composites(graph, expand_all).has_value());
}

TEST_CASE("a chain of a hundred thousand nodes goes through every pass", "[graph]") {
  using namespace fusewright::tests;
  auto ops = std::make_shared<OpTable>(OpTable::builtin());
  REQUIRE(ops->add(composite("silu", {{"x"}}, {}, {}, {bin(id("x"), "*", call("logistic", {id("x")}))})));
  Graph graph = make_graph(ops, "chain");
  Builder builder(graph, graph.entry);
  Value value = builder.parameter(f32({4, 4}), "x");
  const OpId exp = ops->require("exp"), silu = ops->require("silu");
  for (int i = 0; i < 100'000; ++i) value = builder.add(i % 10 == 0 ? silu : exp, {value}).value()[0];
  builder.set_results({value});
  CHECK(error_of(verify(graph)).empty());
  CHECK(print(graph).size() > 3'000'000);
  CHECK(remove_dead(graph).nodes.size() == 100'001);
  CHECK(expand_composites(graph, expand_all).value().nodes.size() == 110'001);
}
