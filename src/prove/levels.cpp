#include "src/prove/levels.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace fusewright::prove {

using ops::DType;
using ops::Shape;
using ops::Type;

const std::vector<Level>& levels() {
  static const std::vector<Level> kLevels = [] {
    using enum DType;
    const std::vector<DType> kinds = {kF32, kS32, kPred}, one = {kF32}, all = all_dtypes(),
                             others = {kF16, kBF16, kF64, kS8, kU8, kS32};
    const std::vector<std::int64_t> from_zero = {0, 1, 2, 3}, to_three = {1, 2, 3}, to_two = {1, 2}, two = {2};
    std::vector<Level> levels = {
        {"rank 0", 0, {{to_three, all}, {to_two, all}, {two, all}, {two, kinds}, {two, one}}},
        {"rank 1",
         1,
         {{from_zero, all},
          {to_two, all},
          {to_three, kinds},
          {to_two, kinds},
          {to_two, one},
          {two, one},
          {two, one, {}, false},
          {two, one, {}, false, true, true}}},
        {"rank 2",
         2,
         {{from_zero, kinds},
          {to_three, kinds},
          {to_three, one},
          {to_two, kinds},
          {to_two, one},
          {to_two, one, {{1, 2}, {2, 1}, {2, 3}}},
          {two, one, {{3, 2}}, true, true},
          {two, one, {{3, 2}}, false, true},
          {two, one, {{3, 2}}, false, true, true}}},
        {"rank 3",
         3,
         {{to_three, kinds},
          {to_three, one},
          {to_two, kinds},
          {to_two, one},
          {to_two, one, {{1, 2, 3}, {2, 1, 2}, {2, 2, 1}}},
          {two, one, {{3, 2, 2}}},
          {two, one, {{3, 2, 2}}, false},
          {two, one, {{3, 2, 2}}, false, true},
          {two, one, {{3, 2, 2}}, false, true, true}}},
        {"rank 4",
         4,
         {{to_three, one},
          {to_two, one},
          {to_two, one, {{1, 2, 2, 3}, {2, 1, 2, 2}, {2, 2, 1, 2}}},
          {two, one, {{1, 2, 2, 2}}},
          {two, one, {{1, 2, 2, 2}}, false},
          {two, one, {{1, 2, 2, 2}}, false, true},
          {two, one, {{1, 2, 2, 2}}, false, true, true}}},
        {"rank 2", 2, {{to_two, one, {{1, 2}, {2, 1}}, true, true, true, true}}, true},
    };
    const auto narrow = [](const auto& extents, const auto& dtypes, std::vector<Shape> shapes) {
      return Tier{extents, dtypes, std::move(shapes), false, true, true};
    };
    const std::vector<DType> few = {kBF16, kS32};
    levels.push_back(
        {"rank 2",
         2,
         {narrow(to_two, others, {{2, 1}, {2, 2}}), narrow(two, others, {{2, 2}}), narrow(two, few, {{2, 2}})},
         true});
    levels.push_back(
        {"rank 3",
         3,
         {narrow(to_two, others, {{1, 2, 2}}), narrow(two, others, {{1, 2, 2}}), narrow(two, few, {{1, 2, 2}})},
         true});
    return levels;
  }();
  return kLevels;
}

std::vector<Level> levels_with(const std::vector<std::int64_t>& extents, std::int64_t max_rank, bool besides) {
  // Of a result; one axis may be as long as it must.
  const std::int64_t most_elements = std::max<std::int64_t>(128, std::ranges::max(extents));
  std::vector<std::int64_t> all = {1};
  all.insert(all.end(), extents.begin(), extents.end());
  const std::vector<DType> kinds = {DType::kF32, DType::kS32, DType::kPred}, one = {DType::kF32};
  Space space;
  space.extents = all;
  std::vector<Level> levels;
  for (std::int64_t rank = 0; rank <= max_rank; ++rank) {
    std::vector<Shape> shapes = shapes_of_rank(rank, space);
    std::erase_if(shapes, [&](const Shape& shape) { return ops::element_count(shape).value_or(0) > most_elements; });
    Level level{fmt::format("rank {}", rank), rank, {}, besides};
    for (const bool narrow : {false, true}) {
      level.tiers.push_back({all, kinds, shapes, !narrow, narrow, narrow});
      level.tiers.push_back({all, one, shapes, !narrow, narrow, narrow});
    }
    // Where all shapes are too many, few.
    for (const std::size_t few : {32, 8, 2, 1}) {
      std::vector<Shape> some;
      for (std::size_t i = shapes.size(); i > 0; i -= std::min(i, (shapes.size() + few - 1) / few))
        some.push_back(shapes[i - 1]);
      if (!some.empty()) level.tiers.push_back({all, one, some, false, true, true});
    }
    for (Tier& tier : level.tiers) tier.max_rank = max_rank;
    levels.push_back(std::move(level));
  }
  return levels;
}

Space space_of(const Tier& tier) {
  Space space;
  space.extents = tier.extents;
  space.repeats = tier.repeats;
  space.narrow = tier.narrow;
  space.plain = tier.plain;
  space.repeats_twice = tier.repeats_twice;
  space.numbers = tier.numbers;
  space.max_rank = tier.max_rank;
  return space;
}

std::vector<Type> root_types(const Level& level, const Tier& tier) {
  const Space space = space_of(tier);
  std::vector<Type> out;
  for (const DType dtype : tier.dtypes)
    for (const Shape& shape : tier.shapes.empty() ? shapes_of_rank(level.rank, space) : tier.shapes)
      out.push_back(Type::tensor(dtype, shape));
  return out;
}

std::string describe(const Level& level, const Tier& tier, std::uint64_t tried, std::uint64_t one_in) {
  const std::int64_t first = tier.extents.front(), last = tier.extents.back();
  const bool gaps = last - first != std::ssize(tier.extents) - 1;
  std::string extents = gaps            ? fmt::format("{}", fmt::join(tier.extents, "+"))
                        : first == last ? fmt::format("{}", first)
                                        : fmt::format("{}-{}", first, last);
  if (!tier.shapes.empty()) extents += fmt::format(", {} shapes", tier.shapes.size());
  if (!tier.repeats) extents += ", none repeated";
  if (tier.repeats_twice) extents += ", two repeated";
  if (tier.narrow) extents += ", one axis at a time";
  if (tier.plain) extents += ", plain operands";
  if (tier.numbers != Tier().numbers)
    extents += fmt::format(", {} number{} of each constant but one", tier.numbers, tier.numbers == 1 ? "" : "s");
  const std::string dtypes =
      tier.dtypes.size() == 1 ? std::string(ops::name(tier.dtypes[0])) : fmt::format("{} dtypes", tier.dtypes.size());
  return fmt::format("{} (extents {}, {}): {}{}", level.name, extents, dtypes, tried,
                     one_in > 1 ? fmt::format(" (1 in {})", one_in) : "");
}

}  // namespace fusewright::prove
