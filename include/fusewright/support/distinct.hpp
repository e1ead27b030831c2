#pragma once

#include <algorithm>
#include <vector>

namespace fusewright {

/// Puts values in order and keeps one of those that are equal.
template <class T>
void sort_distinct(std::vector<T>& values) {
  std::ranges::sort(values);
  const auto equal = std::ranges::unique(values);
  values.erase(equal.begin(), equal.end());
}

}  // namespace fusewright
