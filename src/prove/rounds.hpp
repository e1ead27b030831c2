#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "src/prove/specials.hpp"

namespace fusewright::prove {

/// What values are made up for: entry parameters, then weights.
struct Leaves {
  std::vector<ops::Type> types;
  std::size_t parameters = 0;
  std::int64_t elements = 0;

  explicit Leaves(const graph::Graph& graph, const std::vector<ops::TensorHandle>& weights = {});
};

using Values = std::vector<ops::Tensor>;  ///< by leaf

Result<Values> random_values(const Leaves& leaves, std::uint64_t seed);

/// One round of values at a time: random ones, special ones in one operand; if `thorough` extremes, and where there are
/// at most three elements special ones in all.
class Rounds {
 public:
  Rounds(const Leaves& leaves, const rule::Exactness& exactness, const std::set<double>& magnitudes, bool thorough);
  /// nullopt behind the last.
  Result<std::optional<Values>> next();

 private:
  Result<std::optional<Values>> specials();
  Result<std::optional<Values>> extremes();
  Result<std::optional<Values>> combined();

  const Leaves& leaves_;
  bool thorough_;
  std::vector<std::vector<Special>> specials_, extremes_, combined_;  // by leaf
  std::vector<std::int64_t> finite_;                                  // by leaf: so many specials are numbers
  std::uint64_t random_ = 0;
  std::size_t leaf_ = 0, extreme_ = 0, combination_ = 0;
  std::int64_t offset_ = 0;
};

/// The same where each leaf has one element and the sides do the same to every element of any shape: all rounds side by
/// side, as elements of one tensor for each leaf. Besides, special values in every two and every three operands.
Result<Values> rounds_at_once(const Leaves& leaves, const rule::Exactness& exactness,
                              const std::set<double>& magnitudes);

}  // namespace fusewright::prove
