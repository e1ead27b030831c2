#pragma once

#include <span>
#include <vector>

#include "fusewright/ops/expr.hpp"

namespace fusewright::ops {

/// Types of a composite's results: its body elaborated on types alone.
Result<std::vector<Type>> infer_composite(const OpTable& table, OpId op, std::span<const Type> operands, const Attrs& attrs);

}  // namespace fusewright::ops
