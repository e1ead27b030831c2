#pragma once

#include <string_view>

#include "fusewright/ops/op_table.hpp"

namespace fusewright::ops {

/// Whether the order of this attribute's axes means nothing: those of reductions and of `reverse`. Such axes are kept
/// in increasing order, so that equal operators are equal, and patterns may write them in any.
inline bool axes_are_a_set(const OpInfo& op, std::string_view attr) {
  return attr == "axes" && (op.op_class == OpClass::kReduction || op.name == "reverse");
}

}  // namespace fusewright::ops
