#include "src/frontend/onnx/narrow.hpp"

#include <cmath>
#include <limits>

namespace fusewright::frontend_onnx {

namespace {

using ops::DType;

// The numbers are those of ONNX's TensorProto::DataType; protobuf definitions older than a type do not know its name.
constexpr NarrowType kTypes[] = {
    {17, 8, DType::kF16, -448, 448, 3, 7},                    // float8e4m3fn
    {18, 8, DType::kF16, -240, 240, 3, 8, false, true},       // float8e4m3fnuz
    {19, 8, DType::kF16, -57344, 57344, 2, 15, true},         // float8e5m2
    {20, 8, DType::kF16, -57344, 57344, 2, 16, false, true},  // float8e5m2fnuz
    {21, 4, DType::kU8, 0, 15},                               // uint4
    {22, 4, DType::kS8, -8, 7},                               // int4
    {23, 4, DType::kF16, -6, 6, 1, 1},                        // float4e2m1
    {25, 2, DType::kU8, 0, 3},                                // uint2
    {26, 2, DType::kS8, -2, 1},                               // int2
};

double decode(const NarrowType& type, unsigned pattern) {
  const unsigned sign = pattern >> (type.bits - 1);
  if (!type.is_float()) {
    const bool negative = type.least < 0 && sign != 0;
    return static_cast<double>(pattern) - (negative ? std::ldexp(1.0, type.bits) : 0);
  }
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const unsigned fraction = pattern & ((1U << type.mantissa) - 1);
  const unsigned exponents = 1U << (type.bits - 1 - type.mantissa);
  const unsigned exponent = (pattern >> type.mantissa) & (exponents - 1);
  if (type.one_nan && pattern == 1U << (type.bits - 1)) return kNan;
  if (type.infinite && exponent == exponents - 1)
    return fraction != 0 ? kNan : (sign != 0 ? -1 : 1) * std::numeric_limits<double>::infinity();
  const double significand = std::ldexp(static_cast<double>(fraction), -type.mantissa) + (exponent == 0 ? 0 : 1);
  const double magnitude = std::ldexp(significand, static_cast<int>(exponent == 0 ? 1 : exponent) - type.bias);
  if (magnitude > type.greatest) return kNan;  // the all-ones pattern where there is no infinity
  return sign != 0 ? -magnitude : magnitude;
}

}  // namespace

const NarrowType* find_narrow(std::int64_t element_type) {
  for (const NarrowType& type : kTypes)
    if (type.element_type == element_type) return &type;
  return nullptr;
}

void unpack(const NarrowType& type, std::span<const std::uint8_t> bytes, ops::Tensor& tensor) {
  const std::int64_t in_byte = 8 / type.bits;
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    const unsigned byte = bytes[static_cast<std::size_t>(i / in_byte)];
    const unsigned pattern = (byte >> (i % in_byte * type.bits)) & ((1U << type.bits) - 1);
    ops::set_double(tensor, i, decode(type, pattern));
  }
}

}  // namespace fusewright::frontend_onnx
