#pragma once

#include "coefficients.hpp"
#include "lanes.hpp"

// exp and what is made of it: exp2, expm1, logistic, tanh, sinh, cosh.

namespace fusewright::math_source {

template <class T>
struct ExpLimits;

template <>
struct ExpLimits<float> {
  // ln 2 in two parts: the first has so few bits that its product with any exponent is exact.
  static constexpr float kLn2High = 0x1.62e4p-1f, kLn2Low = 0x1.7f7d1cp-20f;
  static constexpr float kLog2E = 0x1.715476p0f;
  static constexpr float kOverflow = 89.f, kUnderflow = -104.f;     // beyond: infinity, zero
  static constexpr float kOverflow2 = 129.f, kUnderflow2 = -151.f;  // the same for exp2
  static constexpr float kHyperbolicOverflow = 91.f;                // sinh and cosh are infinite from here on
  static constexpr float kExpm1MinusOne = -18.f;                    // expm1 is -1 below
  static constexpr float kTanhOne = 10.f;                           // tanh is 1 above
  static constexpr float kIdentity = 0x1p-25f;                      // expm1(x) and log1p(x) are x below
};

template <>
struct ExpLimits<double> {
  static constexpr double kLn2High = 0x1.62e42fefa3p-1, kLn2Low = 0x1.3de6af278ece6p-42;
  static constexpr double kLog2E = 0x1.71547652b82fep0;
  static constexpr double kOverflow = 710., kUnderflow = -746.;
  static constexpr double kOverflow2 = 1025., kUnderflow2 = -1076.;
  static constexpr double kHyperbolicOverflow = 712.;
  static constexpr double kExpm1MinusOne = -38.;
  static constexpr double kTanhOne = 20.;
  static constexpr double kIdentity = 0x1p-54;
};

/// Limits that let NaN pass.
template <class L, class V = typename L::V>
FW_INLINE V clamp(V x, typename L::T low, typename L::T high) {
  x = L::select(x < low, low, x);
  return L::select(x > high, high, x);
}

/// x = n ln 2 + r with |r| <= ln(2)/2, and r = first + second to more bits than it can hold.
template <class L>
struct ExpReduced {
  typename L::V r, first, second;
  typename L::I n;
};

template <class L>
FW_INLINE ExpReduced<L> exp_reduce(typename L::V x) {
  using E = ExpLimits<typename L::T>;
  auto n = L::round_product(x, E::kLog2E);
  auto first = L::fma(n.value, -E::kLn2High, x);  // exact
  auto second = n.value * -E::kLn2Low;
  return {first + second, first, second, n.integer};
}

/// e^r - 1, where `second` may have been given more.
template <class L, class V = typename L::V>
FW_INLINE V exp_small(ExpReduced<L> x) {
  return x.first + L::fma(x.r * x.r, L::polynomial(x.r, Coefficients<typename L::T>::kExp), x.second);
}

/// e^x 2^offset for x within the limits; the offset avoids overflow on the way.
template <class L, class V = typename L::V>
FW_INLINE V exp_offset(V x, int offset) {
  auto reduced = exp_reduce<L>(x);
  return L::scale(V(1) + exp_small<L>(reduced), reduced.n + typename L::I(offset));
}

template <class L, class V = typename L::V>
FW_INLINE V exp(V x) {
  using E = ExpLimits<typename L::T>;
  return exp_offset<L>(clamp<L>(x, E::kUnderflow, E::kOverflow), 0);
}

/// 2^r for |r| <= 1/2.
template <class L, class V = typename L::V>
FW_INLINE V exp2_small(V r) {
  using C = Coefficients<typename L::T>;
  V tail = L::fma(r, L::polynomial_tail(r, C::kExp2), C::kExp2Low);
  return V(1) + L::fma(r, C::kExp2[0], r * tail);
}

template <class L, class V = typename L::V>
FW_INLINE V exp2(V x) {
  using E = ExpLimits<typename L::T>;
  x = clamp<L>(x, E::kUnderflow2, E::kOverflow2);
  auto n = L::round_product(x, 1);
  return L::scale(exp2_small<L>(x - n.value), n.integer);
}

template <class L, class V = typename L::V>
FW_INLINE V expm1(V x) {
  using T = typename L::T;
  using E = ExpLimits<T>;
  auto [r, first, second, n] = exp_reduce<L>(clamp<L>(x, E::kExpm1MinusOne, E::kOverflow));
  V low = second - (r - first);  // what r cannot hold
  V tail = L::fma(r * r, L::polynomial(r, Coefficients<T>::kExpm1), L::fma(low, r, low));
  // 2^n - 1 + 2^n (r + tail), at half its size because 2^n itself may overflow. The two large terms may nearly cancel,
  // so what their sum loses is kept.
  V half_power = L::power_of_two(n - typename L::I(1));
  auto constant = Double<L>::fast_sum(half_power, T(-0.5));
  auto sum = Double<L>::fast_sum(constant.high, half_power * r);
  V half = sum.high + L::fma(half_power, tail, sum.low + constant.low);
  return L::select(L::abs(x) < E::kIdentity, x, half + half);
}

template <class L, class V = typename L::V>
FW_INLINE V logistic(V x) {
  using E = ExpLimits<typename L::T>;
  V z = exp_offset<L>(clamp<L>(-L::abs(x), E::kUnderflow, E::kOverflow), 0);
  // 1 / (1 + z) or z / (1 + z), the inverse to double length
  auto divisor = Double<L>::fast_sum(1, z);
  V inverse = V(1) / divisor.high;
  V inverse_low = inverse * L::fma(-inverse, divisor.low, L::fma(-inverse, divisor.high, 1));
  V numerator = L::select(x < 0, z, 1);
  return L::fma(numerator, inverse, numerator * inverse_low);
}

template <class L, class V = typename L::V>
FW_INLINE V tanh(V x) {
  using T = typename L::T;
  V a = L::abs(x);
  V u = a * a;
  V small = L::fma(a * u, L::polynomial(u, Coefficients<T>::kTanh), a);
  V limited = L::select(a > ExpLimits<T>::kTanhOne, ExpLimits<T>::kTanhOne, a);
  V large = V(1) - V(2) / (exp_offset<L>(limited + limited, 0) + T(1));
  return L::copysign(L::select(a < 1, small, large), x);
}

/// e^|x| / 2, infinite only where cosh is.
template <class L, class V = typename L::V>
FW_INLINE V half_exp_abs(V a) {
  using E = ExpLimits<typename L::T>;
  return exp_offset<L>(L::select(a > E::kHyperbolicOverflow, E::kHyperbolicOverflow, a), -1);
}

template <class L, class V = typename L::V>
FW_INLINE V sinh(V x) {
  using T = typename L::T;
  V a = L::abs(x);
  V u = a * a;
  V small = L::fma(a * u, L::polynomial(u, Coefficients<T>::kSinh), a);
  V half = half_exp_abs<L>(a);
  return L::copysign(L::select(a < 1, small, half - V(0.25) / half), x);
}

template <class L, class V = typename L::V>
FW_INLINE V cosh(V x) {
  V half = half_exp_abs<L>(L::abs(x));
  return half + V(0.25) / half;
}

}  // namespace fusewright::math_source
