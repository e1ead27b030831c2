#include <set>

#include "fusewright/extract/extract.hpp"
#include "fusewright/saturate/saturate.hpp"
#include "kernels.hpp"

// Which rules a kernel owes its form to, as audits list them.

namespace fusewright {

namespace {

std::set<std::string> rules_of(Model& model, std::vector<Value> results) {
  static const cost::Device device = device_of("cpu");
  model.builder.set_results(std::move(results));
  saturate::Options options;
  options.allowed = *rule::parse_exactness("bitexact,reassociating");
  const auto saturated = saturate::saturate(model.graph, library(), options);
  REQUIRE(saturated.has_value());
  const auto plan = extract::extract(
      {model.graph, saturated->imported, saturated->program, library()->rewrites, *library(), device}, {});
  REQUIRE(plan.has_value());
  std::set<std::string> names;
  for (const plan::Group& group : plan->groups)
    for (const plan::RewriteUse& use : group.rewrites) names.insert(use.rule);
  return names;
}

}  // namespace

TEST_CASE("a kernel owes its form to the rules that lead to it, not to those that made a part of it first",
          "[driver]") {
  const bool read_twice = GENERATE(false, true);
  Model m;
  const Ints dims{1, 4, 6, 6};
  const Value x = m.in(DType::kF32, {1, 3, 8, 8}), w = m.weight(DType::kF32, {4, 3, 3, 3});
  const auto along = [&](Value v) {
    return m.op("broadcast", {v}, {{"dims", Ints{1}}, {"shape", ops::Shape(dims.begin(), dims.end())}});
  };
  const Value mean = along(m.weight(DType::kF32, {4})), scale = along(m.weight(DType::kF32, {4})),
              bias = along(m.weight(DType::kF32, {4}));
  const Value c = m.op("conv", {x, w});
  const Value y = m.op("add", {m.op("mul", {m.op("sub", {c, mean}), scale}), bias});
  // The convolution alone with folded weights is first made by another rule, which takes the mean along.
  const auto rules = rules_of(m, read_twice ? std::vector<Value>{y, c} : std::vector<Value>{y});
  CHECK(rules.contains("mean-scale-shift"));
  CHECK(rules.contains("conv-scale-fold") == !read_twice);
  CHECK_FALSE(rules.contains("conv-mean-scale-fold"));
}

}  // namespace fusewright
