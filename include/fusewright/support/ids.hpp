#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>

namespace fusewright {

/// A typed 32-bit index. Each thing that is numbered has its own id type, so that ids cannot be mixed up.
/// A default-constructed id is invalid.
template <class Tag>
struct Id {
  static constexpr std::uint32_t kInvalid = std::numeric_limits<std::uint32_t>::max();

  std::uint32_t index = kInvalid;

  constexpr Id() = default;
  constexpr explicit Id(std::size_t i) : index(static_cast<std::uint32_t>(i)) {}

  constexpr bool valid() const { return index != kInvalid; }
  constexpr auto operator<=>(const Id&) const = default;
};

/// Mixes one value into a running 64-bit hash. The same on every machine and in every run.
constexpr std::uint64_t hash_mix(std::uint64_t seed, std::uint64_t value) {
  value *= 0x9e3779b97f4a7c15ULL;
  value ^= value >> 32;
  seed = (seed ^ value) * 0xff51afd7ed558ccdULL;
  return seed ^ (seed >> 29);
}

}  // namespace fusewright

template <class Tag>
struct std::hash<fusewright::Id<Tag>> {
  std::size_t operator()(fusewright::Id<Tag> id) const noexcept { return fusewright::hash_mix(0, id.index); }
};
