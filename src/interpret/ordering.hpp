#pragma once

#include <functional>

#include "src/interpret/elements.hpp"

namespace fusewright::interpret {

/// Order of keys: below zero when `a` comes before `b` in ascending order, zero when they are equal. NaN equals NaN and
/// comes after every number; the zeros are equal.
int compare_keys(DType dtype, Scalar a, Scalar b);

/// Stable order of 0..count by `before`. Merges bottom-up: a comparator that contradicts itself gives some order, never
/// a crash.
std::vector<std::int64_t> stable_order(std::int64_t count,
                                       const std::function<bool(std::int64_t, std::int64_t)>& before);

/// Stable order of the keys, ascending or descending.
std::vector<std::int64_t> key_order(DType dtype, std::span<const Scalar> keys, bool descending);

}  // namespace fusewright::interpret
