#include "tests/interpret/helpers.hpp"

#include "fusewright/interpret/inputs.hpp"

using namespace fusewright;
using namespace fusewright::interpret::testing;

namespace {

Tensor conv_input() { return counting(DType::kF32, {1, 4, 3, 4}, 7, 3); }
Tensor conv_weight() { return counting(DType::kF32, {4, 4, 2, 2}, 5, 2); }

}  // namespace

TEST_CASE("dot contracts the axes it names", "[interpret]") {
  const Tensor a = counting(DType::kF32, {2, 3, 2}, 100, 0);
  const Tensor b = counting(DType::kF32, {2, 2, 4}, 100, 5);
  // Expected values by XLA.
  const Tensor batched =
      node("dot", {a, b},
           {{"lhs_batch", Ints{0}}, {"rhs_batch", Ints{0}}, {"lhs_contract", Ints{2}}, {"rhs_contract", Ints{1}}});
  CHECK(batched.dims == Ints{2, 3, 4});
  CHECK(numbers(batched) ==
        Numbers{-1, 0, 1, 2, -13, -8, -3, 2, -25, -16, -7, 2, 67, 80, 93, 106, 87, 104, 121, 138, 107, 128, 149, 170});
  CHECK(numbers(node(
            "dot", {a, b},
            {{"lhs_batch", Ints{2}}, {"rhs_batch", Ints{0}}, {"lhs_contract", Ints{0}}, {"rhs_contract", Ints{1}}})) ==
        Numbers{-6, 0, 6, 12, -18, -8, 2, 12, -30, -16, -2, 12, 52, 60, 68, 76, 72, 84, 96, 108, 92, 108, 124, 140});
}

TEST_CASE("dot accumulates wide, in any size of block", "[interpret]") {
  const Tensor a = tensor(DType::kF32, {1, 4}, {0x1p24, 1, 1, -0x1p24});
  const Tensor ones = tensor(DType::kF32, {4, 1}, {1, 1, 1, 1});
  const Attrs plain = {{"lhs_contract", Ints{1}}, {"rhs_contract", Ints{0}}};
  CHECK(numbers(node("dot", {a, ones}, plain)) == Numbers{2});
  const Tensor wide = tensor(DType::kF64, {1, 4}, {0x1p53, 1, 1, -0x1p53});
  CHECK(numbers(node("dot", {wide, tensor(DType::kF64, {4, 1}, {1, 1, 1, 1})}, plain)) == Numbers{2});
  // 37 rows and 29 columns fill neither blocks of rows nor panels of columns.
  const Tensor x = counting(DType::kF32, {37, 53}, 11, 5), y = counting(DType::kF32, {53, 29}, 13, 6);
  const Numbers product = numbers(node("dot", {x, y}, plain));
  bool right = true;
  for (std::int64_t m = 0; m < 37; ++m)
    for (std::int64_t n = 0; n < 29; ++n) {
      double sum = 0;
      for (std::int64_t k = 0; k < 53; ++k) sum += ops::get_double(x, m * 53 + k) * ops::get_double(y, k * 29 + n);
      right = right && product[static_cast<std::size_t>(m * 29 + n)] == sum;
    }
  CHECK(right);
}

TEST_CASE("dot of integers wraps and may widen", "[interpret]") {
  const Tensor a = integers(DType::kS8, {1, 2}, {100, 100}), b = integers(DType::kS8, {2, 1}, {100, 100});
  const Attrs narrow = {{"lhs_contract", Ints{1}}, {"rhs_contract", Ints{0}}};
  CHECK(whole(node("dot", {a, b}, narrow)) == Ints{32});  // 20000 modulo 256
  Attrs wide = narrow;
  wide.set("dtype", DType::kS32);
  CHECK(whole(node("dot", {a, b}, wide)) == Ints{20000});
}

TEST_CASE("dot over nothing is zero", "[interpret]") {
  const Tensor product = node("dot", {tensor(DType::kF32, {2, 0}, {}), tensor(DType::kF32, {0, 2}, {})},
                              {{"lhs_contract", Ints{1}}, {"rhs_contract", Ints{0}}});
  CHECK(numbers(product) == Numbers{0, 0, 0, 0});
}

// Expected values by XLA.
TEST_CASE("convolution with strides and padding", "[interpret]") {
  const Tensor y = node("conv", {conv_input(), conv_weight()},
                        {{"strides", Ints{1, 2}}, {"pad_low", Ints{1, 0}}, {"pad_high", Ints{0, 1}}});
  CHECK(y.dims == Ints{1, 4, 3, 2});
  CHECK(numbers(y) ==
        Numbers{-7, -6, 16, 5, -20, -10, 1, -6, -9, 17, 1, -22, 9, -6, -14, 14, 7, -14, 7, 9, -9, -14, 23, 4});
}

TEST_CASE("convolution in feature groups and in batch groups", "[interpret]") {
  const Tensor half = node("slice", {conv_weight()}, {{"starts", Ints{0, 0, 0, 0}}, {"limits", Ints{4, 2, 2, 2}}});
  CHECK(numbers(node("conv", {conv_input(), half}, {{"groups", std::int64_t{2}}})) ==
        Numbers{9, 20, -4, -10, -6, -2, 1, 8, 8, -6, -6, -6, 9, -2, -6, -7, -4, 20, 7, 22, 9, -10, -16, -8});
  const Tensor x = counting(DType::kF32, {2, 2, 3, 3}, 7, 3), w = counting(DType::kF32, {4, 2, 2, 2}, 5, 2);
  CHECK(numbers(node("conv", {x, w}, {{"batch_groups", std::int64_t{2}}})) ==
        Numbers{5, 2, -4, 7, -10, 5, 0, 8, -11, 3, 10, 3, 0, -8, -10, -4});
}

TEST_CASE("convolution with dilated input and window", "[interpret]") {
  const Tensor y = node(
      "conv", {conv_input(), conv_weight()},
      {{"pad_low", Ints{1, 1}}, {"pad_high", Ints{1, 1}}, {"lhs_dilation", Ints{1, 2}}, {"rhs_dilation", Ints{2, 1}}});
  CHECK(y.dims == Ints{1, 4, 3, 8});
  CHECK(numbers(y) == Numbers{0,   11, -2,  10, 10, -5,  1,  -6,  -4, 3,  -6, 10, 6,  -4, 11,  10, -3,  -7, -3, -6,
                              -10, -5, -3,  10, -1, 0,   1,  -2,  10, 10, -2, 1,  -6, -4, -12, -6, -4,  6,  -3, 11,
                              11,  -3, 10,  -3, -5, -10, -6, -3,  -7, -1, -6, 1,  -5, 10, 10,  -2, 12,  -6, -3, -12,
                              -4,  -4, -12, -3, 0,  11,  -2, 10,  10, -5, 1,  -6, -3, -7, -3,  -6, -10, -5, -3, 10,
                              -5,  12, 11,  -3, 6,  -4,  -6, -12, -1, 0,  1,  -2, 10, 10, -2,  1});
}

TEST_CASE("convolution in NHWC with HWIO weights and negative padding", "[interpret]") {
  const Tensor x = node("transpose", {conv_input()}, {{"perm", Ints{0, 2, 3, 1}}});
  const Tensor w = node("transpose", {conv_weight()}, {{"perm", Ints{2, 3, 1, 0}}});
  const Tensor y = node("conv", {x, w},
                        {{"pad_low", Ints{-1, 0}},
                         {"pad_high", Ints{1, -1}},
                         {"lhs_spec", Ints{0, 3, 1, 2}},
                         {"rhs_spec", Ints{3, 2, 0, 1}},
                         {"out_spec", Ints{0, 3, 1, 2}}});
  CHECK(y.dims == Ints{1, 2, 2, 4});
  CHECK(numbers(y) == Numbers{-20, 1, 7, 23, -22, -14, 14, 17, 22, -4, -10, -6, 9, 9, -6, -6});
}

TEST_CASE("convolution with a reversed window", "[interpret]") {
  CHECK(
      numbers(node("conv", {conv_input(), conv_weight()}, {{"reversal", Ints{1, 0}}})) ==
      Numbers{-17, -26, -14, 31, 29, -8, 8, -14, -22, -3, 17, 30, 18, 18, -10, -17, -10, 18, 8, 30, 17, -16, -22, -14});
}

TEST_CASE("a convolution as large as one of ResNet's takes moments", "[interpret][slow]") {
  const Tensor x = get(interpret::make_input(Type::tensor(DType::kF32, {1, 256, 56, 56}), 1, 0));
  const Tensor w = get(interpret::random_weight(Type::tensor(DType::kF32, {256, 256, 3, 3}), 1, 1));
  const Tensor y = node("conv", {x, w}, {{"pad_low", Ints{1, 1}}, {"pad_high", Ints{1, 1}}});
  CHECK(y.dims == Ints{1, 256, 56, 56});
}
