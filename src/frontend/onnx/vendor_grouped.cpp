#include <algorithm>
#include <cmath>
#include <limits>

#include "src/frontend/onnx/attention.hpp"

namespace fusewright::frontend_onnx {

namespace {

using Values = std::vector<Value>;

// GroupQueryAttention: causal attention whose heads share keys and values, over a cache of earlier keys that each batch
// element fills to a length of its own. The product and the softmax are grouped_attention of rules/onnx/contrib.fuse.
// Inputs: query (or all three side by side), key, value, past key, past value, last position of each batch element,
// length of the longest, tables of cosines and sines, positions, bias of the scores.
class Grouped {
 public:
  explicit Grouped(Call& call)
      : c(call), heads_(c.int_attr("num_heads")), shared_(c.int_attr("kv_num_heads")), dtype_(c.e.dtype(c.in(0))) {}

  Values emit() {
    refuse_what_is_not_known();
    read_operands();
    read_lengths();
    if (c.int_attr("do_rotary", 0) != 0) {
      q_ = rotated(q_, heads_);
      k_ = rotated(k_, shared_);
    }
    const Value q = apart(q_, heads_), k = cached(c.in_or(3, {}), apart(k_, shared_)),
                v = cached(c.in_or(4, {}), apart(v_, shared_));
    double scale = c.float_attr("scale", 0);
    if (scale == 0) scale = 1 / std::sqrt(static_cast<double>(size_));
    const Value bias = c.e.align(scores_bias(), {batch_, heads_, queries_, keys_});
    const Value out =
        c.e.op("grouped_attention", {q, k, v, bias}, {{"scale", scale}, {"cap", c.float_attr("softcap", 0)}});
    return {c.e.op("join_heads", {out}), k, v};
  }

 private:
  void refuse_what_is_not_known() const {
    for (const char* name : {"smooth_softmax", "kv_cache_bit_width", "qk_output"})
      if (c.int_attr(name, 0) != 0) unsupported("attribute '" + std::string(name) + "' is not supported");
    if (c.has(11)) unsupported("sinks of the heads are not supported");
    if (heads_ < 1 || shared_ < 1 || heads_ % shared_ != 0) refuse("its num_heads is no multiple of its kv_num_heads");
  }

  void read_operands() {
    q_ = c.in(0);
    if (c.e.rank(q_) != 3) refuse(ops::to_string(c.e.type(q_)) + " is not [batch, sequence, hidden]");
    const Ints dims = c.e.dims(q_);
    batch_ = dims[0];
    queries_ = dims[1];
    const bool packed = !c.has(1) && !c.has(2);
    const std::int64_t all = packed ? heads_ + 2 * shared_ : heads_;
    if (dims[2] % all != 0) refuse("its heads do not divide " + ops::to_string(c.e.type(q_)));
    size_ = dims[2] / all;
    if (packed) {
      const Value together = q_;
      q_ = c.e.slice(together, 2, 0, heads_ * size_);
      k_ = c.e.slice(together, 2, heads_ * size_, (heads_ + shared_) * size_);
      v_ = c.e.slice(together, 2, (heads_ + shared_) * size_, dims[2]);
      return;
    }
    k_ = c.in(1);
    v_ = c.in(2);
    for (const Value part : {k_, v_}) {
      if (c.e.dims(part) != Ints{batch_, queries_, shared_ * size_})
        refuse(ops::to_string(c.e.type(part)) + " does not fit its queries");
    }
  }

  // How many keys there are, and how many of them each batch element had before. Those of a first prompt are all new,
  // whatever the cache has room for.
  void read_lengths() {
    const std::int64_t room = c.has(3) ? c.e.dims(c.in(3)).at(2) : 0;
    const std::int64_t longest = c.known_int(6, "total sequence length");
    keys_ = std::max(room, longest);
    if (longest < queries_) refuse("its total sequence length is less than that of its queries");
    if (longest == queries_) return;
    if (product(c.e.dims(c.in(5))) != batch_) refuse("its last positions are not one for each batch element");
    const Value last = c.e.convert(c.e.reshape(c.in(5), {batch_}), DType::kS64);
    before_ = c.e.binary("sub", last, static_cast<double>(queries_ - 1));
  }

  Value rotated(Value x, std::int64_t heads) {
    Value positions = c.in_or(9, {});
    if (!positions.valid()) {
      positions = c.e.iota(DType::kS64, {batch_, queries_}, 1);
      if (before_.valid()) positions = c.e.binary("add", positions, c.e.reshape(before_, {batch_, 1}));
    }
    return emit_rotated(c, {.x = x,
                            .cos = c.in(7),
                            .sin = c.in(8),
                            .positions = positions,
                            .heads = heads,
                            .elements = 2 * c.e.dims(c.in(7)).back(),
                            .interleaved = c.int_attr("rotary_interleaved", 0) != 0});
  }

  Value apart(Value x, std::int64_t heads) { return c.e.op("split_heads", {x}, {{"heads", heads}}); }

  // The cache with the new keys (or values) behind those that each batch element had.
  Value cached(Value past, Value now) {
    const Ints dims = {batch_, shared_, keys_, size_};
    if (past.valid() && c.e.rank(past) != 4) refuse("its past is not [batch, heads, sequence, size]");
    if (before_.valid() && !past.valid()) refuse("its earlier keys are missing");
    if (!before_.valid() && keys_ == queries_) return now;
    const Value place = c.e.iota(DType::kS64, {1, 1, keys_, 1}, 2);
    const Value since = before_.valid() ? c.e.binary("sub", place, c.e.reshape(before_, {batch_, 1, 1, 1})) : place;
    const Value row = c.e.binary("min", c.e.binary("max", since, 0.0), static_cast<double>(queries_ - 1));
    const Value fresh = c.e.op("take_along", {now, c.e.align(row, dims)}, {{"axis", std::int64_t{2}}});
    Value earlier = c.e.scalar(dtype_, 0);  // what the cache has room for and nobody has filled
    if (before_.valid()) {
      const Ints none(4, 0), high = {0, 0, keys_ - c.e.dims(past)[2], 0};
      const Value wide =
          c.e.op("pad", {past, c.e.scalar(dtype_, 0)}, {{"low", none}, {"high", high}, {"interior", none}});
      earlier = c.e.select(c.e.binary("lt", since, 0.0), wide, earlier);
    }
    const Value inside =
        c.e.op("and", {c.e.binary("ge", since, 0.0), c.e.binary("lt", since, static_cast<double>(queries_))});
    return c.e.select(inside, fresh, earlier);
  }

  // Nothing where a query may see a key: up to its own place, and not too far behind it.
  Value scores_bias() {
    const Value place = c.e.iota(DType::kS64, {1, 1, queries_, keys_}, 2);
    const Value own = before_.valid() ? c.e.binary("add", place, c.e.reshape(before_, {batch_, 1, 1, 1})) : place;
    const Value behind = c.e.binary("sub", own, c.e.iota(DType::kS64, {1, 1, queries_, keys_}, 3));
    Value allowed = c.e.binary("ge", behind, 0.0);
    const std::int64_t window = c.int_attr("local_window_size", -1);
    if (window >= 0) allowed = c.e.op("and", {allowed, c.e.binary("lt", behind, static_cast<double>(window))});
    const double least = ops::bit_width(dtype_) < 32 ? -65504.0 : std::numeric_limits<float>::lowest();
    const Value hidden = c.e.select(allowed, c.e.scalar(dtype_, 0), c.e.scalar(dtype_, least));
    return c.has(10) ? c.e.binary("add", hidden, c.in(10)) : hidden;
  }

  Call& c;
  std::int64_t heads_, shared_;
  DType dtype_;
  Value q_, k_, v_;  // [batch, sequence, heads * size]
  Value before_;     // s64[batch]: keys that were there before, or invalid: none
  std::int64_t batch_ = 0, queries_ = 0, keys_ = 0, size_ = 0;
};

}  // namespace

std::vector<Value> emit_grouped_attention(Call& c) { return Grouped(c).emit(); }

}  // namespace fusewright::frontend_onnx
