#pragma once

#include "exp.hpp"

// log, log1p, log2, pow, and the inverse hyperbolic functions.

namespace fusewright::math_source {

template <class L>
struct LogReduced {
  typename L::V mantissa;  // x = mantissa 2^exponent
  typename L::I exponent;
};

/// Splits x > 0; the mantissa lies between `lowest` and twice that.
template <class L>
FW_INLINE LogReduced<L> log_reduce(typename L::V x, typename L::T lowest) {
  using F = typename L::F;
  using I = typename L::I;
  auto denormal = x < F::kSmallestNormal;
  x = L::select(denormal, x * (typename L::T)(1ull << F::kMantissaBits), x);
  I bits = L::bits(x);
  I exponent = (bits - I(__builtin_bit_cast(typename F::Int, lowest))) >> F::kMantissaBits;
  auto mantissa = L::from_bits(bits - (exponent << F::kMantissaBits));
  return {mantissa, exponent - L::select_int(denormal, I(F::kMantissaBits), I(0))};
}

/// log(1+f) - f, and how the mantissa must be reduced for it.
template <class L>
struct LogKernel;

template <int N>
struct LogKernel<Lanes<float, N>> {
  using L = Lanes<float, N>;
  static constexpr float kLowest = 0x1.555556p-1f;  // 2/3
  FW_INLINE typename L::V tail(typename L::V f) {
    return f * f * L::fma(f, L::polynomial(f, Coefficients<float>::kLogF), -0.5f);
  }
};

template <int N>
struct LogKernel<Lanes<double, N>> {
  // The series in s = f/(2+f) costs a division and needs a third of the terms. 2s + s R = f - (f^2/2 - s (f^2/2 + R)).
  using L = Lanes<double, N>;
  static constexpr double kLowest = 0x1.6a09e667f3bcdp-1;  // sqrt(1/2)
  FW_INLINE typename L::V tail(typename L::V f) {
    auto s = f / (f + 2.0);
    auto u = s * s;
    auto half_square = 0.5 * (f * f);
    return L::fma(s, L::fma(u, L::polynomial(u, Coefficients<double>::kLogS), half_square), -half_square);
  }
};

/// exponent ln 2 + log(1 + f), and `low` on top of it.
template <class L, class V = typename L::V>
FW_INLINE V log_combine(V f, typename L::I exponent, V low = V(0)) {
  using T = typename L::T;
  using E = ExpLimits<T>;
  V e = L::template convert<T>(exponent);
  auto sum = Double<L>::fast_sum(e * E::kLn2High, f);
  return sum.high + L::fma(e, E::kLn2Low, (sum.low + low) + LogKernel<L>::tail(f));
}

/// The value at and below zero, at infinity and for NaN, for functions with the domain of log.
template <class L, class V = typename L::V>
FW_INLINE V log_special(V argument, V result) {
  using F = typename L::F;
  result = L::select(argument < F::kInfinity, result, argument);
  result = L::select(argument < 0, typename L::T(__builtin_nan("")), result);
  return L::select(argument == 0, -F::kInfinity, result);
}

template <class L, class V = typename L::V>
FW_INLINE V log(V x) {
  auto reduced = log_reduce<L>(x, LogKernel<L>::kLowest);
  return log_special<L>(x, log_combine<L>(reduced.mantissa - typename L::T(1), reduced.exponent));
}

template <class L, class V = typename L::V>
FW_INLINE V log1p(V x) {
  using T = typename L::T;
  using I = typename L::I;
  auto sum = Double<L>::sum(1, x);
  auto reduced = log_reduce<L>(sum.high, LogKernel<L>::kLowest);
  // What 1 + x lost goes into f, and what f cannot hold of it, times the derivative of log(1+f), into the result. Past
  // 2^60 it no longer matters, but must stay finite.
  I shift = L::select_int(reduced.exponent > I(60), I(60), reduced.exponent);
  V lost = sum.low * L::power_of_two(-shift);
  auto f = Double<L>::sum(reduced.mantissa - T(1), lost);
  V low = L::fma(-f.low, f.high, f.low);
  V result = log_special<L>(sum.high, log_combine<L>(f.high, reduced.exponent, low));
  return L::select(L::abs(x) < ExpLimits<T>::kIdentity, x, result);
}

template <class L>
FW_INLINE Double<L> log2_series(Double<L> u) {
  using T = typename L::T;
  using C = Coefficients<T>;
  auto add_constant = [](T high, T low, Double<L> term) { return Double<L>{high, low} + term; };
  if constexpr (sizeof(T) == 4) {
    auto tail = u.high * L::polynomial(u.high, C::kLog2Tail);
    auto inner = Double<L>::fast_sum(C::kLog2C1High, tail + C::kLog2C1Low);
    return add_constant(C::kLog2C0High, C::kLog2C0Low, u * inner);
  } else {
    auto tail = u.high * L::polynomial(u.high, C::kLog2Tail);
    auto inner = Double<L>::fast_sum(C::kLog2C2High, tail + C::kLog2C2Low);
    inner = add_constant(C::kLog2C1High, C::kLog2C1Low, u * inner);
    return add_constant(C::kLog2C0High, C::kLog2C0Low, u * inner);
  }
}

/// log2(x) for finite x > 0 to about ten bits more than the format has.
template <class L, class V = typename L::V>
FW_INLINE Double<L> log2_extended(V x) {
  using T = typename L::T;
  auto reduced = log_reduce<L>(x, T(0x1.6a09e667f3bcdp-1));
  V m = reduced.mantissa;
  // s = (m - 1) / (m + 1) as a double-length quotient.
  V f = m - T(1), d = m + T(1), d_low = m - (d - T(1));
  V inverse = V(1) / d;
  V s = f * inverse;
  V s_low = L::fma(-s, d_low, L::fma(-s, d, f)) * inverse;
  auto u = Double<L>::product(s, s);
  u.low = L::fma(s + s, s_low, u.low);
  auto log2_m = Double<L>{s, s_low} * log2_series<L>(u);
  V e = L::template convert<T>(reduced.exponent);
  auto total = Double<L>::fast_sum(e, log2_m.high);
  return Double<L>::fast_sum(total.high, total.low + log2_m.low);
}

template <class L, class V = typename L::V>
FW_INLINE V log2(V x) {
  return log_special<L>(x, log2_extended<L>(x).high);
}

/// |x|^y for |x| neither 0 nor infinite and neither argument NaN.
template <class L, class V = typename L::V>
FW_INLINE V pow_magnitude(V a, V y) {
  using T = typename L::T;
  constexpr T kLimit = sizeof(T) == 4 ? 160 : 1100;  // far outside the exponent range on both sides
  auto log2_a = log2_extended<L>(a);
  V high = y * log2_a.high;
  V low = L::fma(y, log2_a.low, L::fma(y, log2_a.high, -high));
  low = L::select(L::abs(high) < kLimit, low, 0);  // infinity - infinity otherwise
  high = clamp<L>(high, -kLimit, kLimit);
  auto n = L::round_product(high, 1);
  return L::scale(exp2_small<L>((high - n.value) + low), n.integer);
}

template <class L, class V = typename L::V>
FW_INLINE V pow(V x, V y) {
  using T = typename L::T;
  using F = typename L::F;
  V a = L::abs(x);
  V half_y = y * T(0.5);
  auto y_is_integer = L::floor(y) == y;
  auto y_is_odd = L::both(y_is_integer, L::floor(half_y) != half_y);

  V result = pow_magnitude<L>(a, y);
  V at_zero = L::select(y < 0, F::kInfinity, 0);
  V at_infinity = L::select(y < 0, 0, F::kInfinity);
  result = L::select(a == 0, at_zero, result);
  result = L::select(a == F::kInfinity, at_infinity, result);
  result = L::select(a == 1, 1, result);  // 1^infinity

  auto odd_sign = L::sign_of(x) & L::sign_of(L::select(y_is_odd, T(-1), T(1)));
  result = L::flip_sign(result, odd_sign);
  auto negative = L::both(x<0, x> - F::kInfinity);
  result = L::select(L::both(negative, L::negate(y_is_integer)), T(__builtin_nan("")), result);
  result = L::select(L::either(L::is_nan(x), L::is_nan(y)), x + y, result);
  return L::select(L::either(y == 0, x == 1), 1, result);
}

template <class L, class V = typename L::V>
FW_INLINE V asinh(V x) {
  using T = typename L::T;
  constexpr T kLarge = sizeof(T) == 4 ? T(0x1p20) : T(0x1p40);  // the 1 under the root no longer matters
  V a = L::abs(x);
  V square = a * a;
  V argument = a + square / (V(1) + L::sqrt(square + T(1)));
  auto large = a > kLarge;
  V result = log1p<L>(L::select(large, a - T(1), argument));
  result = L::select(large, result + ExpLimits<T>::kLn2High + ExpLimits<T>::kLn2Low, result);
  return L::copysign(result, x);
}

template <class L, class V = typename L::V>
FW_INLINE V acosh(V x) {
  using T = typename L::T;
  constexpr T kLarge = sizeof(T) == 4 ? T(0x1p20) : T(0x1p40);
  V t = x - T(1);
  auto large = x > kLarge;
  V result = log1p<L>(L::select(large, t, t + L::sqrt(L::fma(t, t, t + t))));
  result = L::select(large, result + ExpLimits<T>::kLn2High + ExpLimits<T>::kLn2Low, result);
  return L::select(x < 1, T(__builtin_nan("")), result);
}

template <class L, class V = typename L::V>
FW_INLINE V atanh(V x) {
  using T = typename L::T;
  V a = L::abs(x);
  V twice = a + a;
  // 2a/(1-a) = 2a + 2a^2/(1-a): the second form keeps the small arguments exact.
  auto small = a < T(0.5);
  V quotient = L::select(small, twice * a, twice) / (V(1) - a);
  V argument = L::select(small, twice + quotient, quotient);
  V result = V(0.5) * log1p<L>(argument);
  result = L::select(a < ExpLimits<T>::kIdentity, a, result);
  return L::copysign(result, x);
}

}  // namespace fusewright::math_source
