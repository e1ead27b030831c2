#include "src/interpret/parallel.hpp"

#include <tbb/parallel_for.h>

#include <algorithm>

namespace fusewright::interpret {

void parallel_for(std::int64_t count, std::int64_t grain, const std::function<void(std::int64_t, std::int64_t)>& body) {
  const std::int64_t pieces = (count + grain - 1) / grain;
  if (pieces <= 1) {
    if (count > 0) body(0, count);
    return;
  }
  tbb::parallel_for(std::int64_t{0}, pieces,
                    [&](std::int64_t piece) { body(piece * grain, std::min(count, (piece + 1) * grain)); });
}

std::int64_t grain_for(std::int64_t work) {
  constexpr std::int64_t kPiece = 1 << 15;  // about 20 microseconds
  return std::max<std::int64_t>(1, kPiece / std::max<std::int64_t>(1, work));
}

}  // namespace fusewright::interpret
