#include "fusewright/ops/tensor.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "fusewright/ops/float_format.hpp"
#include "fusewright/support/check.hpp"
#include "fusewright/support/ids.hpp"

namespace fusewright::ops {
namespace {

constexpr std::size_t kLargestCompared = 4096;  // bytes; larger constants are equal only to themselves

// Rounds to nearest even from the exact double, so there is no double rounding through f32.
std::uint32_t encode_small(const FloatFormat& format, double value) {
  const int width = format.exponent_bits + format.mantissa_bits;
  const std::uint32_t sign = std::signbit(value) ? 1U << width : 0;
  const std::uint32_t exponent_mask = ((1U << format.exponent_bits) - 1) << format.mantissa_bits;
  const std::uint32_t all_ones = (1U << width) - 1;
  const int bias = format.bias();
  if (std::isnan(value))
    return sign | (format.finite_only ? all_ones : exponent_mask | 1U << (format.mantissa_bits - 1));
  const double magnitude = std::fabs(value);
  const std::uint32_t infinity = format.finite_only ? all_ones : exponent_mask;
  if (std::isinf(value)) return sign | infinity;
  if (magnitude == 0) return sign;
  int exponent = std::ilogb(magnitude);
  exponent = std::max(exponent, 1 - bias);
  // In units of the last place of this binade; a carry into the next binade falls out of the addition below.
  const double units = std::nearbyint(std::ldexp(magnitude, format.mantissa_bits - exponent));
  const std::int64_t pattern =
      static_cast<std::int64_t>(units) + (static_cast<std::int64_t>(exponent + bias - 1) << format.mantissa_bits);
  return sign | (pattern >= infinity ? infinity : static_cast<std::uint32_t>(pattern));
}

double decode_small(const FloatFormat& format, std::uint32_t bits) {
  const int width = format.exponent_bits + format.mantissa_bits;
  const bool negative = (bits >> width & 1) != 0;
  const std::uint32_t all_ones = (1U << width) - 1;
  const std::uint32_t magnitude_bits = bits & all_ones;
  const std::uint32_t mantissa = bits & ((1U << format.mantissa_bits) - 1);
  const int exponent = static_cast<int>(magnitude_bits >> format.mantissa_bits);
  const int bias = format.bias();
  double magnitude = 0;
  if (format.finite_only && magnitude_bits == all_ones) {
    magnitude = std::numeric_limits<double>::quiet_NaN();
  } else if (!format.finite_only && exponent == (1 << format.exponent_bits) - 1) {
    magnitude = mantissa == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  } else {
    const std::uint32_t significand = exponent == 0 ? mantissa : mantissa | 1U << format.mantissa_bits;
    magnitude = std::ldexp(static_cast<double>(significand), std::max(exponent, 1) - bias - format.mantissa_bits);
  }
  return negative ? -magnitude : magnitude;
}

template <class T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

template <class T>
void store(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

// Truncates and saturates as `convert` does; NaN gives 0.
std::int64_t to_int64(double value) {
  if (std::isnan(value)) return 0;
  if (value >= 0x1p63) return std::numeric_limits<std::int64_t>::max();
  if (value < -0x1p63) return std::numeric_limits<std::int64_t>::min();
  return static_cast<std::int64_t>(value);
}

// The integer dtypes hold what does not fit at their nearest end.
std::int64_t saturate(DType dtype, double value) {
  const int bits = bit_width(dtype);
  if (dtype == DType::kU64) {
    if (!(value > 0)) return 0;
    if (value >= 0x1p64) return -1;  // all ones
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(value));
  }
  const std::int64_t wide = to_int64(value);
  if (is_unsigned_integer(dtype)) return std::clamp<std::int64_t>(wide, 0, (std::int64_t{1} << bits) - 1);
  if (bits == 64) return wide;
  const std::int64_t bound = std::int64_t{1} << (bits - 1);
  return std::clamp<std::int64_t>(wide, -bound, bound - 1);
}

const std::byte* element(const Tensor& tensor, std::int64_t index) {
  return tensor.data() + index * byte_width(tensor.dtype);
}

}  // namespace

std::int64_t Tensor::elements() const {
  std::int64_t product = 1;
  for (const std::int64_t dim : dims) product *= dim;
  return product;
}

std::size_t Tensor::bytes() const { return static_cast<std::size_t>(elements() * byte_width(dtype)); }

Type Tensor::type() const { return Type::tensor(dtype, Shape(dims.begin(), dims.end())); }

Result<Tensor> make_tensor(DType dtype, std::vector<std::int64_t> dims) {
  FW_TRY(const std::int64_t elements, element_count(Shape(dims.begin(), dims.end())));
  FW_TRY(auto storage, allocate_storage(static_cast<std::size_t>(elements * byte_width(dtype))));
  return Tensor{dtype, std::move(dims), std::move(storage), 0};
}

namespace {

Tensor small_tensor(DType dtype, std::vector<std::int64_t> dims) {
  Result<Tensor> tensor = make_tensor(dtype, std::move(dims));
  FW_CHECK(tensor.has_value()) << print_error(tensor.error());
  return *std::move(tensor);
}

}  // namespace

Tensor scalar_tensor(DType dtype, double value) {
  Tensor tensor = small_tensor(dtype, {});
  set_double(tensor, 0, value);
  return tensor;
}

Tensor scalar_tensor_int(DType dtype, std::int64_t value) {
  Tensor tensor = small_tensor(dtype, {});
  set_int(tensor, 0, value);
  return tensor;
}

Tensor vector_tensor(const std::vector<std::int64_t>& values) {
  Tensor tensor = small_tensor(DType::kS64, {static_cast<std::int64_t>(values.size())});
  if (!values.empty()) std::memcpy(tensor.mutable_data(), values.data(), tensor.bytes());
  return tensor;
}

double get_double(const Tensor& tensor, std::int64_t index) {
  const std::byte* at = element(tensor, index);
  switch (tensor.dtype) {
    case DType::kF32:
    case DType::kC64: return load<float>(at);
    case DType::kF64:
    case DType::kC128: return load<double>(at);
    case DType::kF16:
    case DType::kBF16: return decode_small(*float_format(tensor.dtype), load<std::uint16_t>(at));
    case DType::kF8E4M3FN:
    case DType::kF8E5M2: return decode_small(*float_format(tensor.dtype), load<std::uint8_t>(at));
    case DType::kU64: return static_cast<double>(load<std::uint64_t>(at));
    case DType::kPred:
    case DType::kS8:
    case DType::kS16:
    case DType::kS32:
    case DType::kS64:
    case DType::kU8:
    case DType::kU16:
    case DType::kU32:
    case DType::kS4:
    case DType::kU4: break;
  }
  return static_cast<double>(get_int(tensor, index));
}

std::int64_t get_int(const Tensor& tensor, std::int64_t index) {
  const std::byte* at = element(tensor, index);
  switch (tensor.dtype) {
    case DType::kPred: return load<std::uint8_t>(at) != 0 ? 1 : 0;
    case DType::kS8:
    case DType::kS4: return load<std::int8_t>(at);
    case DType::kS16: return load<std::int16_t>(at);
    case DType::kS32: return load<std::int32_t>(at);
    case DType::kS64:
    case DType::kU64: return load<std::int64_t>(at);
    case DType::kU8:
    case DType::kU4: return load<std::uint8_t>(at);
    case DType::kU16: return load<std::uint16_t>(at);
    case DType::kU32: return load<std::uint32_t>(at);
    case DType::kF16:
    case DType::kBF16:
    case DType::kF32:
    case DType::kF64:
    case DType::kF8E4M3FN:
    case DType::kF8E5M2:
    case DType::kC64:
    case DType::kC128: break;
  }
  return to_int64(get_double(tensor, index));
}

void set_double(Tensor& tensor, std::int64_t index, double value) {
  std::byte* at = tensor.mutable_data() + index * byte_width(tensor.dtype);
  switch (tensor.dtype) {
    case DType::kF32: store(at, static_cast<float>(value)); return;
    case DType::kF64: store(at, value); return;
    case DType::kC64: store(at, static_cast<float>(value)), store(at + 4, 0.0F); return;
    case DType::kC128: store(at, value), store(at + 8, 0.0); return;
    case DType::kF16:
    case DType::kBF16: store(at, static_cast<std::uint16_t>(encode_small(*float_format(tensor.dtype), value))); return;
    case DType::kF8E4M3FN:
    case DType::kF8E5M2: store(at, static_cast<std::uint8_t>(encode_small(*float_format(tensor.dtype), value))); return;
    case DType::kPred: store(at, static_cast<std::uint8_t>(value != 0 ? 1 : 0)); return;  // NaN is true
    case DType::kS8:
    case DType::kS16:
    case DType::kS32:
    case DType::kS64:
    case DType::kU8:
    case DType::kU16:
    case DType::kU32:
    case DType::kU64:
    case DType::kS4:
    case DType::kU4: break;
  }
  set_int(tensor, index, saturate(tensor.dtype, value));
}

void set_int(Tensor& tensor, std::int64_t index, std::int64_t value) {
  std::byte* at = tensor.mutable_data() + index * byte_width(tensor.dtype);
  const auto wrapped = static_cast<std::uint64_t>(value);
  switch (tensor.dtype) {
    case DType::kPred: store(at, static_cast<std::uint8_t>(value != 0 ? 1 : 0)); return;
    case DType::kS8:
    case DType::kU8: store(at, static_cast<std::uint8_t>(wrapped)); return;
    case DType::kS16:
    case DType::kU16: store(at, static_cast<std::uint16_t>(wrapped)); return;
    case DType::kS32:
    case DType::kU32: store(at, static_cast<std::uint32_t>(wrapped)); return;
    case DType::kS64:
    case DType::kU64: store(at, wrapped); return;
    case DType::kU4: store(at, static_cast<std::uint8_t>(wrapped & 0xf)); return;
    case DType::kS4: store(at, static_cast<std::int8_t>(static_cast<std::int64_t>(wrapped << 60) >> 60)); return;
    case DType::kF32:  // once, not through double
      store(at, static_cast<float>(value));
      return;
    case DType::kF16:
    case DType::kBF16:
    case DType::kF64:
    case DType::kF8E4M3FN:
    case DType::kF8E5M2:
    case DType::kC64:
    case DType::kC128: break;
  }
  set_double(tensor, index, static_cast<double>(value));
}

double round_to(DType dtype, double value) {
  if (dtype == DType::kF32) return static_cast<float>(value);
  if (!is_float(dtype) || dtype == DType::kF64) return value;
  const FloatFormat format = *float_format(dtype);
  return decode_small(format, encode_small(format, value));
}

bool same_constant(const TensorHandle& a, const TensorHandle& b) {
  if (a == b) return true;
  if (!a || !b || a->dtype != b->dtype || a->dims != b->dims) return false;
  const std::size_t bytes = a->bytes();
  if (a->storage == b->storage && a->offset == b->offset) return true;
  return bytes <= kLargestCompared && (bytes == 0 || std::memcmp(a->data(), b->data(), bytes) == 0);
}

std::uint64_t hash_constant(const TensorHandle& tensor) {
  if (!tensor) return 0;
  std::uint64_t seed = static_cast<std::uint64_t>(tensor->dtype);
  for (const std::int64_t dim : tensor->dims) seed = hash_mix(seed, static_cast<std::uint64_t>(dim));
  const std::size_t bytes = tensor->bytes();
  // Large constants share a hash by type: an address would differ from run to run.
  if (bytes > kLargestCompared) return seed;
  const std::byte* data = bytes == 0 ? nullptr : tensor->data();
  for (std::size_t i = 0; i < bytes; ++i) seed = hash_mix(seed, static_cast<std::uint64_t>(data[i]));
  return seed;
}

}  // namespace fusewright::ops
