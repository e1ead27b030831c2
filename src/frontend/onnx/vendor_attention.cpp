#include <cmath>
#include <limits>

#include "src/frontend/onnx/attention.hpp"

namespace fusewright::frontend_onnx {

namespace {

using Values = std::vector<Value>;

// Attention as ONNX Runtime's optimiser writes it. The products, the softmax and the moves between layouts are
// operators of rules/onnx/contrib.fuse; here stand the forms that masks, biases and earlier keys come in.

Value split_heads(Call& c, Value x, std::int64_t heads) {
  if (c.e.rank(x) != 3) refuse(ops::to_string(c.e.type(x)) + " is not [batch, sequence, hidden]");
  if (heads < 1 || c.e.dims(x)[2] % heads != 0) refuse("its heads do not divide " + ops::to_string(c.e.type(x)));
  return c.e.op("split_heads", {x}, {{"heads", heads}});
}

// Masks are added to the scores: nothing where the mask lets through, `mask_filter_value` elsewhere.
Value filtered(Call& c, Value allowed, DType dtype) {
  return c.e.select(allowed, c.e.scalar(dtype, 0), c.e.scalar(dtype, c.float_attr("mask_filter_value", -10000)));
}

// [batch, 1, 1, keys] or wider, of one of the forms: lengths [batch], ends and starts [2 * batch], or 1 and 0 for
// each key, [batch, keys], or for each query too, [batch, queries, keys].
Value mask_bias(Call& c, Value mask, DType dtype, std::int64_t batch, std::int64_t queries, std::int64_t keys) {
  const Ints own = c.e.dims(mask);
  const auto along_batch = [&](std::int64_t from) {
    return c.e.reshape(c.e.slice(mask, 0, from * batch, (from + 1) * batch), {batch, 1, 1, 1});
  };
  const Value place = c.e.iota(c.e.dtype(mask), {1, 1, 1, keys}, 3);
  if (own == Ints{batch}) return filtered(c, c.e.binary("lt", place, along_batch(0)), dtype);
  if (own == Ints{2 * batch}) {
    const Value before_end = c.e.binary("lt", place, along_batch(0));
    return filtered(c, c.e.op("and", {before_end, c.e.binary("ge", place, along_batch(1))}), dtype);
  }
  if (own == Ints{batch, keys}) return filtered(c, c.e.to_pred(c.e.reshape(mask, {batch, 1, 1, keys})), dtype);
  if (own == Ints{batch, queries, keys})
    return filtered(c, c.e.to_pred(c.e.reshape(mask, {batch, 1, queries, keys})), dtype);
  unsupported("a mask " + ops::to_string(c.e.type(mask)) + " is not supported");
}

struct Heads {
  Value q, k, v;  // [batch, heads, sequence, size]
  Value mask;     // as in the file, or invalid
  Value bias;     // that is added to the scores, or invalid
};

Values attend(Call& c, const Heads& h) {
  const Ints dims = c.e.dims(h.q);
  const std::int64_t batch = dims[0], queries = dims[2], keys = c.e.dims(h.k)[2];
  const DType dtype = c.e.dtype(h.q);
  Value bias;
  const auto add = [&](Value more) { bias = bias.valid() ? c.e.binary("add", bias, more) : more; };
  if (h.mask.valid()) add(mask_bias(c, h.mask, dtype, batch, queries, keys));
  if (c.int_attr("unidirectional", 0) != 0) {
    const Value behind =
        c.e.op("sub", {c.e.iota(DType::kS64, {queries, keys}, 0), c.e.iota(DType::kS64, {queries, keys}, 1)});
    const Value allowed = c.e.binary("ge", behind, static_cast<double>(queries - keys));
    const double least = std::numeric_limits<float>::lowest();
    add(c.e.select(allowed, c.e.scalar(dtype, 0), c.e.scalar(dtype, ops::bit_width(dtype) < 32 ? -65504.0 : least)));
  }
  if (h.bias.valid()) add(h.bias);
  double scale = c.float_attr("scale", 0);
  if (scale == 0) scale = 1 / std::sqrt(static_cast<double>(dims[3]));
  Values operands = {h.q, h.k, h.v};
  if (bias.valid()) operands.push_back(c.e.align(bias, {batch, dims[1], queries, keys}));
  return {c.e.op("join_heads", {c.e.op("attention", operands, {{"scale", scale}})})};
}

// Earlier keys and values stand before the new ones.
Value behind_past(Call& c, Value past, Value now) { return past.valid() ? c.e.concat({past, now}, 2) : now; }

// Inputs: input, weights, bias, mask, past, bias of the scores.
Values attention(Call& c) {
  if (c.int_attr("do_rotary", 0) != 0) unsupported("attribute 'do_rotary' is not supported");
  if (c.has(6)) unsupported("a past that shares its buffer is not supported");
  const std::int64_t heads = c.int_attr("num_heads");
  Value all = emit_matmul(c.e, c.in(0), c.in(1), c.e.dtype(c.in(0)));
  if (c.has(2)) all = c.e.binary("add", all, c.in(2));
  const std::int64_t width = c.e.dims(all).back();
  const Ints sizes = c.ints_attr("qkv_hidden_sizes").value_or(Ints{width / 3, width / 3, width / 3});
  if (c.e.rank(all) != 3 || sizes.size() != 3 || sizes[0] + sizes[1] + sizes[2] != width || sizes[0] < 1 ||
      sizes[1] < 1 || sizes[2] < 1)
    refuse("its weights do not hold queries, keys and values side by side");
  const auto part = [&](std::int64_t from, std::int64_t size) {
    return split_heads(c, c.e.slice(all, 2, from, from + size), heads);
  };
  Heads h{part(0, sizes[0]), part(sizes[0], sizes[1]), part(sizes[0] + sizes[1], sizes[2]), c.in_or(3, {}),
          c.in_or(5, {})};
  if (c.has(4)) {
    const Ints dims = c.e.dims(c.in(4));
    if (dims.size() != 5 || dims[0] != 2) refuse("its past is not [2, batch, heads, sequence, size]");
    const auto side = [&](std::int64_t i) {
      return c.e.reshape(c.e.slice(c.in(4), 0, i, i + 1), {dims.begin() + 1, dims.end()});
    };
    h.k = behind_past(c, side(0), h.k);
    h.v = behind_past(c, side(1), h.v);
  }
  Values results = attend(c, h);
  if (c.wants(1)) {
    Ints one = c.e.dims(h.k);
    one.insert(one.begin(), 1);
    results.push_back(c.e.concat({c.e.reshape(h.k, one), c.e.reshape(h.v, one)}, 0));
  }
  return results;
}

// Inputs: query, key, value, bias of the three, mask, bias of the scores, past key, past value.
Values multi_head_attention(Call& c) {
  const std::int64_t heads = c.int_attr("num_heads");
  if (!c.has(1) || !c.has(2) || c.e.rank(c.in(0)) != 3)
    unsupported("packed queries, keys and values are not supported");
  if (c.input_count() > 8 && c.has(8)) unsupported("a past that shares its buffer is not supported");
  std::int64_t from = 0;
  const auto part = [&](std::size_t i) {
    Value x = c.in(i);
    if (c.e.rank(x) == 4) return x;  // with its heads apart
    const std::int64_t size = c.e.dims(x).back();
    if (c.has(3)) {
      if (c.e.rank(c.in(3)) != 1 || c.e.dims(c.in(3))[0] < from + size) refuse("its bias does not fit");
      x = c.e.binary("add", x, c.e.slice(c.in(3), 0, from, from + size));
      from += size;
    }
    return split_heads(c, x, heads);
  };
  Heads h;
  h.q = part(0);
  h.k = behind_past(c, c.in_or(6, {}), part(1));
  h.v = behind_past(c, c.in_or(7, {}), part(2));
  h.mask = c.in_or(4, {});
  h.bias = c.in_or(5, {});
  Values results = attend(c, h);
  results.push_back(h.k);
  results.push_back(h.v);
  return results;
}

Values rotary_embedding(Call& c) {
  if (c.int_attr("is_packed_batching", 0) != 0) unsupported("packed batches are not supported");
  if (c.float_attr("scale", 1) != 1) unsupported("attribute 'scale' other than 1 is not supported");
  return {emit_rotary(c)};
}

}  // namespace

std::vector<OperatorRow> vendor_attention_operators() {
  return {{"Attention", attention},
          {"MultiHeadAttention", multi_head_attention},
          {"GroupQueryAttention", emit_grouped_attention},
          {"RotaryEmbedding", rotary_embedding}};
}

}  // namespace fusewright::frontend_onnx
