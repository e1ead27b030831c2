#pragma once

#include <cstdint>
#include <span>

#include "fusewright/ops/type.hpp"

namespace fusewright::egraph {

/// What ops::align_to makes of a value, read backwards.

/// A broadcast with these `dims` to a shape of this rank aligns its operand at the last axis.
bool is_trailing(std::span<const std::int64_t> dims, std::size_t rank);

/// A reshape of `source` followed by a broadcast with these `dims` to `shape` is the canonical broadcast of `source`:
/// it drops exactly the unit axes that grow.
bool drops_growing_units(const ops::Shape& source, std::span<const std::int64_t> dims, const ops::Shape& shape);

/// Shapes that each align with `shape` broadcast together to exactly `shape`, not to a smaller one.
bool broadcast_together(std::span<const ops::Shape* const> shapes, const ops::Shape& shape);

}  // namespace fusewright::egraph
