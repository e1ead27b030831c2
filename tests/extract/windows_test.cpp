#include "src/extract/windows.hpp"

#include <catch2/catch.hpp>
#include <numeric>
#include <random>

#include "src/extract/bound.hpp"
#include "tests/extract/library.hpp"

using namespace fusewright;
using graph::NodeId;
using graph::Value;
using tests::device;
using tests::library;
using Ints = std::vector<std::int64_t>;

namespace {

// Elementwise operators, reductions along rows, broadcasts of what they give, and matrix products, all of one extent.
graph::Graph random_graph(unsigned seed, std::int64_t extent, std::size_t operators) {
  std::mt19937 rng(seed);
  graph::Graph graph = graph::make_graph(library().table, "m");
  graph::Builder builder(graph, graph.entry);
  const ops::Shape square{extent, extent};
  const auto input = [&] {
    return builder.parameter(ops::Type::tensor(ops::DType::kF32, square), "x" + std::to_string(graph.inputs.size()));
  };
  const auto op = [&](const std::string& name, std::vector<Value> operands, const ops::Attrs& attrs = {}) {
    const auto made = builder.add(name, std::move(operands), attrs);
    REQUIRE(made.has_value());
    return *made;
  };
  std::vector<Value> full{input(), input()}, rows;
  const auto pick = [&](const std::vector<Value>& from) { return from[rng() % from.size()]; };
  for (std::size_t i = 0; i < operators; ++i) {
    const auto kind = rng() % 8;
    if (kind < 2) {
      full.push_back(op(kind == 0 ? "tanh" : "sin", {pick(full)}));
    } else if (kind < 4) {
      full.push_back(op(kind == 2 ? "add" : "mul", {pick(full), pick(full)}));
    } else if (kind == 4 || rows.empty()) {
      rows.push_back(op("reduce_sum", {pick(full)}, {{"axes", Ints{1}}}));
    } else if (kind == 5) {
      full.push_back(op("broadcast", {pick(rows)}, {{"dims", Ints{0}}, {"shape", square}}));
    } else if (kind == 6) {
      rows.push_back(op("exp", {pick(rows)}));
    } else {
      full.push_back(op("dot", {pick(full), pick(full)}, {{"lhs_contract", Ints{1}}, {"rhs_contract", Ints{0}}}));
    }
  }
  const extract::Uses uses(graph);
  std::vector<Value> results;  // what nobody reads
  for (const NodeId id : graph.entry_computation().nodes)
    if (uses.readers(id).empty() && graph.info(id).name != "parameter") results.push_back({id, 0});
  builder.set_results(results);
  return graph;
}

// The least cost over all plans: the operators that the results need as one window in which every value may be stored.
double least_cost(const graph::Graph& graph, const cost::Device& on) {
  const extract::Uses uses(graph);
  extract::NodeFacts facts;
  facts.constant = facts.load_time = facts.duplicated = std::vector<bool>(graph.nodes.size(), false);
  extract::Evaluator evaluator(graph, uses, library(), on, facts, extract::FusionOptions());
  std::vector<extract::Kernel> kernels;
  std::vector<extract::Declined> declined;
  for (const NodeId id : graph.entry_computation().nodes) {
    if (graph.info(id).name == "parameter") continue;
    const auto& alone = evaluator.evaluate(std::vector<NodeId>{id});
    REQUIRE(alone.has_value());
    kernels.push_back({{id}, evaluator.inputs({id}), evaluator.stored_values(id), &*alone, {}});
  }
  std::vector<std::uint32_t> all(kernels.size());
  std::iota(all.begin(), all.end(), 0U);
  REQUIRE(extract::WindowSearch(graph, uses, on, evaluator, kernels, declined, 0).solve_all(all));
  double sum = 0;
  for (const extract::Kernel& kernel : kernels)
    if (kernel.alive) sum += kernel.seconds();
  return sum;
}

}  // namespace

// Kernels whose costs differ by less than a hundredth count as equal when their templates are chosen.
TEST_CASE("on small graphs no plan at all is cheaper than the one that is found", "[extract]") {
  constexpr double kEqual = 1.01;
  extract::FusionOptions options;
  options.worthwhile = 0;
  for (unsigned seed = 0; seed < 150; ++seed) {
    const std::int64_t extent = seed % 3 == 0 ? 32 : seed % 3 == 1 ? 256 : 1024;
    const cost::Device& on = device(seed % 2 == 0 ? "x86-avx2" : "h200");
    const graph::Graph graph = random_graph(seed, extent, 4 + seed % 7);
    const double least = least_cost(graph, on);
    const auto plan = extract::plan_fusion(graph, library(), on, options);
    REQUIRE(plan.has_value());
    INFO("seed " << seed << ": " << plan->extraction.cost << " against " << least);
    CHECK(plan->extraction.cost <= least * kEqual);
    const extract::FusionOptions usual;  // changes that save less than that are not made
    const auto settled = extract::plan_fusion(graph, library(), on, usual);
    REQUIRE(settled.has_value());
    CHECK(settled->extraction.cost <= least * (1 + usual.worthwhile));
    CHECK(extract::lower_bound(graph, on) <= least * 1.000001);
  }
}

TEST_CASE("the bound of a product is its arithmetic, of a sum its bytes", "[extract]") {
  graph::Graph graph = graph::make_graph(library().table, "m");
  graph::Builder builder(graph, graph.entry);
  const auto type = ops::Type::tensor(ops::DType::kF32, ops::Shape{1024, 1024});
  const Value x = builder.parameter(type, "x"), y = builder.parameter(type, "y");
  const cost::Device& on = device("x86-avx2");
  SECTION("product") {
    const Ints one{1}, zero{0};
    const Value product = *builder.add("dot", {x, y}, {{"lhs_contract", one}, {"rhs_contract", zero}});
    builder.set_results({*builder.add("tanh", {product})});
    const double flops = 2.0 * 1024 * 1024 * 1024;
    CHECK(extract::lower_bound(graph, on) >= flops / on.contraction_flops);
  }
  SECTION("sum") {
    builder.set_results({*builder.add("add", {x, y})});
    const double bytes = 4.0 * 1024 * 1024;
    CHECK(extract::lower_bound(graph, on) >= 2 * bytes / on.memory.back().bytes_per_second);
    const auto plan = extract::plan_fusion(graph, library(), on);
    REQUIRE(plan.has_value());
    CHECK(plan->extraction.gap < 0.5);
  }
}
