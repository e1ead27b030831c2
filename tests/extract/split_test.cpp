#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>
#include <random>

#include "fusewright/extract/fusion.hpp"
#include "tests/extract/library.hpp"

using namespace fusewright;
using graph::Value;
using tests::device;
using tests::library;

namespace {

/// Models in which many values are alive at once.
struct Model : tests::GraphInTheMaking {
  ops::Shape shape;

  explicit Model(std::int64_t elements) : shape{elements} {}
  Value in() {
    return builder.parameter(ops::Type::tensor(ops::DType::kF32, shape), "x" + std::to_string(graph.inputs.size()));
  }
  Value fold(const std::vector<Value>& values) {
    Value sum = values.front();
    for (std::size_t i = 1; i < values.size(); ++i) sum = op(i % 2 == 0 ? "add" : "mul", {sum, values[i]});
    return sum;
  }
};

// A chain whose values are folded from its end to its start.
Model chain_and_back(int values, std::int64_t elements, const std::string& unary) {
  Model m(elements);
  std::vector<Value> chain{m.op(unary, {m.in()})};
  while (chain.size() < static_cast<std::size_t>(values)) chain.push_back(m.op(unary, {chain.back()}));
  std::ranges::reverse(chain);
  m.builder.set_results({m.fold(chain)});
  return m;
}

// Values folded in two orders that have nothing to do with each other.
Model two_orders(int count, std::int64_t elements, const std::string& unary) {
  Model m(elements);
  std::vector<Value> values;
  for (int i = 0; i < count; ++i) values.push_back(m.op(unary, {m.in()}));
  std::mt19937 rng(static_cast<unsigned>(count));
  std::vector<Value> folds;
  for (int i = 0; i < 2; ++i) {
    for (std::size_t left = values.size(); left > 1; --left) std::swap(values[left - 1], values[rng() % left]);
    folds.push_back(m.fold(values));
  }
  m.builder.set_results({m.op("sub", folds)});
  return m;
}

// Each value is made of one of the last few and of any other, so that many are read again much later.
Model shared_tree(int count, std::int64_t elements, unsigned seed) {
  Model m(elements);
  std::mt19937 rng(seed);
  const Value number = m.op("broadcast", {m.builder.constant(ops::scalar_tensor(ops::DType::kF32, 0.5))},
                            {{"dims", std::vector<std::int64_t>{}}, {"shape", m.shape}});
  std::vector<Value> values{m.in(), m.in(), number};
  for (int i = 0; i < count; ++i) {
    const Value near = values[values.size() - 1 - rng() % 3], any = values[rng() % values.size()];
    const std::vector<std::string> names{"add", "mul", "sub", "max", "sin"};
    const std::string& name = names[rng() % names.size()];
    values.push_back(m.op(name, name == "sin" ? std::vector{near} : std::vector{near, any}));
  }
  m.builder.set_results({m.op("tanh", {values.back()}), values[values.size() / 2]});
  return m;
}

extract::Unfused single(const Model& m, const std::string& on) {
  const auto out = extract::unfused(m.graph, device(on));
  REQUIRE(out.has_value());
  return *out;
}

plan::Plan fused(const Model& m, const std::string& on) {
  auto made = extract::plan_fusion(m.graph, library(), device(on));  // verified inside
  INFO((made ? "" : print_error(made.error())));
  REQUIRE(made.has_value());
  return *std::move(made);
}

}  // namespace

TEST_CASE("a loop with more values alive than registers hold is taken apart where few are alive", "[extract]") {
  const Model m = chain_and_back(56, 1'000'000, "sin");
  const plan::Plan p = fused(m, "x86-avx2");
  CHECK(p.groups.size() == 2);
  CHECK(p.extraction.cost < 1.01 * p.extraction.bound);
  CHECK(std::ranges::any_of(p.cuts, [](const plan::Cut& cut) {
    return cut.why == plan::Cut::Why::kCost && cut.reason.contains("values alive") &&
           cut.seconds_fused > cut.seconds_cut;
  }));
  CHECK(fused(two_orders(40, 100'000, "exp"), "x86-avx2").extraction.gap < 0.05);
}

TEST_CASE("no plan costs more than single operators, however many values are alive at once", "[extract]") {
  for (const char* on : {"x86-avx2", "x86-avx512", "h200"})
    for (const int count : {44, 68, 200})
      for (const std::int64_t elements : {20'000, 1'000'000}) {
        const auto check = [&](const char* family, const Model& m) {
          INFO(family << " of " << count << ", " << elements << " elements, on " << on);
          CHECK(fused(m, on).extraction.cost <= single(m, on).seconds * (1 + 1e-9));
        };
        check("chain", chain_and_back(count, elements, "sin"));
        check("chain of cheap operators", chain_and_back(count, elements, "abs"));
        check("two orders", two_orders(count / 2, elements, "erf"));
        check("tree", shared_tree(count, elements, static_cast<unsigned>(count)));
      }
}
