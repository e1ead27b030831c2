#pragma once

#include "lanes.hpp"

// cbrt, the exact remainder, rounding half away from zero.

namespace fusewright::math_source {

/// a^(-1/3) within 4 %, for normal a > 0, from a third of the exponent.
template <class L, class V = typename L::V>
FW_INLINE V inverse_cbrt_guess(V a) {
  using U = typename L::U;
  if constexpr (sizeof(typename L::T) == 4) {
    U third = ((L::ubits(a) >> 16) * U(0x5556u)) >> 16;
    return L::from_bits((U(0x54a1u) - third) << 16);
  } else {
    U third = ((L::ubits(a) >> 32) * U(0x55555556ul)) >> 32;
    return L::from_bits((U(0x553ee000ul) - third) << 32);
  }
}

template <class L, class V = typename L::V>
FW_INLINE V cbrt(V x) {
  using T = typename L::T;
  using F = typename L::F;
  constexpr T kUp = sizeof(T) == 4 ? T(0x1p24) : T(0x1p54), kDown = sizeof(T) == 4 ? T(0x1p-8) : T(0x1p-18);
  V a = L::abs(x);
  auto denormal = a < F::kSmallestNormal;
  a = L::select(denormal, a * kUp, a);
  V r = inverse_cbrt_guess<L>(a);
  for (int step = 0; step < 2; ++step) {  // the error becomes its fourth power; no division
    V h = L::fma(-(a * r) * r, r, 1);
    V series = L::fma(L::fma(h, T(14.0 / 81.0), T(2.0 / 9.0)), h, T(1.0 / 3.0));
    r = L::fma(r * h, series, r);
  }
  // One Newton step for y^3 = a with the residual to double length.
  V square = r * r;
  V y = a * square;
  auto y2 = Double<L>::product(y, y);
  V residual = L::fma(y2.low, y, L::fma(y2.high, y, -a));
  y = L::fma(residual * square, T(-1.0 / 3.0), y);
  y = L::select(denormal, y * kDown, y);
  y = L::copysign(y, x);
  return L::select(L::either(x == 0, L::negate(a < F::kInfinity)), x, y);
}

template <class L>
FW_INLINE typename L::I biased_exponent(typename L::V a) {
  return L::bits(a) >> L::F::kMantissaBits;
}

/// The remainder of x / y with the sign of x (C's fmod); exact.
template <class L, class V = typename L::V>
FW_INLINE V rem(V x, V y) {
  using T = typename L::T;
  using F = typename L::F;
  using I = typename L::I;
  V ax = L::abs(x), ay = L::abs(y);
  auto valid = L::both(ax < F::kInfinity, ay > 0);
  V r = L::select(valid, ax, 0);
  V d = L::select(L::both(valid, ay < F::kInfinity), ay, 1);
  auto denormal = d < F::kSmallestNormal;
  I exponent = biased_exponent<L>(L::select(denormal, d * T(1ull << F::kMantissaBits), d));
  exponent = L::select_int(denormal, exponent - I(F::kMantissaBits), exponent);
  // Each round divides by d 2^k, with k as small as keeps the quotient q exact. Then r - q d 2^k is exact too, as a
  // multiple of d's last place; a quotient that rounded up to an integer makes it negative, once.
  auto left = r >= d;
  while (L::any(left)) {
    I k = biased_exponent<L>(r) - exponent - I(F::kMantissaBits);
    k = L::select_int(k > I(0), k, I(0));
    I half = k >> 1;
    V step = d * L::power_of_two(half) * L::power_of_two(k - half);
    V next = L::fma(-L::trunc(r / step), step, r);
    r = L::select(next < 0, next + step, next);
    left = r >= d;
  }
  r = L::select(ay == F::kInfinity, ax, r);
  r = L::select(valid, L::copysign(r, x), T(__builtin_nan("")));
  return L::select(L::is_nan(y), y, r);
}

template <class L, class V = typename L::V>
FW_INLINE V round_away(V x) {
  // Just under 1/2: with 1/2 itself, the largest number under 1/2 would round to 1.
  using T = typename L::T;
  constexpr T kAlmostHalf = sizeof(T) == 4 ? T(0x1.fffffep-2) : T(0x1.fffffffffffffp-2);
  return L::trunc(x + L::copysign(kAlmostHalf, x));
}

}  // namespace fusewright::math_source
