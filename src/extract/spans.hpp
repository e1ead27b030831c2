#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "evaluate.hpp"

namespace fusewright::extract {

/// Places in the model of the first tensor that each kernel writes and of the last that it reads. Only kernels of
/// several parts write before what they read: what depends on what cannot be told from places alone where there are
/// such.
class Spans {
 public:
  explicit Spans(const Uses& uses) : uses_(uses) {}

  /// Notes what a kernel has become, by its number; one that is not alive counts no more.
  void note(std::uint32_t number, const Kernel& kernel) {
    if (number >= spans_.size()) spans_.resize(number + 1, kNone);
    Span& span = spans_[number];
    backward_.erase({span, number});
    span = kNone;
    if (!kernel.alive) return;
    for (const Value v : kernel.outputs) span.first = std::min(span.first, uses_.position(v.node));
    for (const Value v : kernel.inputs) span.second = std::max(span.second, uses_.position(v.node));
    if (span.first < span.second) backward_.emplace(span, number);
  }

  /// A tensor at this place or before depends on none behind the place that is returned.
  std::uint32_t reach(std::uint32_t place) const {
    for (const auto& [span, number] : backward_) {
      if (span.first > place) break;
      place = std::max(place, span.second);
    }
    return place;
  }

 private:
  using Span = std::pair<std::uint32_t, std::uint32_t>;
  static constexpr Span kNone{std::numeric_limits<std::uint32_t>::max(), 0};

  const Uses& uses_;
  std::vector<Span> spans_;
  std::set<std::pair<Span, std::uint32_t>> backward_;  // those that write before what they read
};

}  // namespace fusewright::extract
