#pragma once

#include <cstdint>
#include <expected>
#include <vector>

#include "fusewright/region/access.hpp"
#include "fusewright/schedule/schedule.hpp"

namespace fusewright::schedule {

/// One operator that treats each line along an axis by itself: sort, top_k, or a cumulative sum, product, maximum,
/// minimum.
struct Lines {
  region::ValueId op;                 ///< its first result in the region
  std::int64_t outer = 1, inner = 1;  ///< extents before and behind the axis
  std::int64_t length = 1;            ///< of the axis in the operands
  std::int64_t result_length = 1;     ///< of the axis in the results
  bool scan = false;                  ///< cumulative; else it orders
};

/// Errors: no such operator or several, outputs that are not its results.
std::expected<Lines, Refusal> analyse_lines(const Region& region);

/// From (outer, inner, position on the axis) to an element of a tensor.
region::IndexMap line_map(const Region& region, const Lines& lines, region::ValueId value);

}  // namespace fusewright::schedule
