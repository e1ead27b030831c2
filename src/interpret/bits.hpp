#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

#include "fusewright/support/ids.hpp"

namespace fusewright::interpret {

/// Random bits number `counter` of a stream: SplitMix64 as a counter-based generator.
/// Source: Steele, Lea and Flood, Fast Splittable Pseudorandom Number Generators, OOPSLA 2014.
constexpr std::uint64_t random_bits(std::uint64_t stream, std::uint64_t counter) {
  std::uint64_t z = stream + (counter + 1) * 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

/// The stream of one tensor.
constexpr std::uint64_t random_stream(std::uint64_t seed, std::uint64_t index) {
  return random_bits(hash_mix(0, seed), hash_mix(1, index));
}

/// In [0, 1), a multiple of 2^-53.
inline double random_uniform(std::uint64_t stream, std::uint64_t counter) {
  return static_cast<double>(random_bits(stream, counter) >> 11) * 0x1p-53;
}

/// N(0, 1) by Box and Muller from two draws of its own. Rounded to f32, so that the last bits of a platform's log and
/// cos do not show.
inline double random_normal(std::uint64_t stream, std::uint64_t counter) {
  const double radius = std::sqrt(-2 * std::log(1 - random_uniform(stream, 2 * counter)));
  return static_cast<float>(radius * std::cos(2 * std::numbers::pi * random_uniform(stream, 2 * counter + 1)));
}

}  // namespace fusewright::interpret
