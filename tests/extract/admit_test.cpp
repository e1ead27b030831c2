#include "fusewright/extract/admit.hpp"

#include <catch2/catch.hpp>
#include <random>

#include "fusewright/graph/graph.hpp"
#include "fusewright/rule/check.hpp"
#include "fusewright/rule/parse.hpp"

using namespace fusewright;
using graph::NodeId;
using graph::Value;

namespace {

rule::FuseRule fuse_rule(const std::string& body) {
  const auto file =
      rule::parse_rules(std::make_shared<const SourceText>(SourceText{"one.fuse", "fuse one {\n" + body + "\n}\n"}));
  INFO((file ? "" : print_error(file.error())));
  REQUIRE(file.has_value());
  const auto rules = rule::check_rules({*file}, ops::OpTable::builtin());
  INFO((rules ? "" : print_error(rules.error())));
  REQUIRE(rules.has_value());
  return rules->fuses.front();
}

struct Model {
  graph::Graph graph = graph::make_graph(std::make_shared<const ops::OpTable>(ops::OpTable::builtin()), "m");
  graph::Builder builder{graph, graph.entry};

  Value in() { return builder.parameter(ops::Type::tensor(ops::DType::kF32, {4}), "x"); }
  Value op(const std::string& name, std::vector<Value> operands, const ops::Attrs& attrs = {}) {
    const auto made = builder.add(name, std::move(operands), attrs);
    REQUIRE(made.has_value());
    return *made;
  }
  /// All nodes but the parameters.
  std::vector<NodeId> nodes() const {
    std::vector<NodeId> out;
    for (const NodeId id : graph.entry_computation().nodes)
      if (graph.info(id).name != "parameter") out.push_back(id);
    return out;
  }
  std::expected<std::vector<std::uint32_t>, extract::NotAdmitted> admits(const rule::FuseRule& rule) {
    return extract::admits(rule, graph, extract::Uses(graph), nodes());
  }
};

Model chain(const std::vector<std::string>& ops) {
  Model m;
  Value x = m.in();
  for (const std::string& op : ops) x = m.op(op, {x});
  m.builder.set_results({x});
  return m;
}

// Whether any of all ways to number the nodes by segments is one that the rule describes.
bool some_assignment(const graph::Graph& graph, const std::vector<NodeId>& nodes,
                     const std::vector<rule::Segment>& segments) {
  std::size_t ways = 1;
  for (std::size_t i = 0; i < nodes.size(); ++i) ways *= segments.size();
  for (std::size_t way = 0; way < ways; ++way) {
    std::map<NodeId, std::size_t> segment;
    std::vector<std::uint32_t> filled(segments.size(), 0);
    std::size_t rest = way;
    bool good = true;
    for (const NodeId id : nodes) {
      segment[id] = rest % segments.size();
      rest /= segments.size();
      ++filled[segment[id]];
      good &= segments[segment[id]].ops.contains(graph[id].op);
    }
    for (const NodeId id : nodes)
      for (const Value operand : graph[id].operands) {
        const auto from = segment.find(operand.node);
        if (from == segment.end()) continue;
        good &= from->second < segment[id] || (from->second == segment[id] && segments[segment[id]].is_closure());
      }
    for (std::size_t s = 0; s < segments.size(); ++s)
      good &= filled[s] >= segments[s].min && filled[s] <= segments[s].max;
    if (good) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("closures that stand next to each other share a chain", "[extract]") {
  CHECK(chain({"exp", "exp"}).admits(fuse_rule("match elementwise as a |> elementwise as b")));
  CHECK_FALSE(chain({"exp"}).admits(fuse_rule("match elementwise as a |> elementwise as b")));
  CHECK(chain({"exp", "exp", "exp"}).admits(fuse_rule("match {exp}+ |> {exp}{1,2} |> {exp}*")));
  CHECK(chain({"exp", "tanh", "exp"}).admits(fuse_rule("match {exp, tanh}* |> exp as last")));
  CHECK(chain({"exp", "exp", "exp"}).admits(fuse_rule("match exp as a |> exp as b |> exp as c")));
  CHECK_FALSE(chain({"exp", "exp", "exp", "exp"}).admits(fuse_rule("match exp as a |> exp as b |> exp as c")));
  CHECK_FALSE(chain({"exp", "exp", "exp"}).admits(fuse_rule("match {exp}{1,2} |> tanh? |> {tanh}*")));
}

TEST_CASE("an operator stands where its attributes fit", "[extract]") {
  const auto rule = fuse_rule("match reduce_sum* as a |> reduce_sum(_, axes = [0]) as s");
  for (const auto& [first, second, good] : {std::tuple{1, 0, true}, {0, 0, true}, {0, 1, false}}) {
    Model m;
    const Value x = m.builder.parameter(ops::Type::tensor(ops::DType::kF32, {4, 5, 6}), "x");
    const Value y = m.op("reduce_sum", {x}, {{"axes", std::vector<std::int64_t>{first}}});
    m.builder.set_results({m.op("reduce_sum", {y}, {{"axes", std::vector<std::int64_t>{second}}})});
    CHECK(m.admits(rule).has_value() == good);
  }
}

TEST_CASE("a region is admitted exactly where one of all assignments is", "[extract]") {
  const std::vector<std::string> segments = {
      "exp",          "tanh",           "add",        "{exp, tanh}*", "{exp, add}+",
      "{tanh, add}?", "{exp, tanh}{2}", "{exp}{1,2}", "{add, tanh}*", "exp?"};
  std::mt19937 rng(7);
  int admitted = 0;
  for (int round = 0; round < 1000; ++round) {
    Model m;
    std::vector<Value> values{m.in()};
    const std::size_t size = 1 + rng() % 5;
    for (std::size_t i = 0; i < size; ++i) {
      const Value a = values[rng() % values.size()], b = values[rng() % values.size()];
      const auto kind = rng() % 3;
      values.push_back(kind == 2 ? m.op("add", {a, b}) : m.op(kind == 1 ? "exp" : "tanh", {a}));
    }
    m.builder.set_results({values.back()});
    std::string text = "match exp? ";
    const std::size_t count = 1 + rng() % 3;
    for (std::size_t s = 0; s < count; ++s) text += " |> " + segments[rng() % segments.size()];
    text += " |> tanh as last";
    const rule::FuseRule rule = fuse_rule(text);
    const bool expected = some_assignment(m.graph, m.nodes(), rule.roots.front().segments);
    const auto found = m.admits(rule);
    INFO(text << "\n" << graph::print(m.graph) << (found ? "" : found.error().reason));
    REQUIRE(found.has_value() == expected);
    admitted += expected ? 1 : 0;
  }
  CHECK(admitted > 40);
}

TEST_CASE("parts find roots also where the first fit would take another's", "[extract]") {
  Model m;
  const Value x = m.in();
  m.builder.set_results({m.op("exp", {x}), m.op("tanh", {x})});
  CHECK(m.admits(fuse_rule("match {exp, tanh} as any\n match exp as narrow")));
  CHECK(m.admits(fuse_rule("match exp as narrow\n match {exp, tanh} as any")));
  CHECK(m.admits(fuse_rule("match {exp, tanh} times {1,2}\n match tanh as narrow")));
  CHECK_FALSE(m.admits(fuse_rule("match {exp, tanh} as any\n match {add, exp} as other\n match tanh as third")));
  CHECK_FALSE(m.admits(fuse_rule("match exp as narrow\n match {exp, add} as any")));
}

TEST_CASE("a long region is assigned, or given up", "[extract]") {
  std::vector<std::string> many(3000, "exp");
  CHECK(chain(many).admits(fuse_rule("match {exp}{1,2} |> {exp, tanh}* |> {exp}+")));
  Model m;
  std::vector<Value> results;
  const Value x = m.in();
  for (int i = 0; i < 2000; ++i) results.push_back(m.op("exp", {x}));
  m.builder.set_results(results);
  CHECK_FALSE(m.admits(fuse_rule("match {exp}{1,900} |> {exp}{1,900}")));
}
