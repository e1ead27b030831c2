#pragma once

#include <llvm/IR/IRBuilder.h>

#include <string>
#include <vector>

#include "backends/llvm/target.hpp"

namespace fusewright::backend_llvm {

/// Writes scalar operations as LLVM IR, with the semantics of ops/scalar.hpp. Everything works alike on scalars and on
/// vectors with one element for each lane.
///
/// In registers pred is i1, and f16 and bf16 are f32 values that those formats can hold, so that chains of
/// operations convert only at loads and stores. In memory pred is i8, f16 is half and bf16 is i16.
class Scalars {
 public:
  using V = llvm::Value*;
  using DType = ops::DType;
  using ScalarOp = ops::ScalarOp;

  Scalars(llvm::Module& module, llvm::IRBuilder<>& builder, const Target& target)
      : module_(module), builder_(builder), target_(target) {}

  llvm::Type* memory_type(DType dtype) const;    ///< of one element
  llvm::Type* register_type(DType dtype) const;  ///< of one element
  V from_memory(DType dtype, V value);
  V to_memory(DType dtype, V value);

  V integer(DType dtype, std::int64_t value) const;
  V number(DType dtype, double value) const;

  /// `op` on operands of dtype `from` (of select: the values' dtype), with a result of dtype `to`.
  V op(ScalarOp op, DType from, DType to, const std::vector<V>& args);
  V convert(DType from, DType to, V value);

 private:
  V round(DType dtype, V value);
  V round_bf16(V value);
  V to_float(DType from, DType to, V value);
  V narrow_to_odd(V value);
  V integer_to_odd(DType from, V value);
  V bitcast(DType from, DType to, V value);

  V float_op(ScalarOp op, const std::vector<V>& args);
  V float_test(ScalarOp op, const std::vector<V>& args);
  V float_mod(V a, V b);
  V larger(V a, V b);
  V smaller(V a, V b);
  V int_op(ScalarOp op, DType dtype, const std::vector<V>& args);
  V int_test(ScalarOp op, DType dtype, V a, V b);
  V pred_op(ScalarOp op, const std::vector<V>& args);
  V divide(ScalarOp op, DType dtype, V a, V b);
  V shift(ScalarOp op, DType dtype, V value, V by);
  V int_pow(DType dtype, V base, V exponent);

  /// The math function on every lane, in pieces of the widths there are.
  V math(const char* function, const std::vector<V>& args);
  V math_call(const char* function, const std::vector<V>& args);
  V by_lane(const std::vector<V>& args, llvm::Type* element, const std::function<V(const std::vector<V>&)>& one);

  V like(V value, double number) const;
  V like(V value, std::int64_t integer) const;
  V unary(unsigned intrinsic, V value);
  V bits_of(V value);
  V float_of(V bits);

  llvm::Module& module_;
  llvm::IRBuilder<>& builder_;
  const Target& target_;
};

/// Lanes of a vector type, 1 of a scalar.
int lanes_of(llvm::Type* type);
/// `element`, or a vector of that many.
llvm::Type* with_lanes(llvm::Type* element, int lanes);

}  // namespace fusewright::backend_llvm
