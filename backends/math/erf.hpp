#pragma once

#include "exp.hpp"

// erf and erfc.

namespace fusewright::math_source {

template <class T>
struct ErfConstants;

template <>
struct ErfConstants<float> {
  static constexpr float kZero = 10.2f;  // erfc is zero from here on
  static constexpr float kCentre = 2;    // of the variable of kErfcx
  static constexpr float kSmall = 1;     // up to here erf is best as a polynomial
};

template <>
struct ErfConstants<double> {
  static constexpr double kZero = 27.5;
  static constexpr double kCentre = 4;
  static constexpr double kSmall = 0.875;
};

/// erf(x) for |x| <= 1.
template <class L, class V = typename L::V>
FW_INLINE V erf_small(V x) {
  return L::fma(x, L::polynomial(x * x, Coefficients<typename L::T>::kErf), x);
}

/// erfc(a) for a >= 1/2.
template <class L, class V = typename L::V>
FW_INLINE V erfc_large(V a) {
  using T = typename L::T;
  using C = ErfConstants<T>;
  a = L::select(a > C::kZero, C::kZero, a);
  // P(t) / (1 + 2a) to double length
  V t = (a - C::kCentre) / (a + C::kCentre);
  auto p = Double<L>::fast_sum(Coefficients<T>::kErfcx[0], t * L::polynomial_tail(t, Coefficients<T>::kErfcx));
  auto divisor = Double<L>::sum(a + a, 1);
  V inverse = V(1) / divisor.high;
  V quotient = p.high * inverse;
  V remainder = L::fma(-quotient, divisor.high, p.high) + (p.low + Coefficients<T>::kErfcxLow);
  V quotient_low = L::fma(-quotient, divisor.low, remainder) * inverse;
  // times e^(-a^2) = 2^n (1 + e), with the square to double length
  auto square = Double<L>::product(a, a);
  auto reduced = exp_reduce<L>(-square.high);
  reduced.r -= square.low;
  reduced.second -= square.low;
  return L::scale(quotient + L::fma(quotient, exp_small<L>(reduced), quotient_low), reduced.n);
}

/// erfc(a) for a >= kSmall, to an absolute error that is small beside erf(a).
template <class L, class V = typename L::V>
FW_INLINE V erf_complement(V a) {
  using T = typename L::T;
  if constexpr (sizeof(T) == 4) {
    // e^(log erfc(a)), the logarithm to double length
    constexpr auto& c = Coefficients<T>::kLogErfc;
    a = L::select(a > 4, 4, a);
    V tail = L::polynomial_tail(a, c);
    V exponent = L::fma(a, tail, c[0]);
    auto reduced = exp_reduce<L>(exponent);
    reduced.second += L::fma(a, tail, -exponent) + c[0];
    return L::scale(V(1) + exp_small<L>(reduced), reduced.n);
  } else {
    return erfc_large<L>(a);
  }
}

template <class L, class V = typename L::V>
FW_INLINE V erf(V x) {
  V a = L::abs(x);
  auto small = a < ErfConstants<typename L::T>::kSmall;
  return L::copysign(L::select(small, erf_small<L>(a), V(1) - erf_complement<L>(a)), x);
}

template <class L, class V = typename L::V>
FW_INLINE V erfc(V x) {
  using T = typename L::T;
  V a = L::abs(x);
  V large = erfc_large<L>(a);
  large = L::select(x < 0, V(2) - large, large);
  return L::select(a < T(0.5), V(1) - erf_small<L>(x), large);
}

}  // namespace fusewright::math_source
