#include <catch2/catch.hpp>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <vector>

#include "backends/math/math_native.hpp"

namespace {

using fusewright::math::ArrayFunction;
using fusewright::math::NativeFunction;

/// Neighbours of every kind: moderate numbers, any bit patterns, huge numbers and special values side by side.
template <class T, class Bits>
std::vector<T> mixed_arguments(std::size_t count, unsigned seed) {
  using Limits = std::numeric_limits<T>;
  const T special[] = {0,
                       T(-0.),
                       1,
                       -1,
                       Limits::infinity(),
                       -Limits::infinity(),
                       Limits::quiet_NaN(),
                       Limits::denorm_min(),
                       Limits::max(),
                       Limits::lowest(),
                       Limits::min(),
                       T(0.5)};
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<T> close(T(-20), T(20)), unit(T(-1), T(1));
  std::vector<T> values;
  for (std::size_t i = 0; i < count; ++i) {
    switch (random() % 8) {
      case 0: values.push_back(special[random() % std::size(special)]); break;
      case 1: values.push_back(std::bit_cast<T>(static_cast<Bits>(random()))); break;
      case 2: values.push_back(unit(random) * T(1e30)); break;
      case 3:
      case 4: values.push_back(unit(random)); break;
      default: values.push_back(close(random));
    }
  }
  return values;
}

template <class T, class Bits>
std::size_t count_differences(ArrayFunction<T> scalar, ArrayFunction<T> vector) {
  constexpr std::size_t kCount = 1 << 14;
  const auto x = mixed_arguments<T, Bits>(kCount, 1), y = mixed_arguments<T, Bits>(kCount, 2);
  std::vector<T> expected(kCount), got(kCount);
  scalar(x.data(), y.data(), expected.data(), kCount);
  vector(x.data(), y.data(), got.data(), kCount);
  std::size_t differences = 0;
  for (std::size_t i = 0; i < kCount; ++i) {
    const bool both_nan = std::isnan(expected[i]) && std::isnan(got[i]);
    differences += !both_nan && std::bit_cast<Bits>(expected[i]) != std::bit_cast<Bits>(got[i]);
  }
  return differences;
}

void check_against_scalar(std::span<const NativeFunction> functions) {
  const auto scalars = fusewright::math::avx2_functions();
  REQUIRE(functions.size() == scalars.size());
  for (std::size_t i = 0; i < functions.size(); ++i) {
    const NativeFunction& s = scalars[i];
    const NativeFunction& v = functions[i];
    INFO(s.name);
    for (const auto vector : {v.f32, v.f32x4, v.f32x8, v.f32x16}) {
      CHECK(count_differences<float, std::uint32_t>(s.f32, vector) == 0);
    }
    for (const auto vector : {v.f64, v.f64x2, v.f64x4, v.f64x8}) {
      CHECK(count_differences<double, std::uint64_t>(s.f64, vector) == 0);
    }
  }
}

}  // namespace

TEST_CASE("every lane of every vector width has the bits of the scalar function", "[math]") {
  check_against_scalar(fusewright::math::avx2_functions());
}

TEST_CASE("code for AVX-512 has the bits of the scalar function", "[math]") {
  if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
      !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl")) {
    WARN("this machine has no AVX-512");
    return;
  }
  check_against_scalar(fusewright::math::avx512_functions());
}

TEST_CASE("the scalar functions can be called by name", "[math]") {
  CHECK(fusewright::math::fw_exp_f32(0) == 1);
  CHECK(fusewright::math::fw_pow_f64(2, 10) == 1024);
}
