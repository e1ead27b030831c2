#include <algorithm>
#include <limits>

#include "src/frontend/onnx/call.hpp"

namespace fusewright::frontend_onnx {

namespace {

using Values = std::vector<Value>;

// Operators that ONNX Runtime writes into models it has optimised. What they mean stands in rules/onnx/contrib.fuse.

Values plain_gelu(Call& c) { return {c.e.op("gelu", {c.in(0)})}; }

// The bias, if any, lies along the last axis.
Values bias_gelu(Call& c) {
  if (!c.has(1)) return {c.e.op("gelu_tanh", {c.in(0)})};
  return {c.e.op(c.target, {c.in(0), c.e.align(c.in(1), c.e.dims(c.in(0)))})};
}

Values quick_gelu(Call& c) { return {c.e.op("quick_gelu", {c.in(0)}, {{"alpha", c.float_attr("alpha", 1.702f)}})}; }

Values bias_softmax(Call& c) {
  const Value x = c.in(0);
  const Ints dims = c.e.dims(x);
  const std::int64_t rank = c.e.rank(x), axis = c.axis(c.int_attr("axis", 1), rank);
  const Value bias = c.e.align(c.in(1), dims);
  if (axis == rank - 1) return {c.e.op("bias_softmax", {x, bias}, {{"axis", axis}})};
  // Over all axes from `axis` on.
  const Ints rows = {product({dims.begin(), dims.begin() + axis}), product({dims.begin() + axis, dims.end()})};
  const Value flat =
      c.e.op("bias_softmax", {c.e.reshape(x, rows), c.e.reshape(bias, rows)}, {{"axis", std::int64_t{1}}});
  return {c.e.reshape(flat, dims)};
}

// --- Normalisation ---------------------------------------------------------------------------------

Values skip_layer_norm(Call& c) {
  const Value x = c.in(0);
  Values operands = {x, c.e.align(c.in(1), c.e.dims(x)), c.in(2), c.in_or(3, {}), c.in_or(4, {})};
  return c.e.op_results("skip_layer_norm", operands, {{"epsilon", c.float_attr("epsilon", 1e-5f)}});
}

Values skip_rms_norm(Call& c) {
  const Value x = c.in(0);
  const Values out = c.e.op_results("skip_rms_norm", {x, c.e.align(c.in(1), c.e.dims(x)), c.in(2), c.in_or(3, {})},
                                    {{"epsilon", c.float_attr("epsilon", 1e-5f)}});
  return {out[0], {}, {}, out[1]};
}

// Rows of the tables of words, positions and segments, added and normalised.
Values embed_layer_norm(Call& c) {
  const auto rows = [&](std::size_t table, Value ids) {
    return c.e.op("take", {c.in(table), ids}, {{"axis", std::int64_t{0}}});
  };
  const Value ids = c.in(0);
  const Ints dims = c.e.dims(ids);
  if (dims.size() != 2) refuse("its word numbers are no matrix");
  const Value positions = c.has(8) ? c.in(8) : c.e.iota(DType::kS64, dims, 1);
  Value sum = c.e.binary("add", rows(2, ids), rows(3, positions));
  if (c.has(1)) sum = c.e.op("add", {sum, rows(4, c.in(1))});
  const Values out =
      c.e.op_results(ops::bit_width(c.e.dtype(sum)) < 32 ? "stashed_layer_norm" : "layer_norm", {sum, c.in(5), c.in(6)},
                     {{"axis", std::int64_t{2}}, {"epsilon", c.float_attr("epsilon", 1e-12f)}});
  const Value counts =
      c.has(7) ? c.e.op("reduce_sum", {c.in(7)}, {{"axes", Ints{1}}}) : c.e.fill(DType::kS32, 0, {dims[0]});
  return {out[0], counts, sum};
}

// --- Products and convolutions with an activation ---------------------------------------------------

Value activate(Call& c, Value x, const std::string& name, const std::vector<double>& given) {
  const auto number = [&](std::size_t i, double otherwise) { return i < given.size() ? given[i] : otherwise; };
  const auto with_alpha = [&](const char* op, double otherwise) {
    return c.e.op(op, {x}, {{"alpha", number(0, otherwise)}});
  };
  if (name.empty()) return x;
  if (name == "Relu") return c.e.op("relu", {x});
  if (name == "Tanh") return c.e.unary("tanh", x);
  if (name == "Sigmoid") return c.e.unary("logistic", x);
  if (name == "Softplus") return c.e.op("softplus", {x});
  if (name == "Softsign") return c.e.op("softsign", {x});
  if (name == "LeakyRelu") return with_alpha("leaky_relu", 0.01f);
  if (name == "Elu") return with_alpha("elu", 1);
  if (name == "ThresholdedRelu") return with_alpha("thresholded_relu", 1);
  if (name == "HardSigmoid") return c.e.op("hard_sigmoid", {x}, {{"alpha", number(0, 0.2f)}, {"beta", number(1, 0.5)}});
  if (name == "Clip") {
    constexpr double kGreatest = std::numeric_limits<float>::max();
    return c.e.binary("min", c.e.binary("max", x, number(0, -kGreatest)), number(1, kGreatest));
  }
  unsupported("activation '" + name + "' is not supported");
}

Values fused_conv(Call& c) {
  Value out = emit_biased_conv(c);
  if (c.has(3)) out = c.e.op("add", {out, c.in(3)});
  const auto numbers = c.floats_attr("activation_params").value_or(std::vector<double>{});
  return {activate(c, out, c.string_attr("activation", ""), numbers)};
}

// The channels stand last in the image and in the result; the weights are as those of Conv.
Values nhwc_conv(Call& c) {
  const std::int64_t rank = c.e.rank(c.in(0));
  if (rank < 3) refuse(ops::to_string(c.e.type(c.in(0))) + " is not [batch, spatial..., channels]");
  Ints first = count_up(rank), last = count_up(rank);
  std::rotate(first.begin() + 1, first.end() - 1, first.end());
  std::rotate(last.begin() + 1, last.begin() + 2, last.end());
  const Value out = emit_conv(c, c.e.transpose(c.in(0), first), c.in(1), c.e.dtype(c.in(0)));
  const Value moved = c.e.transpose(out, last);
  return {c.has(2) ? c.e.binary("add", moved, c.in(2)) : moved};
}

Values nhwc_fused_conv(Call& c) {
  Value out = nhwc_conv(c).front();
  if (c.has(3)) out = c.e.op("add", {out, c.in(3)});
  const auto numbers = c.floats_attr("activation_params").value_or(std::vector<double>{});
  return {activate(c, out, c.string_attr("activation", ""), numbers)};
}

Values fused_gemm(Call& c) {
  std::vector<double> numbers;
  for (const char* name : {"activation_alpha", "activation_beta", "activation_gamma"})
    if (c.has_attr(name)) numbers.push_back(c.float_attr(name, 0));
  return {activate(c, emit_gemm(c), c.string_attr("activation", ""), numbers)};
}

// Matrices of a product: the first axis may stand before the batch (`apart`), and the last two may change places.
Value matrices(Call& c, Value x, bool swapped, bool apart) {
  const std::int64_t rank = c.e.rank(x);
  if (rank < 2) return x;
  Ints perm = count_up(rank);
  if (apart) std::rotate(perm.begin(), perm.begin() + 1, perm.end() - 1);
  if (swapped) std::swap(perm[static_cast<std::size_t>(rank - 1)], perm[static_cast<std::size_t>(rank - 2)]);
  return c.e.transpose(x, perm);
}

Values fused_matmul(Call& c) {
  const auto flag = [&](const char* name) { return c.int_attr(name, 0) != 0; };
  const Value a = matrices(c, c.in(0), flag("transA"), flag("transBatchA"));
  const Value b = matrices(c, c.in(1), flag("transB"), flag("transBatchB"));
  const Value out = emit_matmul(c.e, a, b, c.e.dtype(a));
  const double alpha = c.float_attr("alpha", 1);
  return {alpha == 1 ? out : c.e.binary("mul", out, alpha)};
}

// --- Dropout, which does nothing outside training -----------------------------------------------------

Values bias_dropout(Call& c) {
  if (c.has(4) && c.known_int(4, "training_mode") != 0 && (!c.has(3) || c.known_double(3, "ratio") != 0))
    unsupported("dropout in training mode is not supported");
  Value out = c.e.binary("add", c.in(0), c.in(1));
  if (c.has(2)) out = c.e.op("add", {out, c.in(2)});
  return {out, c.wants(1) ? c.e.fill(DType::kPred, 1, c.e.dims(out)) : Value{}};
}

}  // namespace

std::vector<OperatorRow> vendor_operators() {
  return {
      {"Gelu", plain_gelu},
      {"BiasGelu", bias_gelu, "bias_gelu"},
      {"FastGelu", bias_gelu, "bias_gelu_tanh"},
      {"QuickGelu", quick_gelu},
      {"BiasSoftmax", bias_softmax},
      {"SkipLayerNormalization", skip_layer_norm},
      {"SkipSimplifiedLayerNormalization", skip_rms_norm},
      {"EmbedLayerNormalization", embed_layer_norm},
      {"FusedConv", fused_conv},
      {"NhwcConv", nhwc_conv},
      {"NhwcFusedConv", nhwc_fused_conv},
      {"FusedGemm", fused_gemm},
      {"FusedMatMul", fused_matmul},
      {"TransposeMatMul", fused_matmul},
      {"BiasDropout", bias_dropout},
  };
}

}  // namespace fusewright::frontend_onnx
