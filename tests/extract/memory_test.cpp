#include "src/extract/memory.hpp"

#include <catch2/catch.hpp>

#include "fusewright/extract/fusion.hpp"
#include "fusewright/plan/memory.hpp"
#include "tests/extract/library.hpp"

using namespace fusewright;
using graph::Value;
using tests::device;
using tests::library;
using Ints = std::vector<std::int64_t>;

namespace {

constexpr std::int64_t kExtent = 256, kBytes = kExtent * kExtent * 4;

struct Model : tests::GraphInTheMaking {
  Value in() {
    return builder.parameter(ops::Type::tensor(ops::DType::kF32, ops::Shape{kExtent, kExtent}),
                             "x" + std::to_string(graph.inputs.size()));
  }
  Value dot(Value a, Value b) { return op("dot", {a, b}, {{"lhs_contract", Ints{1}}, {"rhs_contract", Ints{0}}}); }
  plan::Plan plan(bool fuse, const cost::Device& on = device("x86-avx512")) const {
    extract::FusionOptions options;
    options.fuse = fuse;
    auto made = extract::plan_fusion(graph, library(), on, options);
    REQUIRE(made.has_value());
    return *std::move(made);
  }
};

// So many products of x, all written down before the first of them is used up.
Model fan(int width) {
  Model m;
  const Value x = m.in();
  std::vector<Value> products;
  for (int i = 0; i < width; ++i) products.push_back(m.dot(x, m.in()));
  Value sum = m.dot(products[0], x);
  for (int i = 1; i < width; ++i) sum = m.op("add", {sum, m.dot(products[static_cast<std::size_t>(i)], x)});
  m.builder.set_results({sum});
  return m;
}

Result<plan::Plan> never(const cost::Device&) {
  FAIL("another order is enough");
  return fail("");
}

}  // namespace

TEST_CASE("a plan that fits stays as it is", "[extract]") {
  const plan::Plan plan = fan(4).plan(false);
  const auto same = extract::fit_memory(plan, plan::memory(plan).total(), device("x86-avx512"), never);
  REQUIRE(same.has_value());
  for (std::size_t g = 0; g < plan.groups.size(); ++g) CHECK(same->groups[g].name == plan.groups[g].name);
}

TEST_CASE("kernels run in an order in which less is alive at once", "[extract]") {
  const plan::Plan plan = fan(12).plan(false);
  CHECK(plan::memory(plan).intermediates >= 12 * kBytes);
  const std::int64_t most = plan::memory(plan).total() - 8 * kBytes;
  const auto less = extract::fit_memory(plan, most, device("x86-avx512"), never);
  REQUIRE(less.has_value());
  CHECK(plan::memory(*less).total() <= most);
  CHECK(plan::verify(*less).has_value());
  CHECK(less->extraction.cost == plan.extraction.cost);
}

TEST_CASE("of what is planned for slower memory the cheapest that fits is taken, at the costs of the machine there is",
          "[extract]") {
  const auto chain = [](int length) {
    Model m;
    Value v = m.in();
    for (int k = 0; k < length; ++k) v = m.op("tanh", {v});
    m.builder.set_results({v});
    return m;
  };
  const cost::Device& on = device("x86-avx512");
  const plan::Plan apart = chain(4).plan(false), cheap = chain(4).plan(true), dear = chain(40).plan(true);
  REQUIRE(plan::memory(apart).intermediates == 2 * kBytes);
  REQUIRE(plan::memory(cheap).intermediates == 0);
  REQUIRE(plan::memory(dear).intermediates == 0);
  REQUIRE(dear.extraction.cost > cheap.extraction.cost);
  std::vector<double> slower;  // times, of the machines that were planned for
  const auto replan = [&](const cost::Device& other) {
    const double by = on.memory.back().bytes_per_second / other.memory.back().bytes_per_second;
    slower.push_back(by);
    return Result<plan::Plan>(by < 6 ? apart : chain(by < 12 ? 4 : 40).plan(true, other));
  };
  const auto fitted = extract::fit_memory(apart, plan::memory(cheap).total(), on, replan);
  REQUIRE(fitted.has_value());
  CHECK_THAT(slower, Catch::Matchers::Approx(std::vector<double>{4, 16, 8, 5.657, 6.727, 6.169}).epsilon(1e-3));
  CHECK(plan::verify(*fitted).has_value());
  CHECK(plan::memory(*fitted).intermediates == 0);
  CHECK(fitted->extraction.cost == Approx(cheap.extraction.cost));
}

TEST_CASE("where no plan fits the smallest is named", "[extract]") {
  const Model m = fan(4);
  const auto again = [&](const cost::Device& other) { return Result<plan::Plan>(m.plan(true, other)); };
  const auto fitted = extract::fit_memory(m.plan(true), 1000, device("x86-avx512"), again);
  REQUIRE_FALSE(fitted.has_value());
  CHECK(fitted.error().kind == ErrorKind::kResource);
  const std::string text = print_error(fitted.error());
  CHECK(text.find("no plan was found that needs at most 1000 bytes of memory; the smallest needs ") !=
        std::string::npos);
  CHECK(text.find("bytes at once: " + std::to_string(5 * kBytes) + " of inputs, 0 of weights") != std::string::npos);
}
