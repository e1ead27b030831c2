#include <algorithm>
#include <cmath>

#include "fusewright/support/check.hpp"
#include "src/interpret/node.hpp"
#include "src/interpret/scalar.hpp"
#include "src/interpret/strided.hpp"

namespace fusewright::interpret {
namespace {

// Negative ones count from the end; what is still outside is clamped.
std::int64_t wrapped_index(const Tensor& indices, std::int64_t at, std::int64_t extent) {
  std::int64_t index = ops::get_int(indices, at);
  if (indices.dtype == DType::kU64 && index < 0) index = extent;
  if (index < 0) index += extent;
  return std::clamp<std::int64_t>(index, 0, extent - 1);
}

// Beyond any extent, and safe to add to.
constexpr std::int64_t kFar = std::int64_t{1} << 60;

std::size_t at(std::int64_t axis) { return static_cast<std::size_t>(axis); }

// What gather and scatter share, under gather's names: how an index of the batch axes becomes a start in x.
struct IndexRoles {
  Dims window;  // axes of the result (updates) that walk through a slice
  Dims kept;    // the axis of x that each of them walks along
  Dims batch;   // the other axes of the result, which go with the axes of the indices
  Dims index_map;
  Dims batching, indices_batching;
  std::int64_t vector_axis;

  IndexRoles(const NodeCall& call, std::int64_t result_rank, const char* window_name, const char* dropped_name,
             const char* map_name, const char* batching_name)
      : window(call.ints(window_name)),
        index_map(call.ints(map_name)),
        batching(call.ints(batching_name)),
        indices_batching(call.ints("indices_batching_dims")),
        vector_axis(call.integer("index_vector_dim")) {
    Dims dropped = call.ints(dropped_name);
    dropped.insert(dropped.end(), batching.begin(), batching.end());
    kept = other_axes(static_cast<std::int64_t>(call.operand(0).dims.size()), dropped);
    batch = other_axes(result_rank, window);
  }

  // Start of the slice that belongs to this index of the batch axes, before clamping.
  Dims start(const Tensor& x, const Tensor& indices, const Dims& batch_index) const {
    const Dims strides = strides_of(indices.dims);
    std::int64_t base = 0;
    for (std::size_t i = 0, axis = 0; i < batch_index.size(); ++i, ++axis) {
      if (static_cast<std::int64_t>(axis) == vector_axis) ++axis;
      base += batch_index[i] * strides[axis];
    }
    const std::int64_t step = at(vector_axis) < strides.size() ? strides[at(vector_axis)] : 0;
    Dims out(x.dims.size(), 0);
    for (std::size_t k = 0; k < index_map.size(); ++k) {
      std::int64_t value = ops::get_int(indices, base + static_cast<std::int64_t>(k) * step);
      if (indices.dtype == DType::kU64 && value < 0) value = kFar;
      out[at(index_map[k])] = std::clamp(value, -kFar, kFar);
    }
    for (std::size_t i = 0; i < batching.size(); ++i) {
      const std::int64_t axis = indices_batching[i] - (indices_batching[i] > vector_axis ? 1 : 0);
      out[at(batching[i])] = batch_index[at(axis)];
    }
    return out;
  }
};

// The accumulator of a scatter: wide for floats, so that repeated additions round once.
class Accumulator {
 public:
  explicit Accumulator(const Tensor& x) : dtype_(x.dtype) {
    if (ops::is_float(dtype_)) {
      const std::vector<double> values = floats_of(x);
      floats_.assign(values.begin(), values.end());
    } else {
      ints_ = ints_of(x);
    }
  }

  void combine(ScalarOp op, std::int64_t index, Scalar update) {
    if (ops::is_float(dtype_)) {
      Quad& value = floats_[at(index)];
      const Quad pair[2] = {value, Quad(update.f)};
      value = wide_op(op, pair);
    } else {
      std::int64_t& value = ints_[at(index)];
      const std::int64_t pair[2] = {value, update.i};
      value = int_op(op, dtype_, pair);
    }
  }

  Result<Tensor> finish(Dims dims) const {
    if (!ops::is_float(dtype_)) return tensor_of(dtype_, std::move(dims), ints_);
    std::vector<double> values;
    values.reserve(floats_.size());
    for (const Quad& value : floats_) values.push_back(static_cast<double>(value));
    return tensor_of(dtype_, std::move(dims), values);
  }

 private:
  DType dtype_;
  std::vector<Quad> floats_;
  std::vector<std::int64_t> ints_;
};

ScalarOp combiner_of(const std::string& name) {
  if (name == "add") return ScalarOp::kAdd;
  if (name == "mul") return ScalarOp::kMul;
  if (name == "max") return ScalarOp::kMax;
  FW_CHECK(name == "min") << "combiner " << name;
  return ScalarOp::kMin;
}

// Calls visit(index in x, index in updates) for every update that falls inside x, in order of the updates.
template <class Visit>
void each_update(const NodeCall& call, Visit visit) {
  const Tensor& x = call.operand(0);
  const Tensor& updates = call.operand(2);
  const IndexRoles roles(call, static_cast<std::int64_t>(updates.dims.size()), "update_window_dims",
                         "inserted_window_dims", "scatter_dims_to_operand_dims", "input_batching_dims");
  const Dims x_strides = strides_of(x.dims);
  const Dims update_strides = strides_of(updates.dims);
  const Dims window_dims = pick(updates.dims, roles.window);
  const Dims batch_dims = pick(updates.dims, roles.batch);
  for (Counter batch(batch_dims); !batch.done(); batch.next()) {
    const Dims start = roles.start(x, call.operand(1), batch.index);
    for (Counter window(window_dims); !window.done(); window.next()) {
      Dims place = start;
      for (std::size_t i = 0; i < roles.kept.size(); ++i) place[at(roles.kept[i])] += window.index[i];
      std::int64_t to = 0;
      bool inside = true;
      for (std::size_t axis = 0; axis < place.size(); ++axis) {
        inside = inside && place[axis] >= 0 && place[axis] < x.dims[axis];
        to += inside ? place[axis] * x_strides[axis] : 0;
      }
      std::int64_t from = 0;
      for (std::size_t i = 0; i < roles.batch.size(); ++i) from += batch.index[i] * update_strides[at(roles.batch[i])];
      for (std::size_t i = 0; i < roles.window.size(); ++i)
        from += window.index[i] * update_strides[at(roles.window[i])];
      if (inside) visit(to, from);
    }
  }
}

}  // namespace

Result<Tensors> eval_take(const NodeCall& call) {
  const Tensor& x = call.operand(0);
  const Tensor& indices = call.operand(1);
  const auto axis = call.attrs.get<std::int64_t>("axis");
  const std::int64_t extent = x.dims[at(axis)];
  FW_TRY(Tensor out, ops::make_tensor(call.dtype(), call.dims()));
  if (extent == 0 && out.elements() > 0) return fail("take from an axis without elements");
  const std::int64_t outer = product(std::span(x.dims).first(at(axis)));
  const std::int64_t inner = product(std::span(x.dims).subspan(at(axis) + 1));
  const std::int64_t count = indices.elements();
  if (out.elements() == 0) return Tensors{std::move(out)};
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t index = wrapped_index(indices, i, extent);
    copy_strided({outer, inner}, x, {index * inner, {extent * inner, 1}}, out, {i * inner, {count * inner, 1}});
  }
  return Tensors{std::move(out)};
}

Result<Tensors> eval_take_along(const NodeCall& call) {
  const Tensor& x = call.operand(0);
  const Tensor& indices = call.operand(1);
  const auto axis = at(call.integer("axis"));
  const auto width = static_cast<std::size_t>(ops::byte_width(x.dtype));
  const Dims strides = strides_of(x.dims);
  FW_TRY(Tensor out, ops::make_tensor(call.dtype(), call.dims()));
  if (x.dims[axis] == 0 && out.elements() > 0) return fail("take_along an axis without elements");
  std::int64_t linear = 0;
  for (Counter index(out.dims); !index.done(); index.next(), ++linear) {
    std::int64_t from = wrapped_index(indices, linear, x.dims[axis]) * strides[axis];
    for (std::size_t i = 0; i < strides.size(); ++i)
      if (i != axis) from += index.index[i] * strides[i];
    std::memcpy(out.mutable_data() + at(linear) * width, x.data() + at(from) * width, width);
  }
  return Tensors{std::move(out)};
}

Result<Tensors> eval_gather(const NodeCall& call) {
  const Tensor& x = call.operand(0);
  const Dims& sizes = call.ints("slice_sizes");
  FW_TRY(Tensor out, ops::make_tensor(call.dtype(), call.dims()));
  const IndexRoles roles(call, static_cast<std::int64_t>(out.dims.size()), "offset_dims", "collapsed_slice_dims",
                         "start_index_map", "operand_batching_dims");
  const Dims x_strides = strides_of(x.dims);
  const Dims out_strides = strides_of(out.dims);
  const Dims batch_dims = pick(out.dims, roles.batch);
  for (Counter batch(batch_dims); !batch.done(); batch.next()) {
    const Dims start = roles.start(x, call.operand(1), batch.index);
    Strided from{0, pick(x_strides, roles.kept)};
    for (std::size_t axis = 0; axis < start.size(); ++axis)
      from.base += std::clamp<std::int64_t>(start[axis], 0, x.dims[axis] - sizes[axis]) * x_strides[axis];
    Strided to{0, pick(out_strides, roles.window)};
    for (std::size_t i = 0; i < roles.batch.size(); ++i) to.base += batch.index[i] * out_strides[at(roles.batch[i])];
    copy_strided(pick(sizes, roles.kept), x, from, out, to);
  }
  return Tensors{std::move(out)};
}

Result<Tensors> eval_scatter(const NodeCall& call) {
  const Tensor& x = call.operand(0);
  const Tensor& updates = call.operand(2);
  const std::string& combiner = call.attrs.get<std::string>("combiner");
  if (combiner == "assign") {
    FW_TRY(Tensor out, ops::make_tensor(x.dtype, x.dims));
    const auto width = static_cast<std::size_t>(ops::byte_width(x.dtype));
    std::memcpy(out.mutable_data(), x.data(), x.bytes());
    each_update(call, [&](std::int64_t to, std::int64_t from) {
      std::memcpy(out.mutable_data() + at(to) * width, updates.data() + at(from) * width, width);
    });
    return Tensors{std::move(out)};
  }
  if (x.dtype == DType::kC64 || x.dtype == DType::kC128)
    return fail(ErrorKind::kUnsupported,
                "scatter of complex numbers with combiner " + combiner + " cannot be evaluated");
  Accumulator sums(x);
  each_update(call, [&](std::int64_t to, std::int64_t from) {
    sums.combine(combiner_of(combiner), to, get_scalar(updates, from));
  });
  FW_TRY(Tensor out, sums.finish(x.dims));
  return Tensors{std::move(out)};
}

}  // namespace fusewright::interpret
