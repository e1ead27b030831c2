#include <algorithm>
#include <cmath>

#include "src/frontend/onnx/call.hpp"
#include "src/frontend/onnx/importer.hpp"

namespace fusewright::frontend_onnx {

namespace {

using Values = std::vector<Value>;

Values constant(Call& c) {
  if (::onnx::TensorProto* tensor = c.tensor_attr("value")) return {c.importer.constant_of(*tensor, c.e, false)};
  if (c.has_attr("value_float")) return {c.e.scalar(DType::kF32, c.float_attr("value_float", 0))};
  if (c.has_attr("value_int")) return {c.e.scalar_int(DType::kS64, c.int_attr("value_int"))};
  if (const auto values = c.floats_attr("value_floats")) return {c.e.vector(DType::kF32, *values)};
  if (const auto values = c.ints_attr("value_ints")) return {c.e.int_vector(DType::kS64, *values)};
  for (const char* kind : {"sparse_value", "value_string", "value_strings"}) {
    if (c.has_attr(kind)) unsupported("attribute '" + std::string(kind) + "' is not supported");
  }
  refuse("it states no value");
}

// A constant fill stays one number that is broadcast: it may be the weight of a layer with a million elements.
Values constant_of_shape(Call& c) {
  const Ints shape = c.known_ints(0, "shape");
  for (const std::int64_t extent : shape) {
    if (extent < 0) refuse("the shape has the negative extent " + std::to_string(extent));
  }
  unwrap(ops::element_count({shape.begin(), shape.end()}));
  Tensor value = ops::scalar_tensor(DType::kF32, 0);
  if (::onnx::TensorProto* tensor = c.tensor_attr("value")) {
    value = take_tensor(*tensor, "");
    if (value.elements() != 1) refuse("attribute 'value' is not one number");
    value.dims.clear();
  }
  const auto& replace = c.importer.options().replace_weight;
  if (replace && ops::is_float(value.dtype) && c.wants(0)) {
    const Type type = Type::tensor(value.dtype, {shape.begin(), shape.end()});
    if (auto other = replace(c.proto.output(0), type)) return {c.e.constant(*std::move(other))};
  }
  return {c.e.align(c.e.constant(std::move(value)), shape)};
}

Values shape_of(Call& c) {
  const Ints dims = c.e.dims(c.in(0));
  const auto rank = static_cast<std::int64_t>(dims.size());
  const auto clamp = [&](std::int64_t i) { return std::clamp(i < 0 ? i + rank : i, std::int64_t{0}, rank); };
  const std::int64_t start = clamp(c.int_attr("start", 0));
  const std::int64_t end = std::max(start, clamp(c.int_attr("end", rank)));
  return {c.e.int_vector(DType::kS64, Ints(dims.begin() + start, dims.begin() + end))};
}

Values size_of(Call& c) { return {c.e.scalar_int(DType::kS64, product(c.e.dims(c.in(0))))}; }

Values range(Call& c) {
  const DType dtype = c.e.dtype(c.in(0));
  const double start = c.known_double(0, "start");
  const double limit = c.known_double(1, "limit");
  const double delta = c.known_double(2, "delta");
  const double count = std::ceil((limit - start) / delta);
  if (std::isnan(count) || delta == 0) refuse("its delta is 0");
  if (count > static_cast<double>(std::int64_t{1} << 40)) refuse("the range has too many elements");
  const auto extent = static_cast<std::int64_t>(std::max(0.0, count));
  const Value steps = c.e.iota(dtype, {extent}, 0);
  return {c.e.binary("add", c.e.binary("mul", steps, c.e.reshape(c.in(2), {})), c.e.reshape(c.in(0), {}))};
}

// pred[rows, columns] where column - row compares with `k`
Value diagonal_mask(Call& c, std::string_view comparison, const Ints& dims, std::int64_t k) {
  const auto rank = static_cast<std::int64_t>(dims.size());
  const Value row = c.e.iota(DType::kS64, dims, rank - 2);
  const Value column = c.e.iota(DType::kS64, dims, rank - 1);
  return c.e.binary(comparison, c.e.op("sub", {column, row}), c.e.scalar_int(DType::kS64, k));
}

Values trilu(Call& c) {
  const Value x = c.in(0);
  const Ints dims = c.e.dims(x);
  if (dims.size() < 2) refuse("its input has the rank " + std::to_string(dims.size()) + ", which has no triangle");
  const std::int64_t k = c.has(1) ? c.known_int(1, "k") : 0;
  const Value mask =
      diagonal_mask(c, c.int_attr("upper", 1) != 0 ? "ge" : "le", {dims[dims.size() - 2], dims.back()}, k);
  return {c.e.select(mask, x, c.e.scalar(c.e.dtype(x), 0))};
}

Values eye_like(Call& c) {
  const Ints dims = c.e.dims(c.in(0));
  if (dims.size() != 2) refuse("its input is not a matrix");
  const DType dtype = c.has_attr("dtype") ? dtype_of(c.int_attr("dtype")) : c.e.dtype(c.in(0));
  const Value mask = diagonal_mask(c, "eq", dims, c.int_attr("k", 0));
  return {c.e.convert(mask, dtype)};
}

// cos-sum windows: a0 - a1 cos(2 pi i / n) + a2 cos(4 pi i / n)
Values window(Call& c, double a0, double a1, double a2) {
  const std::int64_t size = c.known_int(0, "size");
  if (size < 0 || size > (std::int64_t{1} << 24)) refuse("its size is out of range");
  const DType dtype = dtype_of(c.int_attr("output_datatype", 1));
  const double period = static_cast<double>(c.int_attr("periodic", 1) != 0 ? size : size - 1);
  // In f32, as the specification has it: other implementations round there as well.
  const Value step = c.e.iota(DType::kF32, {size}, 0);
  const Value angle = c.e.binary("div", c.e.binary("mul", step, 2 * M_PI), period);
  Value sum = c.e.binary("sub", a0, c.e.binary("mul", c.e.unary("cos", angle), a1));
  if (a2 != 0) {
    const Value twice = c.e.unary("cos", c.e.binary("mul", angle, 2.0));
    sum = c.e.binary("add", sum, c.e.binary("mul", twice, a2));
  }
  return {c.e.convert(sum, dtype)};
}
Values hann_window(Call& c) { return window(c, 0.5, 0.5, 0); }
Values hamming_window(Call& c) { return window(c, 25.0 / 46, 21.0 / 46, 0); }
Values blackman_window(Call& c) { return window(c, 0.42, 0.5, 0.08); }

}  // namespace

std::vector<OperatorRow> source_operators() {
  return {
      {"Constant", constant},
      {"ConstantOfShape", constant_of_shape},
      {"Shape", shape_of},
      {"Size", size_of},
      {"Range", range},
      {"Trilu", trilu},
      {"EyeLike", eye_like},
      {"HannWindow", hann_window},
      {"HammingWindow", hamming_window},
      {"BlackmanWindow", blackman_window},
  };
}

}  // namespace fusewright::frontend_onnx
