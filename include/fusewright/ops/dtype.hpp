#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace fusewright::ops {

/// Element types, named as in HLO. Those after kF64 can be represented and printed; operators say which they compute
/// on.
enum class DType : std::uint8_t {
  kPred,
  kS8,
  kS16,
  kS32,
  kS64,
  kU8,
  kU16,
  kU32,
  kU64,
  kF16,
  kBF16,
  kF32,
  kF64,
  kS4,
  kU4,
  kF8E4M3FN,
  kF8E5M2,
  kC64,
  kC128,
};

/// Width of one element in bits: pred counts 8 (it is stored as one byte), s4 counts 4.
int bit_width(DType dtype);
/// Bytes one element takes in a dense buffer. 4-bit types are stored one to a byte.
std::int64_t byte_width(DType dtype);
std::string_view name(DType dtype);  ///< "f32", "bf16", "pred", ...
std::optional<DType> dtype_from_name(std::string_view name);

bool is_float(DType dtype);
bool is_integer(DType dtype);  ///< signed or unsigned, not pred
bool is_signed_integer(DType dtype);
bool is_unsigned_integer(DType dtype);

}  // namespace fusewright::ops
