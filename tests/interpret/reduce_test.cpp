#include "tests/interpret/helpers.hpp"

using namespace fusewright;
using namespace fusewright::interpret::testing;

namespace {

Tensor over(const std::string& op, const Tensor& x, const Ints& axes) { return node(op, {x}, {{"axes", axes}}); }
Tensor cumulative(const std::string& op, const Tensor& x, bool exclusive, bool reverse, std::int64_t axis = 0) {
  return node(op, {x}, {{"axis", axis}, {"exclusive", exclusive}, {"reverse", reverse}});
}
Tensor arg(const std::string& op, const Numbers& x, bool last) {
  return node(op, {vec(DType::kF32, x)}, {{"axis", std::int64_t{0}}, {"last", last}});
}

}  // namespace

TEST_CASE("reductions fold the named axes", "[interpret]") {
  const Tensor x = counting(DType::kF32, {2, 3}, 100, 0);
  CHECK(numbers(over("reduce_sum", x, {1})) == Numbers{3, 12});
  CHECK(numbers(over("reduce_sum", x, {0})) == Numbers{3, 5, 7});
  CHECK(numbers(over("reduce_sum", x, {0, 1})) == Numbers{15});
  CHECK(numbers(over("reduce_prod", x, {1})) == Numbers{0, 60});
  CHECK(numbers(over("reduce_max", x, {0})) == Numbers{3, 4, 5});
  CHECK(numbers(over("reduce_min", x, {1})) == Numbers{0, 3});
  CHECK(whole(over("reduce_and", integers(DType::kPred, {2, 2}, {1, 1, 1, 0}), {1})) == Ints{1, 0});
  CHECK(whole(over("reduce_or", integers(DType::kPred, {2, 2}, {0, 0, 1, 0}), {1})) == Ints{0, 1});
  CHECK(numbers(over("reduce_sum", x, {})) == numbers(x));
}

TEST_CASE("a sum accumulates wide and rounds once", "[interpret]") {
  CHECK(numbers(over("reduce_sum", vec(DType::kF32, {0x1p24, 1, 1, 1, -0x1p24}), {0})) == Numbers{3});
  CHECK(numbers(over("reduce_sum", vec(DType::kBF16, Numbers(512, 1)), {0})) == Numbers{512});
  CHECK(numbers(over("reduce_sum", vec(DType::kF64, {0x1p53, 1, 1, -0x1p53}), {0})) == Numbers{2});
  CHECK(numbers(over("reduce_sum", vec(DType::kF16, Numbers(3, 65504)), {0})) == Numbers{kInf});
  CHECK(numbers(over("reduce_sum", vec(DType::kF16, {65504, 65504, -65504}), {0})) == Numbers{65504});
}

TEST_CASE("reductions of nothing give their identity", "[interpret]") {
  const Tensor none = tensor(DType::kF32, {0}, {});
  CHECK(numbers(over("reduce_sum", none, {0})) == Numbers{0});
  CHECK(numbers(over("reduce_prod", none, {0})) == Numbers{1});
  CHECK(numbers(over("reduce_max", none, {0})) == Numbers{-kInf});
  CHECK(numbers(over("reduce_min", none, {0})) == Numbers{kInf});
  // No infinities in this format: the ends of its numbers, not NaN.
  CHECK(numbers(over("reduce_max", tensor(DType::kF8E4M3FN, {0}, {}), {0})) == Numbers{-448});
  CHECK(numbers(over("reduce_min", tensor(DType::kF8E4M3FN, {0}, {}), {0})) == Numbers{448});
  CHECK(numbers(cumulative("cum_max", vec(DType::kF8E4M3FN, {1, 2}), true, false)) == Numbers{-448, 1});
  CHECK(whole(over("reduce_max", integers(DType::kS8, {0}, {}), {0})) == Ints{-128});
  CHECK(whole(over("reduce_min", integers(DType::kS64, {0}, {}), {0})) ==
        Ints{std::numeric_limits<std::int64_t>::max()});
  CHECK(whole(over("reduce_min", integers(DType::kU8, {0}, {}), {0})) == Ints{255});
  CHECK(whole(over("reduce_max", integers(DType::kU8, {0}, {}), {0})) == Ints{0});
  CHECK(whole(over("reduce_and", integers(DType::kPred, {0}, {}), {0})) == Ints{1});
}

TEST_CASE("NaN wins in max, min and their arguments", "[interpret]") {
  CHECK(same(numbers(over("reduce_max", vec(DType::kF32, {1, kNan, 3}), {0})), {kNan}));
  CHECK(same(numbers(over("reduce_min", vec(DType::kF32, {1, kNan, 3}), {0})), {kNan}));
  CHECK(whole(arg("arg_max", {1, kNan, 3, kNan}, false)) == Ints{1});
  CHECK(whole(arg("arg_max", {1, kNan, 3, kNan}, true)) == Ints{3});
  CHECK(whole(arg("arg_min", {1, kNan, 0}, false)) == Ints{1});
}

TEST_CASE("arg_max and arg_min take the first or the last of equal elements", "[interpret]") {
  CHECK(whole(arg("arg_max", {1, 3, 3, 2}, false)) == Ints{1});
  CHECK(whole(arg("arg_max", {1, 3, 3, 2}, true)) == Ints{2});
  CHECK(whole(arg("arg_min", {2, 0, -0.0, 5}, false)) == Ints{1});
  CHECK(whole(arg("arg_min", {2, 0, -0.0, 5}, true)) == Ints{2});
  const Tensor x = tensor(DType::kF32, {2, 3}, {1, 5, 2, 7, 0, 7});
  CHECK(whole(node("arg_max", {x}, {{"axis", std::int64_t{1}}, {"dtype", DType::kS32}})) == Ints{1, 0});
  CHECK(whole(node("arg_max", {x}, {{"axis", std::int64_t{0}}})) == Ints{1, 0, 1});
}

TEST_CASE("integer sums wrap", "[interpret]") {
  CHECK(whole(over("reduce_sum", ints(DType::kS8, {100, 100}), {0})) == Ints{-56});
  CHECK(whole(over("reduce_prod", ints(DType::kU8, {16, 17}), {0})) == Ints{16});
}

TEST_CASE("windows slide, skip padding and dilate", "[interpret]") {
  const Tensor x = counting(DType::kF32, {3, 4}, 100, 0);
  // Expected values by XLA.
  CHECK(numbers(node(
            "reduce_window_sum", {x},
            {{"window", Ints{2, 3}}, {"strides", Ints{1, 2}}, {"pad_low", Ints{1, 0}}, {"pad_high", Ints{0, 1}}})) ==
        Numbers{3, 5, 18, 18, 42, 34});
  CHECK(numbers(node("reduce_window_max", {x},
                     {{"window", Ints{2, 2}},
                      {"pad_low", Ints{0, 1}},
                      {"pad_high", Ints{1, 0}},
                      {"base_dilation", Ints{2, 1}},
                      {"window_dilation", Ints{1, 2}}})) == Numbers{1, 2, 3, 5, 6, 7, 5, 6, 7, 9, 10, 11, 9, 10, 11});
  CHECK(numbers(node("reduce_window_prod", {vec(DType::kF32, {1, 2, 3, 4})}, {{"window", Ints{2}}})) ==
        Numbers{2, 6, 12});
  CHECK(numbers(node("reduce_window_min", {vec(DType::kF32, {4, 2, 3, 1})},
                     {{"window", Ints{3}}, {"pad_low", Ints{-1}}})) == Numbers{1});
}

TEST_CASE("cumulative operators run both ways, with or without the element itself", "[interpret]") {
  const Tensor x = vec(DType::kF32, {1, 2, 3, 4});
  CHECK(numbers(cumulative("cum_sum", x, false, false)) == Numbers{1, 3, 6, 10});
  CHECK(numbers(cumulative("cum_sum", x, true, false)) == Numbers{0, 1, 3, 6});
  CHECK(numbers(cumulative("cum_sum", x, false, true)) == Numbers{10, 9, 7, 4});
  CHECK(numbers(cumulative("cum_sum", x, true, true)) == Numbers{9, 7, 4, 0});
  CHECK(numbers(cumulative("cum_prod", x, false, false)) == Numbers{1, 2, 6, 24});
  CHECK(numbers(cumulative("cum_max", vec(DType::kF32, {1, 3, 2}), false, false)) == Numbers{1, 3, 3});
  CHECK(numbers(cumulative("cum_min", vec(DType::kF64, {3, 1, 2}), true, false)) == Numbers{kInf, 3, 1});
  CHECK(whole(cumulative("cum_sum", counting(DType::kS32, {2, 3}, 100, 0), false, false, 1)) ==
        Ints{0, 1, 3, 3, 7, 12});
  // Each prefix is rounded from the wide sum, not from the one before it.
  CHECK(numbers(cumulative("cum_sum", vec(DType::kF32, {0x1p24, 1, 1}), false, false)) ==
        Numbers{0x1p24, 0x1p24, 0x1p24 + 2});
}
