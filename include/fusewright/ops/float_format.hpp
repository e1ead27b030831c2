#pragma once

#include <bit>
#include <cstdint>
#include <optional>

#include "fusewright/ops/dtype.hpp"

namespace fusewright::ops {

/// 2^exponent, for every double that there is of it.
constexpr double power_of_two(int exponent) {
  return exponent >= -1022 ? std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52)
                           : std::bit_cast<double>(std::uint64_t{1} << (exponent + 1074));
}

/// How a float is laid out: sign, exponent, mantissa (without its hidden bit).
struct FloatFormat {
  int exponent_bits = 0;
  int mantissa_bits = 0;
  bool finite_only = false;  ///< f8e4m3fn: no infinities, and only the all-ones pattern is NaN

  constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  constexpr double smallest() const { return power_of_two(1 - bias() - mantissa_bits); }
  constexpr double least_normal() const { return power_of_two(1 - bias()); }
  constexpr double next_to_one() const { return 1 + power_of_two(-mantissa_bits); }
  constexpr double greatest() const {
    return finite_only ? (2 - power_of_two(1 - mantissa_bits)) * power_of_two(bias() + 1)
                       : (2 - power_of_two(-mantissa_bits)) * power_of_two(bias());
  }
};

/// Nothing for what is no real float.
constexpr std::optional<FloatFormat> float_format(DType dtype) {
  switch (dtype) {
    case DType::kF16: return FloatFormat{5, 10};
    case DType::kBF16: return FloatFormat{8, 7};
    case DType::kF32: return FloatFormat{8, 23};
    case DType::kF64: return FloatFormat{11, 52};
    case DType::kF8E5M2: return FloatFormat{5, 2};
    case DType::kF8E4M3FN: return FloatFormat{4, 3, true};
    case DType::kPred:
    case DType::kS8:
    case DType::kS16:
    case DType::kS32:
    case DType::kS64:
    case DType::kU8:
    case DType::kU16:
    case DType::kU32:
    case DType::kU64:
    case DType::kS4:
    case DType::kU4:
    case DType::kC64:
    case DType::kC128: break;
  }
  return std::nullopt;
}

}  // namespace fusewright::ops
