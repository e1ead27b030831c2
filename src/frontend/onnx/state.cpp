#include <cmath>

#include "src/frontend/onnx/call.hpp"

namespace fusewright::frontend_onnx {

namespace {

using Values = std::vector<Value>;

// Operators of sequence models that carry a state from one call to the next.

// A depthwise convolution over what came before and what is there; the last elements are the next state.
Values causal_conv(Call& c) {
  const Value x = c.in(0), w = c.in(1);
  const Ints dims = c.e.dims(x), weights = c.e.dims(w);
  if (dims.size() != 3 || weights.size() != 3 || weights[0] != dims[1] || weights[1] != 1 || weights[2] < 1)
    refuse("its weights " + ops::to_string(c.e.type(w)) + " do not fit " + ops::to_string(c.e.type(x)));
  const std::int64_t kept = weights[2] - 1;
  const Value past = c.in_or(3, c.e.fill(c.e.dtype(x), 0, {dims[0], dims[1], kept}));
  if (c.e.dims(past) != Ints{dims[0], dims[1], kept}) refuse("its state is " + ops::to_string(c.e.type(past)));
  const Value all = c.e.concat({past, x}, 2);
  const Ints spec = {0, 1, 2};
  Value y = c.e.op("conv", {all, w},
                   {{"strides", Ints{1}},
                    {"pad_low", Ints{0}},
                    {"pad_high", Ints{0}},
                    {"lhs_dilation", Ints{1}},
                    {"rhs_dilation", Ints{1}},
                    {"reversal", Ints{0}},
                    {"groups", dims[1]},
                    {"lhs_spec", spec},
                    {"rhs_spec", spec},
                    {"out_spec", spec},
                    {"dtype", c.e.dtype(x)}});
  if (c.has(2)) y = c.e.op("add", {y, c.e.broadcast(c.in(2), c.e.dims(y), {1})});
  const std::string activation = c.string_attr("activation", "none");
  if (activation == "silu" || activation == "swish") {
    y = c.e.convert(c.e.op("swish", {c.e.convert(y, DType::kF32)}), c.e.dtype(x));
  } else if (activation != "none") {
    refuse("attribute 'activation' is '" + activation + "'");
  }
  return {y, c.e.slice(all, 2, dims[2], dims[2] + kept)};
}

// --- Linear attention: a matrix of state for each head, changed by each element of the sequence ----------

struct LinearOptions {
  std::int64_t query_heads, heads;
  bool gated, delta;
};

LinearOptions read_options(Call& c) {
  LinearOptions o{c.int_attr("q_num_heads"), c.int_attr("kv_num_heads"), false, false};
  const std::string rule = c.string_attr("update_rule", "gated_delta");
  if (rule != "linear" && rule != "gated" && rule != "delta" && rule != "gated_delta")
    refuse("attribute 'update_rule' is '" + rule + "'");
  o.gated = rule.starts_with("gated");
  o.delta = rule.ends_with("delta");
  if (o.heads < 1 || o.query_heads < 1 || o.query_heads % o.heads != 0)
    refuse("its query heads are no multiple of its key heads");
  if (o.gated != c.has(4) || o.delta != c.has(5)) refuse("its inputs do not fit the update rule '" + rule + "'");
  return o;
}

// [batch, time, heads * size] as f32[batch, heads, time, size]
Value by_head(Call& c, std::size_t i, std::int64_t heads) {
  const Value x = c.in(i);
  const Ints d = c.e.dims(x);
  if (d.size() != 3 || d[2] % heads != 0) refuse("its heads do not divide " + ops::to_string(c.e.type(x)));
  const Value split = c.e.reshape(x, {d[0], d[1], heads, d[2] / heads});
  return c.e.convert(c.e.transpose(split, {0, 2, 1, 3}), DType::kF32);
}

// One row for each matrix of the batch times it: [batch, heads, k] and [batch, heads, k, n].
Value row_times(Call& c, Value row, Value matrix) {
  return c.e.op("dot", {row, matrix},
                {{"lhs_batch", Ints{0, 1}},
                 {"rhs_batch", Ints{0, 1}},
                 {"lhs_contract", Ints{2}},
                 {"rhs_contract", Ints{2}},
                 {"dtype", DType::kF32}});
}

Values linear_attention(Call& c) {
  const LinearOptions o = read_options(c);
  const Value q = by_head(c, 0, o.query_heads), k = by_head(c, 1, o.heads), v = by_head(c, 2, o.heads);
  const Ints keys = c.e.dims(k), values = c.e.dims(v);
  const std::int64_t batch = keys[0], time = keys[2], size = keys[3], width = values[3];
  const Ints state_dims = {batch, o.heads, size, width};
  constexpr std::int64_t kMostSteps = 4096;
  if (time < 1 || time > kMostSteps || values[2] != time || c.e.dims(q)[2] != time || c.e.dims(q)[3] != size)
    refuse("its sequences do not fit each other, or are longer than 4096");
  Value state = c.has(3) ? c.e.convert(c.in(3), DType::kF32) : c.e.fill(DType::kF32, 0, state_dims);
  const Value decay = o.gated ? by_head(c, 4, o.heads) : Value{};
  Value rate;
  if (o.delta) rate = by_head(c, 5, c.e.dims(c.in(5))[2] == 1 ? 1 : o.heads);
  double scale = c.float_attr("scale", 0);
  if (scale == 0) scale = 1 / std::sqrt(static_cast<double>(size));
  const auto step = [&](Value x, std::int64_t t) {
    Ints dims = c.e.dims(x);
    dims.erase(dims.begin() + 2);
    return c.e.reshape(c.e.slice(x, 2, t, t + 1), dims);
  };
  Values rows;
  for (std::int64_t t = 0; t < time; ++t) {
    const Value key = step(k, t);
    Value value = step(v, t);
    if (o.gated) {
      const Value factor = c.e.unary("exp", step(decay, t));
      Ints column = c.e.dims(factor);
      column.push_back(1);
      state = c.e.binary("mul", state, c.e.reshape(factor, column));
    }
    if (o.delta) value = c.e.binary("mul", c.e.op("sub", {value, row_times(c, key, state)}), step(rate, t));
    const Value outer =
        c.e.op("mul", {c.e.broadcast(key, state_dims, {0, 1, 2}), c.e.broadcast(value, state_dims, {0, 1, 3})});
    state = c.e.op("add", {state, outer});
    // Several heads of queries read the state of one head of keys.
    const std::int64_t readers = o.query_heads / o.heads;
    const Value grouped = c.e.reshape(step(q, t), {batch, o.heads, readers, size});
    const Value read = c.e.op("dot", {grouped, state},
                              {{"lhs_batch", Ints{0, 1}},
                               {"rhs_batch", Ints{0, 1}},
                               {"lhs_contract", Ints{3}},
                               {"rhs_contract", Ints{2}},
                               {"dtype", DType::kF32}});
    rows.push_back(c.e.reshape(c.e.binary("mul", read, scale), {batch, 1, o.query_heads * width}));
  }
  return {c.e.convert(c.e.concat(rows, 1), c.e.dtype(c.in(0))),
          c.e.convert(state, c.e.dtype(c.has(3) ? c.in(3) : c.in(0)))};
}

// The update takes the place of the cache's elements from each sample's own index on.
Values tensor_scatter(Call& c) {
  const Value cache = c.in(0), update = c.in(1);
  const Ints dims = c.e.dims(cache), part = c.e.dims(update);
  const auto rank = static_cast<std::int64_t>(dims.size());
  const std::int64_t axis = c.axis(c.int_attr("axis", -2), rank);
  Ints rest = dims;
  if (axis < 1 || part.size() != dims.size() || part[axis] > dims[axis]) refuse("its update does not fit its cache");
  rest[axis] = part[axis];
  if (rest != part) refuse("its update does not fit its cache");
  const std::string mode = c.string_attr("mode", "linear");
  if (mode != "linear" && mode != "circular") refuse("attribute 'mode' is '" + mode + "'");
  const Ints places = {dims[0], part[axis]};
  Value at = c.e.iota(DType::kS64, places, 1);
  if (c.has(2)) at = c.e.op("add", {at, c.e.broadcast(c.e.convert(c.in(2), DType::kS64), places, {0})});
  if (mode == "circular") at = c.e.binary("mod", at, c.e.scalar_int(DType::kS64, dims[axis]));
  const Ints column = {places[0], places[1], 1};
  const Value sample = c.e.iota(DType::kS64, places, 0);
  const Value positions = c.e.concat({c.e.reshape(sample, column), c.e.reshape(at, column)}, 2);
  Ints window;
  for (std::int64_t i = 1; i < rank; ++i)
    if (i != axis) window.push_back(i);
  return {c.e.op("scatter", {cache, positions, update},
                 {{"update_window_dims", window},
                  {"inserted_window_dims", Ints{0, axis}},
                  {"scatter_dims_to_operand_dims", Ints{0, axis}},
                  {"index_vector_dim", std::int64_t{2}},
                  {"combiner", std::string("assign")}})};
}

}  // namespace

std::vector<OperatorRow> state_operators() {
  return {
      {"CausalConvWithState", causal_conv},
      {"LinearAttention", linear_attention},
      {"TensorScatter", tensor_scatter},
  };
}

}  // namespace fusewright::frontend_onnx
