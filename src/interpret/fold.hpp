#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "src/interpret/elements.hpp"

namespace fusewright::interpret {

/// The combiners that reductions, windows and cumulative operators share.
enum class Fold : std::uint8_t { kSum, kProd, kMax, kMin, kAnd, kOr };

/// By the end of an operator's name: reduce_sum, reduce_window_sum and cum_sum all fold by kSum.
Fold fold_of(std::string_view op);

/// Result of no terms at all: 0, 1, the lowest or highest value (a number where the format has no infinities), all
/// ones.
double float_identity(Fold fold, DType dtype);
std::int64_t int_identity(Fold fold, DType dtype);

/// All terms x[base + offset]: sums and products in double (of f64 in Quad), not rounded to the dtype; max and min give
/// NaN when there is one.
double fold_floats(Fold fold, DType dtype, const double* x, std::span<const std::int64_t> offsets);
std::int64_t fold_ints(Fold fold, DType dtype, const std::int64_t* x, std::span<const std::int64_t> offsets);

/// Where the terms of each result of a reduction lie: x[outer[result] + inner[term]].
struct ReductionLayout {
  std::vector<std::int64_t> outer;
  std::vector<std::int64_t> inner;
};
ReductionLayout reduction_layout(std::span<const std::int64_t> dims, std::span<const std::int64_t> axes);

}  // namespace fusewright::interpret
