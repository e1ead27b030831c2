#pragma once

#include <boost/multiprecision/float128.hpp>

#include "fusewright/ops/scalar.hpp"
#include "src/interpret/elements.hpp"

// The meaning of each scalar operation (see ops/scalar.hpp for the edge rules).
namespace fusewright::interpret {

using ops::ScalarOp;
/// 113 significant bits: what f64 is computed in where doubles would not round as if from the exact result.
using Quad = boost::multiprecision::float128;

/// A float operation on floats, not rounded to any dtype. R is double or Quad.
template <class R>
R wide_op(ScalarOp op, const R* x);

/// Operations whose double result may be off by more than the final rounding: they are computed in Quad for f64.
bool is_transcendental(ScalarOp op);

/// A float operation on values of `dtype`, correct to less than an ulp of f64 before the rounding to `dtype`, which is the caller's.
double float_op(ScalarOp op, DType dtype, const double* x);
/// Comparisons and predicates of floats; 0 or 1.
std::int64_t float_test(ScalarOp op, const double* x);
/// Integer and pred operations, comparisons included. `dtype` is the operands'.
std::int64_t int_op(ScalarOp op, DType dtype, const std::int64_t* x);

/// `convert`: floats round once, floats to integers truncate and saturate, NaN becomes 0, integers wrap, pred is x != 0.
Scalar convert(DType from, DType to, Scalar value);

/// True when float operations may have this name; the others (not, popcount, shifts, ...) are for integers and pred.
bool is_float_op(ScalarOp op);
bool is_int_op(ScalarOp op);

/// Any operation but bitcast on operands of dtype `from` (of select: the values' dtype), with the result rounded to `to`.
Scalar scalar_op(ScalarOp op, DType from, DType to, const Scalar* x);

}  // namespace fusewright::interpret
