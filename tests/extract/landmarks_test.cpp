#include "src/extract/landmarks.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <random>

#include "fusewright/graph/algorithms.hpp"
#include "tests/extract/library.hpp"

using namespace fusewright;
using graph::NodeId;
using graph::Value;

TEST_CASE("a node depends on another where a landmark is behind the one and before the other") {
  const unsigned seed = GENERATE(range(0U, 5U));
  std::mt19937 rng(seed);
  graph::Graph graph = graph::make_graph(tests::library().table, "m");
  graph::Builder builder(graph, graph.entry);
  std::vector<Value> values;
  for (int i = 0; i < 3; ++i)
    values.push_back(builder.parameter(ops::Type::tensor(ops::DType::kF32, {4}), "x" + std::to_string(i)));
  for (int i = 0; i < 700; ++i) {
    const auto near = [&] { return values[values.size() - 1 - rng() % std::min<std::size_t>(values.size(), 20)]; };
    values.push_back(*builder.add("add", {near(), near()}));
  }
  builder.set_results({values.back()});
  const extract::Uses uses(graph);
  const std::vector<bool> none(graph.nodes.size(), false);
  const extract::Landmarks landmarks(graph, uses, {none, none, none});
  std::size_t far = 0, found = 0;
  for (std::size_t i = 0; i < values.size(); i += 7) {
    const std::array from{values[i].node};
    const std::vector<bool> reached = graph::reachable_from(graph, from);
    for (std::size_t k = 0; k < values.size(); ++k) {
      const bool known = (landmarks.behind(values[i].node) & landmarks.before(values[k].node)).any();
      if (known) CHECK(reached[values[k].node.index]);
      if (k > i + 100 && reached[values[k].node.index]) {
        ++far;
        found += known ? 1 : 0;
      }
    }
  }
  CHECK(found == far);
}
