#include <catch2/catch.hpp>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "backends/math/math_native.hpp"
#include "reference.hpp"

namespace {

using fusewright::math::NativeFunction;
using fusewright::tests::Reference;

/// Bounds in ulp, and where to look closely: `low` and `high` bound uniform arguments, beside all others.
struct Row {
  const char* name;
  double f32, f64;
  double low, high;
};

constexpr Row kRows[] = {
    {"exp", 1, 1, -110, 90},  {"exp2", 1, 1, -150, 130}, {"expm1", 1, 1, -40, 90},     {"log", 1, 1, 0, 4},
    {"log1p", 1, 1, -1, 4},   {"log2", 1, 1, 0, 4},      {"logistic", 2, 2, -110, 40}, {"tanh", 1, 1, -12, 12},
    {"sinh", 2, 2, -4, 4},    {"cosh", 2, 2, -4, 4},     {"asinh", 2, 2, -4, 4},       {"acosh", 2, 2, 1, 8},
    {"atanh", 2, 2, -1, 1},   {"erf", 1, 1, -6, 6},      {"erfc", 2, 2, -6, 28},       {"sin", 1, 1, -100, 100},
    {"cos", 1, 1, -100, 100}, {"tan", 2, 2, -100, 100},  {"asin", 2, 2, -1, 1},        {"acos", 2, 2, -1, 1},
    {"atan", 2, 2, -4, 4},    {"cbrt", 1, 1, -10, 10},   {"round_away", 0, 0, -9, 9},  {"atan2", 2, 2, -4, 4},
    {"pow", 2, 2, 0, 20},     {"rem", 0, 0, -40, 40},
};

const NativeFunction& find(const char* name) {
  for (const NativeFunction& function : fusewright::math::avx2_functions()) {
    if (std::string(function.name) == name) return function;
  }
  throw std::invalid_argument(name);
}

template <class T>
struct Worst {
  double error = 0;
  T x = 0, y = 0;
};

template <class T>
void measure(const NativeFunction& function, Reference& reference, const std::vector<T>& x, const std::vector<T>& y,
             Worst<T>& worst) {
  std::vector<T> out(x.size());
  if constexpr (sizeof(T) == 4) {
    function.f32(x.data(), y.data(), out.data(), x.size());
  } else {
    function.f64(x.data(), y.data(), out.data(), x.size());
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double error = reference.ulp_error(x[i], y[i], out[i]);
    if (error > worst.error) worst = {error, x[i], y[i]};
  }
}

template <class T, class Bits>
Worst<T> random_arguments(const Row& row, std::size_t count) {
  std::mt19937_64 random(2718281828);
  std::uniform_real_distribution<T> close(static_cast<T>(row.low), static_cast<T>(row.high));
  std::uniform_real_distribution<T> tiny(T(-1), T(1));
  const NativeFunction& function = find(row.name);
  std::vector<T> x, y;
  for (std::size_t i = 0; i < count; ++i) {
    const auto any = [&] { return std::bit_cast<T>(static_cast<Bits>(random())); };
    switch (i % 4) {
      case 0:
        x.push_back(any());
        y.push_back(any());
        break;
      case 1:
        x.push_back(tiny(random));
        y.push_back(close(random));
        break;
      case 2:
        x.push_back(close(random));
        y.push_back(close(random));
        break;
      default:  // powers that stay in range; quotients of all sizes
        x.push_back(std::abs(any()));
        y.push_back(close(random) * (row.name == std::string("pow") ? T(40) / std::abs(std::log2(x.back())) : T(1)));
    }
  }
  Worst<T> worst;
  Reference reference(row.name);
  measure(function, reference, x, y, worst);
  return worst;
}

/// Every stride-th float, the ends of the range among them.
Worst<float> strided_floats(const Row& row, std::uint32_t stride) {
  const NativeFunction& function = find(row.name);
  Worst<float> worst;
  Reference reference(row.name);
  std::vector<float> x;
  for (std::uint64_t bits = 0; bits < (1ull << 32); bits += stride) {
    x.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    if (x.size() == 1 << 16 || bits + stride >= (1ull << 32)) {
      measure(function, reference, x, x, worst);
      x.clear();
    }
  }
  return worst;
}

template <class T>
void check(const Row& row, const char* dtype, const Worst<T>& worst, double bound) {
  INFO(row.name << " " << dtype << " at " << worst.x << ", " << worst.y << ": " << worst.error << " ulp");
  CHECK(worst.error <= bound);
}

Worst<float> worse(Worst<float> a, Worst<float> b) { return a.error > b.error ? a : b; }

}  // namespace

TEST_CASE("math functions keep their error bounds at sampled arguments", "[math]") {
  for (const Row& row : kRows) {
    check(row, "f32", worse(strided_floats(row, 524287), random_arguments<float, std::uint32_t>(row, 8000)), row.f32);
    check(row, "f64", random_arguments<double, std::uint64_t>(row, 8000), row.f64);
  }
}

TEST_CASE("math functions keep their error bounds at every 997th float and 400000 doubles", "[math][slow]") {
  std::printf("%-12s %8s %16s %8s %24s\n", "function", "f32 ulp", "at", "f64 ulp", "at");
  for (const Row& row : kRows) {
    const Worst<float> f32 = worse(strided_floats(row, 997), random_arguments<float, std::uint32_t>(row, 400000));
    const Worst<double> f64 = random_arguments<double, std::uint64_t>(row, 400000);
    std::printf("%-12s %8.3f %16.8g %8.3f %24.16g\n", row.name, f32.error, static_cast<double>(f32.x), f64.error,
                f64.x);
    std::fflush(stdout);
    check(row, "f32", f32, row.f32);
    check(row, "f64", f64, row.f64);
  }
}
