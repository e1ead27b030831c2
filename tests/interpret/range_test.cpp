#include "fusewright/interpret/range.hpp"

#include "tests/interpret/helpers.hpp"

using namespace fusewright;
using namespace fusewright::interpret::testing;

namespace {

/// Where `make`, of one input with these numbers, has left the range.
template <class Make>
std::vector<bool> lost(const std::vector<double>& numbers, const Make& make) {
  const Tensor input = tensor(DType::kF32, {static_cast<std::int64_t>(numbers.size())}, numbers);
  Graph graph = graph::make_graph(table(), "test");
  Builder builder(graph, graph.entry);
  builder.set_results({make(builder, builder.parameter(input.type(), "x"))});
  return get(interpret::out_of_range(graph, std::vector{input}))[0];
}

Value apply(Builder& b, const std::string& op, const std::vector<Value>& operands) { return get(b.add(op, operands)); }

}  // namespace

TEST_CASE("an overflow is followed to the result, a pole and an infinite operand are none", "[interpret]") {
  const auto root_of_square = [](Builder& b, Value x) { return apply(b, "sqrt", {apply(b, "mul", {x, x})}); };
  CHECK(lost({1e30, 2, INFINITY, 1e-30, 0}, root_of_square) == std::vector<bool>{true, false, false, true, false});
  CHECK(lost({0, 1, -1}, [](Builder& b, Value x) { return apply(b, "log", {x}); }) == std::vector<bool>(3, false));
  CHECK(lost({-200, 1}, [](Builder& b, Value x) { return apply(b, "exp", {x}); }) == std::vector<bool>{true, false});
  CHECK(lost({1e30, 1}, [](Builder& b, Value x) { return apply(b, "sub", {x, x}); }) == std::vector<bool>(2, false));
}

TEST_CASE("what a selection leaves does not count, what a sum takes does", "[interpret]") {
  const auto guarded = [](Builder& b, Value x) {
    return apply(b, "select", {apply(b, "lt", {x, apply(b, "abs", {x})}), x, apply(b, "exp", {x})});
  };
  CHECK(lost({-200, 200}, guarded) == std::vector<bool>{false, true});
  const auto sum = [](Builder& b, Value x) {
    return get(b.add("reduce_sum", {x}, {{"axes", std::vector<std::int64_t>{0}}}));
  };
  CHECK(lost({3e38, 3e38}, sum) == std::vector<bool>{true});
  CHECK(lost({3e38, -INFINITY}, sum) == std::vector<bool>{false});
}
