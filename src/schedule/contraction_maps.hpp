#pragma once

#include <cstdint>
#include <vector>

#include "fusewright/schedule/contraction.hpp"

namespace fusewright::schedule {

/// All axes at 0.
region::IndexMap map_over(std::vector<std::int64_t> domain, std::size_t rank);
/// A linear number of some axes (in order, row-major), taken apart into a position on each.
void spread(region::IndexMap& map, const region::IndexExpr& number, const std::vector<std::int64_t>& axes,
            const std::vector<std::int64_t>& dims);
std::int64_t product(const std::vector<std::int64_t>& axes, const std::vector<std::int64_t>& dims);

/// The convolution that makes this value. Outputs are not filled in.
Contraction of_conv(const Region& region, region::ValueId id, Target::Family family);

/// Pieces of the result's positions that fit half of the second-level cache with what they read, and are enough tasks.
void cut_positions(CpuTiles& tiles, const Contraction& c, std::int64_t element_bytes, const Target& target);

}  // namespace fusewright::schedule
