#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <map>
#include <queue>
#include <random>
#include <unordered_map>

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
// yet, and it computes whatever else that takes. Nothing is left out but what cannot be cheaper than a plan that is
// known: the search goes from the cheapest begun plan on, as in Dijkstra's algorithm, and a plan that still has results
// to write costs their bytes at least.
class AllPlans {
 public:
  AllPlans(const graph::Graph& graph, const cost::Device& on)
      : graph_(graph),
        uses_(graph),
        facts_{none(graph), none(graph), none(graph)},
        evaluator_(graph, uses_, library(), on, facts_, extract::FusionOptions()) {
    std::map<NodeId, unsigned> bit;
    for (const NodeId id : graph.entry_computation().nodes) {
      if (graph.info(id).name == "parameter") continue;
      const auto i = static_cast<unsigned>(operators_.size());
      bit[id] = i;
      operators_.push_back(id);
      reads_.push_back(0);
      for (const Value operand : graph[id].operands)
        if (const auto at = bit.find(operand.node); at != bit.end()) reads_.back() |= 1U << at->second;
    }
    const double fastest = on.memory.front().bytes_per_second;
    for (const Value v : graph.entry_computation().results) {
      results_ |= 1U << bit.at(v.node);
      writing_[bit.at(v.node)] = static_cast<double>(ops::byte_size(graph.type(v))) / fastest;
    }
  }

  /// The kernels of the plan that `least` found, each by what it computes and stores.
  std::string text() {
    std::string out;
    for (unsigned stored = found_; stored != 0; stored = before_.at(stored)) {
      const unsigned from = before_.at(stored);
      std::string kernel;
      const unsigned computed = closure(stored & ~from, from);
      for (std::size_t i = 0; i < operators_.size(); ++i)
        if ((computed >> i & 1) != 0)
          kernel += " " + graph_[operators_[i]].name + ((stored & ~from) >> i & 1 ? "*" : "");
      out = kernel + " (" + std::to_string(1e6 * price(stored & ~from, from)) + " us)\n" + out;
    }
    return out;
  }

  /// The cost of the cheapest plan where it is below `known`, else `known`.
  double least(double known) {
    std::vector<double> cost(std::size_t(1) << operators_.size(), std::numeric_limits<double>::infinity());
    using Begun = std::pair<double, unsigned>;
    std::priority_queue<Begun, std::vector<Begun>, std::greater<>> begun;
    unsigned last = 0;
    const auto reach = [&](unsigned stored, double seconds) {
      if (seconds >= cost[stored] || seconds + rest(stored) >= known) return;
      cost[stored] = seconds;
      before_[stored] = last;
      begun.emplace(seconds, stored);
    };
    reach(0, 0);
    while (!begun.empty()) {
      const auto [seconds, stored] = begun.top();
      begun.pop();
      if (seconds > cost[stored]) continue;
      if ((stored & results_) == results_) {
        found_ = stored;
        return seconds;
      }
      last = stored;
      const unsigned open = (1U << operators_.size()) - 1 & ~stored;
      for (unsigned next = open; next != 0; next = (next - 1) & open) {
        if (seconds + rest(stored | next) >= std::min(known, cost[stored | next])) continue;
        reach(stored | next, seconds + price(next, stored));
      }
    }
    return known;
  }

 private:
  static std::vector<bool> none(const graph::Graph& graph) { return std::vector<bool>(graph.nodes.size(), false); }

  double rest(unsigned stored) const {
    double seconds = 0;
    for (const auto& [i, writing] : writing_)
      if ((stored >> i & 1) == 0) seconds += writing;
    return seconds;
  }

  unsigned closure(unsigned outputs, unsigned stored) const {
    unsigned computed = outputs;
    for (std::size_t i = operators_.size(); i-- > 0;)
      if ((computed >> i & 1) != 0) computed |= reads_[i] & ~stored;
    return computed;
  }

  /// Of the kernel with these outputs, which computes what they take where `stored` can be read.
  double price(unsigned outputs, unsigned stored) {
    const unsigned computed = closure(outputs, stored);
    const auto [at, fresh] = prices_.try_emplace(std::uint64_t(computed) << 32 | outputs);
    if (!fresh) return at->second;
    std::vector<NodeId> nodes;
    std::vector<Value> values;
    for (std::size_t i = 0; i < operators_.size(); ++i) {
      if ((computed >> i & 1) != 0) nodes.push_back(operators_[i]);
      if ((outputs >> i & 1) != 0) values.push_back({operators_[i], 0});
    }
    const extract::Evaluated& kernel = evaluator_.evaluate(nodes, values);
    return at->second = kernel ? kernel->cost.seconds : std::numeric_limits<double>::infinity();
  }

  const graph::Graph& graph_;
  extract::Uses uses_;
  extract::NodeFacts facts_;
  extract::Evaluator evaluator_;
  std::vector<NodeId> operators_;
  std::vector<unsigned> reads_;  // by operator, a bit for each that it reads
  unsigned results_ = 0, found_ = 0;
  std::map<unsigned, unsigned> before_;  // what was stored before the last kernel
  std::map<unsigned, double> writing_;   // seconds at least, by result
  std::unordered_map<std::uint64_t, double> prices_;
};

}  // namespace

namespace {

std::string text(const plan::Plan& plan) {
  std::string out;
  for (const plan::Group& group : plan.groups) {
    for (const NodeId n : group.nodes) {
      const bool stored = std::ranges::find(group.outputs, Value{n, 0}) != group.outputs.end();
      out += " " + plan.graph[n].name + (stored ? "*" : "");
    }
    out += " (" + std::to_string(1e6 * group.seconds_estimated) + " us)\n";
  }
  return out;
}

// Kernels whose costs differ by less than a hundredth count as equal when their templates are chosen.
void check_against_all_plans(unsigned seed, std::size_t operators) {
  constexpr double kEqual = 1.01;
  const std::int64_t extent = seed % 3 == 0 ? 32 : seed % 3 == 1 ? 256 : 1024;
  const cost::Device& on = device(seed % 2 == 0 ? "x86-avx2" : "h200");
  const graph::Graph graph = random_graph(seed, extent, operators);
  extract::FusionOptions options;
  options.worthwhile = 0;
  const auto plan = extract::plan_fusion(graph, library(), on, options);
  REQUIRE(plan.has_value());
  AllPlans all(graph, on);
  const double least = all.least(plan->extraction.cost);
  INFO("seed " << seed << ": " << plan->extraction.cost << " against " << least << ":\n"
               << text(*plan) << "against\n"
               << all.text());
  CHECK(plan->extraction.cost <= least * kEqual);
  const extract::FusionOptions usual;  // changes that save less than that are not made
  const auto settled = extract::plan_fusion(graph, library(), on, usual);
  REQUIRE(settled.has_value());
  CHECK(settled->extraction.cost <= least * (1 + usual.worthwhile));
  CHECK(extract::lower_bound(graph, on) <= least * 1.000001);
}

}  // namespace

TEST_CASE("on small graphs no plan at all is cheaper than the one that is found", "[extract]") {
  for (unsigned seed = 0; seed < 150; ++seed) check_against_all_plans(seed, 3 + seed % 5);
}

TEST_CASE("on graphs of up to fourteen operators no plan at all is cheaper", "[extract][.slow]") {
  for (unsigned seed = 1000; seed < 1070; ++seed) check_against_all_plans(seed, 8 + seed % 7);
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
