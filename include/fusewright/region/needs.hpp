#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "fusewright/ops/op_table.hpp"

namespace fusewright::region {

/// How much of an operand is read for a part of a result, by counts of elements alone.
struct Needs {
  std::int64_t each = 0;     ///< elements for each one of the result; 0: all, whatever is needed of the result
  bool elementwise = false;  ///< several such readers need the same elements

  /// Elements of an operand of `all` that are needed in the end where `so_far` were and `of_result` more are.
  std::int64_t add(std::int64_t all, std::int64_t so_far, std::int64_t of_result) const {
    const std::int64_t more = each == 0 ? all : std::min(all, of_result * each);
    // Several readers of parts may need different parts: their sum, and never more than the whole.
    return std::min(all, !elementwise && more < all ? so_far + more : std::max(so_far, more));
  }
};

/// Operators that pick elements need as many as they make, those that combine many need everything.
Needs needs_of(ops::OpClass op_class, std::string_view op, std::size_t operand, std::int64_t operand_elements,
               std::int64_t result_elements);

}  // namespace fusewright::region
