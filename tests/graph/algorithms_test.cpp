#include "fusewright/graph/algorithms.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

using namespace fusewright;
using namespace fusewright::graph;

namespace {

std::shared_ptr<const OpTable> table() {
  static const auto kTable = std::make_shared<const OpTable>(OpTable::builtin());
  return kTable;
}

const Type kVector = Type::tensor(ops::DType::kF32, {4});

struct Sketch {
  Graph graph = make_graph(table(), "sketch");
  Builder builder{graph, graph.entry};
  Value parameter() { return builder.parameter(kVector, "x"); }
  Value unary(Value x) { return builder.add("exp", {x}).value(); }
  Value binary(Value a, Value b) { return builder.add("add", {a, b}).value(); }
};

// A random DAG in which some nodes are results and some are dead.
Graph random_graph(std::uint32_t seed) {
  std::mt19937 random(seed);
  Sketch s;
  std::vector<Value> values = {s.parameter(), s.parameter()};
  for (int i = 0; i < 40; ++i) {
    const auto pick = [&] { return values[random() % values.size()]; };
    values.push_back(random() % 5 == 0   ? s.parameter()
                     : random() % 3 == 0 ? s.unary(pick())
                                         : s.binary(pick(), pick()));
  }
  s.builder.set_results({values.back(), values[values.size() / 2]});
  return s.graph;
}

// By definition: d dominates v when v cannot be reached from a source with d taken away.
std::vector<NodeId> slow_dominators(const Graph& graph, bool forward) {
  const std::size_t count = graph.nodes.size();
  std::vector<std::vector<std::size_t>> next(count);
  std::vector<bool> start(count, true);
  for (std::size_t v = 0; v < count; ++v)
    for (const Value& operand : graph.nodes[v].operands) {
      const std::size_t u = operand.node.index;
      next[forward ? u : v].push_back(forward ? v : u);
      start[forward ? v : u] = false;
    }
  if (!forward)
    for (const Value& result : graph.entry_computation().results) start[result.node.index] = true;
  const auto reached_without = [&](std::size_t gone) {
    std::vector<bool> seen(count, false);
    std::vector<std::size_t> work;
    for (std::size_t v = 0; v < count; ++v)
      if (start[v] && v != gone) work.push_back(v);
    while (!work.empty()) {
      const std::size_t v = work.back();
      work.pop_back();
      if (seen[v]) continue;
      seen[v] = true;
      for (const std::size_t w : next[v])
        if (w != gone) work.push_back(w);
    }
    return seen;
  };
  std::vector<std::vector<bool>> without;
  for (std::size_t d = 0; d < count; ++d) without.push_back(reached_without(d));
  std::vector<NodeId> out(count);
  const auto dominates = [&](std::size_t d, std::size_t v) { return d != v && !without[d][v]; };
  for (std::size_t v = 0; v < count; ++v)
    for (std::size_t d = 0; d < count; ++d) {
      if (!dominates(d, v)) continue;
      bool nearest = true;
      for (std::size_t e = 0; e < count; ++e) nearest = nearest && (e == d || !dominates(e, v) || dominates(e, d));
      if (nearest) out[v] = NodeId(d);
    }
  return out;
}

}  // namespace

TEST_CASE("topological order puts every node behind what it uses, wherever the list had it", "[algorithms]") {
  Graph graph = random_graph(1);
  std::mt19937 random(2);
  std::shuffle(graph[graph.entry].nodes.begin(), graph[graph.entry].nodes.end(), random);
  graph[graph.entry].nodes = topological_order(graph).value();
  const Status status = verify(graph);
  CHECK((status ? "" : print_error(status.error())) == "");
}

TEST_CASE("a cycle is an error of topological order", "[algorithms]") {
  Sketch s;
  const Value a = s.unary(s.parameter());
  const Value b = s.unary(a);
  s.graph[a.node].operands[0] = b;
  const auto order = topological_order(s.graph);
  REQUIRE_FALSE(order.has_value());
  CHECK(order.error().diagnostics[0].message.starts_with("the graph has a cycle"));
}

TEST_CASE("reachability follows values to their users and back", "[algorithms]") {
  Sketch s;
  const Value x = s.parameter(), y = s.parameter();
  const Value a = s.unary(x), b = s.unary(y), c = s.binary(a, b), d = s.unary(b);
  const NodeId from[] = {x.node}, to[] = {c.node};
  const std::vector<bool> forward = reachable_from(s.graph, from);
  CHECK((forward[x.node.index] && forward[a.node.index] && forward[c.node.index]));
  CHECK_FALSE((forward[y.node.index] || forward[b.node.index] || forward[d.node.index]));
  const std::vector<bool> backward = reaching(s.graph, to);
  CHECK((backward[x.node.index] && backward[b.node.index] && backward[c.node.index]));
  CHECK_FALSE(backward[d.node.index]);
  const std::vector<bool> nothing = reachable_from(s.graph, {});
  CHECK(std::count(nothing.begin(), nothing.end(), true) == 0);
}

TEST_CASE("dominators of a diamond are its ends", "[algorithms]") {
  Sketch s;
  const Value x = s.parameter();
  const Value top = s.unary(x), left = s.unary(top), right = s.unary(top), bottom = s.binary(left, right);
  s.builder.set_results({bottom});
  const std::vector<NodeId> idom = dominators(s.graph);
  CHECK(idom[bottom.node.index] == top.node);
  CHECK(idom[left.node.index] == top.node);
  CHECK(idom[top.node.index] == x.node);
  CHECK_FALSE(idom[x.node.index].valid());
  const std::vector<NodeId> post = post_dominators(s.graph);
  CHECK(post[top.node.index] == bottom.node);
  CHECK(post[right.node.index] == bottom.node);
  CHECK_FALSE(post[bottom.node.index].valid());
  s.builder.set_results({bottom, left});  // another way out
  CHECK_FALSE(post_dominators(s.graph)[top.node.index].valid());
}

TEST_CASE("dominators agree with their definition on random graphs", "[algorithms]") {
  for (std::uint32_t seed = 0; seed < 30; ++seed) {
    const Graph graph = random_graph(seed);
    CHECK(dominators(graph) == slow_dominators(graph, true));
    CHECK(post_dominators(graph) == slow_dominators(graph, false));
  }
}

TEST_CASE("components are numbered in the order of their first nodes", "[algorithms]") {
  Sketch s;
  const Value x = s.parameter(), y = s.parameter();
  const Value a = s.unary(x), b = s.unary(y);
  CHECK(connected_components(s.graph) == std::vector<std::uint32_t>{0, 1, 0, 1});
  s.binary(a, b);
  CHECK(connected_components(s.graph) == std::vector<std::uint32_t>(5, 0));
}

TEST_CASE("a value that a body captures is used by the node that owns the body", "[algorithms]") {
  Sketch s;
  const Value x = s.parameter(), limit = s.unary(x);
  const ComputationId branch = add_computation(s.graph, "branch", s.graph.entry);
  Builder inner(s.graph, branch);
  inner.set_results({inner.add("add", {inner.parameter(kVector, "p"), limit}).value()});
  const Value out = s.builder.add_typed(table()->require("call"), {x}, {}, {kVector}, {branch})[0];
  s.builder.set_results({out});
  const NodeId from[] = {limit.node};
  CHECK(reachable_from(s.graph, from)[out.node.index]);
  CHECK(dominators(s.graph)[out.node.index] == x.node);
  CHECK(topological_order(s.graph, branch).value().size() == 2);
  CHECK(connected_components(s.graph)[3] == kNoComponent);
}

TEST_CASE("the DOT export names operators and types and marks results", "[algorithms]") {
  Sketch s;
  s.builder.set_results({s.unary(s.parameter())});
  const std::string dot = print_dot(s.graph);
  CHECK(dot.starts_with("digraph G {"));
  CHECK(dot.find("1[label=\"exp\nf32[4]\", tooltip=\"exp.1\", peripheries=2];") != std::string::npos);
  CHECK(dot.find("0->1") != std::string::npos);
}

TEST_CASE("a drawing shows kernels as boxes, what they hand over in bytes, and what it leaves out", "[algorithms]") {
  Sketch s;
  const Value x = s.parameter();
  const Value a = s.unary(x), b = s.unary(a), c = s.unary(b);
  s.builder.set_results({c});
  const std::string dot =
      print_dot(s.graph, {}, {{"first \"kernel\"", {a.node, b.node}}, {"second", {c.node}}, {"third", {b.node}}});
  using Catch::Contains;
  CHECK_THAT(dot, Contains("subgraph cluster_0 { label=\"first \\\"kernel\\\"\"; style=rounded; 1; 2; }"));
  CHECK_THAT(dot, Contains("subgraph cluster_1 { label=\"second\"; style=rounded; 3; }") || Contains("label=second"));
  CHECK_THAT(dot, Contains("style=dashed"));
  CHECK_THAT(dot, Contains("2->3 [penwidth=2, label=\"16 B\"]"));
  CHECK_THAT(dot, !Contains("1->2 ["));
  const std::string cut = print_dot(s.graph, {}, {}, 2);
  CHECK_THAT(cut, Contains("the first 2 of 4 nodes") && Contains("0->1") && !Contains("1->2"));
}

TEST_CASE("an order that is right stays, and one that is not changes as little as it must", "[algorithms]") {
  CHECK(stable_order(3, {{0, 2}, {0, 1}}).value() == std::vector<std::size_t>{0, 1, 2});
  CHECK(stable_order(4, {{3, 1}}).value() == std::vector<std::size_t>{0, 3, 1, 2});
  const auto cycle = stable_order(4, {{0, 1}, {1, 2}, {2, 1}, {2, 3}});
  REQUIRE_FALSE(cycle.has_value());
  CHECK((cycle.error() == 1 || cycle.error() == 2));
}

TEST_CASE("all algorithms pass over a hundred thousand nodes", "[algorithms]") {
  Sketch s;
  const Value x = s.parameter();
  Value value = x;
  for (int i = 0; i < 50'000; ++i) value = s.unary(value);
  const Value middle = value;
  for (int i = 0; i < 50'000; ++i) value = s.binary(value, i % 2 == 0 ? middle : x);
  s.builder.set_results({value});
  CHECK(topological_order(s.graph).value().size() == 100'001);
  const NodeId from[] = {x.node};
  const std::vector<bool> reached = reachable_from(s.graph, from);
  CHECK(std::count(reached.begin(), reached.end(), true) == 100'001);
  CHECK(dominators(s.graph)[value.node.index] == x.node);
  CHECK(post_dominators(s.graph)[middle.node.index].valid());
  CHECK(print_dot(s.graph).size() > 1'000'000);
}
