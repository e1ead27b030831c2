#include "tests/interpret/helpers.hpp"

using namespace fusewright;
using namespace fusewright::interpret::testing;

namespace {

Numbers unary(const std::string& op, DType dtype, const Numbers& x) { return numbers(node(op, {vec(dtype, x)})); }
Numbers binary(const std::string& op, DType dtype, const Numbers& a, const Numbers& b) {
  return numbers(node(op, {vec(dtype, a), vec(dtype, b)}));
}
Ints int_unary(const std::string& op, DType dtype, const Ints& x) { return whole(node(op, {ints(dtype, x)})); }
Ints int_binary(const std::string& op, DType dtype, const Ints& a, const Ints& b) {
  return whole(node(op, {ints(dtype, a), ints(dtype, b)}));
}
Numbers convert(DType from, DType to, const Numbers& x) {
  return numbers(node("convert", {vec(from, x)}, {{"dtype", to}}));
}

constexpr std::int64_t kMin32 = std::numeric_limits<std::int32_t>::min();
constexpr std::int64_t kMin64 = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMax64 = std::numeric_limits<std::int64_t>::max();

}  // namespace

TEST_CASE("float functions give their textbook values", "[interpret]") {
  struct Row {
    const char* op;
    double x, y;
  };
  // To more digits than f32 holds.
  const Row rows[] = {
      {"exp", 1, 2.718281828459045},
      {"expm1", 1e-5, 1.0000050000166668e-05},
      {"log", 10, 2.302585092994046},
      {"log1p", 1e-5, 9.999950000333332e-06},
      {"sqrt", 2, 1.4142135623730951},
      {"rsqrt", 2, 0.70710678118654752},
      {"cbrt", -27, -3},
      {"sin", 1, 0.8414709848078965},
      {"cos", 1, 0.5403023058681398},
      {"tan", 1, 1.5574077246549023},
      {"asin", 0.5, 0.5235987755982989},
      {"acos", 0.5, 1.0471975511965979},
      {"atan", 2, 1.1071487177940904},
      {"sinh", 1, 1.1752011936438014},
      {"cosh", 1, 1.5430806348152437},
      {"tanh", 0.5, 0.46211715726000974},
      {"asinh", 2, 1.4436354751788103},
      {"acosh", 2, 1.3169578969248168},
      {"atanh", 0.5, 0.5493061443340549},
      {"logistic", 1, 0.7310585786300049},
      {"erf", 0.5, 0.5204998778130465},
      {"abs", -1.5, 1.5},
      {"neg", 1.5, -1.5},
      {"sign", -2.5, -1},
  };
  for (const Row& row : rows) {
    INFO(row.op);
    const float x = static_cast<float>(row.x);
    if (static_cast<double>(x) == row.x) {
      CHECK(unary(row.op, DType::kF32, {row.x})[0] == static_cast<double>(static_cast<float>(row.y)));
    }
    CHECK(unary(row.op, DType::kF64, {row.x})[0] == row.y);
  }
}

TEST_CASE("a function of f64 is computed wider than f64", "[interpret]") {
  // Rounded from 40-digit values; the error of a double computation shows in the last bit here and there.
  CHECK(unary("logistic", DType::kF64, {-0.3})[0] == 0.425557483188341);
  CHECK(unary("rsqrt", DType::kF64, {3})[0] == 0.57735026918962576);
  CHECK(binary("pow", DType::kF64, {1.1}, {10})[0] == 2.5937424601000023);
}

TEST_CASE("special values go through float functions", "[interpret]") {
  CHECK(same(unary("exp", DType::kF32, {-kInf, kInf, kNan, 1000, -1000}), {0, kInf, kNan, kInf, 0}));
  CHECK(same(unary("log", DType::kF32, {0, -1, kInf, 1}), {-kInf, kNan, kInf, 0}));
  CHECK(same(unary("sqrt", DType::kF32, {-0.0, -1, kInf}), {-0.0, kNan, kInf}));
  CHECK(same(unary("rsqrt", DType::kF32, {0, kInf, -1}), {kInf, 0, kNan}));
  CHECK(same(unary("sign", DType::kF32, {-0.0, 0, kNan, -kInf}), {-0.0, 0, kNan, -1}));
  CHECK(same(unary("abs", DType::kF32, {-0.0, -kInf, kNan}), {0, kInf, kNan}));
  CHECK(same(unary("tanh", DType::kF32, {kInf, -kInf, kNan}), {1, -1, kNan}));
  CHECK(same(unary("logistic", DType::kF32, {kInf, -kInf, -200}), {1, 0, 0}));
  CHECK(same(unary("acos", DType::kF32, {2, 1}), {kNan, 0}));
  CHECK(same(binary("div", DType::kF32, {1, -1, 0, kInf}, {0, 0, 0, kInf}), {kInf, -kInf, kNan, kNan}));
  CHECK(same(binary("atan2", DType::kF64, {0, -0.0, 1}, {-1, -1, 0}),
             {3.141592653589793, -3.141592653589793, 1.5707963267948966}));
  CHECK(same(binary("pow", DType::kF32, {0, -8, 2, kNan, 1}, {0, 3, -1, 0, kNan}), {1, -512, 0.5, 1, 1}));
}

TEST_CASE("max and min of floats give NaN when either operand is NaN", "[interpret]") {
  CHECK(same(binary("max", DType::kF32, {1, kNan, 1, -kInf}, {2, 1, kNan, -3}), {2, kNan, kNan, -3}));
  CHECK(same(binary("min", DType::kF32, {1, kNan, 1, kInf}, {2, 1, kNan, 5}), {1, kNan, kNan, 5}));
  const Tensor low = vec(DType::kF32, {0, 0, 0, kNan}), high = vec(DType::kF32, {1, 1, 1, 1});
  CHECK(same(numbers(node("clamp", {low, vec(DType::kF32, {-2, 0.5, kNan, 0}), high})), {0, 0.5, kNan, kNan}));
}

TEST_CASE("rounding functions treat halves, signs and infinities right", "[interpret]") {
  const Numbers x = {0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.49999997, -0.0, kInf, kNan};
  CHECK(same(unary("round_even", DType::kF32, x), {0, 2, 2, -0.0, -2, -2, 0, -0.0, kInf, kNan}));
  CHECK(same(unary("round_away", DType::kF32, x), {1, 2, 3, -1, -2, -3, 0, -0.0, kInf, kNan}));
  CHECK(same(unary("floor", DType::kF32, x), {0, 1, 2, -1, -2, -3, 0, -0.0, kInf, kNan}));
  CHECK(same(unary("ceil", DType::kF32, x), {1, 2, 3, -0.0, -1, -2, 1, -0.0, kInf, kNan}));
  CHECK(same(unary("trunc", DType::kF32, x), {0, 1, 2, -0.0, -1, -2, 0, -0.0, kInf, kNan}));
}

TEST_CASE("rem takes the sign of the dividend and mod that of the divisor", "[interpret]") {
  CHECK(same(binary("rem", DType::kF32, {5.5, -5.5, 5.5, -5.5}, {2, 2, -2, -2}), {1.5, -1.5, 1.5, -1.5}));
  CHECK(same(binary("mod", DType::kF32, {5.5, -5.5, 5.5, -5.5}, {2, 2, -2, -2}), {1.5, 0.5, -0.5, -1.5}));
  CHECK(same(binary("rem", DType::kF32, {1}, {0}), {kNan}));
  CHECK(int_binary("rem", DType::kS32, {7, -7, 7, -7, 5, kMin32}, {3, 3, -3, -3, 0, -1}) == Ints{1, -1, 1, -1, 5, 0});
  CHECK(int_binary("mod", DType::kS32, {7, -7, 7, -7, 5, kMin32}, {3, 3, -3, -3, 0, -1}) == Ints{1, 2, -2, -1, 5, 0});
  CHECK(int_binary("rem", DType::kU8, {250, 250}, {7, 0}) == Ints{5, 250});
}

TEST_CASE("integer division truncates, and by zero gives all ones", "[interpret]") {
  CHECK(int_binary("div", DType::kS32, {7, -7, 7, 9, kMin32}, {2, 2, -2, 0, -1}) == Ints{3, -3, -3, -1, kMin32});
  CHECK(int_binary("div", DType::kS64, {kMin64, 1}, {-1, 0}) == Ints{kMin64, -1});
  CHECK(int_binary("div", DType::kU8, {200, 3}, {3, 0}) == Ints{66, 255});
  CHECK(int_binary("div", DType::kU64, {-1, -1}, {2, 0}) == Ints{kMax64, -1});
}

TEST_CASE("integers wrap", "[interpret]") {
  CHECK(int_binary("add", DType::kS8, {127, -128}, {1, -1}) == Ints{-128, 127});
  CHECK(int_binary("sub", DType::kU8, {0}, {1}) == Ints{255});
  CHECK(int_binary("mul", DType::kS32, {1 << 20}, {1 << 20}) == Ints{0});
  CHECK(int_binary("mul", DType::kS64, {kMax64}, {2}) == Ints{-2});
  CHECK(int_unary("neg", DType::kS32, {kMin32, 5}) == Ints{kMin32, -5});
  CHECK(int_unary("abs", DType::kS8, {-128, -5}) == Ints{-128, 5});
  CHECK(int_unary("abs", DType::kU8, {200}) == Ints{200});
  CHECK(int_binary("pow", DType::kS32, {3, -2, 1, -1, 2, 7, 0}, {4, 3, -5, -3, -1, 0, 0}) ==
        Ints{81, -8, 1, -1, 0, 1, 1});
  CHECK(int_unary("sign", DType::kS16, {-7, 0, 9}) == Ints{-1, 0, 1});
}

TEST_CASE("unsigned integers compare without sign", "[interpret]") {
  CHECK(int_binary("lt", DType::kU64, {-1, 1}, {1, -1}) == Ints{0, 1});
  CHECK(int_binary("max", DType::kU64, {-1}, {1}) == Ints{-1});
  CHECK(int_binary("min", DType::kS64, {-1}, {1}) == Ints{-1});
  CHECK(int_binary("ge", DType::kS8, {-128, 127}, {127, -128}) == Ints{0, 1});
  CHECK(int_binary("ne", DType::kPred, {0, 1}, {1, 1}) == Ints{1, 0});
}

TEST_CASE("shifts by the width or more lose everything but the sign", "[interpret]") {
  CHECK(int_binary("shl", DType::kS32, {1, 1, 1, -1}, {4, 31, 32, 40}) == Ints{16, kMin32, 0, 0});
  CHECK(int_binary("shr_arithmetic", DType::kS32, {-16, -1, 16, -16}, {2, 31, 40, -1}) == Ints{-4, -1, 0, -1});
  CHECK(int_binary("shr_logical", DType::kS32, {-1, -1, -1}, {28, 31, 32}) == Ints{15, 1, 0});
  CHECK(int_binary("shr_logical", DType::kU8, {255, 255}, {4, 8}) == Ints{15, 0});
  CHECK(int_binary("shl", DType::kS64, {1, 1}, {63, 64}) == Ints{kMin64, 0});
}

TEST_CASE("operations on bits know the width of their dtype", "[interpret]") {
  CHECK(int_unary("not", DType::kS8, {0, 5}) == Ints{-1, -6});
  CHECK(int_unary("not", DType::kU8, {0}) == Ints{255});
  CHECK(int_unary("not", DType::kPred, {0, 1}) == Ints{1, 0});
  CHECK(int_unary("popcount", DType::kS8, {-1, 3}) == Ints{8, 2});
  CHECK(int_unary("clz", DType::kS16, {0, 1, -1}) == Ints{16, 15, 0});
  CHECK(int_unary("clz", DType::kU64, {1}) == Ints{63});
  CHECK(int_binary("xor", DType::kU8, {0xf0}, {0xff}) == Ints{0x0f});
  CHECK(int_binary("and", DType::kPred, {1, 1}, {1, 0}) == Ints{1, 0});
}

TEST_CASE("comparisons with NaN are false but for ne", "[interpret]") {
  for (const char* op : {"eq", "lt", "le", "gt", "ge"}) CHECK(binary(op, DType::kF32, {kNan}, {kNan}) == Numbers{0});
  CHECK(binary("ne", DType::kF32, {kNan, 0}, {kNan, -0.0}) == Numbers{1, 0});
  CHECK(unary("is_nan", DType::kF32, {kNan, kInf, 1}) == Numbers{1, 0, 0});
  CHECK(unary("is_inf", DType::kF32, {kNan, -kInf, 1}) == Numbers{0, 1, 0});
  CHECK(unary("is_finite", DType::kF16, {kNan, kInf, 65504}) == Numbers{0, 0, 1});
}

TEST_CASE("select takes elements of any dtype", "[interpret]") {
  const Tensor pred = ints(DType::kPred, {1, 0});
  CHECK(same(numbers(node("select", {pred, vec(DType::kF16, {1, 2}), vec(DType::kF16, {kNan, kNan})})), {1, kNan}));
  CHECK(whole(node("select", {pred, ints(DType::kU64, {-1, 2}), ints(DType::kU64, {3, 4})})) == Ints{-1, 4});
}

TEST_CASE("convert to an integer truncates and saturates", "[interpret]") {
  CHECK(convert(DType::kF32, DType::kS8, {1.9, -1.9, 200, -200, kNan, kInf}) == Numbers{1, -1, 127, -128, 0, 127});
  CHECK(convert(DType::kF32, DType::kU8, {-0.5, -3, 255.5, 256}) == Numbers{0, 0, 255, 255});
  CHECK(whole(node("convert", {vec(DType::kF64, {0x1p63, -0x1p63, 1e300, -kInf})}, {{"dtype", DType::kS64}})) ==
        Ints{kMax64, kMin64, kMax64, kMin64});
  CHECK(whole(node("convert", {vec(DType::kF64, {0x1p63, 0x1p64, -1})}, {{"dtype", DType::kU64}})) ==
        Ints{kMin64, -1, 0});
  CHECK(convert(DType::kF32, DType::kPred, {0, -0.0, 0.1, kNan}) == Numbers{0, 0, 1, 1});
  CHECK(whole(node("convert", {ints(DType::kS32, {300, -1, 128})}, {{"dtype", DType::kS8}})) == Ints{44, -1, -128});
  CHECK(whole(node("convert", {ints(DType::kS32, {0, 256})}, {{"dtype", DType::kPred}})) == Ints{0, 1});
  CHECK(convert(DType::kPred, DType::kF32, {1, 0}) == Numbers{1, 0});
}

TEST_CASE("convert to f16 and bf16 rounds once, to nearest even", "[interpret]") {
  // 2^-11 is half an ulp of f16 at 1: a tie goes down to even, a little more goes up; 1 + 3 * 2^-11 ties up to even.
  CHECK(convert(DType::kF32, DType::kF16, {1 + 0x1p-11, 1 + 0x1p-11 + 0x1p-20, 1 + 3 * 0x1p-11}) ==
        Numbers{1, 1 + 0x1p-10, 1 + 0x1p-9});
  CHECK(convert(DType::kF32, DType::kF16, {65519, 65520, -65536}) == Numbers{65504, kInf, -kInf});
  CHECK(convert(DType::kF32, DType::kF16, {0x1p-24, 0x1p-25, 0x1.8p-25, 0x1.8p-24, 0x1p-14}) ==
        Numbers{0x1p-24, 0, 0x1p-24, 0x1p-23, 0x1p-14});
  CHECK(convert(DType::kF32, DType::kBF16, {1 + 0x1p-8, 1 + 3 * 0x1p-8, 1 + 0x1p-8 + 0x1p-20}) ==
        Numbers{1, 1 + 0x1p-6, 1 + 0x1p-7});
  CHECK(convert(DType::kF32, DType::kBF16, {0x1.ffp127, 0x1p-133, 0x1p-134}) == Numbers{kInf, 0x1p-133, 0});
  // Through f32 this would be a tie.
  CHECK(convert(DType::kF64, DType::kF16, {1 + 0x1p-11 + 0x1p-40}) == Numbers{1 + 0x1p-10});
  CHECK(same(convert(DType::kF32, DType::kF16, {-0.0, kNan}), {-0.0, kNan}));
}

TEST_CASE("convert of a large integer rounds once", "[interpret]") {
  const Tensor large = ints(DType::kS64, {(std::int64_t{1} << 60) + (std::int64_t{1} << 36) + 1, kMax64, 16777217});
  // Just above the middle of two floats: through a double it would be the middle, and go to the even one.
  CHECK(numbers(node("convert", {large}, {{"dtype", DType::kF32}})) == Numbers{0x1p60 + 0x1p37, 0x1p63, 16777216});
  CHECK(numbers(node("convert", {ints(DType::kU64, {-1})}, {{"dtype", DType::kF32}})) == Numbers{0x1p64});
  CHECK(numbers(node("convert", {ints(DType::kS32, {-3, 100000})}, {{"dtype", DType::kF16}})) == Numbers{-3, kInf});
}

TEST_CASE("every operation rounds to its dtype", "[interpret]") {
  CHECK(binary("add", DType::kBF16, {256}, {1}) == Numbers{256});
  CHECK(binary("add", DType::kF16, {2048}, {1}) == Numbers{2048});
  CHECK(binary("mul", DType::kF16, {256}, {256}) == Numbers{kInf});
  CHECK(binary("add", DType::kF32, {16777216}, {1}) == Numbers{16777216});
  CHECK(binary("add", DType::kF64, {16777216}, {1}) == Numbers{16777217});
  CHECK(binary("mul", DType::kF16, {0x1p-14}, {0x1p-10}) == Numbers{0x1p-24});  // subnormal
}

TEST_CASE("bitcast keeps the bits", "[interpret]") {
  CHECK(whole(node("bitcast", {vec(DType::kF32, {1})}, {{"dtype", DType::kS32}})) == Ints{0x3f800000});
  CHECK(numbers(node("bitcast", {ints(DType::kU16, {0x3c00})}, {{"dtype", DType::kF16}})) == Numbers{1});
}

TEST_CASE("reduce_precision rounds on the bits of the format", "[interpret]") {
  const auto reduced = [](const Numbers& x, std::int64_t exponent, std::int64_t mantissa) {
    return numbers(
        node("reduce_precision", {vec(DType::kF32, x)}, {{"exponent_bits", exponent}, {"mantissa_bits", mantissa}}));
  };
  CHECK(same(reduced({1 + 0x1p-8, 1 + 3 * 0x1p-8, kNan, kInf}, 8, 7), {1, 1 + 0x1p-6, kNan, kInf}));
  CHECK(same(reduced({65520, 65519, 0x1p-15, -0x1p-15, 0x1p-14}, 5, 10), {kInf, 65504, 0, -0.0, 0x1p-14}));
  CHECK(same(reduced({1.5, 0x1p-149}, 8, 23), {1.5, 0x1p-149}));
}

TEST_CASE("chunks of a long tensor are all computed", "[interpret]") {
  const Tensor x = counting(DType::kF32, {100'003}, 1000, 0);
  const Numbers y = numbers(node("add", {x, x}));
  bool right = true;
  for (std::size_t i = 0; i < y.size(); ++i) right = right && y[i] == 2.0 * static_cast<double>(i % 1000);
  CHECK(right);
}
