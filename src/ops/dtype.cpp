#include "fusewright/ops/dtype.hpp"

#include <array>
#include <cstddef>

namespace fusewright::ops {
namespace {

enum class Family : std::uint8_t { kPred, kSigned, kUnsigned, kFloat, kComplex };

struct Row {
  std::string_view name;
  int bits;
  Family family;
};

// In the order of the enumeration.
constexpr std::array<Row, 19> kRows = {{
    {"pred", 8, Family::kPred},      {"s8", 8, Family::kSigned},     {"s16", 16, Family::kSigned},
    {"s32", 32, Family::kSigned},    {"s64", 64, Family::kSigned},   {"u8", 8, Family::kUnsigned},
    {"u16", 16, Family::kUnsigned},  {"u32", 32, Family::kUnsigned}, {"u64", 64, Family::kUnsigned},
    {"f16", 16, Family::kFloat},     {"bf16", 16, Family::kFloat},   {"f32", 32, Family::kFloat},
    {"f64", 64, Family::kFloat},     {"s4", 4, Family::kSigned},     {"u4", 4, Family::kUnsigned},
    {"f8e4m3fn", 8, Family::kFloat}, {"f8e5m2", 8, Family::kFloat},  {"c64", 64, Family::kComplex},
    {"c128", 128, Family::kComplex},
}};

const Row& row(DType dtype) { return kRows[static_cast<std::size_t>(dtype)]; }

}  // namespace

int bit_width(DType dtype) { return row(dtype).bits; }

std::int64_t byte_width(DType dtype) { return (row(dtype).bits + 7) / 8; }

std::string_view name(DType dtype) { return row(dtype).name; }

std::optional<DType> dtype_from_name(std::string_view name) {
  for (std::size_t i = 0; i < kRows.size(); ++i)
    if (kRows[i].name == name) return static_cast<DType>(i);
  return std::nullopt;
}

bool is_float(DType dtype) { return row(dtype).family == Family::kFloat; }

bool is_integer(DType dtype) { return is_signed_integer(dtype) || is_unsigned_integer(dtype); }

bool is_signed_integer(DType dtype) { return row(dtype).family == Family::kSigned; }

bool is_unsigned_integer(DType dtype) { return row(dtype).family == Family::kUnsigned; }

}  // namespace fusewright::ops
