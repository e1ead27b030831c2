#include "tests/interpret/helpers.hpp"

using namespace fusewright;
using namespace fusewright::interpret::testing;

namespace {

// A graph that sorts two vectors of n elements by a comparator on the first.
Graph sort_by(const std::string& comparison, std::int64_t n) {
  Graph graph = graph::make_graph(table(), "sort");
  const auto compare = graph::add_computation(graph, "compare");
  Builder inner(graph, compare);
  const Type key = Type::tensor(DType::kF32, {}), companion = Type::tensor(DType::kS32, {});
  const Value a = inner.parameter(key, "a"), b = inner.parameter(key, "b");
  inner.parameter(companion, "ca");
  inner.parameter(companion, "cb");
  inner.set_results({get(inner.add(comparison, {get(inner.add("abs", {a})), get(inner.add("abs", {b}))}))});
  Builder builder(graph, graph.entry);
  const Type keys = Type::tensor(DType::kF32, {n}), companions = Type::tensor(DType::kS32, {n});
  const Value x = builder.parameter(keys, "x"), y = builder.parameter(companions, "y");
  const Attrs attrs = {{"axis", std::int64_t{0}}, {"descending", false}, {"stable", true}};
  builder.set_results(builder.add_typed(table()->require("sort"), {x, y}, attrs, {keys, companions}, {compare}));
  return graph;
}

}  // namespace

TEST_CASE("sort orders by the first operand and keeps the order of equal ones", "[interpret]") {
  const Attrs up = {{"axis", std::int64_t{0}}};
  const auto sorted = nodes("sort", {vec(DType::kF32, {3, 1, 2, 1}), ints(DType::kS32, {0, 1, 2, 3})}, up);
  CHECK(numbers(sorted[0]) == Numbers{1, 1, 2, 3});
  CHECK(whole(sorted[1]) == Ints{1, 3, 2, 0});
  const Attrs down = {{"axis", std::int64_t{0}}, {"descending", true}};
  const auto reversed = nodes("sort", {vec(DType::kF32, {3, 1, 2, 1}), ints(DType::kS32, {0, 1, 2, 3})}, down);
  CHECK(whole(reversed[1]) == Ints{0, 2, 1, 3});
  CHECK(same(numbers(node("sort", {vec(DType::kF32, {kNan, 1, -kInf})}, up)), {-kInf, 1, kNan}));
  CHECK(same(numbers(node("sort", {vec(DType::kF32, {1, kNan, 2})}, down)), {kNan, 2, 1}));
  CHECK(whole(node("sort", {ints(DType::kU64, {-1, 5})}, up)) == Ints{5, -1});
  CHECK(whole(node("sort", {integers(DType::kS32, {2, 2}, {4, 3, 1, 2})}, {{"axis", std::int64_t{0}}})) ==
        Ints{1, 2, 4, 3});
}

TEST_CASE("sort follows a nested comparator", "[interpret]") {
  const std::vector<Tensor> inputs = {vec(DType::kF32, {-3, 1, 2, -1}), ints(DType::kS32, {0, 1, 2, 3})};
  const auto by_size = get(interpret::evaluate(sort_by("lt", 4), inputs));
  CHECK(numbers(by_size[0]) == Numbers{1, -1, 2, -3});
  CHECK(whole(by_size[1]) == Ints{1, 3, 2, 0});
}

TEST_CASE("a comparator that contradicts itself gives some order and no crash", "[interpret]") {
  const std::vector<Tensor> inputs = {vec(DType::kF32, Numbers(1000, 1)), ints(DType::kS32, Ints(1000, 7))};
  CHECK(numbers(get(interpret::evaluate(sort_by("le", 1000), inputs))[0]) == Numbers(1000, 1));
}

TEST_CASE("top_k gives ordered values, the lower index first among equals", "[interpret]") {
  const Tensor x = tensor(DType::kF32, {2, 4}, {1, 4, 4, 2, kNan, 0, 5, -1});
  const auto largest = nodes("top_k", {x}, {{"k", std::int64_t{3}}, {"axis", std::int64_t{1}}});
  CHECK(same(numbers(largest[0]), {4, 4, 2, kNan, 5, 0}));
  CHECK(whole(largest[1]) == Ints{1, 2, 3, 0, 2, 1});
  const auto smallest = nodes(
      "top_k", {x}, {{"k", std::int64_t{2}}, {"axis", std::int64_t{1}}, {"largest", false}, {"dtype", DType::kS32}});
  CHECK(numbers(smallest[0]) == Numbers{1, 2, -1, 0});
  CHECK(whole(smallest[1]) == Ints{0, 3, 3, 1});
}
