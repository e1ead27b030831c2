#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <map>
#include <random>
#include <set>

#include "src/extract/bound.hpp"
#include "src/extract/evaluate.hpp"
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

// The least cost over all plans, by trying them all: what a kernel stores next is any set of values that are not stored
// yet, and it computes whatever else that takes.
class AllPlans {
 public:
  AllPlans(const graph::Graph& graph, const cost::Device& on)
      : graph_(graph),
        uses_(graph),
        facts_{none(graph), none(graph), none(graph)},
        evaluator_(graph, uses_, library(), on, facts_, extract::FusionOptions()) {
    for (const NodeId id : graph.entry_computation().nodes)
      if (graph.info(id).name != "parameter") operators_.push_back(id);
    for (const Value v : graph.entry_computation().results) results_.insert(v.node);
  }

  double least_from(const std::set<NodeId>& stored = {}) {
    if (std::includes(stored.begin(), stored.end(), results_.begin(), results_.end())) return 0;
    if (const auto known = least_.find(stored); known != least_.end()) return known->second;
    std::vector<NodeId> open;
    for (const NodeId id : operators_)
      if (!stored.contains(id)) open.push_back(id);
    double least = std::numeric_limits<double>::infinity();
    for (unsigned choice = 1; choice < 1U << open.size(); ++choice) {
      std::vector<Value> outputs;
      std::set<NodeId> then = stored;
      for (std::size_t i = 0; i < open.size(); ++i)
        if ((choice >> i & 1) != 0) {
          outputs.push_back({open[i], 0});
          then.insert(open[i]);
        }
      const extract::Evaluated& kernel = evaluator_.evaluate(computed(outputs, stored), outputs);
      if (!kernel) continue;
      const double seconds = kernel->cost.seconds;
      least = std::min(least, seconds + least_from(then));
    }
    return least_[stored] = least;
  }

 private:
  static std::vector<bool> none(const graph::Graph& graph) { return std::vector<bool>(graph.nodes.size(), false); }

  /// In topological order, what a kernel with these outputs computes where `stored` can be read.
  std::vector<NodeId> computed(const std::vector<Value>& outputs, const std::set<NodeId>& stored) const {
    std::set<NodeId> wanted;
    for (const Value v : outputs) wanted.insert(v.node);
    std::vector<NodeId> nodes;
    for (std::size_t i = operators_.size(); i-- > 0;) {
      if (!wanted.contains(operators_[i])) continue;
      nodes.insert(nodes.begin(), operators_[i]);
      for (const Value operand : graph_[operators_[i]].operands)
        if (!stored.contains(operand.node)) wanted.insert(operand.node);
    }
    return nodes;
  }

  const graph::Graph& graph_;
  extract::Uses uses_;
  extract::NodeFacts facts_;
  extract::Evaluator evaluator_;
  std::vector<NodeId> operators_;
  std::set<NodeId> results_;
  std::map<std::set<NodeId>, double> least_;
};

}  // namespace

// Kernels whose costs differ by less than a hundredth count as equal when their templates are chosen.
TEST_CASE("on small graphs no plan at all is cheaper than the one that is found", "[extract]") {
  constexpr double kEqual = 1.01;
  extract::FusionOptions options;
  options.worthwhile = 0;
  for (unsigned seed = 0; seed < 150; ++seed) {
    const std::int64_t extent = seed % 3 == 0 ? 32 : seed % 3 == 1 ? 256 : 1024;
    const cost::Device& on = device(seed % 2 == 0 ? "x86-avx2" : "h200");
    const graph::Graph graph = random_graph(seed, extent, 3 + seed % 5);
    const double least = AllPlans(graph, on).least_from();
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
