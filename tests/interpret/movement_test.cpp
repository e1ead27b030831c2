#include "tests/interpret/helpers.hpp"

using namespace fusewright;
using namespace fusewright::interpret::testing;

namespace {
Tensor matrix() { return counting(DType::kS32, {2, 3}, 100, 0); }
}  // namespace

TEST_CASE("broadcast places the operand's axes and repeats the others", "[interpret]") {
  const Tensor x = ints(DType::kS32, {1, 2, 3});
  CHECK(whole(node("broadcast", {x}, {{"dims", Ints{1}}, {"shape", Shape{2, 3}}})) == Ints{1, 2, 3, 1, 2, 3});
  CHECK(whole(node("broadcast", {x}, {{"dims", Ints{0}}, {"shape", Shape{3, 2}}})) == Ints{1, 1, 2, 2, 3, 3});
  const Tensor scalar = ops::scalar_tensor(DType::kF32, 7);
  CHECK(numbers(node("broadcast", {scalar}, {{"dims", Ints{}}, {"shape", Shape{2, 2}}})) == Numbers{7, 7, 7, 7});
}

TEST_CASE("reshape, transpose, reverse and slice move elements", "[interpret]") {
  CHECK(node("reshape", {matrix()}, {{"shape", Shape{3, 2}}}).dims == Ints{3, 2});
  CHECK(whole(node("transpose", {matrix()}, {{"perm", Ints{1, 0}}})) == Ints{0, 3, 1, 4, 2, 5});
  CHECK(whole(node("reverse", {matrix()}, {{"axes", Ints{1}}})) == Ints{2, 1, 0, 5, 4, 3});
  CHECK(whole(node("reverse", {matrix()}, {{"axes", Ints{0, 1}}})) == Ints{5, 4, 3, 2, 1, 0});
  CHECK(whole(node("slice", {matrix()}, {{"starts", Ints{1, 0}}, {"limits", Ints{2, 3}}, {"strides", Ints{1, 2}}})) ==
        Ints{3, 5});
  const Tensor cube = counting(DType::kU8, {2, 3, 4}, 100, 0);
  CHECK(whole(node("transpose", {cube}, {{"perm", Ints{2, 0, 1}}})) ==
        Ints{0, 4, 8, 12, 16, 20, 1, 5, 9, 13, 17, 21, 2, 6, 10, 14, 18, 22, 3, 7, 11, 15, 19, 23});
}

TEST_CASE("pad puts the value around and between, and cuts where padding is negative", "[interpret]") {
  const Tensor x = ints(DType::kS32, {1, 2, 3});
  const Tensor nine = ops::scalar_tensor_int(DType::kS32, 9);
  const auto pad = [&](std::int64_t low, std::int64_t high, std::int64_t interior) {
    return whole(node("pad", {x, nine}, {{"low", Ints{low}}, {"high", Ints{high}}, {"interior", Ints{interior}}}));
  };
  CHECK(pad(1, 2, 0) == Ints{9, 1, 2, 3, 9, 9});
  CHECK(pad(0, 0, 1) == Ints{1, 9, 2, 9, 3});
  CHECK(pad(-1, 1, 0) == Ints{2, 3, 9});
  CHECK(pad(-1, -1, 1) == Ints{9, 2, 9});
  CHECK(pad(-3, 4, 0) == Ints{9, 9, 9, 9});
  CHECK(pad(-2, 0, 2) == Ints{9, 2, 9, 9, 3});
}

TEST_CASE("concat joins along its axis", "[interpret]") {
  const Tensor a = integers(DType::kS32, {2, 1}, {1, 2}), b = integers(DType::kS32, {2, 2}, {3, 4, 5, 6});
  CHECK(whole(node("concat", {a, b}, {{"axis", std::int64_t{1}}})) == Ints{1, 3, 4, 2, 5, 6});
  CHECK(whole(node("concat", {b, b}, {{"axis", std::int64_t{0}}})) == Ints{3, 4, 5, 6, 3, 4, 5, 6});
}

TEST_CASE("dynamic slices clamp their starts", "[interpret]") {
  const Tensor x = ints(DType::kS32, {0, 1, 2, 3, 4});
  const auto at = [](std::int64_t start) { return ops::scalar_tensor_int(DType::kS32, start); };
  CHECK(whole(node("dynamic_slice", {x, at(1)}, {{"sizes", Ints{2}}})) == Ints{1, 2});
  CHECK(whole(node("dynamic_slice", {x, at(9)}, {{"sizes", Ints{2}}})) == Ints{3, 4});
  CHECK(whole(node("dynamic_slice", {x, at(-9)}, {{"sizes", Ints{2}}})) == Ints{0, 1});
  CHECK(whole(node("dynamic_update_slice", {x, ints(DType::kS32, {8, 9}), at(4)})) == Ints{0, 1, 2, 8, 9});
}

TEST_CASE("iota counts along its axis", "[interpret]") {
  const auto iota = [](std::int64_t axis) {
    return node("iota", {}, {{"shape", Shape{2, 3}}, {"dtype", DType::kF32}, {"axis", axis}});
  };
  CHECK(numbers(iota(0)) == Numbers{0, 0, 0, 1, 1, 1});
  CHECK(numbers(iota(1)) == Numbers{0, 1, 2, 0, 1, 2});
}

TEST_CASE("tensors without elements go through every movement", "[interpret]") {
  const Tensor none = tensor(DType::kF32, {0, 3}, {});
  CHECK(node("transpose", {none}, {{"perm", Ints{1, 0}}}).dims == Ints{3, 0});
  CHECK(node("reverse", {none}, {{"axes", Ints{0, 1}}}).dims == Ints{0, 3});
  CHECK(node("concat", {none, none}, {{"axis", std::int64_t{0}}}).dims == Ints{0, 3});
  CHECK(node("add", {none, none}).dims == Ints{0, 3});
  const Tensor zero = ops::scalar_tensor(DType::kF32, 0);
  CHECK(numbers(node("pad", {none, zero}, {{"low", Ints{1, 0}}, {"high", Ints{0, 0}}, {"interior", Ints{0, 0}}})) ==
        Numbers{0, 0, 0});
}
