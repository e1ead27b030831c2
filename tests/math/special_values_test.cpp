#include <catch2/catch.hpp>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "backends/math/math_native.hpp"

namespace {

using fusewright::math::ArrayFunction;
using fusewright::math::NativeFunction;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Case {
  std::string_view name;
  double x, expected;
};

struct BinaryCase {
  std::string_view name;
  double x, y, expected;
};

// What the C standard's annex F requires of the functions it has, and the same sense for the others.
constexpr Case kCases[] = {
    {"exp", 0., 1},
    {"exp", -0., 1},
    {"exp", kInf, kInf},
    {"exp", -kInf, 0},
    {"exp", kNan, kNan},
    {"exp", 1000, kInf},
    {"exp", -1000, 0},
    {"exp2", 0., 1},
    {"exp2", -0., 1},
    {"exp2", 10, 1024},
    {"exp2", -3, 0.125},
    {"exp2", kInf, kInf},
    {"exp2", -kInf, 0},
    {"exp2", kNan, kNan},
    {"exp2", 1e5, kInf},
    {"exp2", -1e5, 0},
    {"expm1", 0., 0.},
    {"expm1", -0., -0.},
    {"expm1", kInf, kInf},
    {"expm1", -kInf, -1},
    {"expm1", kNan, kNan},
    {"expm1", 1000, kInf},
    {"expm1", -1000, -1},
    {"log", 1, 0.},
    {"log", 0., -kInf},
    {"log", -0., -kInf},
    {"log", -1, kNan},
    {"log", -kInf, kNan},
    {"log", kInf, kInf},
    {"log", kNan, kNan},
    {"log1p", 0., 0.},
    {"log1p", -0., -0.},
    {"log1p", -1, -kInf},
    {"log1p", -2, kNan},
    {"log1p", -kInf, kNan},
    {"log1p", kInf, kInf},
    {"log1p", kNan, kNan},
    {"log2", 1, 0.},
    {"log2", 8, 3},
    {"log2", 0.25, -2},
    {"log2", 0., -kInf},
    {"log2", -0., -kInf},
    {"log2", -1, kNan},
    {"log2", kInf, kInf},
    {"log2", kNan, kNan},
    {"logistic", 0., 0.5},
    {"logistic", -0., 0.5},
    {"logistic", kInf, 1},
    {"logistic", -kInf, 0},
    {"logistic", kNan, kNan},
    {"logistic", 1000, 1},
    {"logistic", -1000, 0},
    {"tanh", 0., 0.},
    {"tanh", -0., -0.},
    {"tanh", kInf, 1},
    {"tanh", -kInf, -1},
    {"tanh", kNan, kNan},
    {"tanh", 100, 1},
    {"sinh", 0., 0.},
    {"sinh", -0., -0.},
    {"sinh", kInf, kInf},
    {"sinh", -kInf, -kInf},
    {"sinh", kNan, kNan},
    {"sinh", -1000, -kInf},
    {"cosh", 0., 1},
    {"cosh", -0., 1},
    {"cosh", kInf, kInf},
    {"cosh", -kInf, kInf},
    {"cosh", kNan, kNan},
    {"cosh", -1000, kInf},
    {"asinh", 0., 0.},
    {"asinh", -0., -0.},
    {"asinh", kInf, kInf},
    {"asinh", -kInf, -kInf},
    {"asinh", kNan, kNan},
    {"acosh", 1, 0.},
    {"acosh", 0.5, kNan},
    {"acosh", -3, kNan},
    {"acosh", -kInf, kNan},
    {"acosh", kInf, kInf},
    {"acosh", kNan, kNan},
    {"atanh", 0., 0.},
    {"atanh", -0., -0.},
    {"atanh", 1, kInf},
    {"atanh", -1, -kInf},
    {"atanh", 1.5, kNan},
    {"atanh", -kInf, kNan},
    {"atanh", kNan, kNan},
    {"erf", 0., 0.},
    {"erf", -0., -0.},
    {"erf", kInf, 1},
    {"erf", -kInf, -1},
    {"erf", kNan, kNan},
    {"erf", 100, 1},
    {"erfc", 0., 1},
    {"erfc", -0., 1},
    {"erfc", kInf, 0},
    {"erfc", -kInf, 2},
    {"erfc", kNan, kNan},
    {"erfc", 100, 0},
    {"erfc", -100, 2},
    {"sin", 0., 0.},
    {"sin", -0., -0.},
    {"sin", kInf, kNan},
    {"sin", -kInf, kNan},
    {"sin", kNan, kNan},
    {"cos", 0., 1},
    {"cos", -0., 1},
    {"cos", kInf, kNan},
    {"cos", -kInf, kNan},
    {"cos", kNan, kNan},
    {"tan", 0., 0.},
    {"tan", -0., -0.},
    {"tan", kInf, kNan},
    {"tan", -kInf, kNan},
    {"tan", kNan, kNan},
    {"asin", 0., 0.},
    {"asin", -0., -0.},
    {"asin", 1.5, kNan},
    {"asin", -kInf, kNan},
    {"asin", kNan, kNan},
    {"acos", 1, 0.},
    {"acos", -1.5, kNan},
    {"acos", kInf, kNan},
    {"acos", kNan, kNan},
    {"atan", 0., 0.},
    {"atan", -0., -0.},
    {"atan", kNan, kNan},
    {"cbrt", 0., 0.},
    {"cbrt", -0., -0.},
    {"cbrt", 27, 3},
    {"cbrt", -8, -2},
    {"cbrt", kInf, kInf},
    {"cbrt", -kInf, -kInf},
    {"cbrt", kNan, kNan},
    {"round_away", 0., 0.},
    {"round_away", -0., -0.},
    {"round_away", 0.5, 1},
    {"round_away", -0.5, -1},
    {"round_away", 2.5, 3},
    {"round_away", -0.25, -0.},
    {"round_away", kInf, kInf},
    {"round_away", -kInf, -kInf},
    {"round_away", kNan, kNan},
};

constexpr BinaryCase kBinaryCases[] = {
    {"pow", kNan, 0., 1},        {"pow", kNan, -0., 1},
    {"pow", kInf, 0., 1},        {"pow", 0., 0., 1},
    {"pow", 1, kNan, 1},         {"pow", 1, kInf, 1},
    {"pow", -1, kInf, 1},        {"pow", -1, -kInf, 1},
    {"pow", kNan, 1, kNan},      {"pow", 2, kNan, kNan},
    {"pow", 0., 3, 0.},          {"pow", -0., 3, -0.},
    {"pow", -0., 2, 0.},         {"pow", 0., -3, kInf},
    {"pow", -0., -3, -kInf},     {"pow", -0., -2, kInf},
    {"pow", -0., 0.5, 0.},       {"pow", -0., -0.5, kInf},
    {"pow", 0., kInf, 0.},       {"pow", 0., -kInf, kInf},
    {"pow", 0.5, kInf, 0.},      {"pow", 0.5, -kInf, kInf},
    {"pow", -0.5, kInf, 0.},     {"pow", 2, kInf, kInf},
    {"pow", 2, -kInf, 0.},       {"pow", -2, kInf, kInf},
    {"pow", kInf, 2, kInf},      {"pow", kInf, -2, 0.},
    {"pow", -kInf, 3, -kInf},    {"pow", -kInf, 2, kInf},
    {"pow", -kInf, 0.5, kInf},   {"pow", -kInf, -3, -0.},
    {"pow", -kInf, -2, 0.},      {"pow", kInf, kInf, kInf},
    {"pow", -kInf, -kInf, 0.},   {"pow", -2, 3, -8},
    {"pow", -2, 2, 4},           {"pow", -2, 0.5, kNan},
    {"pow", -2, -1, -0.5},       {"pow", 2, 10, 1024},
    {"pow", 2, 5000, kInf},      {"pow", -2, 5001, -kInf},
    {"pow", 2, -5000, 0.},       {"pow", -2, -5001, -0.},
    {"pow", -1, 1e30, 1},        {"atan2", 0., 1, 0.},
    {"atan2", -0., 1, -0.},      {"atan2", 0., 0., 0.},
    {"atan2", -0., 0., -0.},     {"atan2", 1, kInf, 0.},
    {"atan2", -1, kInf, -0.},    {"atan2", kNan, 1, kNan},
    {"atan2", 1, kNan, kNan},    {"atan2", kInf, kNan, kNan},
    {"atan2", kNan, kInf, kNan}, {"atan2", 0., kNan, kNan},
    {"atan2", kNan, 0., kNan},   {"rem", 5, 3, 2},
    {"rem", -5, 3, -2},          {"rem", 5, -3, 2},
    {"rem", 6, 3, 0.},           {"rem", -6, 3, -0.},
    {"rem", 0., 3, 0.},          {"rem", -0., 3, -0.},
    {"rem", 1, 0., kNan},        {"rem", 1, -0., kNan},
    {"rem", kInf, 2, kNan},      {"rem", -kInf, 2, kNan},
    {"rem", kNan, 2, kNan},      {"rem", 2, kNan, kNan},
    {"rem", 2, kInf, 2},         {"rem", -2, -kInf, -2},
    {"rem", -0., kInf, -0.},     {"rem", kInf, kInf, kNan},
    {"rem", kInf, 0., kNan},
};

/// Angles in quarters of pi. Those that are no quadrants may be one unit in the last place off.
constexpr BinaryCase kAngles[] = {
    {"atan2", 0., -1, 4},       {"atan2", -0., -1, -4},      {"atan2", 0., -0., 4},    {"atan2", -0., -0., -4},
    {"atan2", 1, 0., 2},        {"atan2", -1, -0., -2},      {"atan2", 1, -kInf, 4},   {"atan2", -1, -kInf, -4},
    {"atan2", kInf, 1, 2},      {"atan2", -kInf, -1, -2},    {"atan2", kInf, kInf, 1}, {"atan2", kInf, -kInf, 3},
    {"atan2", -kInf, kInf, -1}, {"atan2", -kInf, -kInf, -3}, {"atan2", 1, 1, 1},       {"atan", kInf, 0, 2},
    {"atan", -kInf, 0, -2},     {"atan", 1, 0, 1},           {"acos", -1, 0, 4},       {"acos", 0., 0, 2},
    {"asin", 1, 0, 2},          {"asin", -1, 0, -2},
};

template <class T>
bool same(T a, T b) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  return (std::isnan(a) && std::isnan(b)) || std::bit_cast<Bits>(a) == std::bit_cast<Bits>(b);
}

const NativeFunction& find(std::string_view name) {
  for (const NativeFunction& function : fusewright::math::avx2_functions()) {
    if (function.name == name) return function;
  }
  throw std::invalid_argument(std::string(name));
}

template <class T>
void check_widths(std::string_view name, const std::array<ArrayFunction<T>, 4>& widths, T x, T y, T expected) {
  for (const auto function : widths) {
    std::array<T, 16> xs, ys, out;
    xs.fill(x);
    ys.fill(y);
    function(xs.data(), ys.data(), out.data(), xs.size());
    INFO(name << "(" << x << ", " << y << ") is " << out[0] << ", not " << expected);
    CHECK(same(out[0], expected));
    CHECK(same(out[15], expected));
  }
}

void check_both(std::string_view name, double x, double y, double expected32, double expected64) {
  const NativeFunction& f = find(name);
  const auto narrow = [](double value) { return static_cast<float>(value); };
  check_widths<float>(name, {f.f32, f.f32x4, f.f32x8, f.f32x16}, narrow(x), narrow(y), narrow(expected32));
  check_widths<double>(name, {f.f64, f.f64x2, f.f64x4, f.f64x8}, x, y, expected64);
}

}  // namespace

TEST_CASE("math functions have the special values of the C standard", "[math]") {
  for (const Case& c : kCases) check_both(c.name, c.x, 0, c.expected, c.expected);
  for (const BinaryCase& c : kBinaryCases) check_both(c.name, c.x, c.y, c.expected, c.expected);
}

TEST_CASE("math functions give quadrants as rounded multiples of pi and other special angles nearly so", "[math]") {
  const long double quarter = 0.785398163397448309615660845819875721L;
  for (const BinaryCase& c : kAngles) {
    const long double angle = quarter * c.expected;
    const float angle32 = static_cast<float>(angle);
    const double angle64 = static_cast<double>(angle);
    if (std::fmod(c.expected, 2) == 0) {
      check_both(c.name, c.x, c.y, angle32, angle64);
    } else {
      const NativeFunction& f = find(c.name);
      const float x32 = static_cast<float>(c.x), y32 = static_cast<float>(c.y);
      float got32;
      double got64;
      f.f32(&x32, &y32, &got32, 1);
      f.f64(&c.x, &c.y, &got64, 1);
      INFO(c.name << "(" << c.x << ", " << c.y << ") is " << got64);
      CHECK(std::abs(got32 - angle32) <= std::abs(angle32) * 0x1p-23f);
      CHECK(std::abs(got64 - angle64) <= std::abs(angle64) * 0x1p-52);
    }
  }
}

TEST_CASE("math functions that are the identity near zero keep denormals", "[math]") {
  for (const char* name : {"sin", "tan", "asin", "atan", "sinh", "tanh", "asinh", "atanh", "expm1", "log1p"}) {
    const NativeFunction& f = find(name);
    for (const float x : {0x1p-149f, -0x1.234p-130f, 0x1.fffffcp-127f, -0x1p-126f, 0x1.8p-100f}) {
      check_widths<float>(name, {f.f32, f.f32x4, f.f32x8, f.f32x16}, x, 0, x);
    }
    for (const double x : {0x1p-1074, -0x1.234p-1050, 0x1.ffffffffffffep-1023, -0x1p-1022, 0x1.8p-900}) {
      check_widths<double>(name, {f.f64, f.f64x2, f.f64x4, f.f64x8}, x, 0, x);
    }
  }
}

TEST_CASE("round_away does not round the largest number under one half up", "[math]") {
  const NativeFunction& f = find("round_away");
  check_widths<float>("round_away", {f.f32, f.f32x4, f.f32x8, f.f32x16}, 0x1.fffffep-2f, 0, 0);
  check_widths<float>("round_away", {f.f32, f.f32x4, f.f32x8, f.f32x16}, 8388609, 0, 8388609);
  check_widths<double>("round_away", {f.f64, f.f64x2, f.f64x4, f.f64x8}, 0x1.fffffffffffffp-2, 0, 0);
  check_widths<double>("round_away", {f.f64, f.f64x2, f.f64x4, f.f64x8}, 4503599627370497., 0, 4503599627370497.);
}

TEST_CASE("rem is exact at the ends of the exponent range", "[math]") {
  const NativeFunction& f = find("rem");
  const auto check = [&](double x, double y) {
    check_widths<double>("rem", {f.f64, f.f64x2, f.f64x4, f.f64x8}, x, y, std::fmod(x, y));
  };
  const auto check32 = [&](float x, float y) {
    check_widths<float>("rem", {f.f32, f.f32x4, f.f32x8, f.f32x16}, x, y, std::fmod(x, y));
  };
  check(1.7976931348623157e308, 5e-324);
  check(1.7976931348623157e308, 3 * 5e-324);
  check(1.7976931348623157e308, 2.3e-308);
  check(1.7976931348623157e308, 0.7);
  check(3e-310, 7e-320);
  check(0x1.fffffffffffffp52, 1.0);
  check32(3.4028235e38f, 1e-45f);
  check32(3.4028235e38f, 7e-45f);
  check32(3.4028235e38f, 1.2e-38f);
  check32(-3.4028235e38f, 0.7f);
  check32(1e-39f, 3e-43f);
}
