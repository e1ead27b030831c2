#pragma once

#include "fusewright/schedule/fits.hpp"

namespace fusewright::schedule {

inline std::unexpected<Refusal> refuse(std::string reason) { return std::unexpected(Refusal{std::move(reason)}); }

// One function for each template; the table in schedule.cpp names them.
Fit fit_loop(const Region& region, const Target& target);
Fit fit_reduce(Fits& fits);
Fit fit_row(Fits& fits);
Fit fit_contract(const Region& region, const Target& target);
Fit fit_window(const Region& region, const Target& target);
Fit fit_sort(const Region& region, const Target& target);
Fit fit_scatter(const Region& region, const Target& target);
Fit fit_horizontal(Fits& fits);
Fit fit_move(const Region& region, const Target& target);
Fit fit_conv(const Region& region, const Target& target);

/// Whether one element of the value comes from one element of each operand, by index maps.
bool pointwise(const region::RegionValue& value);

/// Greatest number of scalar temporaries alive at once when the values that `body` says are in the innermost body are
/// computed in their order, each once.
std::int64_t live_values(const Region& region);

/// Lanes of a vector that holds the widest dtype the region computes with.
std::int64_t vector_lanes(const Region& region, const Target& target);

/// Elements that one GPU thread moves at once: 16 bytes of the narrowest dtype read or written, at least 1.
std::int64_t thread_elements(const Region& region);

}  // namespace fusewright::schedule
