#pragma once

#include <vector>

#include "fusewright/ops/op_table.hpp"

namespace fusewright::ops {

/// The rows of the built-in operators, in the order of docs/OPERATORS.md.
std::vector<OpInfo> builtin_ops();

}  // namespace fusewright::ops
