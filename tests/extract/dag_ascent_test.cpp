#include "src/extract/dag_ascent.hpp"

#include <catch2/catch.hpp>
#include <random>

using namespace fusewright::extract;

namespace {

/// Layers of classes, each made of a few of the layer below: many ways to share.
DagProblem layered(unsigned seed) {
  std::mt19937 random(seed);
  constexpr std::uint32_t kLayers = 5, kWide = 9;
  DagProblem problem;
  for (std::uint32_t c = 0; c < kLayers * kWide; ++c) {
    auto& nodes = problem.classes.emplace_back();
    for (int i = 0; i < 3; ++i) {
      DagNode& node = nodes.emplace_back();
      node.cost = static_cast<double>(1 + random() % 20);
      const std::uint32_t below = c / kWide;
      for (int k = 0; below > 0 && k < 2; ++k)
        node.children.push_back((below - 1) * kWide + static_cast<std::uint32_t>(random() % kWide));
    }
  }
  for (std::uint32_t r = 0; r < 3; ++r) problem.roots.push_back((kLayers - 1) * kWide + r);
  return problem;
}

}  // namespace

TEST_CASE("trying orders of cuts gives higher bounds than one order, and none above the least cost", "[extract][dag]") {
  const DagOptions options;
  const dag::Limit limit(options);
  int higher = 0;
  for (unsigned seed = 0; seed < 6; ++seed) {
    INFO("seed " << seed);
    const DagProblem problem = layered(seed);
    const dag::Reduced reduced = dag::make_net(problem);
    const double once = dag::dual_ascent(reduced.net, 0, limit).bound;
    const double searched = dag::search_ascent(reduced.net, dag::kInfinite, limit).bound;
    const auto solution = solve_dag(problem);
    REQUIRE(solution.has_value());
    REQUIRE(solution->stop == DagStop::kProved);
    CHECK(searched >= once);
    CHECK(searched <= solution->cost + 1e-9);
    higher += searched > once;
  }
  CHECK(higher >= 2);
}
