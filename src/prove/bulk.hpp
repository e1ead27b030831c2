#pragma once

#include <cstdint>

#include "src/prove/rounds.hpp"

namespace fusewright::prove {

/// A term of which many random values are to be tried: both sides, composite operators by their bodies, weights as
/// parameters behind its own.
struct Form {
  graph::Graph left, right;
  std::size_t parameters = 0;  ///< of its own
  bool pointwise = false;      ///< computes each element by itself: one of each leaf is tried

  Leaves leaves() const;
  /// Elements that are computed for one row of values, about.
  std::uint64_t work() const;
};

/// What is like another form but for its extents and numbers, and of small operands their size: of these one is tried.
std::string kind_of(const Form& form);

/// Random values for so many evaluations side by side, along a new first axis of every leaf. For bit-exact rules whole
/// bit patterns, numbers of few bits at any exponent (sums and products of which lie halfway between two others), whole
/// and moderate ones, neighbours of one another, and now and then a special value; all that there are where leaves of
/// one element have no more bits than numbers there are rows. Else moderate numbers: no product of a few leaves the
/// format.
Result<Values> bulk_values(const Leaves& leaves, std::int64_t rows, const rule::Exactness& exactness);

}  // namespace fusewright::prove
