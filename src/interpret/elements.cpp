#include "src/interpret/elements.hpp"

#include <bit>
#include <cmath>
#include <limits>

#include "fusewright/ops/float_format.hpp"
#include "fusewright/support/check.hpp"

namespace fusewright::interpret {
namespace {

// Through memcpy: mapped weights need not be aligned.
template <class T>
T load(const std::byte* data, std::int64_t index) {
  T value;
  std::memcpy(&value, data + index * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  return value;
}

template <class T>
void store(std::byte* data, std::int64_t index, T value) {
  std::memcpy(data + index * static_cast<std::int64_t>(sizeof(T)), &value, sizeof(T));
}

template <class T, class Out>
void decode_as(const std::byte* data, std::int64_t begin, std::int64_t end, Out* out) {
  for (std::int64_t i = begin; i < end; ++i) *out++ = static_cast<Out>(load<T>(data, i));
}

template <class T, class In>
void encode_as(std::byte* data, std::int64_t begin, std::int64_t end, const In* values) {
  for (std::int64_t i = begin; i < end; ++i) store(data, i, static_cast<T>(*values++));
}

// The half-precision formats in their normal range, where the bits of the double only need to be shifted and rounded;
// everything else goes the long way.
bool is_half(DType dtype) { return dtype == DType::kF16 || dtype == DType::kBF16; }

// False when the value is not in the normal range, before or after rounding.
bool encode_normal(const ops::FloatFormat& format, double value, std::uint16_t& out) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const int drop = 52 - format.mantissa_bits;
  const std::uint64_t magnitude = bits & 0x7fff'ffff'ffff'ffffULL;
  const std::uint64_t rounded = (magnitude + ((1ULL << (drop - 1)) - 1) + (magnitude >> drop & 1)) >> drop;
  const int bias = format.bias();
  const std::int64_t exponent = static_cast<std::int64_t>(rounded >> format.mantissa_bits) - 1023 + bias;
  const bool normal = static_cast<std::int64_t>(magnitude >> 52) - 1023 + bias >= 1;
  if (!normal || exponent < 1 || exponent >= (1 << format.exponent_bits) - 1) return false;
  const std::uint64_t mantissa = rounded & ((1ULL << format.mantissa_bits) - 1);
  out = static_cast<std::uint16_t>(bits >> 63 << 15 | static_cast<std::uint64_t>(exponent) << format.mantissa_bits |
                                   mantissa);
  return true;
}

bool decode_normal(const ops::FloatFormat& format, std::uint16_t bits, double& out) {
  const int exponent = (bits & 0x7fff) >> format.mantissa_bits;
  if (exponent == 0 || exponent == (1 << format.exponent_bits) - 1) return false;
  const int bias = format.bias();
  const auto mantissa = static_cast<std::uint64_t>(bits & ((1 << format.mantissa_bits) - 1));
  out = std::bit_cast<double>(static_cast<std::uint64_t>(bits >> 15) << 63 |
                              static_cast<std::uint64_t>(exponent - bias + 1023) << 52 |
                              mantissa << (52 - format.mantissa_bits));
  return true;
}

}  // namespace

std::int64_t wrap(DType dtype, std::int64_t value) {
  if (dtype == DType::kPred) return value != 0 ? 1 : 0;
  const int unused = 64 - ops::bit_width(dtype);
  if (unused == 0) return value;
  const std::uint64_t shifted = static_cast<std::uint64_t>(value) << unused;
  if (ops::is_unsigned_integer(dtype)) return static_cast<std::int64_t>(shifted >> unused);
  return static_cast<std::int64_t>(shifted) >> unused;
}

double round_element(DType dtype, double value) {
  if (dtype == DType::kF64) return value;
  if (dtype == DType::kF32) return static_cast<float>(value);
  return ops::round_to(dtype, value);
}

double largest(DType dtype) {
  if (dtype == DType::kF64) return std::numeric_limits<double>::max();
  if (dtype == DType::kF32) return std::numeric_limits<float>::max();
  if (dtype == DType::kF16) return 65504;
  if (dtype == DType::kBF16) return 0x1.fep127;
  return dtype == DType::kF8E5M2 ? 57344 : 448;
}

void decode_floats(const Tensor& tensor, std::int64_t begin, std::int64_t end, double* out) {
  const std::byte* data = tensor.data();
  if (tensor.dtype == DType::kF32) return decode_as<float>(data, begin, end, out);
  if (tensor.dtype == DType::kF64) return decode_as<double>(data, begin, end, out);
  const bool half = is_half(tensor.dtype);
  for (std::int64_t i = begin; i < end; ++i, ++out)
    if (!half || !decode_normal(*ops::float_format(tensor.dtype), load<std::uint16_t>(data, i), *out))
      *out = ops::get_double(tensor, i);
}

void decode_ints(const Tensor& tensor, std::int64_t begin, std::int64_t end, std::int64_t* out) {
  const std::byte* data = tensor.data();
  if (tensor.dtype == DType::kS32) return decode_as<std::int32_t>(data, begin, end, out);
  if (tensor.dtype == DType::kS64) return decode_as<std::int64_t>(data, begin, end, out);
  for (std::int64_t i = begin; i < end; ++i) *out++ = ops::get_int(tensor, i);
}

void encode_floats(Tensor& tensor, std::int64_t begin, std::int64_t end, const double* values) {
  std::byte* data = tensor.mutable_data();
  if (tensor.dtype == DType::kF32) return encode_as<float>(data, begin, end, values);
  if (tensor.dtype == DType::kF64) return encode_as<double>(data, begin, end, values);
  const bool half = is_half(tensor.dtype);
  for (std::int64_t i = begin; i < end; ++i, ++values) {
    std::uint16_t bits = 0;
    if (half && encode_normal(*ops::float_format(tensor.dtype), *values, bits))
      store(data, i, bits);
    else
      ops::set_double(tensor, i, *values);
  }
}

void encode_ints(Tensor& tensor, std::int64_t begin, std::int64_t end, const std::int64_t* values) {
  std::byte* data = tensor.mutable_data();
  if (tensor.dtype == DType::kS32) return encode_as<std::int32_t>(data, begin, end, values);
  if (tensor.dtype == DType::kS64) return encode_as<std::int64_t>(data, begin, end, values);
  for (std::int64_t i = begin; i < end; ++i) ops::set_int(tensor, i, *values++);
}

std::vector<double> floats_of(const Tensor& tensor) {
  std::vector<double> out(static_cast<std::size_t>(tensor.elements()));
  decode_floats(tensor, 0, tensor.elements(), out.data());
  return out;
}

std::vector<std::int64_t> ints_of(const Tensor& tensor) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(tensor.elements()));
  decode_ints(tensor, 0, tensor.elements(), out.data());
  return out;
}

Result<Tensor> tensor_of(DType dtype, Dims dims, const std::vector<double>& values) {
  FW_TRY(Tensor out, ops::make_tensor(dtype, std::move(dims)));
  FW_CHECK(out.elements() == static_cast<std::int64_t>(values.size())) << "as many values as elements";
  encode_floats(out, 0, out.elements(), values.data());
  return out;
}

Result<Tensor> tensor_of(DType dtype, Dims dims, const std::vector<std::int64_t>& values) {
  FW_TRY(Tensor out, ops::make_tensor(dtype, std::move(dims)));
  FW_CHECK(out.elements() == static_cast<std::int64_t>(values.size())) << "as many values as elements";
  encode_ints(out, 0, out.elements(), values.data());
  return out;
}

Scalar get_scalar(const Tensor& tensor, std::int64_t index) {
  if (ops::is_float(tensor.dtype)) return {ops::get_double(tensor, index), 0};
  return {0, ops::get_int(tensor, index)};
}

void set_scalar(Tensor& tensor, std::int64_t index, Scalar value) {
  if (ops::is_float(tensor.dtype))
    ops::set_double(tensor, index, value.f);
  else
    ops::set_int(tensor, index, value.i);
}

std::int64_t product(std::span<const std::int64_t> dims) {
  std::int64_t out = 1;
  for (const std::int64_t dim : dims) out *= dim;
  return out;
}

Dims strides_of(std::span<const std::int64_t> dims) {
  Dims out(dims.size(), 1);
  for (std::size_t axis = dims.size(); axis-- > 1;) out[axis - 1] = out[axis] * dims[axis];
  return out;
}

Dims other_axes(std::int64_t rank, std::span<const std::int64_t> axes) {
  std::vector<bool> taken(static_cast<std::size_t>(rank), false);
  for (const std::int64_t axis : axes) taken[static_cast<std::size_t>(axis)] = true;
  Dims out;
  for (std::int64_t axis = 0; axis < rank; ++axis)
    if (!taken[static_cast<std::size_t>(axis)]) out.push_back(axis);
  return out;
}

Dims pick(std::span<const std::int64_t> dims, std::span<const std::int64_t> axes) {
  Dims out;
  for (const std::int64_t axis : axes) out.push_back(dims[static_cast<std::size_t>(axis)]);
  return out;
}

std::vector<std::int64_t> offsets_of(std::span<const std::int64_t> dims, std::span<const std::int64_t> strides) {
  std::vector<std::int64_t> out;
  out.reserve(static_cast<std::size_t>(product(dims)));
  for (Counter at(dims); !at.done(); at.next()) {
    std::int64_t offset = 0;
    for (std::size_t axis = 0; axis < dims.size(); ++axis) offset += at.index[axis] * strides[axis];
    out.push_back(offset);
  }
  return out;
}

}  // namespace fusewright::interpret
