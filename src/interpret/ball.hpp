#pragma once

#include "fusewright/interpret/error_model.hpp"
#include "src/interpret/scalar.hpp"

// Arithmetic on (center, radius) pairs: the oracle's element, and how far from it a right kernel's may lie.
namespace fusewright::interpret {

struct Ball {
  Scalar value;
  double radius = 0;  ///< infinite: anything is right
};

/// Unit roundoff: half the distance from 1 to the next larger value.
double unit_roundoff(DType dtype);
/// Smallest positive value, subnormal.
double smallest(DType dtype);
/// The dtype that kernels sum in: f32 for the halves and narrower, else the dtype itself.
DType accumulator(DType dtype);

/// An element as a number, whatever its dtype.
double number_of(DType dtype, Scalar value);

/// An operation but bitcast on operands of dtype `from` (of select: the values'), with a result of dtype `to`.
Ball ball_op(ScalarOp op, DType from, DType to, const Ball* x, const BoundOptions& options);

/// A float result that is `wide` before the rounding to `dtype`, and in a kernel at most `error` away from it there.
/// The radius follows from where that may round to; `keeps_precision`: or stays without rounding. What may overflow or
/// not has an infinite radius.
Ball finish_float(DType dtype, double wide, double error, bool keeps_precision);

/// What is known about a sum of products (or of plain terms) while it is formed.
struct SumStats {
  double sum = 0;        ///< exact enough to stand for the true value
  double magnitude = 0;  ///< sum of |term|
  double squares = 0;    ///< sum of term^2
  double largest_partial = 0;
  double naive = 0;        ///< the same sum, one after the other, in the accumulator's dtype
  double input_error = 0;  ///< from the radii of the terms
  std::int64_t terms = 0;
  double factor_roundoff = 0;  ///< where the terms are products: unit roundoff of the factors' dtype
  bool nan = false;            ///< some term is NaN, and nothing else

  void add(double term, double radius, bool in_f32) {
    sum += term;
    const double size = term < 0 ? -term : term;
    magnitude += size;
    squares += term * term;
    const double partial = sum < 0 ? -sum : sum;
    if (partial > largest_partial) largest_partial = partial;
    naive = in_f32 ? static_cast<double>(static_cast<float>(naive) + static_cast<float>(term)) : naive + term;
    input_error += radius;
    nan = nan || (term != term && radius == 0);
    ++terms;
  }
};
/// The sum as a kernel may form it, in any order, in the accumulator of `dtype` (see evaluate_with_bounds), then
/// rounded.
Ball finish_sum(DType dtype, const SumStats& stats, const BoundOptions& options);

}  // namespace fusewright::interpret
