#pragma once

#include "fusewright/kernel/builder.hpp"
#include "fusewright/region/region.hpp"

namespace fusewright::kernel {

/// How one reduction combines two partial results. An arg_max or arg_min carries a second number: where the value
/// stood.
struct Reducer {
  region::ValueId id;
  ScalarOp op = ScalarOp::kAdd;
  DType value = DType::kF32;  ///< dtype of partial values: f32 for the narrower floats
  bool with_position = false;
  bool greatest = true;  ///< of arg_max
  bool last = false;     ///< of equal values the last one wins

  static Reducer of(const region::Region& region, region::ValueId id);

  struct Partial {
    ExprId value;
    ExprId position;  ///< s64; only with_position
  };
  Partial identity(KernelBuilder& b) const;
  Partial combine(KernelBuilder& b, const Partial& x, const Partial& y) const;
  /// The reduction's own result from the last partial one.
  ExprId result(KernelBuilder& b, const region::Region& region, const Partial& x) const;
};

}  // namespace fusewright::kernel
