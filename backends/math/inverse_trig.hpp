#pragma once

#include "coefficients.hpp"
#include "lanes.hpp"

// asin, acos, atan, atan2.

namespace fusewright::math_source {

template <class T>
struct ArcConstants;

template <>
struct ArcConstants<float> {
  static constexpr float kHalfPiHigh = 0x1.921fb6p+0f, kHalfPiLow = -0x1.777a5cp-25f;
};

template <>
struct ArcConstants<double> {
  static constexpr double kHalfPiHigh = 0x1.921fb54442d18p+0, kHalfPiLow = 0x1.1a62633145c07p-54;
};

template <class L>
struct ArcReduced {
  typename L::V root, tail;  // asin(root) = root + tail
  typename L::M large;       // root is sqrt((1-|x|)/2) rather than |x|
};

template <class L, class V = typename L::V>
FW_INLINE ArcReduced<L> arc_reduce(V a) {
  using T = typename L::T;
  auto large = a > T(0.5);
  V square = L::select(large, (V(1) - a) * T(0.5), a * a);
  V root = L::select(large, L::sqrt(square), a);
  return {root, root * square * L::polynomial(square, Coefficients<T>::kAsin), large};
}

template <class L, class V = typename L::V>
FW_INLINE V asin(V x) {
  using T = typename L::T;
  using C = ArcConstants<T>;
  auto arc = arc_reduce<L>(L::abs(x));
  // pi/2 - 2 asin(sqrt((1-|x|)/2))
  auto sum = Double<L>::fast_sum(C::kHalfPiHigh, T(-2) * arc.root);
  V large = sum.high + (sum.low + L::fma(T(-2), arc.tail, C::kHalfPiLow));
  return L::copysign(L::select(arc.large, large, arc.root + arc.tail), x);
}

template <class L, class V = typename L::V>
FW_INLINE V acos(V x) {
  using T = typename L::T;
  using C = ArcConstants<T>;
  auto arc = arc_reduce<L>(L::abs(x));
  // |x| > 1/2: 2 asin(root), or pi minus that; otherwise pi/2 - asin(x).
  auto negative = x < 0;
  V factor = L::select(arc.large, L::select(negative, T(-2), T(2)), L::select(negative, T(1), T(-1)));
  V quarters = L::select(arc.large, L::select(negative, T(2), T(0)), T(1));
  V root = factor * arc.root, tail = factor * arc.tail;
  auto sum = Double<L>::fast_sum(quarters * C::kHalfPiHigh, root);
  return sum.high + (sum.low + L::fma(quarters, C::kHalfPiLow, tail));
}

template <class L, class V = typename L::V>
FW_INLINE V atan2(V y, V x) {
  using T = typename L::T;
  using C = ArcConstants<T>;
  using I = typename L::I;
  V ay = L::abs(y), ax = L::abs(x);
  auto steep = ay > ax;
  V numerator = L::select(steep, ax, ay), denominator = L::select(steep, ay, ax);
  V q = numerator / denominator;
  // Infinity over infinity counts as one, zero over zero as zero.
  q = L::select(numerator == denominator, L::select(denominator == 0, V(0), V(1)), q);
  V u = q * q;
  V tail = q * u * L::polynomial(u, Coefficients<T>::kAtan);
  // The angle is q + tail, pi/2 - that, pi/2 + that or pi - that.
  auto left = L::bits(x) < I(0);
  V quarters = L::select(steep, T(1), L::select(left, T(2), T(0)));
  auto sign = L::sign_of(L::select(steep, -x, x));
  auto sum = Double<L>::fast_sum(quarters * C::kHalfPiHigh, L::flip_sign(q, sign));
  V low = L::fma(quarters, C::kHalfPiLow, L::flip_sign(tail, sign));
  return L::copysign(sum.high + (sum.low + low), y);
}

template <class L, class V = typename L::V>
FW_INLINE V atan(V x) {
  return atan2<L>(x, V(1));
}

}  // namespace fusewright::math_source
