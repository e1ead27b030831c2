#pragma once

#include <cstdint>
#include <expected>
#include <vector>

#include "fusewright/region/access.hpp"
#include "fusewright/schedule/schedule.hpp"

namespace fusewright::schedule {

/// A dot or a convolution as a batch of matrix products: result(b, m, n) = sum over k of left(b, m, k) * right(b, k,
/// n), where n is the extent along which the result is contiguous. Convolutions read their input through a map with
/// constraints (padding).
struct Contraction {
  region::ValueId result;
  region::ValueId left, right;  ///< operands of the operator; for NCHW convolutions left is the weights
  std::int64_t batch = 1, m = 1, n = 1, k = 1;
  region::IndexMap left_map;                ///< (b, m, k) to an element of `left`
  region::IndexMap right_map;               ///< (b, k, n) to an element of `right`
  region::IndexMap result_map;              ///< (b, m, n) to an element of `result`
  std::vector<region::AccessRoot> outputs;  ///< each output at (b, m, n)
};

/// Errors: no such operator or several, or something in the region that cannot be computed with it.
std::expected<Contraction, Refusal> analyse_contraction(const Region& region);

}  // namespace fusewright::schedule
