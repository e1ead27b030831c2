#include "src/extract/least.hpp"

#include <catch2/catch.hpp>
#include <random>

#include "tests/extract/library.hpp"

using namespace fusewright;
using extract::UnitSet;
using graph::NodeId;
using graph::Value;
using tests::device;
using tests::library;
using Ints = std::vector<std::int64_t>;

namespace {

// Operators that need all, as many, or a part of what they read.
graph::Graph random_graph(std::mt19937& rng, std::size_t operators) {
  graph::Graph graph = graph::make_graph(library().table, "m");
  graph::Builder builder(graph, graph.entry);
  const ops::Shape square{64, 64};
  const auto op = [&](const std::string& name, std::vector<Value> operands, const ops::Attrs& attrs = {}) {
    const auto made = builder.add(name, std::move(operands), attrs);
    REQUIRE(made.has_value());
    return *made;
  };
  std::vector<Value> full, part, rows;
  for (int i = 0; i < 2; ++i)
    full.push_back(builder.parameter(ops::Type::tensor(ops::DType::kF32, square), "x" + std::to_string(i)));
  const auto pick = [&](const std::vector<Value>& from) { return from[rng() % from.size()]; };
  for (std::size_t i = 0; i < operators; ++i) switch (rng() % 7) {
      case 0: full.push_back(op("tanh", {pick(full)})); break;
      case 1: full.push_back(op("add", {pick(full), pick(full)})); break;
      case 2:
        full.push_back(op("dot", {pick(full), pick(full)}, {{"lhs_contract", Ints{1}}, {"rhs_contract", Ints{0}}}));
        break;
      case 3: rows.push_back(op("reduce_sum", {pick(full)}, {{"axes", Ints{1}}})); break;
      case 4:
        part.push_back(
            op("slice", {pick(full)}, {{"starts", Ints{0, 0}}, {"limits", Ints{8, 64}}, {"strides", Ints{1, 1}}}));
        break;
      case 5:
        if (!rows.empty()) full.push_back(op("broadcast", {pick(rows)}, {{"dims", Ints{0}}, {"shape", square}}));
        break;
      default:
        if (!part.empty()) part.push_back(op("mul", {pick(part), pick(part)}));
    }
  const extract::Uses uses(graph);
  std::vector<Value> results;
  for (const NodeId id : graph.entry_computation().nodes)
    if (uses.readers(id).empty() && graph.info(id).name != "parameter") results.push_back({id, 0});
  builder.set_results(results);
  return graph;
}

}  // namespace

TEST_CASE("no kernel is priced below what counts of elements say it takes at least") {
  const unsigned seed = GENERATE(range(0U, 40U));
  std::mt19937 rng(seed);
  const graph::Graph graph = random_graph(rng, 14);
  const extract::Uses uses(graph);
  const std::vector<bool> none(graph.nodes.size(), false);
  const extract::NodeFacts facts{none, none, none};
  for (const std::string name : {"x86-avx2", "h200"}) {
    const cost::Device on = device(name);
    extract::Evaluator evaluator(graph, uses, library(), on, facts, extract::FusionOptions());
    extract::Window window;
    for (const NodeId id : graph.entry_computation().nodes) {
      if (graph.info(id).name == "parameter") continue;
      const auto n = static_cast<std::uint32_t>(window.nodes.size());
      window.nodes.push_back(id);
      window.unit_of.push_back(n);
      extract::Window::Unit& unit = window.units.emplace_back();
      unit.last = id;
      for (const Value v : graph[id].operands)
        for (std::uint32_t o = 0; o < n; ++o)
          if (window.nodes[o] == v.node) unit.operands |= UnitSet(1) << o;
      const extract::Evaluated& alone = evaluator.evaluate({id}, evaluator.stored_values(id));
      unit.arithmetic = alone ? alone->arithmetic : 0;
      unit.choice = n;
      window.choices.push_back(n);
      window.values.push_back({{id, 0}});
    }
    extract::Least least(window, evaluator, graph, on);
    for (int i = 0; i < 60; ++i) {
      const auto all = (extract::ChoiceSet(1) << window.nodes.size()) - 1;
      const auto there = static_cast<extract::ChoiceSet>(rng() & rng() & all);
      const auto stored = static_cast<extract::ChoiceSet>(rng() & rng() & all & ~there);
      if (stored == 0) continue;
      const UnitSet units = window.cone(stored, there);
      const std::vector<NodeId> members = window.members(units);
      const extract::Evaluated& priced = evaluator.evaluate(members, window.outputs(stored));
      if (!priced || extract::is_view(graph, members)) continue;
      CHECK(priced->cost.seconds >= (1 - 1e-9) * least.seconds(least.work(units, stored), stored));
    }
  }
}
