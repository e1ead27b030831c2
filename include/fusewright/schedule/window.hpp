#pragma once

#include <cstdint>
#include <expected>
#include <vector>

#include "fusewright/region/access.hpp"
#include "fusewright/schedule/schedule.hpp"

namespace fusewright::schedule {

/// One reduce_window with what stands before and behind it, over (row, column, tap): columns are the last axis of its
/// result, or, where that is short, all of it.
struct WindowReduction {
  region::ValueId window;
  std::int64_t rows = 1, columns = 1, taps = 1;
  region::IndexMap operand_map;  ///< (row, column, tap) to an element of its operand; constraints mark the padding
  std::vector<region::AccessRoot> outputs;  ///< each at (row, column)
};

/// Errors: no such operator or several, an output of other extents, something that reads it elsewhere than at its own
/// element.
std::expected<WindowReduction, Refusal> analyse_window(const Region& region, std::int64_t lanes);

/// Along one axis: result position * stride + tap * dilation - padding, as a position of the operand before it was
/// spread out by `base_dilation`; adds to `map` the constraints under which there is an element.
region::IndexExpr window_position(region::IndexMap& map, const region::IndexExpr& at, const region::IndexExpr& tap,
                                  std::int64_t stride, std::int64_t dilation, std::int64_t low,
                                  std::int64_t base_dilation, std::int64_t extent);

}  // namespace fusewright::schedule
