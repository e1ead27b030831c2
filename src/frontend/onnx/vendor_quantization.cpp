#include "src/frontend/onnx/call.hpp"

namespace fusewright::frontend_onnx {

namespace {

using Values = std::vector<Value>;

// What ONNX Runtime's quantiser leaves in model files. The elementwise operators stand in rules/onnx/contrib.fuse.

Values quantize(Call& c) { return {emit_quantize(c)}; }
Values dequantize(Call& c) { return {emit_dequantize(c)}; }

// A scale or zero point of the whole tensor, as a scalar; a zero point that is left out is zero.
Value number(Call& c, std::size_t i, DType dtype) {
  if (!c.has(i)) return c.e.scalar(dtype, 0);
  if (product(c.e.dims(c.in(i))) != 1) unsupported("its scales and zero points are not single numbers");
  return c.e.reshape(c.in(i), {});
}

// `at`: of each operand the place of its elements, which scale and zero point follow; then those of the result.
Values elementwise(Call& c, std::initializer_list<std::size_t> at, std::size_t result, const Attrs& attrs = {}) {
  Ints dims;
  for (const std::size_t i : at) dims = broadcast_dims(dims, c.e.dims(c.in(i)));
  Values operands;
  const auto add_numbers = [&](std::size_t i, DType dtype) {
    for (const Value v : {number(c, i, DType::kF32), number(c, i + 1, dtype)}) operands.push_back(c.e.align(v, dims));
  };
  const DType dtype = c.e.dtype(c.in(*at.begin()));
  if (dtype != DType::kS8 && dtype != DType::kU8)
    unsupported("elements of " + std::string(ops::name(dtype)) + " are not supported");
  for (const std::size_t i : at) {
    operands.push_back(c.e.align(c.in(i), dims));
    add_numbers(i + 1, dtype);
  }
  add_numbers(result, dtype);
  return {c.e.op(c.target, operands, attrs)};
}

Values binary(Call& c) { return elementwise(c, {0, 3}, 6); }
Values unary(Call& c) { return elementwise(c, {0}, 3); }
Values leaky_relu(Call& c) { return elementwise(c, {0}, 3, {{"alpha", c.float_attr("alpha", 0.01f)}}); }

// Operand `i` as floats; its scale and zero point stand behind it.
Value real(Call& c, std::size_t i) {
  const Ints dims = c.e.dims(c.in(i));
  const auto wide = [&](Value v) { return c.e.align(v, dims); };
  return c.e.op("dequantized",
                {c.in(i), wide(number(c, i + 1, DType::kF32)), wide(number(c, i + 2, c.e.dtype(c.in(i))))});
}
// Floats as whole numbers with the scale at `i` and the zero point behind it.
Value whole(Call& c, Value x, std::size_t i, DType dtype) {
  const Ints dims = c.e.dims(x);
  return c.e.op("quantized", {x, c.e.align(number(c, i, DType::kF32), dims), c.e.align(number(c, i + 1, dtype), dims)});
}

// Scale and zero point of the result stand in front, then the parts with theirs.
Values concat(Call& c) {
  if (c.input_count() < 5 || c.input_count() % 3 != 2)
    refuse("its parts do not come with a scale and a zero point each");
  Values parts;
  for (std::size_t i = 2; i < c.input_count(); i += 3) parts.push_back(real(c, i));
  const std::int64_t axis = c.axis(c.int_attr("axis"), c.e.rank(parts[0]));
  return {whole(c, c.e.concat(parts, axis), 0, c.e.dtype(c.in(2)))};
}

Values global_average_pool(Call& c) {
  const Value x = real(c, 0);
  const Ints dims = c.e.dims(x);
  if (dims.size() < 3) refuse(ops::to_string(c.e.type(x)) + " has no spatial axes");
  const bool last = c.int_attr("channels_last", 0) != 0;
  Ints axes;
  for (std::int64_t a = last ? 1 : 2; a < c.e.rank(x) - (last ? 1 : 0); ++a) axes.push_back(a);
  std::int64_t count = 1;
  for (const std::int64_t a : axes) count *= dims[static_cast<std::size_t>(a)];
  const Value mean = c.e.binary("div", c.e.reduce("reduce_sum", x, axes, true), static_cast<double>(count));
  return {whole(c, mean, 3, c.e.dtype(c.in(0)))};
}

// The sums of whole numbers as floats: times both scales, plus a bias.
Value scaled(Call& c, Value sum, Value scale_a, std::size_t scale_b, std::size_t bias) {
  const Value real = c.e.binary("mul", c.e.convert(sum, DType::kF32), c.e.binary("mul", scale_a, c.in(scale_b)));
  return c.has(bias) ? c.e.binary("add", real, c.in(bias)) : real;
}

Values matmul_to_float(Call& c) {
  return {scaled(c, emit_matmul_integer(c, {c.in(0), c.in_or(4, {}), c.in(1), c.in_or(5, {})}), c.in(2), 3, 6)};
}

// The left side is quantised by its own range, when it runs.
Values dynamic_matmul(Call& c) {
  const Values a = emit_dynamic_quantize(c);
  return {scaled(c, emit_matmul_integer(c, {a[0], a[2], c.in(1), c.in_or(3, {})}), a[1], 2, 4)};
}

// Weights of 4 or 8 bits [n, blocks, bytes], with a scale and a zero point for each block along k.
Values matmul_nbits(Call& c) {
  const std::int64_t bits = c.int_attr("bits", 4), block = c.int_attr("block_size"), k = c.int_attr("K"),
                     n = c.int_attr("N");
  if (bits != 4 && bits != 8) unsupported("weights of " + std::to_string(bits) + " bits are not supported");
  if (c.has(4)) unsupported("columns in another order are not supported");
  if (block < 1 || k < 1 || n < 1 || k > (std::int64_t{1} << 40)) refuse("its attributes are out of range");
  const std::int64_t blocks = (k + block - 1) / block;
  const auto unpacked = [&](Value packed) { return bits == 4 ? c.e.op("unpack_nibbles", {packed}) : packed; };
  const auto misfit = [&](Value v) { refuse(ops::to_string(c.e.type(v)) + " does not fit its attributes"); };
  if (c.e.dtype(c.in(1)) != DType::kU8 || product(c.e.dims(c.in(1))) != n * blocks * (block * bits / 8))
    misfit(c.in(1));
  const Value numbers = unpacked(c.e.reshape(c.in(1), {n, blocks, block * bits / 8}));
  if (product(c.e.dims(c.in(2))) != n * blocks) misfit(c.in(2));
  const Value scale = c.e.reshape(c.in(2), {n, blocks});
  const DType dtype = c.e.dtype(scale);
  Value zero = c.e.fill(dtype, bits == 4 ? 8 : 128, {n, blocks});
  if (c.has(3)) {
    Value given = c.in(3);
    if (c.e.dtype(given) == DType::kU8) {
      const std::int64_t bytes = (blocks * bits + 7) / 8;
      if (product(c.e.dims(given)) != n * bytes) misfit(given);
      given = c.e.slice(unpacked(c.e.reshape(given, {n, bytes})), 1, 0, blocks);
    }
    if (product(c.e.dims(given)) != n * blocks) misfit(given);
    zero = c.e.reshape(c.e.convert(given, dtype), {n, blocks});
  }
  const Value weights = c.e.slice(c.e.op("dequantized_blocks", {numbers, scale, zero}), 1, 0, k);
  const Value a = c.in(0);
  const Value out =
      c.e.op("dot", {a, c.e.convert(weights, c.e.dtype(a))},
             {{"lhs_contract", Ints{c.e.rank(a) - 1}}, {"rhs_contract", Ints{1}}, {"dtype", c.e.dtype(a)}});
  return {c.has(5) ? c.e.binary("add", out, c.in(5)) : out};
}

}  // namespace

std::vector<OperatorRow> vendor_quantization_operators() {
  return {
      {"QuantizeLinear", quantize, kMakesOwnType},
      {"DequantizeLinear", dequantize, kMakesOwnType},
      {"QLinearAdd", binary, "quantized_add"},
      {"QLinearMul", binary, "quantized_mul"},
      {"QLinearLeakyRelu", leaky_relu, "quantized_leaky_relu"},
      {"QLinearSigmoid", unary, "quantized_sigmoid"},
      {"QLinearConcat", concat},
      {"QLinearGlobalAveragePool", global_average_pool},
      {"MatMulIntegerToFloat", matmul_to_float},
      {"DynamicQuantizeMatMul", dynamic_matmul},
      {"MatMulNBits", matmul_nbits},
  };
}

}  // namespace fusewright::frontend_onnx
