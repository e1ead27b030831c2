#include "src/frontend/onnx/call.hpp"

namespace fusewright::frontend_onnx {

namespace {

using Values = std::vector<Value>;

// Operators whose meaning stands in rules/onnx: only names and attributes are mapped here.

struct FloatAttr {
  std::string_view onnx;
  std::string_view name;
  double fallback;
};

Values activation(Call& c, std::initializer_list<FloatAttr> attrs) {
  Attrs mapped;
  for (const FloatAttr& attr : attrs) mapped.set(attr.name, c.float_attr(attr.onnx, attr.fallback));
  return {c.e.op(c.target, {c.in(0)}, mapped)};
}

Values plain(Call& c) { return activation(c, {}); }
Values elu(Call& c) { return activation(c, {{"alpha", "alpha", 1}}); }
Values leaky_relu(Call& c) { return activation(c, {{"alpha", "alpha", 0.01f}}); }
Values selu(Call& c) {
  if (c.opset < 6) return activation(c, {{"alpha", "alpha", 1.6732f}, {"gamma", "gamma", 1.0507f}});
  return activation(c, {{"alpha", "alpha", 1.67326319217681884765625}, {"gamma", "gamma", 1.05070102214813232421875}});
}
Values hard_sigmoid(Call& c) { return activation(c, {{"alpha", "alpha", 0.2f}, {"beta", "beta", 0.5f}}); }
Values shrink(Call& c) { return activation(c, {{"lambd", "lambd", 0.5}, {"bias", "bias", 0}}); }
Values swish(Call& c) { return activation(c, {{"alpha", "alpha", 1}}); }

Values gelu(Call& c) {
  const std::string kind = c.string_attr("approximate", "none");
  if (kind != "none" && kind != "tanh") refuse("attribute 'approximate' is '" + kind + "'");
  return {c.e.op(kind == "tanh" ? "gelu_tanh" : "gelu", {c.in(0)})};
}

Values prelu(Call& c) {
  const Value x = c.in(0);
  Value slope = c.in(1);
  const Ints dims = c.e.dims(x);
  const Ints own = c.e.dims(slope);
  // Before opset 7 a vector is one slope for each channel.
  if (c.opset < 7 && own.size() == 1 && own[0] != 1 && dims.size() > 1) slope = c.e.broadcast(slope, dims, {1});
  return {c.e.op("prelu", {x, c.e.align(slope, dims)})};
}

// By the statistics of the batch itself; they also move the running ones.
Values trained_batch_norm(Call& c) {
  const Value x = c.in(0);
  Ints axes;
  for (std::int64_t i = 0; i < c.e.rank(x); ++i)
    if (i != 1) axes.push_back(i);
  const auto mean = [&](Value v) { return c.e.op("reduce_mean", {v}, {{"axes", axes}}); };
  const Value average = mean(x);
  const Value centered = c.e.op("sub", {x, c.e.broadcast(average, c.e.dims(x), {1})});
  const Value variance = mean(c.e.op("mul", {centered, centered}));
  const double momentum = c.float_attr("momentum", 0.9f);
  const auto moved = [&](Value running, Value current) {
    return c.e.op("add", {c.e.binary("mul", running, momentum), c.e.binary("mul", current, 1 - momentum)});
  };
  const Value y = c.e.op("batch_norm", {x, c.in(1), c.in(2), average, variance},
                         {{"epsilon", c.float_attr("epsilon", 1e-5f)}, {"feature", std::int64_t{1}}});
  return {y, moved(c.in(3), average), moved(c.in(4), variance)};
}

Values batch_norm(Call& c) {
  if (c.int_attr("training_mode", 0) != 0) return trained_batch_norm(c);
  if (c.int_attr("spatial", 1) == 0) unsupported("BatchNormalization with spatial = 0 is not supported");
  if (c.opset < 7 && c.int_attr("is_test", 0) == 0 && c.wants(1))
    unsupported("BatchNormalization in training mode is not supported");
  if (c.wants(1)) unsupported("BatchNormalization in training mode is not supported");
  const DType dtype = c.e.dtype(c.in(0));
  Values operands = {c.in(0)};
  const Ints dims = c.e.dims(c.in(0));
  for (std::size_t i = 1; i < 5; ++i) {
    if (dims.size() < 2 || c.e.dims(c.in(i)) != Ints{dims[1]}) {
      refuse(ops::to_string(c.e.type(c.in(i))) + " is no vector over the channels of " +
             ops::to_string(c.e.type(c.in(0))));
    }
    operands.push_back(c.e.convert(c.in(i), dtype));
  }
  return {c.e.op("batch_norm", operands, {{"epsilon", c.float_attr("epsilon", 1e-5f)}, {"feature", std::int64_t{1}}})};
}

Values instance_norm(Call& c) {
  return {c.e.op("instance_norm", {c.in(0), c.in(1), c.in(2)}, {{"epsilon", c.float_attr("epsilon", 1e-5f)}})};
}

// Normalised in f32 (stash_type 1): where x is narrower, the operator that rounds in between.
bool narrow(Call& c, Value x) {
  if (c.int_attr("stash_type", 1) != 1) unsupported("attribute 'stash_type' other than 1 (float) is not supported");
  return ops::bit_width(c.e.dtype(x)) < 32;
}

// Scales and biases have the shape of the normalised axes, those from `axis` on; extents of one may stand before.
Value along_normalized(Call& c, Value v, std::int64_t axis) {
  const Ints dims = c.e.dims(c.in(0));
  Ints own = c.e.dims(v);
  while (static_cast<std::int64_t>(own.size()) + axis > c.e.rank(c.in(0)) && own.front() == 1) own.erase(own.begin());
  return c.e.align(c.e.reshape(v, own), {dims.begin() + axis, dims.end()});
}

Values layer_norm(Call& c) {
  // Before it was standard, ONNX Runtime's own gave a result of the scale's type.
  const DType result = c.e.dtype(c.in(1));
  const bool widens = c.opset < 17 && ops::bit_width(result) > ops::bit_width(c.e.dtype(c.in(0)));
  const Value x = widens ? c.e.convert(c.in(0), result) : c.in(0);
  const Ints dims = c.e.dims(x);
  const std::int64_t axis = c.axis(c.int_attr("axis", -1), c.e.rank(x));
  Values operands = {x, along_normalized(c, c.in(1), axis)};
  if (c.has(2)) operands.push_back(along_normalized(c, c.in(2), axis));
  Values results = c.e.op_results(narrow(c, x) ? "stashed_layer_norm" : "layer_norm", operands,
                                  {{"axis", axis}, {"epsilon", c.float_attr("epsilon", 1e-5f)}});
  Ints axes;
  for (std::int64_t i = axis; i < c.e.rank(x); ++i) axes.push_back(i);
  for (std::size_t i = 1; i < results.size(); ++i) {
    results[i] = c.wants(static_cast<int>(i)) ? c.e.keep_axes(results[i], dims, axes) : Value{};
  }
  return results;
}

Values rms_norm(Call& c) {
  const Value x = c.in(0);
  const std::int64_t axis = c.axis(c.int_attr("axis", -1), c.e.rank(x));
  return {c.e.op(narrow(c, x) ? "stashed_rms_norm" : "rms_norm", {x, along_normalized(c, c.in(1), axis)},
                 {{"axis", axis}, {"epsilon", c.float_attr("epsilon", 1e-5f)}})};
}

// ONNX Runtime's name for it, with the inverse of the root mean square as a second result.
Values simplified_layer_norm(Call& c) {
  if (c.wants(1)) unsupported("its output 1, the inverse of the root mean square, is not supported");
  return rms_norm(c);
}

Values group_norm(Call& c) {
  const Value x = c.in(0);
  const std::int64_t groups = c.int_attr("num_groups");
  if (c.int_attr("stash_type", 1) != 1) unsupported("attribute 'stash_type' other than 1 (float) is not supported");
  const Ints dims = c.e.dims(x);
  if (dims.size() < 2 || groups < 1 || dims[1] % groups != 0)
    refuse("attribute 'num_groups' does not divide the channels");
  Value scale = c.in(1), bias = c.in(2);
  // Opset 18 has one scale for each group, 21 one for each channel.
  if (c.opset < 21) {
    const auto spread = [&](Value v) {
      return c.e.reshape(c.e.broadcast(v, {groups, dims[1] / groups}, {0}), {dims[1]});
    };
    scale = spread(scale);
    bias = spread(bias);
  }
  return {c.e.op("group_norm", {x, scale, bias}, {{"groups", groups}, {"epsilon", c.float_attr("epsilon", 1e-5f)}})};
}

Values lrn(Call& c) {
  const std::int64_t size = c.int_attr("size");
  if (size < 1 || size > (std::int64_t{1} << 31)) refuse("attribute 'size' is " + std::to_string(size));
  return {c.e.op("lrn", {c.in(0)},
                 {{"window", size},
                  {"alpha", c.float_attr("alpha", 1e-4f)},
                  {"beta", c.float_attr("beta", 0.75)},
                  {"bias", c.float_attr("bias", 1)}})};
}

Values mean_variance_norm(Call& c) {
  const std::int64_t rank = c.e.rank(c.in(0));
  const Ints axes = c.axes(c.ints_attr("axes").value_or(Ints{0, 2, 3}), rank);
  return {c.e.op("mean_variance_norm", {c.in(0)}, {{"axes", axes}})};
}

}  // namespace

std::vector<OperatorRow> composite_operators() {
  return {
      {"Gelu", gelu},
      {"Mish", plain, "mish"},
      {"HardSwish", plain, "hard_swish"},
      {"Softplus", plain, "softplus"},
      {"Softsign", plain, "softsign"},
      {"Elu", elu, "elu"},
      {"Celu", elu, "celu"},
      {"ThresholdedRelu", elu, "thresholded_relu"},
      {"LeakyRelu", leaky_relu, "leaky_relu"},
      {"Selu", selu, "selu"},
      {"HardSigmoid", hard_sigmoid, "hard_sigmoid"},
      {"Shrink", shrink, "shrink"},
      {"Swish", swish, "swish"},
      {"PRelu", prelu},
      {"BatchNormalization", batch_norm},
      {"InstanceNormalization", instance_norm},
      {"LayerNormalization", layer_norm},
      {"RMSNormalization", rms_norm},
      {"SimplifiedLayerNormalization", simplified_layer_norm},
      {"GroupNormalization", group_norm},
      {"LRN", lrn},
      {"MeanVarianceNormalization", mean_variance_norm},
  };
}

}  // namespace fusewright::frontend_onnx
