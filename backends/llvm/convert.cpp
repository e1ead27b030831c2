#include <llvm/IR/Intrinsics.h>

#include "backends/llvm/scalar.hpp"
#include "fusewright/ops/tensor.hpp"
#include "fusewright/support/check.hpp"

namespace fusewright::backend_llvm {

using ops::DType;

int lanes_of(llvm::Type* type) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  return vector != nullptr ? static_cast<int>(vector->getNumElements()) : 1;
}

llvm::Type* with_lanes(llvm::Type* element, int lanes) {
  return lanes == 1 ? element : llvm::FixedVectorType::get(element, static_cast<unsigned>(lanes));
}

llvm::Type* Scalars::memory_type(DType dtype) const {
  switch (dtype) {
    case DType::kF16: return builder_.getHalfTy();
    case DType::kF32: return builder_.getFloatTy();
    case DType::kF64: return builder_.getDoubleTy();
    default: return builder_.getIntNTy(static_cast<unsigned>(ops::bit_width(dtype)));  // bf16 and pred, too
  }
}

llvm::Type* Scalars::register_type(DType dtype) const {
  if (dtype == DType::kPred) return builder_.getInt1Ty();
  if (dtype == DType::kF16 || dtype == DType::kBF16) return builder_.getFloatTy();
  return memory_type(dtype);
}

Scalars::V Scalars::like(V value, double number) const { return llvm::ConstantFP::get(value->getType(), number); }

Scalars::V Scalars::like(V value, std::int64_t integer) const {
  return llvm::ConstantInt::get(value->getType(), static_cast<std::uint64_t>(integer), true, true);
}

Scalars::V Scalars::integer(DType dtype, std::int64_t value) const {
  return llvm::ConstantInt::get(register_type(dtype), static_cast<std::uint64_t>(value), true, true);
}

Scalars::V Scalars::number(DType dtype, double value) const {
  return llvm::ConstantFP::get(register_type(dtype), ops::round_to(dtype, value));
}

// Same lanes, the bits of a float as integers and back.
Scalars::V Scalars::bits_of(V value) {
  llvm::Type* type = value->getType();
  return builder_.CreateBitCast(value, with_lanes(builder_.getIntNTy(type->getScalarSizeInBits()), lanes_of(type)));
}

Scalars::V Scalars::float_of(V bits) {
  llvm::Type* type = bits->getType();
  llvm::Type* element = type->getScalarSizeInBits() == 64 ? builder_.getDoubleTy() : builder_.getFloatTy();
  return builder_.CreateBitCast(bits, with_lanes(element, lanes_of(type)));
}

Scalars::V Scalars::from_memory(DType dtype, V value) {
  const int lanes = lanes_of(value->getType());
  if (dtype == DType::kPred) return builder_.CreateICmpNE(value, like(value, std::int64_t{0}));
  if (dtype == DType::kF16) return builder_.CreateFPExt(value, with_lanes(builder_.getFloatTy(), lanes));
  if (dtype != DType::kBF16) return value;
  V wide = builder_.CreateZExt(value, with_lanes(builder_.getInt32Ty(), lanes));
  return float_of(builder_.CreateShl(wide, like(wide, std::int64_t{16})));
}

Scalars::V Scalars::to_memory(DType dtype, V value) {
  llvm::Type* type = with_lanes(memory_type(dtype), lanes_of(value->getType()));
  if (dtype == DType::kPred) return builder_.CreateZExt(value, type);
  if (dtype == DType::kF16) return builder_.CreateFPTrunc(value, type);
  if (dtype != DType::kBF16) return value;
  V bits = bits_of(value);
  return builder_.CreateTrunc(builder_.CreateLShr(bits, like(bits, std::int64_t{16})), type);
}

// To nearest even, by integer arithmetic: instructions for it flush subnormals on some machines.
Scalars::V Scalars::round_bf16(V value) {
  V bits = bits_of(value);
  V odd = builder_.CreateAnd(builder_.CreateLShr(bits, like(bits, std::int64_t{16})), like(bits, std::int64_t{1}));
  V rounded = builder_.CreateAdd(bits, builder_.CreateAdd(odd, like(bits, std::int64_t{0x7fff})));
  V quiet = builder_.CreateOr(bits, like(bits, std::int64_t{0x400000}));  // adding could carry a NaN into infinity
  V chosen = builder_.CreateSelect(builder_.CreateFCmpUNO(value, value), quiet, rounded);
  return float_of(builder_.CreateAnd(chosen, like(bits, std::int64_t{0xffff0000})));
}

Scalars::V Scalars::round(DType dtype, V value) {
  if (dtype == DType::kBF16) return round_bf16(value);
  if (dtype != DType::kF16) return value;
  llvm::Type* half = with_lanes(builder_.getHalfTy(), lanes_of(value->getType()));
  return builder_.CreateFPExt(builder_.CreateFPTrunc(value, half), value->getType());
}

// f64 to f32 rounded to odd: what is rounded once more, to f16 or bf16, is then as if rounded once.
Scalars::V Scalars::narrow_to_odd(V value) {
  V near = builder_.CreateFPTrunc(value, with_lanes(builder_.getFloatTy(), lanes_of(value->getType())));
  V back = builder_.CreateFPExt(near, value->getType());
  V above = builder_.CreateFCmpOGT(unary(llvm::Intrinsic::fabs, back), unary(llvm::Intrinsic::fabs, value));
  V inexact = builder_.CreateFCmpONE(back, value);
  V bits = bits_of(near);
  bits = builder_.CreateSub(bits, builder_.CreateZExt(above, bits->getType()));
  return float_of(builder_.CreateOr(bits, builder_.CreateZExt(inexact, bits->getType())));
}

// The same for 32- and 64-bit integers.
Scalars::V Scalars::integer_to_odd(DType from, V value) {
  llvm::Type* real = with_lanes(builder_.getFloatTy(), lanes_of(value->getType()));
  const bool is_signed = ops::is_signed_integer(from);
  V magnitude = is_signed ? builder_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, value, builder_.getFalse()) : value;
  V near = builder_.CreateUIToFP(magnitude, real);
  V back = builder_.CreateIntrinsic(llvm::Intrinsic::fptoui_sat, {value->getType(), real}, {near});
  V bits = bits_of(near);
  bits = builder_.CreateSub(bits, builder_.CreateZExt(builder_.CreateICmpUGT(back, magnitude), bits->getType()));
  bits = builder_.CreateOr(bits, builder_.CreateZExt(builder_.CreateICmpNE(back, magnitude), bits->getType()));
  V result = float_of(bits);
  if (!is_signed) return result;
  V negative = builder_.CreateICmpSLT(value, like(value, std::int64_t{0}));
  return builder_.CreateSelect(negative, builder_.CreateFNeg(result), result);
}

Scalars::V Scalars::to_float(DType from, DType to, V value) {
  const int lanes = lanes_of(value->getType());
  llvm::Type* type = with_lanes(register_type(to), lanes);
  if (ops::is_float(from)) {
    if (to == DType::kF64) return builder_.CreateFPExt(value, type);
    if (from != DType::kF64) return round(to, value);
    return to == DType::kF32 ? builder_.CreateFPTrunc(value, type) : round(to, narrow_to_odd(value));
  }
  const bool is_signed = ops::is_signed_integer(from);
  const bool wide = ops::bit_width(from) > 16;
  if (to == DType::kBF16 && wide) return round(to, integer_to_odd(from, value));
  if (to == DType::kF16 && wide) {  // from 65520 on all is infinity, and up to 2^17 all is exact in f32
    const auto min = is_signed ? llvm::Intrinsic::smin : llvm::Intrinsic::umin;
    value = builder_.CreateBinaryIntrinsic(min, value, like(value, std::int64_t{1 << 17}));
    if (is_signed)
      value = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, value, like(value, -std::int64_t{1 << 17}));
  }
  V real = is_signed ? builder_.CreateSIToFP(value, type) : builder_.CreateUIToFP(value, type);
  return round(to, real);
}

Scalars::V Scalars::convert(DType from, DType to, V value) {
  if (from == to) return value;
  const int lanes = lanes_of(value->getType());
  llvm::Type* type = with_lanes(register_type(to), lanes);
  if (ops::is_float(to)) return to_float(from, to, value);
  if (ops::is_float(from)) {
    if (to == DType::kPred) return builder_.CreateFCmpUNE(value, like(value, 0.0));
    const auto saturate = ops::is_signed_integer(to) ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
    return builder_.CreateIntrinsic(saturate, {type, value->getType()}, {value});
  }
  if (to == DType::kPred) return builder_.CreateICmpNE(value, like(value, std::int64_t{0}));
  return ops::is_signed_integer(from) ? builder_.CreateSExtOrTrunc(value, type)
                                      : builder_.CreateZExtOrTrunc(value, type);
}

Scalars::V Scalars::bitcast(DType from, DType to, V value) {
  V stored = to_memory(from, value);
  return from_memory(to, builder_.CreateBitCast(stored, with_lanes(memory_type(to), lanes_of(value->getType()))));
}

}  // namespace fusewright::backend_llvm
