#pragma once

#include <cstdint>
#include <vector>

#include "fusewright/schedule/schedule.hpp"

namespace fusewright::schedule {

/// A piece of a region that no edge joins to the rest, as a region of its own.
struct Part {
  Region region;
  std::vector<std::uint32_t> captures;  ///< of the whole region, by the part's own
  std::vector<std::size_t> outputs;     ///< positions in the whole region's outputs
};

/// The independent parts, in order of their first value. Captures and scalars may be shared.
std::vector<Part> independent_parts(const Region& region);

/// How one part is computed inside a horizontal kernel: its cheapest template.
std::expected<Schedule, Refusal> fit_part(const Region& part, const Target& target);

}  // namespace fusewright::schedule
