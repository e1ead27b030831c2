#include "fusewright/extract/fusion.hpp"

#include <catch2/catch.hpp>
#include <random>
#include <set>

#include "fusewright/extract/extract.hpp"
#include "fusewright/ops/tensor.hpp"
#include "fusewright/rule/parse.hpp"
#include "tests/extract/library.hpp"

using namespace fusewright;
using graph::Value;
using ops::DType;
using tests::device;
using tests::library;
using Ints = std::vector<std::int64_t>;

namespace {

struct Model : tests::GraphInTheMaking {
  Value in(Ints dims) {
    return builder.parameter(ops::Type::tensor(DType::kF32, ops::Shape(dims.begin(), dims.end())),
                             "x" + std::to_string(graph.inputs.size()));
  }
  plan::Plan plan(std::vector<Value> results) {
    builder.set_results(std::move(results));
    auto made = extract::plan_fusion(graph, library(), device("x86-avx512"));
    INFO((made ? "" : print_error(made.error())));
    REQUIRE(made.has_value());
    return *std::move(made);
  }
};

}  // namespace

TEST_CASE("random graphs get plans that hold together and cost no more than single operators", "[extract]") {
  for (unsigned seed = 0; seed < 60; ++seed) {
    std::mt19937 rng(seed);
    Model m;
    const Ints dims{64, 96};
    std::vector<Value> full{m.in(dims), m.in(dims)}, kept;
    const auto pick = [&](const std::vector<Value>& from) { return from[rng() % from.size()]; };
    for (int i = 0; i < 14; ++i) {
      switch (rng() % 6) {
        case 0: full.push_back(m.op("tanh", {pick(full)})); break;
        case 1: full.push_back(m.op("add", {pick(full), pick(full)})); break;
        case 2: full.push_back(m.op("mul", {pick(full), pick(full)})); break;
        case 3:
          kept.push_back(m.op(rng() % 2 == 0 ? "reduce_sum" : "reduce_max", {pick(full)}, {{"axes", Ints{1}}}));
          break;
        case 4:
          if (!kept.empty())
            full.push_back(m.op("broadcast", {pick(kept)}, {{"dims", Ints{0}}, {"shape", ops::Shape{64, 96}}}));
          break;
        default:
          if (!kept.empty()) kept.push_back(m.op("exp", {pick(kept)}));
      }
    }
    std::vector<Value> results{full.back(), pick(full)};
    if (!kept.empty()) results.push_back(kept.back());
    INFO("seed " << seed);
    const plan::Plan fused = m.plan(results);  // verified inside
    extract::FusionOptions single;
    single.fuse = false;
    const auto alone = extract::plan_fusion(m.graph, library(), device("x86-avx512"), single);
    REQUIRE(alone.has_value());
    CHECK(fused.extraction.cost <= alone->extraction.cost * 1.0001);
    CHECK(fused.extraction.bound <= fused.extraction.cost);
    CHECK(fused.extraction.gap >= 0);
    for (const plan::Cut& cut : fused.cuts) CHECK_FALSE(cut.reason.empty());
  }
}

TEST_CASE("a broadcast of something dear is stored, not computed again for every row, and the audit has the figures",
          "[extract]") {
  Model m;
  const Value v = m.in({1024}), x = m.in({4096, 1024});
  const Value dear = m.op("sin", {m.op("tanh", {m.op("exp", {v})})});
  const plan::Plan p =
      m.plan({m.op("add", {x, m.op("broadcast", {dear}, {{"dims", Ints{1}}, {"shape", ops::Shape{4096, 1024}}})})});
  REQUIRE(p.groups.size() == 2);
  const auto cut =
      std::find_if(p.cuts.begin(), p.cuts.end(), [&](const plan::Cut& c) { return c.why == plan::Cut::Why::kCost; });
  REQUIRE(cut != p.cuts.end());
  CHECK(cut->seconds_fused > cut->seconds_cut);
}

TEST_CASE("many values alive at once are split among kernels", "[extract]") {
  Model m;
  std::vector<Value> inputs, waves, results;
  for (int i = 0; i < 60; ++i) inputs.push_back(m.in({512, 512}));
  for (const Value v : inputs) waves.push_back(m.op("sin", {v}));
  Value sum = waves[0];
  for (std::size_t i = 1; i < waves.size(); ++i) sum = m.op("add", {sum, waves[i]});
  for (const Value w : waves) results.push_back(m.op("mul", {w, sum}));
  const plan::Plan p = m.plan(results);
  CHECK(p.groups.size() > 1);
  CHECK(std::any_of(p.cuts.begin(), p.cuts.end(),
                    [](const plan::Cut& c) { return c.reason.find("values alive") != std::string::npos; }));
}

TEST_CASE("siblings over one tensor are one loop that reads it once, on a GPU too", "[extract]") {
  Model m;
  const Value x = m.in({300, 70});
  const Value sine = m.op("sin", {x}), cosine = m.op("cos", {x});
  m.builder.set_results({sine, cosine});
  const auto plan = extract::plan_fusion(m.graph, library(), device("h200"));
  REQUIRE(plan.has_value());
  REQUIRE(plan->groups.size() == 1);
  CHECK(plan->groups.front().schedule.kind == ops::Template::kLoop);
  CHECK(plan->groups.front().bytes == 3 * 4 * 300 * 70);
}

TEST_CASE("a residual goes with the convolution before it, whoever reads it", "[extract]") {
  Model m;
  Value x = m.in({1, 16, 28, 28});
  for (int i = 0; i < 3; ++i) {
    const Value w = m.in({16, 16, 3, 3});
    const Value y = m.op("conv", {x, w}, {{"pad_low", Ints{1, 1}}, {"pad_high", Ints{1, 1}}});
    x = m.op("max", {m.op("add", {y, x}), x});
  }
  CHECK(m.plan({x}).groups.size() == 3);
}

TEST_CASE("a number that kernels of many operators read is computed in each, not made a tensor", "[extract]") {
  Model m;
  const Value number = m.op("broadcast", {m.builder.constant(ops::scalar_tensor(DType::kF32, 0.5))},
                            {{"dims", Ints{}}, {"shape", ops::Shape{64, 256}}});
  std::vector<Value> results;
  for (int chain = 0; chain < 8; ++chain) {
    Value x = m.in({64, 256});
    for (int i = 0; i < 50; ++i) x = m.op("add", {m.op("mul", {x, number}), x});
    results.push_back(x);
  }
  const plan::Plan p = m.plan(results);
  CHECK(p.load_time.empty());
  for (const plan::Group& group : p.groups) CHECK(std::ranges::find(group.inputs, number) == group.inputs.end());
}

TEST_CASE("small kernels of one shape are one launch, wherever they stand and however many there are", "[extract]") {
  Model m;
  std::vector<Value> results;
  Value x = m.in({32, 64});
  for (int layer = 0; layer < 100; ++layer) {
    x = m.op("dot", {x, m.in({64, 64})},
             {{"lhs_contract", Ints{1}}, {"rhs_contract", Ints{0}}, {"lhs_batch", Ints{}}, {"rhs_batch", Ints{}}});
    results.push_back(m.op("tanh", {m.in({128})}));
  }
  results.push_back(x);
  CHECK(m.plan(results).groups.size() == 101);
}

TEST_CASE("ten thousand operators in chains and branches are planned in seconds", "[extract]") {
  Model m;
  const Value k = m.builder.constant(ops::scalar_tensor(DType::kF32, 0.5));
  Value a = m.in({64, 64}), b = a;
  for (int i = 0; i < 2500; ++i) {
    const Value spread = m.op("broadcast", {k}, {{"dims", Ints{}}, {"shape", ops::Shape{64, 64}}});
    const Value c = m.op("mul", {a, spread});
    b = m.op("add", {m.op("tanh", {c}), b});
    a = m.op("sub", {c, b});
  }
  const plan::Plan p = m.plan({a, b});
  std::set<graph::NodeId> placed;
  for (const plan::Group& group : p.groups) placed.insert(group.nodes.begin(), group.nodes.end());
  CHECK(placed.size() >= 10'000);
}

TEST_CASE("a value doubled twenty thousand times over is chosen, though as a tree it costs more than any number",
          "[extract]") {
  Model m;
  Value x = m.in({2});
  for (int i = 0; i < 20'000; ++i) x = m.op("add", {x, x});
  m.builder.set_results({x});
  const egraph::Imported imported = egraph::from_graph(m.graph);
  CHECK(egraph::to_graph(m.graph, imported, extract::select_nodes(imported, device("x86-avx512"))).has_value());
}

TEST_CASE("fuse rules hold for their target and exactness only, and keep what they say is not computed twice",
          "[extract]") {
  const auto groups = [](const std::string& clauses, const extract::FusionOptions& options = {}) {
    const std::string text = "fuse one kernel(loop) " + clauses + " {\n  match neg as first |> (exp | tanh) as last\n" +
                             (clauses.empty() ? "  no_duplicate first\n" : "") + "}\n";
    const auto file = rule::parse_rules(std::make_shared<const SourceText>(SourceText{"one.fuse", text}));
    REQUIRE(file.has_value());
    const auto rules = rule::check_rules({*file}, *library().table);
    INFO((rules ? "" : print_error(rules.error())));
    REQUIRE(rules.has_value());
    Model m;
    const Value shared = m.op("neg", {m.in({4096, 512})});
    m.builder.set_results(clauses.empty() ? std::vector<Value>{m.op("exp", {shared}), m.op("tanh", {shared})}
                                          : std::vector<Value>{m.op("exp", {shared})});
    m.graph.table = rules->table;
    const auto made = extract::plan_fusion(m.graph, *rules, device("x86-avx512"), options);
    REQUIRE(made.has_value());
    return made->groups.size();
  };
  CHECK(groups("requires target(x86)") == 1);
  CHECK(groups("requires target(nvptx)") == 2);
  CHECK(groups("exactness(contracting)") == 2);
  extract::FusionOptions allowed;
  allowed.allowed.add(rule::ExactnessClass::kContracting);
  CHECK(groups("exactness(contracting)", allowed) == 1);
  CHECK(groups("") == 2);  // neg goes with one of its readers and is stored for the other
}

TEST_CASE("a constant that a folded weight and a kernel both need is made at load and in the kernel", "[extract]") {
  Model m;
  const Value x = m.in({64, 96});
  const ops::Shape full{64, 96};
  const Value two = m.builder.constant(ops::scalar_tensor(DType::kF32, 2.0));
  const Value twos = m.op("broadcast", {two}, {{"dims", Ints{}}, {"shape", full}});
  const Value numbers = m.op("iota", {}, {{"shape", full}, {"dtype", DType::kF32}, {"axis", std::int64_t{1}}});
  const Value weight = m.op("exp", {m.op("add", {twos, numbers})});
  const plan::Plan p = m.plan({m.op("mul", {m.op("add", {x, twos}), weight})});  // verified inside
  CHECK(p.groups.size() == 1);
}
