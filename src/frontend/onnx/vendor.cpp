#include "src/frontend/onnx/call.hpp"

namespace fusewright::frontend_onnx {

namespace {

using Values = std::vector<Value>;

// Operators that ONNX Runtime writes into models it has optimised or quantised.

Value with_bias(Call& c) { return c.has(1) ? c.e.binary("add", c.in(0), c.in(1)) : c.in(0); }

Values gelu(Call& c) { return {c.e.op(c.target, {with_bias(c)})}; }
Values quick_gelu(Call& c) { return {c.e.op("swish", {c.in(0)}, {{"alpha", c.float_attr("alpha", 1.702f)}})}; }

Value swap_last(Call& c, Value x) {
  const std::int64_t rank = c.e.rank(x);
  if (rank < 2) return x;
  Ints perm = count_up(rank);
  std::swap(perm[static_cast<std::size_t>(rank - 1)], perm[static_cast<std::size_t>(rank - 2)]);
  return c.e.transpose(x, perm);
}

Values fused_matmul(Call& c) {
  if (c.int_attr("transBatchA", 0) != 0 || c.int_attr("transBatchB", 0) != 0)
    unsupported("attributes 'transBatchA' and 'transBatchB' are not supported");
  const Value a = c.int_attr("transA", 0) != 0 ? swap_last(c, c.in(0)) : c.in(0);
  const Value b = c.int_attr("transB", 0) != 0 ? swap_last(c, c.in(1)) : c.in(1);
  const Value out = emit_matmul(c.e, a, b, c.e.dtype(a));
  const double alpha = c.float_attr("alpha", 1);
  return {alpha == 1 ? out : c.e.binary("mul", out, alpha)};
}

Values skip_layer_norm(Call& c) {
  Value x = c.e.op("add", {c.in(0), c.in(1)});
  if (c.has(4)) x = c.e.binary("add", x, c.in(4));
  Values operands = {x, c.in(2)};
  if (c.has(3)) operands.push_back(c.in(3));
  const Attrs attrs = {{"axis", c.e.rank(x) - 1}, {"epsilon", c.float_attr("epsilon", 1e-5f)}};
  const bool narrow = ops::bit_width(c.e.dtype(x)) < 32;
  return {c.e.op(narrow ? "stashed_layer_norm" : "layer_norm", operands, attrs), {}, {}, x};
}

Values quantize(Call& c) { return {emit_quantize(c)}; }
Values dequantize(Call& c) { return {emit_dequantize(c)}; }

}  // namespace

std::vector<OperatorRow> vendor_operators() {
  return {
      {"Gelu", gelu, "gelu"},       {"BiasGelu", gelu, "gelu"},       {"FastGelu", gelu, "gelu_tanh"},
      {"QuickGelu", quick_gelu},    {"FusedMatMul", fused_matmul},    {"SkipLayerNormalization", skip_layer_norm},
      {"QuantizeLinear", quantize}, {"DequantizeLinear", dequantize},
  };
}

}  // namespace fusewright::frontend_onnx
