#pragma once

#include <cstdint>
#include <string_view>

#include "fusewright/ops/dtype.hpp"

namespace fusewright::ops {

/// The scalar operations that kernels compute with. Elementwise rows of the op table name one;
/// the reference evaluator and the lowering to LLVM both give it its meaning.
enum class ScalarOp : std::uint8_t {
  // one operand
  kCopy,
  kAbs,
  kNeg,
  kSign,
  kExp,
  kExpm1,
  kLog,
  kLog1p,
  kSqrt,
  kRsqrt,
  kCbrt,
  kSin,
  kCos,
  kTan,
  kAsin,
  kAcos,
  kAtan,
  kSinh,
  kCosh,
  kTanh,
  kAsinh,
  kAcosh,
  kAtanh,
  kLogistic,
  kErf,
  kFloor,
  kCeil,
  kTrunc,
  kRoundEven,
  kRoundAway,
  kNot,
  kPopcount,
  kClz,
  kIsFinite,
  kIsNan,
  kIsInf,
  kConvert,  ///< to the result's dtype: to float rounds to nearest even, float to integer truncates and saturates, NaN
             ///< to 0
  kBitcast,  ///< same bits, same width
  // two operands
  kAdd,
  kSub,
  kMul,
  kDiv,  ///< integers truncate; x / 0 is -1 (all ones), INT_MIN / -1 is INT_MIN
  kRem,  ///< sign of the dividend; x % 0 is x
  kMod,  ///< sign of the divisor (floored)
  kPow,
  kMax,
  kMin,  ///< max and min give NaN when either operand is NaN
  kAtan2,
  kAnd,
  kOr,
  kXor,
  kShl,
  kShrArithmetic,
  kShrLogical,  ///< a shift by the width or more gives 0 (arithmetic: all sign bits)
  kEq,
  kNe,
  kLt,
  kLe,
  kGt,
  kGe,  ///< result pred; NaN is unequal to everything
  // three operands
  kSelect,  ///< select(pred, on_true, on_false)
  kClamp,   ///< clamp(low, x, high) = min(max(x, low), high)
  kFma,     ///< a * b + c rounded once; made only where contraction is allowed
};

int arity(ScalarOp op);
std::string_view name(ScalarOp op);
bool is_comparison(ScalarOp op);

/// Cost in simple-operation units on f32 (add = 1, div about 4, exp about 12): for flop counts and the cost model.
double work(ScalarOp op, DType dtype);
/// True for operations costly enough that recomputing them is worth weighing (div, sqrt, transcendental functions).
bool is_expensive(ScalarOp op);

}  // namespace fusewright::ops
