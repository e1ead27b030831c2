#include <cmath>
#include <limits>

#include "src/frontend/onnx/attention.hpp"

namespace fusewright::frontend_onnx {

namespace {

using Values = std::vector<Value>;
constexpr double kInf = std::numeric_limits<double>::infinity();

// [batch, sequence, heads * size] as [batch, heads, sequence, size]
Value split_heads(Call& c, Value x, std::int64_t heads) {
  const Ints d = c.e.dims(x);
  if (heads < 1 || d[2] % heads != 0) refuse("its heads do not divide " + ops::to_string(c.e.type(x)));
  return c.e.transpose(c.e.reshape(x, {d[0], d[1], heads, d[2] / heads}), {0, 2, 1, 3});
}

// Heads of keys and values that several heads of queries share stand side by side.
Value repeat_heads(Call& c, Value x, std::int64_t heads) {
  const Ints d = c.e.dims(x);
  if (d[1] == heads) return x;
  if (d[1] == 0 || heads % d[1] != 0) refuse("its query heads are no multiple of its key heads");
  const Value wide = c.e.broadcast(x, {d[0], d[1], heads / d[1], d[2], d[3]}, {0, 1, 3, 4});
  return c.e.reshape(wide, {d[0], heads, d[2], d[3]});
}

struct Bias {
  Value value;            // added to the scores, or invalid
  bool may_hide = false;  // a whole row may be -inf
};

// Zero where the mask lets through, -inf elsewhere.
Value as_bias(Call& c, Value allowed, DType dtype) {
  return c.e.select(allowed, c.e.scalar(dtype, 0), c.e.scalar(dtype, -kInf));
}
void add_bias(Call& c, Bias& bias, Value more) {
  bias.value = bias.value.valid() ? c.e.binary("add", bias.value, more) : more;
}

// distance[.., queries, keys]: how far the key lies behind the query, whose position starts at `offset` (number or
// s64[batch]).
Value distances(Call& c, std::int64_t queries, std::int64_t keys, Value offset) {
  const Ints dims = {queries, keys};
  const Value plain = c.e.op("sub", {c.e.iota(DType::kS64, dims, 0), c.e.iota(DType::kS64, dims, 1)});
  if (c.e.rank(offset) == 0) return c.e.binary("add", plain, offset);
  return c.e.binary("add", plain, c.e.reshape(offset, {c.e.dims(offset)[0], 1, 1, 1}));
}

Bias read_bias(Call& c, DType dtype, std::int64_t queries, std::int64_t keys, std::int64_t past) {
  Bias bias;
  if (c.has(6) && c.e.rank(c.in(6)) != 1) refuse("its key lengths are not a vector");
  if (c.has(3)) {
    Value mask = c.in(3);
    const bool logical = c.e.dtype(mask) == DType::kPred;
    const Ints own = c.e.dims(mask);
    if (own.empty()) refuse("its mask is a scalar");
    if (own.back() < keys && own.back() != 1) {
      Ints high(own.size(), 0);
      high.back() = keys - own.back();
      mask = c.e.op("pad", {mask, c.e.scalar(c.e.dtype(mask), logical ? 0 : -kInf)},
                    {{"low", Ints(own.size(), 0)}, {"high", high}, {"interior", Ints(own.size(), 0)}});
    }
    add_bias(c, bias, logical ? as_bias(c, mask, dtype) : c.e.convert(mask, dtype));
    bias.may_hide = true;
  }
  const std::int64_t left = c.int_attr("left_window_size", -1), right = c.int_attr("right_window_size", -1);
  const bool causal = c.int_attr("is_causal", 0) != 0;
  if (causal || left >= 0 || right >= 0) {
    Value offset = c.e.scalar_int(DType::kS64, past);
    if (past == 0 && c.has(6))
      offset = c.e.binary("sub", c.e.convert(c.in(6), DType::kS64), static_cast<double>(queries));
    const Value behind = distances(c, queries, keys, offset);
    Value allowed;
    const auto limit = [&](Value next) { allowed = allowed.valid() ? c.e.op("and", {allowed, next}) : next; };
    if (causal) limit(c.e.binary("ge", behind, 0.0));
    if (left >= 0) limit(c.e.binary("le", behind, static_cast<double>(left)));
    if (right >= 0) limit(c.e.binary("ge", behind, static_cast<double>(-right)));
    add_bias(c, bias, as_bias(c, allowed, dtype));
    bias.may_hide = bias.may_hide || c.has(6) || left >= 0 || right >= 0;
  }
  if (c.has(6)) {
    const Value lengths = c.e.reshape(c.e.convert(c.in(6), DType::kS64), {c.e.dims(c.in(6))[0], 1, 1, 1});
    const Value inside = c.e.binary("lt", c.e.iota(DType::kS64, {1, 1, 1, keys}, 3), lengths);
    add_bias(c, bias, as_bias(c, inside, dtype));
    bias.may_hide = true;
  }
  return bias;
}

// A row of scores that is hidden altogether has no weights.
Value weights_of(Call& c, Value scores, const Bias& bias) {
  const DType dtype = c.e.dtype(scores);
  const std::int64_t stated = c.int_attr("softmax_precision", 0);
  const DType wide = stated != 0 ? dtype_of(stated) : dtype;
  const std::int64_t last = c.e.rank(scores) - 1;
  Value weights = c.e.op("softmax", {c.e.convert(scores, wide)}, {{"axis", last}});
  if (bias.may_hide) {
    const std::int64_t axis = c.e.rank(bias.value) - 1;
    const Value greatest = c.e.reduce("reduce_max", bias.value, {axis}, true);
    weights = c.e.select(c.e.binary("eq", greatest, -kInf), c.e.scalar(wide, 0), weights);
  }
  return c.e.convert(weights, dtype);
}

Value batched_dot(Call& c, Value a, Value b, std::int64_t axis_b) {
  return c.e.op("dot", {a, b},
                {{"lhs_batch", Ints{0, 1}},
                 {"rhs_batch", Ints{0, 1}},
                 {"lhs_contract", Ints{3}},
                 {"rhs_contract", Ints{axis_b}},
                 {"dtype", c.e.dtype(a)}});
}

Values attention(Call& c) {
  Value q = c.in(0), k = c.in(1), v = c.in(2);
  const bool flat = c.e.rank(q) == 3;
  if ((!flat && c.e.rank(q) != 4) || c.e.rank(k) != c.e.rank(q) || c.e.rank(v) != c.e.rank(q)) {
    refuse("its query, key and value are not all of rank 3 or all of rank 4");
  }
  if (flat) {
    q = split_heads(c, q, c.int_attr("q_num_heads"));
    k = split_heads(c, k, c.int_attr("kv_num_heads"));
    v = split_heads(c, v, c.int_attr("kv_num_heads"));
  }
  if (c.has(4) && c.e.rank(c.in(4)) != 4) refuse("its past keys are not of rank 4");
  const std::int64_t past = c.has(4) ? c.e.dims(c.in(4))[2] : 0;
  if (c.has(4)) k = c.e.concat({c.in(4), k}, 2);
  if (c.has(5)) v = c.e.concat({c.in(5), v}, 2);
  const Value present_k = k, present_v = v;
  const DType dtype = c.e.dtype(q);
  const Ints dims = c.e.dims(q);
  const std::int64_t queries = dims[2], keys = c.e.dims(k)[2];
  k = repeat_heads(c, k, dims[1]);
  v = repeat_heads(c, v, dims[1]);
  // Narrow floats are scaled before the product, half on each side, so that it does not overflow.
  const double scale = c.float_attr("scale", 1 / std::sqrt(static_cast<double>(dims[3])));
  const bool narrow = ops::bit_width(dtype) < 32;
  Value scores = narrow
                     ? batched_dot(c, c.e.binary("mul", q, std::sqrt(scale)), c.e.binary("mul", k, std::sqrt(scale)), 3)
                     : c.e.binary("mul", batched_dot(c, q, k, 3), scale);
  Value shown = scores;
  const std::int64_t mode = c.int_attr("qk_matmul_output_mode", 0);
  if (const double cap = c.float_attr("softcap", 0); cap > 0) {
    scores = c.e.binary("mul", c.e.unary("tanh", c.e.binary("div", scores, cap)), cap);
  }
  if (mode == 1 || mode == 0) shown = scores;
  const Bias bias = read_bias(c, dtype, queries, keys, past);
  if (bias.value.valid()) scores = c.e.binary("add", scores, bias.value);
  if (mode == 2) shown = scores;
  const Value weights = weights_of(c, scores, bias);
  if (mode == 3) shown = weights;
  Value out = batched_dot(c, weights, v, 2);
  if (flat) {
    const Ints d = c.e.dims(out);
    out = c.e.reshape(c.e.transpose(out, {0, 2, 1, 3}), {d[0], d[2], d[1] * d[3]});
  }
  return {out, present_k, present_v, shown};
}

// --- Rotary positions, caches ----------------------------------------------------------------------

Values rotary_embedding(Call& c) {
  Rotation rotation = rotation_of(c);
  rotation.cos = c.in(1);
  rotation.sin = c.in(2);
  rotation.positions = c.in_or(3, {});
  return {emit_rotated(c, rotation)};
}

Values swiglu(Call& c) {
  const Value gate = c.e.op("swish", {c.in(0)}, {{"alpha", c.float_attr("alpha", 1)}});
  return {c.e.op("mul", {gate, c.in(1)})};
}

// --- Losses ----------------------------------------------------------------------------------------

// -weight[target] * x[target] for each position; x is [N, C, ...], target is [N, ...].
Value negative_log_likelihood(Call& c, Value x, Value target, Value weight) {
  const DType dtype = c.e.dtype(x);
  const Ints dims = c.e.dims(target);
  if (c.e.rank(x) != static_cast<std::int64_t>(dims.size()) + 1) refuse("its target does not fit its input");
  Value ignored;
  if (c.has_attr("ignore_index")) {
    ignored = c.e.binary("eq", target, c.e.scalar_int(c.e.dtype(target), c.int_attr("ignore_index")));
    target = c.e.select(ignored, c.e.scalar(c.e.dtype(target), 0), target);
  }
  Ints column = dims;
  column.insert(column.begin() + 1, 1);
  const Value picked =
      c.e.reshape(c.e.op("take_along", {x, c.e.reshape(target, column)}, {{"axis", std::int64_t{1}}}), dims);
  Value loss = c.e.unary("neg", picked);
  Value scale;
  if (weight.valid()) scale = c.e.op("take", {weight, target}, {{"axis", std::int64_t{0}}});
  if (ignored.valid()) {
    const Value full = scale.valid() ? scale : c.e.fill(dtype, 1, dims);
    scale = c.e.select(ignored, c.e.scalar(dtype, 0), full);
  }
  if (scale.valid()) loss = c.e.op("mul", {loss, scale});
  const std::string reduction = c.string_attr("reduction", "mean");
  const Ints all = count_up(static_cast<std::int64_t>(dims.size()));
  if (reduction == "none") return loss;
  if (reduction != "sum" && reduction != "mean") refuse("attribute 'reduction' is '" + reduction + "'");
  const Value sum = c.e.op("reduce_sum", {loss}, {{"axes", all}});
  if (reduction == "sum") return sum;
  if (!scale.valid()) return c.e.binary("div", sum, static_cast<double>(product(dims)));
  return c.e.op("div", {sum, c.e.op("reduce_sum", {scale}, {{"axes", all}})});
}

Values nll_loss(Call& c) { return {negative_log_likelihood(c, c.in(0), c.in(1), c.in_or(2, {}))}; }

Values softmax_cross_entropy(Call& c) {
  const Value log_prob = c.e.op("log_softmax", {c.in(0)}, {{"axis", std::int64_t{1}}});
  return {negative_log_likelihood(c, log_prob, c.in(1), c.in_or(2, {})), log_prob};
}

}  // namespace

Rotation rotation_of(Call& c) {
  Rotation out;
  out.x = c.in(0);
  out.heads = c.int_attr("num_heads", 0);
  out.elements = c.int_attr("rotary_embedding_dim", 0);
  out.interleaved = c.int_attr("interleaved", 0) != 0;
  return out;
}

Value emit_rotated(Call& c, const Rotation& of) {
  Value x = of.x;
  const Ints outer = c.e.dims(x);
  const bool flat = outer.size() == 3;
  if (!flat && outer.size() != 4) refuse("its input is not of rank 3 or 4");
  if (flat) {
    std::int64_t heads = of.heads;
    // The older operator tells the size of a head by its tables.
    if (heads == 0 && of.elements == 0 && of.positions.valid() && c.e.rank(of.cos) == 2 && c.e.dims(of.cos)[1] > 0)
      heads = outer[2] / (2 * c.e.dims(of.cos)[1]);
    if (heads < 1 || outer[2] % heads != 0)
      refuse("attribute 'num_heads' does not divide " + ops::to_string(c.e.type(x)));
    x = c.e.reshape(x, {outer[0], outer[1], heads, outer[2] / heads});
  }
  const Ints dims = c.e.dims(x);
  const std::int64_t rotated = of.elements == 0 ? dims[3] : of.elements;
  if (rotated < 2 || rotated % 2 != 0 || rotated > dims[3])
    refuse("it rotates " + std::to_string(rotated) + " of " + std::to_string(dims[3]) + " elements");
  const std::int64_t half = rotated / 2;
  const auto angles = [&](Value table) {
    if (of.positions.valid()) table = c.e.op("take", {table, of.positions}, {{"axis", std::int64_t{0}}});
    const Ints own = c.e.dims(table);
    if (own.size() != 3 || own[2] != half)
      refuse("its tables " + ops::to_string(c.e.type(table)) + " do not fit " + std::to_string(rotated) +
             " rotated elements");
    Ints at = own;
    at.insert(at.begin() + (flat ? 2 : 1), 1);
    return c.e.reshape(table, at);
  };
  const Value cos = angles(of.cos), sin = angles(of.sin);
  const Value turned = c.e.slice(x, 3, 0, rotated);
  const Value a = of.interleaved ? c.e.slice(turned, 3, 0, rotated, 2) : c.e.slice(turned, 3, 0, half);
  const Value b = of.interleaved ? c.e.slice(turned, 3, 1, rotated, 2) : c.e.slice(turned, 3, half, rotated);
  const Value real = c.e.op("sub", {c.e.binary("mul", a, cos), c.e.binary("mul", b, sin)});
  const Value imaginary = c.e.op("add", {c.e.binary("mul", a, sin), c.e.binary("mul", b, cos)});
  Value out;
  if (of.interleaved) {
    Ints column = c.e.dims(real), pairs = dims;
    column.push_back(1);
    pairs[3] = rotated;
    out = c.e.reshape(c.e.concat({c.e.reshape(real, column), c.e.reshape(imaginary, column)}, 4), pairs);
  } else {
    out = c.e.concat({real, imaginary}, 3);
  }
  if (rotated < dims[3]) out = c.e.concat({out, c.e.slice(x, 3, rotated, dims[3])}, 3);
  return c.e.reshape(out, outer);
}

Value emit_rotary(Call& c) {
  Rotation rotation = rotation_of(c);
  Value positions = c.in(1);
  const Ints dims = c.e.dims(c.in(0));
  if (dims.size() != 3 && dims.size() != 4) refuse("its input is not of rank 3 or 4");
  const std::int64_t sequence = dims[dims.size() - 2];
  // One number: where the first element stands.
  if (product(c.e.dims(positions)) == 1 && c.e.rank(positions) < 2) {
    const Value steps = c.e.iota(c.e.dtype(positions), {dims[0], sequence}, 1);
    positions = c.e.binary("add", steps, c.e.reshape(positions, {}));
  }
  rotation.cos = c.in(2);
  rotation.sin = c.in(3);
  rotation.positions = positions;
  return emit_rotated(c, rotation);
}

std::vector<OperatorRow> attention_operators() {
  return {{"Attention", attention},
          {"RotaryEmbedding", rotary_embedding},
          {"SwiGLU", swiglu},
          {"NegativeLogLikelihoodLoss", nll_loss},
          {"SoftmaxCrossEntropyLoss", softmax_cross_entropy}};
}

}  // namespace fusewright::frontend_onnx
