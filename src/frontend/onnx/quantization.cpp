#include <cmath>

#include "src/frontend/onnx/importer.hpp"

namespace fusewright::frontend_onnx {

namespace {

using Values = std::vector<Value>;

struct Limits {
  double low, high;
};
Limits limits_of(DType dtype) {
  switch (dtype) {
    case DType::kS8: return {-128, 127};
    case DType::kU8: return {0, 255};
    case DType::kS16: return {-32768, 32767};
    case DType::kU16: return {0, 65535};
    case DType::kS32: return {-2147483648.0, 2147483647.0};
    default: break;
  }
  unsupported("quantization to " + std::string(ops::name(dtype)) + " is not supported");
}

// Scales and zero points: one for all, one for each index of an axis, or one for each block along it.
Value spread(Call& c, Value v, const Ints& dims) {
  const Ints own = c.e.dims(v);
  const auto rank = static_cast<std::int64_t>(dims.size());
  if (product(own) == 1) return c.e.align(c.e.reshape(v, {}), dims);
  const std::int64_t axis = c.axis(c.int_attr("axis", 1), rank);
  if (own.size() == 1) return c.e.broadcast(v, dims, {axis});
  const std::int64_t block = c.int_attr("block_size", 0);
  if (own.size() != dims.size() || block < 1 || block > dims[axis] || own[axis] * block < dims[axis])
    refuse("its scale " + ops::to_string(c.e.type(v)) + " does not fit");
  Ints wide = own, axes;
  wide.insert(wide.begin() + axis + 1, block);
  for (std::int64_t i = 0; i < rank; ++i) axes.push_back(i > axis ? i + 1 : i);
  Ints flat = own;
  flat[axis] *= block;
  return c.e.slice(c.e.reshape(c.e.broadcast(v, wide, axes), flat), axis, 0, dims[axis]);
}

Value quantize(Call& c, Value x, Value scale, Value zero, Limits limits, DType dtype) {
  const DType wide = c.e.dtype(x);
  Value q = c.e.unary("round_even", c.e.op("div", {x, scale}));
  if (zero.valid()) q = c.e.op("add", {q, c.e.convert(zero, wide)});
  const Ints dims = c.e.dims(q);
  return c.e.convert(c.e.op("clamp", {c.e.fill(wide, limits.low, dims), q, c.e.fill(wide, limits.high, dims)}), dtype);
}

Values quantize_linear(Call& c) {
  Value x = c.in(0);
  const NarrowType* narrow = c.has(2) ? c.importer.narrow(c.in(2)) : nullptr;
  const Ints dims = c.e.dims(x);
  DType dtype = c.has(2) ? c.e.dtype(c.in(2)) : DType::kU8;
  if (const std::int64_t stated = c.int_attr("output_dtype", 0); stated != 0) {
    dtype = dtype_of(stated);
    narrow = find_narrow(stated);
  }
  if (!ops::is_float(c.e.dtype(x))) x = c.e.convert(x, DType::kF32);
  DType wide = c.e.dtype(c.in(1));
  if (const std::int64_t stated = c.int_attr("precision", 0); stated != 0) wide = dtype_of(stated);
  x = c.e.convert(x, wide);
  const Value scale = spread(c, c.e.convert(c.in(1), wide), dims);
  const Value zero = c.has(2) ? spread(c, c.in(2), dims) : Value{};
  if (narrow == nullptr) return {quantize(c, x, scale, zero, limits_of(dtype), dtype)};
  Value q;
  if (narrow->is_float()) {
    q = c.e.op("div", {x, scale});
    if (zero.valid()) q = c.e.op("add", {q, c.e.convert(zero, wide)});
    q = emit_narrow(c, q, *narrow, c.int_attr("saturate", 1) != 0);
  } else {
    q = quantize(c, x, scale, zero, {narrow->least, narrow->greatest}, narrow->carrier);
  }
  c.importer.set_narrow(q, narrow);
  return {q};
}

Values dequantize_linear(Call& c) {
  const Value x = c.in(0), scale = c.in(1);
  const Ints dims = c.e.dims(x);
  DType dtype = c.e.dtype(scale);
  if (const std::int64_t stated = c.int_attr("output_dtype", 0); stated != 0) dtype = dtype_of(stated);
  const DType wide = c.e.dtype(scale);
  // The difference of whole numbers is taken in whole numbers: that is exact.
  const DType exact = ops::is_float(c.e.dtype(x)) ? wide : DType::kS32;
  Value q = c.e.convert(x, exact);
  if (c.has(2)) q = c.e.op("sub", {q, c.e.convert(spread(c, c.in(2), dims), exact)});
  return {c.e.convert(c.e.op("mul", {c.e.convert(q, wide), spread(c, scale, dims)}), dtype)};
}

Values dynamic_quantize(Call& c) {
  const Value x = c.in(0);
  const DType dtype = c.e.dtype(x);
  const Ints all = count_up(c.e.rank(x));
  const Value low = c.e.binary("min", c.e.op("reduce_min", {x}, {{"axes", all}}), 0.0);
  const Value high = c.e.binary("max", c.e.op("reduce_max", {x}, {{"axes", all}}), 0.0);
  const Value scale = c.e.binary("div", c.e.op("sub", {high, low}), 255.0);
  const Value shift = c.e.unary("round_even", c.e.op("div", {c.e.unary("neg", low), scale}));
  const Value zero = c.e.convert(c.e.op("clamp", {c.e.scalar(dtype, 0), shift, c.e.scalar(dtype, 255)}), DType::kU8);
  const Ints dims = c.e.dims(x);
  return {quantize(c, x, c.e.align(scale, dims), c.e.align(zero, dims), limits_of(DType::kU8), DType::kU8), scale,
          zero};
}

// Whole numbers minus their zero point, if there is one, in s32. A vector of zero points belongs to the rows or columns
// named by `axis`.
Value centered(Call& c, Value x, Value zero, std::int64_t axis) {
  Value wide = c.e.convert(x, DType::kS32);
  if (!zero.valid()) return wide;
  Value shift = c.e.convert(zero, DType::kS32);
  const Ints own = c.e.dims(shift), dims = c.e.dims(wide);
  if (product(own) == 1)
    shift = c.e.align(c.e.reshape(shift, {}), dims);
  else if (own.size() == 1)
    shift = c.e.broadcast(shift, dims, {axis});
  else
    shift = c.e.align(shift, dims);
  return c.e.op("sub", {wide, shift});
}

Values matmul_integer(Call& c) { return {emit_matmul_integer(c, {c.in(0), c.in_or(2, {}), c.in(1), c.in_or(3, {})})}; }
Values conv_integer(Call& c) {
  return {emit_conv(c, centered(c, c.in(0), c.in_or(2, {}), 1), centered(c, c.in(1), c.in_or(3, {}), 0), DType::kS32)};
}

// The sum of products in s32, times the scales, quantized again. `axis`: of the result, where a scale is a vector.
Value requantize(Call& c, Value sum, std::size_t scale_a, std::size_t scale_b, std::size_t scale_y, std::size_t zero_y,
                 std::int64_t axis) {
  const Ints dims = c.e.dims(sum);
  const auto along = [&](Value v) {
    const Ints own = c.e.dims(v);
    if (product(own) == 1) return c.e.align(c.e.reshape(v, {}), dims);
    return own.size() == 1 ? c.e.broadcast(v, dims, {axis}) : c.e.align(v, dims);
  };
  const DType wide = c.e.dtype(c.in(scale_a));
  const Value scale = c.e.op("mul", {along(c.in(scale_a)), along(c.in(scale_b))});
  const Value real = c.e.op("mul", {c.e.convert(sum, wide), scale});
  const DType dtype = c.e.dtype(c.in(zero_y));
  return quantize(c, real, along(c.in(scale_y)), along(c.in(zero_y)), limits_of(dtype), dtype);
}

Values qlinear_matmul(Call& c) {
  const Value sum = emit_matmul_integer(c, {c.in(0), c.in_or(2, {}), c.in(3), c.in_or(5, {})});
  return {requantize(c, sum, 1, 4, 6, 7, c.e.rank(sum) - 1)};
}
Values qlinear_conv(Call& c) {
  Value sum =
      emit_conv(c, centered(c, c.in(0), c.in_or(2, {}), 1), centered(c, c.in(3), c.in_or(5, {}), 0), DType::kS32);
  if (c.has(8)) sum = c.e.op("add", {sum, c.e.broadcast(c.in(8), c.e.dims(sum), {1})});
  return {requantize(c, sum, 1, 4, 6, 7, 1)};
}

}  // namespace

Value emit_narrow(Call& c, Value x, const NarrowType& type, bool saturate) {
  const Value rounded = c.e.op("round_to_narrow", {c.e.convert(x, DType::kF32)},
                               {{"mantissa", std::int64_t{type.mantissa}},
                                {"least_exponent", std::int64_t{1 - type.bias}},
                                {"greatest", type.greatest},
                                {"saturate", saturate || type.bits < 8},
                                {"infinite", type.infinite},
                                {"nan", type.bits == 8}});
  return c.e.convert(rounded, type.carrier);
}

Value emit_matmul_integer(Call& c, const IntegerOperands& of) {
  const Value a = centered(c, of.a, of.zero_a, std::max<std::int64_t>(c.e.rank(of.a) - 2, 0));
  const Value b = centered(c, of.b, of.zero_b, c.e.rank(of.b) - 1);
  return emit_matmul(c.e, a, b, DType::kS32);
}
std::vector<Value> emit_dynamic_quantize(Call& c) { return dynamic_quantize(c); }
Value emit_dequantize(Call& c) { return dequantize_linear(c).front(); }
Value emit_quantize(Call& c) { return quantize_linear(c).front(); }

std::vector<OperatorRow> quantization_operators() {
  return {
      {"QuantizeLinear", quantize_linear, kMakesOwnType},
      {"DequantizeLinear", dequantize_linear, kMakesOwnType},
      {"DynamicQuantizeLinear", dynamic_quantize},
      {"MatMulInteger", matmul_integer},
      {"ConvInteger", conv_integer},
      {"QLinearMatMul", qlinear_matmul},
      {"QLinearConv", qlinear_conv},
  };
}

}  // namespace fusewright::frontend_onnx
