#pragma once

#include "coefficients.hpp"
#include "lanes.hpp"

// sin, cos and tan for every finite argument.
// Up to kFar, subtracting multiples of pi/2 in three parts is exact enough and fast. Beyond, the argument is
// multiplied with a window of the bits of 2/pi that starts where whole turns end (Payne and Hanek, 1983). Lanes take
// the far result only where they are far, so a value never depends on its neighbours; the test for any far lane only
// saves time.

namespace fusewright::math_source {

/// a = quadrant pi/2 + high + low, |high| <= pi/4, the quadrant modulo 4.
template <class L>
struct Reduced {
  typename L::V high, low;
  typename L::I quadrant;
};

template <class T>
struct PiConstants;

template <>
struct PiConstants<float> {
  static constexpr float kFar = 65536.f;
  static constexpr float kTwoOverPi = 0x1.45f306p-1f;
  static constexpr float kHalfPi[] = {0x1.921fb6p+0f, -0x1.777a5cp-25f, -0x1.ee59dap-50f};
};

template <>
struct PiConstants<double> {
  static constexpr double kFar = 1048576.;
  static constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;
  static constexpr double kHalfPi[] = {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54, -0x1.f1976b7ed8fbcp-110};
};

template <class L>
FW_INLINE Reduced<L> reduce_near(typename L::V a) {
  using P = PiConstants<typename L::T>;
  auto n = L::round_product(a, P::kTwoOverPi);
  auto first = L::fma(n.value, -P::kHalfPi[0], a);  // exact
  auto product = Double<L>::product(n.value, -P::kHalfPi[1]);
  auto second = Double<L>::sum(first, product.high);
  auto low = L::fma(n.value, -P::kHalfPi[2], second.low + product.low);
  return {second.high, low, n.integer};
}

/// Words of 2/pi, most significant first, after a word of zeros.
static constexpr unsigned kTwoOverPi32[] = {0x00000000, 0xa2f9836e, 0x4e441529, 0xfc2757d1,
                                            0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab};
static constexpr unsigned long kTwoOverPi64[] = {
    0x0000000000000000, 0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561,
    0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484, 0xe99c7026b45f7e41,
    0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7,
    0x4f463f669e5fea2d, 0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab};

template <int N>
FW_INLINE Reduced<Lanes<float, N>> reduce_far(typename Lanes<float, N>::V a) {
  using L = Lanes<float, N>;
  using U = typename L::U;
  using Wide = Vector<unsigned long, N>;
  U bits = L::ubits(a);
  U mantissa = (bits & U(0x7fffffu)) | U(0x800000u);
  U position = (bits >> 23) - U(127 + 16 - 23);  // of the first bit that is not a whole turn, from the word of zeros on
  U index = position >> 5, shift = position & U(31u);
  U word[4];
  for (int k = 0; k < 4; ++k) {
    word[k] = U(kTwoOverPi32[k]);
    for (unsigned j = 1; j < 5; ++j) {  // a table look-up as a chain of selects; there is no portable vector gather
      word[k] =
          L::as_unsigned(L::select_int(index == U(j), L::as_signed(U(kTwoOverPi32[j + k])), L::as_signed(word[k])));
    }
  }
  auto window = [&](int k) { return (word[k] << shift) | ((word[k + 1] >> 1) >> (U(31u) - shift)); };
  auto times = [&](U part) {
    return L::template convert<unsigned long>(part) * L::template convert<unsigned long>(mantissa);
  };
  // In units of 2^-62 quadrants, modulo four quadrants.
  Wide product = (times(window(0)) << 32) + times(window(1)) + (times(window(2)) >> 32);
  Wide quadrant = (product + Wide(1ul << 61)) >> 62;
  auto fraction = __builtin_bit_cast(Vector<long, N>, product - (quadrant << 62));
  auto angle = Lanes<double, N>::template convert<double>(fraction) * 0x1.921fb54442d18p-62;
  auto high = L::template convert<float>(angle);
  auto low = L::template convert<float>(angle - L::template convert<double>(high));
  low = L::select(a < L::F::kInfinity, low, __builtin_nanf(""));
  return {high, low, L::template convert<int>(quadrant)};
}

FW_INLINE Reduced<Lanes<double, 1>> reduce_far_scalar(double a) {
  using Wide = unsigned __int128;
  unsigned long bits = __builtin_bit_cast(unsigned long, a);
  unsigned long mantissa = (bits & 0xffffffffffffful) | 0x10000000000000ul;
  unsigned position = (unsigned)(bits >> 52) - (1023 + 16 - 26);
  unsigned index = position >> 6, shift = position & 63;
  auto window = [&](unsigned k) {
    return (kTwoOverPi64[index + k] << shift) | ((kTwoOverPi64[index + k + 1] >> 1) >> (63 - shift));
  };
  // In units of 2^-126 quadrants, modulo four quadrants.
  Wide product = ((Wide)(mantissa * window(0)) << 64) + (Wide)mantissa * window(1) +
                 (unsigned long)(((Wide)mantissa * window(2)) >> 64);
  unsigned long quadrant = (unsigned long)((product + ((Wide)1 << 125)) >> 126);
  Wide fraction = product - ((Wide)quadrant << 126);
  bool negative = (fraction >> 127) != 0;
  fraction = negative ? -fraction : fraction;
  // Normalized, then cut into two pieces that are exact in double.
  unsigned long top = (unsigned long)(fraction >> 64);
  top |= (unsigned long)(top == 0);
  int zeros = __builtin_clzl(top);
  fraction <<= zeros;
  double unit = Lanes<double, 1>::power_of_two(-zeros - 126);
  double upper = (double)(long)(fraction >> 75) * 0x1p75;
  double lower = (double)(long)((unsigned long)(fraction >> 22) & ((1ul << 53) - 1)) * 0x1p22;
  using L = Lanes<double, 1>;
  auto angle = Double<L>{upper * unit, lower * unit} *
               Double<L>{PiConstants<double>::kHalfPi[0], PiConstants<double>::kHalfPi[1]};
  if (!(a < L::F::kInfinity)) {
    angle.low = __builtin_nan("");
  }
  return {negative ? -angle.high : angle.high, negative ? -angle.low : angle.low, (long)quadrant};
}

// A function of its own where there is a stack to call it with: as rare as it is long.
template <class L>
FW_RARE void reduce_far_lanes(typename L::V a, typename L::M far, Reduced<L>& result) {
  if constexpr (sizeof(typename L::T) == 4) {
    auto other = reduce_far<L::N>(a);
    result.high = L::select(far, other.high, result.high);
    result.low = L::select(far, other.low, result.low);
    result.quadrant = L::select_int(far, other.quadrant, result.quadrant);
  } else if constexpr (L::kScalar) {
    result = reduce_far_scalar(a);
  } else {
    // 128-bit products have no vector form; lane by lane, and only those that are far.
#pragma clang loop unroll(disable)
    for (int i = 0; i < L::N; ++i) {
      if (far[i]) {
        auto other = reduce_far_scalar(a[i]);
        result.high[i] = other.high;
        result.low[i] = other.low;
        result.quadrant[i] = other.quadrant;
      }
    }
  }
}

template <class L>
FW_INLINE Reduced<L> reduce(typename L::V a) {
  auto result = reduce_near<L>(a);
  auto far = a >= PiConstants<typename L::T>::kFar;
  if (__builtin_expect(L::any(far), 0)) {
    reduce_far_lanes<L>(a, far, result);
  }
  return result;
}

template <class L>
FW_INLINE typename L::V sin_kernel(Reduced<L> x) {
  auto u = x.high * x.high;
  return x.high + L::fma(x.high * u, L::polynomial(u, Coefficients<typename L::T>::kSin), x.low);
}

template <class L>
FW_INLINE typename L::V cos_kernel(Reduced<L> x) {
  using T = typename L::T;
  auto u = x.high * x.high;
  auto half = T(0.5) * u;
  auto near_one = T(1) - half;
  auto rest = L::fma(u * u, L::polynomial(u, Coefficients<T>::kCos), -(x.high * x.low));
  return near_one + (((T(1) - near_one) - half) + rest);
}

template <class L>
FW_INLINE typename L::U bit_to_sign(typename L::I value, int bit) {
  return L::as_unsigned(value << (int(sizeof(typename L::T) * 8) - 1 - bit)) & L::F::kSign;
}

template <class L, class V = typename L::V>
FW_INLINE V sin(V x) {
  using I = typename L::I;
  auto reduced = reduce<L>(L::abs(x));
  auto odd = (reduced.quadrant & I(1)) != I(0);
  V result = L::select(odd, cos_kernel<L>(reduced), sin_kernel<L>(reduced));
  return L::flip_sign(result, bit_to_sign<L>(reduced.quadrant, 1) ^ L::sign_of(x));
}

template <class L, class V = typename L::V>
FW_INLINE V cos(V x) {
  using I = typename L::I;
  auto reduced = reduce<L>(L::abs(x));
  auto odd = (reduced.quadrant & I(1)) != I(0);
  V result = L::select(odd, sin_kernel<L>(reduced), cos_kernel<L>(reduced));
  return L::flip_sign(result, bit_to_sign<L>(reduced.quadrant + I(1), 1));
}

template <class L, class V = typename L::V>
FW_INLINE V tan(V x) {
  using T = typename L::T;
  using I = typename L::I;
  auto reduced = reduce<L>(L::abs(x));
  V r = reduced.high;
  V u = r * r;
  V correction = L::fma(u, reduced.low, reduced.low);
  V t = r + L::fma(r * u, L::polynomial(u, Coefficients<T>::kTan), correction);
  auto odd = (reduced.quadrant & I(1)) != I(0);
  V result = L::select(odd, -1, t) / L::select(odd, t, 1);
  return L::flip_sign(result, L::sign_of(x));
}

}  // namespace fusewright::math_source
