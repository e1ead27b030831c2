#pragma once

#include <cstdint>

#include "fusewright/ops/tensor.hpp"
#include "fusewright/ops/type.hpp"

namespace fusewright::interpret {

/// A made-up input: floats N(0, 1), integers uniform in [0, 8), pred even. Element i of input `index` depends on
/// (seed, index, i) alone, by SplitMix64 and the Box-Muller transform: the same on every machine and for any thread
/// count.
/// @param type a tensor type with a static shape.
/// Errors: types that are no static tensor, complex ones, no memory.
Result<ops::Tensor> make_input(const ops::Type& type, std::uint64_t seed, std::uint64_t index);

/// A made-up weight: floats of rank 2 and up N(0, 2 / fan_in) (He), where fan_in is the number of elements divided by
/// the largest of the first, second and last extents of a rank above 2 (OIHW, IOHW and HWIO; which of them the file
/// uses is not known), the first extent of a matrix [in, out]; floats of lower rank uniform in [0.5, 2]. Integers and
/// pred as make_input.
Result<ops::Tensor> random_weight(const ops::Type& type, std::uint64_t seed, std::uint64_t index);

}  // namespace fusewright::interpret
