#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fusewright/prove/space.hpp"

namespace fusewright::prove {

/// One space for results of one rank. `shapes` is empty for all shapes of the rank over the extents.
struct Tier {
  std::vector<std::int64_t> extents;
  std::vector<ops::DType> dtypes;
  std::vector<ops::Shape> shapes = {};
  bool repeats = true, narrow = false, plain = false, repeats_twice = false;  ///< see Space
  std::size_t numbers = std::numeric_limits<std::size_t>::max();              ///< see Space
  std::int64_t max_rank = 4;                                                  ///< see Space
};

/// The spaces for one rank, widest first: the first that is small enough is searched, and searched whole. The last may
/// have kLastTimes as many terms as the others.
struct Level {
  std::string name;
  std::int64_t rank;
  std::vector<Tier> tiers;
  bool besides = false;   ///< searched besides the other spaces of this rank, where it is small enough
  bool optional = false;  ///< no part of the space where even the narrowest tier is too large
};

constexpr std::uint64_t kLastTimes = 4;
inline std::uint64_t most_terms(const Level& level, const Tier& tier, std::uint64_t budget) {
  if (level.besides) return budget / 4;
  return &tier == &level.tiers.back() ? kLastTimes * budget : budget;
}

/// Ranks 0 to 4: small ranks with every dtype and with nothing in an axis; all ranks with one dtype of each kind, then
/// with f32 alone.
const std::vector<Level>& levels();

/// Levels of the ranks to this one, with these extents besides 1: for rules that hold for no smaller ones, or, besides
/// the others, for rules that do something else there.
std::vector<Level> levels_with(const std::vector<std::int64_t>& extents, std::int64_t max_rank, bool besides);

/// The tier, as operators are asked for their ways.
Space space_of(const Tier& tier);

/// Types that results have in the space.
std::vector<ops::Type> root_types(const Level& level, const Tier& tier);

/// "rank 2 (extents 0-3, 3 dtypes): 1234"; what was tried in part says so.
std::string describe(const Level& level, const Tier& tier, std::uint64_t tried, std::uint64_t one_in);

}  // namespace fusewright::prove
