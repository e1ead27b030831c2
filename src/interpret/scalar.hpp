#pragma once

#include <boost/multiprecision/float128.hpp>

#include <initializer_list>

#include "fusewright/ops/scalar.hpp"
#include "src/interpret/elements.hpp"

// The meaning of each scalar operation (see ops/scalar.hpp for the edge rules).
namespace fusewright::interpret {

using ops::ScalarOp;
/// 113 significant bits: what f64 is computed in where doubles would not round as if from the exact result.
using Quad = boost::multiprecision::float128;

/// A set of scalar operations.
class OpSet {
 public:
  constexpr OpSet(std::initializer_list<ScalarOp> ops) {  // NOLINT: a list is a set
    for (const ScalarOp op : ops) bits_ |= std::uint64_t{1} << static_cast<int>(op);
  }
  constexpr bool has(ScalarOp op) const { return (bits_ >> static_cast<int>(op) & 1) != 0; }

 private:
  static_assert(static_cast<int>(ScalarOp::kFma) < 64);
  std::uint64_t bits_ = 0;
};

/// A float operation on floats, not rounded to any dtype. R is double or Quad.
template <class R>
R wide_op(ScalarOp op, const R* x);

/// Operations whose double result may be off by more than the final rounding: they are computed in Quad for f64.
inline constexpr OpSet kTranscendental = {
    ScalarOp::kExp,  ScalarOp::kExpm1, ScalarOp::kLog,   ScalarOp::kLog1p,   ScalarOp::kRsqrt, ScalarOp::kCbrt,
    ScalarOp::kSin,  ScalarOp::kCos,   ScalarOp::kTan,   ScalarOp::kAsin,    ScalarOp::kAcos,  ScalarOp::kAtan,
    ScalarOp::kSinh, ScalarOp::kCosh,  ScalarOp::kTanh,  ScalarOp::kAsinh,   ScalarOp::kAcosh, ScalarOp::kAtanh,
    ScalarOp::kErf,  ScalarOp::kPow,   ScalarOp::kAtan2, ScalarOp::kLogistic};
/// Operations on bits, for integers and pred only; the others may have float operands.
inline constexpr OpSet kBitwise = {ScalarOp::kNot,           ScalarOp::kPopcount,  ScalarOp::kClz, ScalarOp::kBitcast,
                                   ScalarOp::kAnd,           ScalarOp::kOr,        ScalarOp::kXor, ScalarOp::kShl,
                                   ScalarOp::kShrArithmetic, ScalarOp::kShrLogical};

/// True where the operation has a meaning for operands of this dtype, complex ones excepted.
bool has_meaning(ScalarOp op, DType dtype);

/// A float operation on values of `dtype`, correct to less than an ulp of f64 before the rounding to `dtype`, which is
/// the caller's.
double float_op(ScalarOp op, DType dtype, const double* x);
/// Comparisons and predicates of floats; 0 or 1.
std::int64_t float_test(ScalarOp op, const double* x);
/// Integer and pred operations, comparisons included. `dtype` is the operands'.
std::int64_t int_op(ScalarOp op, DType dtype, const std::int64_t* x);

/// `convert`: floats round once, floats to integers truncate and saturate, NaN becomes 0, integers wrap, pred is x !=
/// 0.
Scalar convert(DType from, DType to, Scalar value);

/// Any operation but bitcast on operands of dtype `from` (of select: the values' dtype), with the result rounded to
/// `to`.
Scalar scalar_op(ScalarOp op, DType from, DType to, const Scalar* x);

}  // namespace fusewright::interpret
