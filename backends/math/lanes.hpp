#pragma once

// Scalars and vectors under one set of names, so that every function is written once.
// `Lanes<float, 16>` stands for sixteen floats; with one lane the types are plain scalars, not <1 x T>.
// Only operations that round the same way on every target appear here: no contraction, no approximate
// division, no minimum or maximum whose treatment of NaN or -0 is left to the machine.

#define FW_INLINE static inline __attribute__((always_inline))
#ifdef __NVPTX__
#define FW_RARE FW_INLINE
#else
#define FW_RARE static __attribute__((noinline, cold))
#endif

namespace fusewright::math_source {

template <class T>
struct Format;

template <>
struct Format<float> {
  using Int = int;
  using Uint = unsigned;
  static constexpr int kMantissaBits = 23;
  static constexpr int kBias = 127;
  static constexpr Uint kSign = 0x80000000u;
  static constexpr float kInfinity = __builtin_huge_valf();
  static constexpr float kSmallestNormal = 0x1p-126f;
  static constexpr float kRoundMagic = 0x1.8p23f;  // adding it leaves the nearest integer in the low bits
};

template <>
struct Format<double> {
  using Int = long;  // 64 bits on every target; comparing vectors gives this type
  using Uint = unsigned long;
  static constexpr int kMantissaBits = 52;
  static constexpr int kBias = 1023;
  static constexpr Uint kSign = 0x8000000000000000ul;
  static constexpr double kInfinity = __builtin_huge_val();
  static constexpr double kSmallestNormal = 0x1p-1022;
  static constexpr double kRoundMagic = 0x1.8p52;
};

template <class E, int N>
struct VectorOf {
  typedef E type __attribute__((ext_vector_type(N)));
};
template <class E>
struct VectorOf<E, 1> {
  typedef E type;
};
template <class E, int N>
using Vector = typename VectorOf<E, N>::type;

template <bool kFirst, class A, class B>
struct Either {
  using type = A;
};
template <class A, class B>
struct Either<false, A, B> {
  using type = B;
};

template <class Element, int Count>
struct Lanes {
  using T = Element;
  using F = Format<T>;
  static constexpr int N = Count;
  static constexpr bool kScalar = N == 1;
  using V = Vector<T, N>;
  using I = Vector<typename F::Int, N>;
  using U = Vector<typename F::Uint, N>;

  /// What comparing gives: a bool, or for vectors a vector of integers, all ones or all zeros.
  using M = typename Either<kScalar, bool, I>::type;

  FW_INLINE V fma(V a, V b, V c) { return __builtin_elementwise_fma(a, b, c); }
  FW_INLINE V abs(V a) { return __builtin_elementwise_abs(a); }
  FW_INLINE V sqrt(V a) { return __builtin_elementwise_sqrt(a); }
  FW_INLINE V trunc(V a) { return __builtin_elementwise_trunc(a); }
  FW_INLINE V floor(V a) { return __builtin_elementwise_floor(a); }
  FW_INLINE V copysign(V magnitude, V sign) { return __builtin_elementwise_copysign(magnitude, sign); }

  FW_INLINE I bits(V a) { return __builtin_bit_cast(I, a); }
  FW_INLINE U ubits(V a) { return __builtin_bit_cast(U, a); }
  FW_INLINE V from_bits(I a) { return __builtin_bit_cast(V, a); }
  FW_INLINE V from_bits(U a) { return __builtin_bit_cast(V, a); }
  FW_INLINE I as_signed(U a) { return __builtin_bit_cast(I, a); }
  FW_INLINE U as_unsigned(I a) { return __builtin_bit_cast(U, a); }

  template <class To, class From>
  FW_INLINE Vector<To, N> convert(From a) {
    if constexpr (kScalar) {
      return static_cast<To>(a);
    } else {
      return __builtin_convertvector(a, Vector<To, N>);
    }
  }

  FW_INLINE V select(M m, V yes, V no) { return m ? yes : no; }
  FW_INLINE I select_int(M m, I yes, I no) { return m ? yes : no; }
  FW_INLINE M negate(M m) {
    if constexpr (kScalar) {
      return !m;
    } else {
      return ~m;
    }
  }
  FW_INLINE M both(M a, M b) { return a & b; }
  FW_INLINE M either(M a, M b) { return a | b; }
  FW_INLINE bool any(M m) {
    if constexpr (kScalar) {
      return m;
    } else {
      return __builtin_reduce_or(m) != 0;
    }
  }

  FW_INLINE M is_nan(V a) { return a != a; }
  FW_INLINE U sign_of(V a) { return ubits(a) & F::kSign; }
  /// Flips the sign of `a` where the top bit of `sign` is set.
  FW_INLINE V flip_sign(V a, U sign) { return from_bits(ubits(a) ^ sign); }

  /// 2^n for n within the range of normal numbers; bits of n above those of an exponent do not matter.
  FW_INLINE V power_of_two(I n) { return from_bits((n + I(F::kBias)) << F::kMantissaBits); }
  /// a * 2^n rounded once, for a not far from 1 and |n| up to about twice the exponent range. Bits of n above those of
  /// an exponent do not matter.
  FW_INLINE V scale(V a, I n) {
    I half = n >> 1;
    return a * power_of_two(half) * power_of_two(n - half);  // adding to the exponent bits of a would lose NaN
  }

  struct Rounded {
    V value;    // an integer
    I integer;  // the same in the low bits (as many as an exponent has), other bits above
  };
  /// a * b rounded to an integer, ties to even; |a * b| < 2^(mantissa bits - 1).
  FW_INLINE Rounded round_product(V a, V b) {
    V shifted = fma(a, b, F::kRoundMagic);
    return {shifted - F::kRoundMagic, bits(shifted)};
  }

  /// sum of c[k] x^k, Horner.
  template <int Size, int First = 0>
  FW_INLINE V horner(V x, const T (&c)[Size]) {
    if constexpr (First == Size - 1) {
      return c[First];
    } else {
      return fma(horner<Size, First + 1>(x, c), x, c[First]);
    }
  }
  /// (sum of c[k] x^k - c[0]) / x. Long ones with even and odd powers apart, which halves the chain of dependent
  /// operations.
  template <int Size>
  FW_INLINE V polynomial_tail(V x, const T (&c)[Size]) {
    if constexpr (Size < 10) {
      return horner<Size, 1>(x, c);
    } else {
      V square = x * x;
      return fma(strided<Size, 2>(square, c), x, strided<Size, 1>(square, c));
    }
  }
  template <int Size>
  FW_INLINE V polynomial(V x, const T (&c)[Size]) {
    return fma(x, polynomial_tail(x, c), c[0]);
  }
  template <int Size, int First>
  FW_INLINE V strided(V square, const T (&c)[Size]) {
    if constexpr (First + 2 >= Size) {
      return c[First];
    } else {
      return fma(strided<Size, First + 2>(square, c), square, c[First]);
    }
  }
};

/// An unevaluated sum: `high` is the sum rounded, `low` what rounding lost.
template <class L>
struct Double {
  using V = typename L::V;
  V high, low;

  FW_INLINE Double product(V a, V b) {
    V high = a * b;
    return {high, L::fma(a, b, -high)};
  }
  /// For |a| >= |b| or a == 0.
  FW_INLINE Double fast_sum(V a, V b) {
    V high = a + b;
    return {high, b - (high - a)};
  }
  FW_INLINE Double sum(V a, V b) {
    V high = a + b;
    V part = high - a;
    return {high, (a - (high - part)) + (b - part)};
  }
};

template <class L>
FW_INLINE Double<L> operator*(Double<L> a, Double<L> b) {
  auto p = Double<L>::product(a.high, b.high);
  return Double<L>::fast_sum(p.high, L::fma(a.high, b.low, L::fma(a.low, b.high, p.low)));
}
/// For |a| >= |b|.
template <class L>
FW_INLINE Double<L> operator+(Double<L> a, Double<L> b) {
  auto s = Double<L>::fast_sum(a.high, b.high);
  return Double<L>::fast_sum(s.high, s.low + (a.low + b.low));
}

}  // namespace fusewright::math_source
