#pragma once

#include <cstdint>
#include <functional>

namespace fusewright::interpret {

/// Calls `body(begin, end)` on pieces of [0, count) of at most `grain`, on all cores. Pieces start at multiples of
/// `grain` whatever the number of threads, and each result element belongs to one piece, so results never depend on it.
void parallel_for(std::int64_t count, std::int64_t grain, const std::function<void(std::int64_t, std::int64_t)>& body);

/// A grain for items that take about `work` simple operations each.
std::int64_t grain_for(std::int64_t work);

}  // namespace fusewright::interpret
