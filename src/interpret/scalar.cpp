#include "src/interpret/scalar.hpp"

#include <bit>
#include <cmath>
#include <limits>

#include "fusewright/support/check.hpp"

namespace fusewright::interpret {
namespace {

template <class R>
bool not_a_number(const R& x) {
  return x != x;
}

template <class R>
R sign_of(const R& x) {
  return x > 0 ? R(1) : x < 0 ? R(-1) : x;  // zeros keep their sign, NaN stays
}

// Halves go to the even neighbour.
template <class R>
R round_even(const R& x) {
  using std::floor;
  const R below = floor(x);
  const R rest = x - below;
  if (!(rest >= 0) || rest == 0) return x;  // integers, infinities, NaN
  R out = below;
  if (rest > R(0.5) || (rest == R(0.5) && floor(below / 2) * 2 != below)) out = below + 1;
  return out == 0 && x < 0 ? R(-0.0) : out;
}

template <class R>
R round_away(const R& x) {
  using std::floor;
  const R magnitude = x < 0 ? R(-x) : x;
  const R below = floor(magnitude);
  const R out = magnitude - below >= R(0.5) ? R(below + 1) : below;
  return x < 0 ? R(-out) : out;
}

// The remainder with the sign of the divisor.
template <class R>
R floored_mod(const R& a, const R& b) {
  using std::fmod;
  const R rest = fmod(a, b);
  if (rest != 0 && (rest < 0) != (b < 0)) return rest + b;
  return rest == 0 && b < 0 ? R(-0.0) : rest == 0 && b > 0 ? R(0) : rest;
}

template <class R>
R larger(const R& a, const R& b) {
  return not_a_number(a) ? a : not_a_number(b) ? b : a < b ? b : a;
}

template <class R>
R smaller(const R& a, const R& b) {
  return not_a_number(a) ? a : not_a_number(b) ? b : b < a ? b : a;
}

std::uint64_t bits_of(DType dtype, std::int64_t value) {
  const int unused = 64 - ops::bit_width(dtype);
  return static_cast<std::uint64_t>(value) << unused >> unused;
}

bool less(DType dtype, std::int64_t a, std::int64_t b) {
  if (ops::is_signed_integer(dtype)) return a < b;
  return static_cast<std::uint64_t>(a) < static_cast<std::uint64_t>(b);
}

std::int64_t divide(DType dtype, std::int64_t a, std::int64_t b) {
  if (b == 0) return -1;
  if (!ops::is_signed_integer(dtype))
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) / static_cast<std::uint64_t>(b));
  // The one quotient that does not fit wraps to itself.
  return b == -1 ? static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(a)) : a / b;
}

std::int64_t remainder(DType dtype, std::int64_t a, std::int64_t b) {
  if (b == 0) return a;
  if (!ops::is_signed_integer(dtype))
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) % static_cast<std::uint64_t>(b));
  return b == -1 ? 0 : a % b;
}

std::int64_t int_pow(DType dtype, std::int64_t base, std::int64_t exponent) {
  if (ops::is_signed_integer(dtype) && exponent < 0) {  // 1 / base^n, truncated
    if (base == 1) return 1;
    if (base == -1) return exponent % 2 == 0 ? 1 : -1;
    return 0;
  }
  std::uint64_t out = 1;
  auto square = static_cast<std::uint64_t>(base);
  for (auto rest = static_cast<std::uint64_t>(exponent); rest != 0; rest >>= 1, square *= square)
    if ((rest & 1) != 0) out *= square;
  return static_cast<std::int64_t>(out);
}

std::int64_t shift(ScalarOp op, DType dtype, std::int64_t value, std::int64_t by) {
  const int width = dtype == DType::kPred ? 1 : ops::bit_width(dtype);
  const auto count = bits_of(dtype, by);
  const bool out = count >= static_cast<std::uint64_t>(width);
  if (op == ScalarOp::kShl) return out ? 0 : static_cast<std::int64_t>(static_cast<std::uint64_t>(value) << count);
  if (op == ScalarOp::kShrLogical) return out ? 0 : static_cast<std::int64_t>(bits_of(dtype, value) >> count);
  // Unsigned values too repeat their top bit.
  const int unused = 64 - width;
  const std::int64_t extended = static_cast<std::int64_t>(static_cast<std::uint64_t>(value) << unused) >> unused;
  return extended >> (out ? 63 : count);
}

// A double that rounds to any narrower dtype as the integer itself would: where it is inexact its last bit is made odd.
double to_sticky_double(std::int64_t value, bool is_unsigned) {
  const auto negative = !is_unsigned && value < 0;
  const std::uint64_t magnitude = negative ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
  const int drop = std::max(0, 64 - std::countl_zero(magnitude) - 53);
  std::uint64_t kept = magnitude >> drop;
  if (kept << drop != magnitude) kept |= 1;
  const double out = std::ldexp(static_cast<double>(kept), drop);
  return negative ? -out : out;
}

std::int64_t saturate(DType to, double value) {
  if (std::isnan(value)) return 0;
  const int bits = ops::bit_width(to);
  const double top = std::ldexp(1.0, ops::is_signed_integer(to) ? bits - 1 : bits);  // first value above
  if (value >= top) {
    const std::uint64_t all = ~std::uint64_t{0} >> (64 - bits);
    return static_cast<std::int64_t>(ops::is_signed_integer(to) ? all >> 1 : all);
  }
  if (ops::is_signed_integer(to)) return static_cast<std::int64_t>(value <= -top ? -top : value);
  return value <= 0 ? 0 : static_cast<std::int64_t>(static_cast<std::uint64_t>(value));
}

}  // namespace

template <class R>
R wide_op(ScalarOp op, const R* x) {
  using std::abs, std::exp, std::expm1, std::log, std::log1p, std::sqrt, std::cbrt, std::sin, std::cos, std::tan,
      std::asin, std::acos, std::atan, std::sinh, std::cosh, std::tanh, std::asinh, std::acosh, std::atanh, std::erf,
      std::floor, std::ceil, std::trunc, std::fmod, std::pow, std::atan2, std::fma;
  switch (op) {
    case ScalarOp::kCopy: return x[0];
    case ScalarOp::kAbs: return abs(x[0]);
    case ScalarOp::kNeg: return -x[0];
    case ScalarOp::kSign: return sign_of(x[0]);
    case ScalarOp::kExp: return exp(x[0]);
    case ScalarOp::kExpm1: return expm1(x[0]);
    case ScalarOp::kLog: return log(x[0]);
    case ScalarOp::kLog1p: return log1p(x[0]);
    case ScalarOp::kSqrt: return sqrt(x[0]);
    case ScalarOp::kRsqrt: return R(1) / sqrt(x[0]);
    case ScalarOp::kCbrt: return cbrt(x[0]);
    case ScalarOp::kSin: return sin(x[0]);
    case ScalarOp::kCos: return cos(x[0]);
    case ScalarOp::kTan: return tan(x[0]);
    case ScalarOp::kAsin: return asin(x[0]);
    case ScalarOp::kAcos: return acos(x[0]);
    case ScalarOp::kAtan: return atan(x[0]);
    case ScalarOp::kSinh: return sinh(x[0]);
    case ScalarOp::kCosh: return cosh(x[0]);
    case ScalarOp::kTanh: return tanh(x[0]);
    case ScalarOp::kAsinh: return asinh(x[0]);
    case ScalarOp::kAcosh: return acosh(x[0]);
    case ScalarOp::kAtanh: return atanh(x[0]);
    case ScalarOp::kLogistic: return R(1) / (R(1) + exp(R(-x[0])));
    case ScalarOp::kErf: return erf(x[0]);
    case ScalarOp::kFloor: return floor(x[0]);
    case ScalarOp::kCeil: return ceil(x[0]);
    case ScalarOp::kTrunc: return trunc(x[0]);
    case ScalarOp::kRoundEven: return round_even(x[0]);
    case ScalarOp::kRoundAway: return round_away(x[0]);
    case ScalarOp::kConvert: return x[0];
    case ScalarOp::kAdd: return x[0] + x[1];
    case ScalarOp::kSub: return x[0] - x[1];
    case ScalarOp::kMul: return x[0] * x[1];
    case ScalarOp::kDiv: return x[0] / x[1];
    case ScalarOp::kRem: return fmod(x[0], x[1]);
    case ScalarOp::kMod: return floored_mod(x[0], x[1]);
    case ScalarOp::kPow: return pow(x[0], x[1]);
    case ScalarOp::kMax: return larger(x[0], x[1]);
    case ScalarOp::kMin: return smaller(x[0], x[1]);
    case ScalarOp::kAtan2: return atan2(x[0], x[1]);
    case ScalarOp::kClamp: return smaller(larger(x[1], x[0]), x[2]);
    case ScalarOp::kFma: return R(x[0] * x[1]) + x[2];
    case ScalarOp::kNot:
    case ScalarOp::kPopcount:
    case ScalarOp::kClz:
    case ScalarOp::kIsFinite:
    case ScalarOp::kIsNan:
    case ScalarOp::kIsInf:
    case ScalarOp::kBitcast:
    case ScalarOp::kAnd:
    case ScalarOp::kOr:
    case ScalarOp::kXor:
    case ScalarOp::kShl:
    case ScalarOp::kShrArithmetic:
    case ScalarOp::kShrLogical:
    case ScalarOp::kEq:
    case ScalarOp::kNe:
    case ScalarOp::kLt:
    case ScalarOp::kLe:
    case ScalarOp::kGt:
    case ScalarOp::kGe:
    case ScalarOp::kSelect: break;
  }
  FW_CHECK(false) << ops::name(op) << " gives no float";
  return x[0];
}
template double wide_op(ScalarOp, const double*);
template Quad wide_op(ScalarOp, const Quad*);

bool has_meaning(ScalarOp op, DType dtype) {
  if (ops::is_float(dtype)) return !kBitwise.has(op);
  const bool whole = ops::is_integer(dtype) || dtype == DType::kPred;
  const bool power = op == ScalarOp::kPow;  // the one of them that integers have too
  return whole && op != ScalarOp::kSqrt && op != ScalarOp::kBitcast && (power || !kTranscendental.has(op));
}

double float_op(ScalarOp op, DType dtype, const double* x) {
  if (dtype == DType::kF64 && (kTranscendental.has(op) || op == ScalarOp::kFma)) {
    const Quad wide[3] = {Quad(x[0]), Quad(ops::arity(op) > 1 ? x[1] : 0.0), Quad(ops::arity(op) > 2 ? x[2] : 0.0)};
    return static_cast<double>(wide_op<Quad>(op, wide));
  }
  return wide_op<double>(op, x);
}

std::int64_t float_test(ScalarOp op, const double* x) {
  if (op == ScalarOp::kIsFinite) return std::isfinite(x[0]) ? 1 : 0;
  if (op == ScalarOp::kIsNan) return std::isnan(x[0]) ? 1 : 0;
  if (op == ScalarOp::kIsInf) return std::isinf(x[0]) ? 1 : 0;
  if (op == ScalarOp::kEq) return x[0] == x[1] ? 1 : 0;
  if (op == ScalarOp::kNe) return x[0] != x[1] ? 1 : 0;
  if (op == ScalarOp::kLt) return x[0] < x[1] ? 1 : 0;
  if (op == ScalarOp::kLe) return x[0] <= x[1] ? 1 : 0;
  if (op == ScalarOp::kGt) return x[0] > x[1] ? 1 : 0;
  FW_CHECK(op == ScalarOp::kGe) << ops::name(op) << " is no test of floats";
  return x[0] >= x[1] ? 1 : 0;
}

std::int64_t int_op(ScalarOp op, DType dtype, const std::int64_t* x) {
  const auto ua = static_cast<std::uint64_t>(x[0]);
  const auto ub = ops::arity(op) > 1 ? static_cast<std::uint64_t>(x[1]) : 0;
  const auto result = [dtype](std::uint64_t bits) { return wrap(dtype, static_cast<std::int64_t>(bits)); };
  switch (op) {
    case ScalarOp::kCopy:
    case ScalarOp::kConvert:
    case ScalarOp::kFloor:
    case ScalarOp::kCeil:
    case ScalarOp::kTrunc:
    case ScalarOp::kRoundEven:
    case ScalarOp::kRoundAway: return x[0];
    case ScalarOp::kAbs: return ops::is_signed_integer(dtype) && x[0] < 0 ? result(0 - ua) : x[0];
    case ScalarOp::kNeg: return result(0 - ua);
    case ScalarOp::kSign: return ops::is_signed_integer(dtype) && x[0] < 0 ? -1 : x[0] != 0 ? 1 : 0;
    case ScalarOp::kNot: return dtype == DType::kPred ? 1 - x[0] : result(~ua);
    case ScalarOp::kPopcount: return std::popcount(bits_of(dtype, x[0]));
    case ScalarOp::kClz: return std::countl_zero(bits_of(dtype, x[0])) - (64 - ops::bit_width(dtype));
    case ScalarOp::kIsFinite: return 1;
    case ScalarOp::kIsNan:
    case ScalarOp::kIsInf: return 0;
    case ScalarOp::kAdd: return result(ua + ub);
    case ScalarOp::kSub: return result(ua - ub);
    case ScalarOp::kMul: return result(ua * ub);
    case ScalarOp::kDiv: return wrap(dtype, divide(dtype, x[0], x[1]));
    case ScalarOp::kRem: return wrap(dtype, remainder(dtype, x[0], x[1]));
    case ScalarOp::kMod: {
      const std::int64_t rest = remainder(dtype, x[0], x[1]);
      const bool other_sign = ops::is_signed_integer(dtype) && rest != 0 && x[1] != 0 && (rest < 0) != (x[1] < 0);
      return wrap(dtype, other_sign ? rest + x[1] : rest);
    }
    case ScalarOp::kPow: return wrap(dtype, int_pow(dtype, x[0], x[1]));
    case ScalarOp::kMax: return less(dtype, x[0], x[1]) ? x[1] : x[0];
    case ScalarOp::kMin: return less(dtype, x[1], x[0]) ? x[1] : x[0];
    case ScalarOp::kAnd: return x[0] & x[1];
    case ScalarOp::kOr: return x[0] | x[1];
    case ScalarOp::kXor: return result(ua ^ ub);
    case ScalarOp::kShl:
    case ScalarOp::kShrArithmetic:
    case ScalarOp::kShrLogical: return wrap(dtype, shift(op, dtype, x[0], x[1]));
    case ScalarOp::kEq: return x[0] == x[1] ? 1 : 0;
    case ScalarOp::kNe: return x[0] != x[1] ? 1 : 0;
    case ScalarOp::kLt: return less(dtype, x[0], x[1]) ? 1 : 0;
    case ScalarOp::kLe: return less(dtype, x[1], x[0]) ? 0 : 1;
    case ScalarOp::kGt: return less(dtype, x[1], x[0]) ? 1 : 0;
    case ScalarOp::kGe: return less(dtype, x[0], x[1]) ? 0 : 1;
    case ScalarOp::kClamp: {
      const std::int64_t raised = less(dtype, x[1], x[0]) ? x[0] : x[1];
      return less(dtype, x[2], raised) ? x[2] : raised;
    }
    case ScalarOp::kFma: return result(ua * ub + static_cast<std::uint64_t>(x[2]));
    case ScalarOp::kExp:
    case ScalarOp::kExpm1:
    case ScalarOp::kLog:
    case ScalarOp::kLog1p:
    case ScalarOp::kSqrt:
    case ScalarOp::kRsqrt:
    case ScalarOp::kCbrt:
    case ScalarOp::kSin:
    case ScalarOp::kCos:
    case ScalarOp::kTan:
    case ScalarOp::kAsin:
    case ScalarOp::kAcos:
    case ScalarOp::kAtan:
    case ScalarOp::kSinh:
    case ScalarOp::kCosh:
    case ScalarOp::kTanh:
    case ScalarOp::kAsinh:
    case ScalarOp::kAcosh:
    case ScalarOp::kAtanh:
    case ScalarOp::kLogistic:
    case ScalarOp::kErf:
    case ScalarOp::kAtan2:
    case ScalarOp::kBitcast:
    case ScalarOp::kSelect: break;
  }
  FW_CHECK(false) << ops::name(op) << " of integers";
  return 0;
}

Scalar convert(DType from, DType to, Scalar value) {
  if (ops::is_float(from)) {
    if (ops::is_float(to)) return {round_element(to, value.f), 0};
    if (to == DType::kPred) return {0, value.f != 0 ? 1 : 0};
    return {0, saturate(to, value.f)};
  }
  if (!ops::is_float(to)) return {0, wrap(to, value.i)};
  if (to == DType::kF64)
    return {
        from == DType::kU64 ? static_cast<double>(static_cast<std::uint64_t>(value.i)) : static_cast<double>(value.i),
        0};
  return {round_element(to, to_sticky_double(value.i, from == DType::kU64)), 0};
}

Scalar scalar_op(ScalarOp op, DType from, DType to, const Scalar* x) {
  if (op == ScalarOp::kSelect) return x[0].i != 0 ? x[1] : x[2];
  if (op == ScalarOp::kConvert) return convert(from, to, x[0]);
  const int count = ops::arity(op);
  if (!ops::is_float(from)) {
    std::int64_t ints[3] = {};
    for (int k = 0; k < count; ++k) ints[k] = x[k].i;
    return {0, int_op(op, from, ints)};
  }
  double floats[3] = {};
  for (int k = 0; k < count; ++k) floats[k] = x[k].f;
  if (!ops::is_float(to)) return {0, float_test(op, floats)};
  return {round_element(to, float_op(op, to, floats)), 0};
}

}  // namespace fusewright::interpret
