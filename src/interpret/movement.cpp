#include <algorithm>

#include "fusewright/support/check.hpp"
#include "src/interpret/node.hpp"
#include "src/interpret/parallel.hpp"
#include "src/interpret/strided.hpp"

namespace fusewright::interpret {
namespace {

template <std::size_t kWidth>
void copy_row(std::int64_t count, const std::byte* in, std::int64_t in_stride, std::byte* out,
              std::int64_t out_stride) {
  constexpr auto kStep = static_cast<std::int64_t>(kWidth);
  if (in_stride == 1 && out_stride == 1) {
    std::memcpy(out, in, static_cast<std::size_t>(count) * kWidth);
    return;
  }
  for (std::int64_t i = 0; i < count; ++i)
    std::memcpy(out + i * out_stride * kStep, in + i * in_stride * kStep, kWidth);
}

void copy_row(std::int64_t width, std::int64_t count, const std::byte* in, std::int64_t in_stride, std::byte* out,
              std::int64_t out_stride) {
  switch (width) {
    case 1: return copy_row<1>(count, in, in_stride, out, out_stride);
    case 2: return copy_row<2>(count, in, in_stride, out, out_stride);
    case 4: return copy_row<4>(count, in, in_stride, out, out_stride);
    case 8: return copy_row<8>(count, in, in_stride, out, out_stride);
    case 16: return copy_row<16>(count, in, in_stride, out, out_stride);
    default: FW_CHECK(false) << "no dtype is " << width << " bytes wide";
  }
}

std::int64_t dot(const Dims& index, const Dims& strides) {
  std::int64_t out = 0;
  for (std::size_t i = 0; i < index.size(); ++i) out += index[i] * strides[i];
  return out;
}

Result<Tensors> copied(const NodeCall& call, const Tensor& in, const Strided& from) {
  FW_TRY(Tensor out, ops::make_tensor(call.dtype(), call.dims()));
  copy_strided(out.dims, in, from, out, {0, strides_of(out.dims)});
  return Tensors{std::move(out)};
}

// First start of dynamic slices is operand `first`; each is clamped so that the window lies inside.
std::int64_t dynamic_base(const NodeCall& call, std::size_t first, const Dims& window) {
  const Dims& dims = call.operand(0).dims;
  const Dims strides = strides_of(dims);
  std::int64_t base = 0;
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    std::int64_t start = ops::get_int(call.operand(first + axis), 0);
    if (call.operand(first + axis).dtype == DType::kU64 && start < 0) start = dims[axis];
    base += std::clamp<std::int64_t>(start, 0, std::max<std::int64_t>(0, dims[axis] - window[axis])) * strides[axis];
  }
  return base;
}

}  // namespace

void copy_strided(const Dims& dims, const Tensor& in, const Strided& from, Tensor& out, const Strided& to) {
  if (product(dims) == 0) return;
  const std::int64_t width = ops::byte_width(out.dtype);
  const Dims outer(dims.begin(), dims.empty() ? dims.end() : dims.end() - 1);
  const std::int64_t row = dims.empty() ? 1 : dims.back();
  const std::int64_t in_step = dims.empty() ? 1 : from.strides.back();
  const std::int64_t out_step = dims.empty() ? 1 : to.strides.back();
  parallel_for(product(outer), grain_for(row), [&](std::int64_t begin, std::int64_t end) {
    Counter at(outer);
    for (at.seek(begin); begin < end; ++begin, at.next())
      copy_row(width, row, in.data() + (from.base + dot(at.index, from.strides)) * width, in_step,
               out.mutable_data() + (to.base + dot(at.index, to.strides)) * width, out_step);
  });
}

void fill(Tensor& out, const Tensor& value) {
  copy_strided(out.dims, value, {0, Dims(out.dims.size(), 0)}, out, {0, strides_of(out.dims)});
}

Result<Tensors> eval_broadcast(const NodeCall& call) {
  const Dims own = strides_of(call.operand(0).dims);
  const Dims& places = call.ints("dims");
  Dims strides(call.types[0].shape.size(), 0);  // repeated axes do not move
  for (std::size_t i = 0; i < places.size(); ++i) strides[static_cast<std::size_t>(places[i])] = own[i];
  return copied(call, call.operand(0), {0, std::move(strides)});
}

Result<Tensors> eval_reshape(const NodeCall& call) {
  Tensor out = call.operand(0);  // the same bytes
  out.dims = call.dims();
  if (out.elements() != call.operand(0).elements()) return fail("reshape changes the number of elements");
  return Tensors{std::move(out)};
}

Result<Tensors> eval_transpose(const NodeCall& call) {
  return copied(call, call.operand(0), {0, pick(strides_of(call.operand(0).dims), call.ints("perm"))});
}

Result<Tensors> eval_reverse(const NodeCall& call) {
  const Dims& dims = call.operand(0).dims;
  Strided from{0, strides_of(dims)};
  for (const std::int64_t axis : call.ints("axes")) {
    const auto a = static_cast<std::size_t>(axis);
    from.base += (dims[a] - 1) * from.strides[a];
    from.strides[a] = -from.strides[a];
  }
  return copied(call, call.operand(0), from);
}

Result<Tensors> eval_slice(const NodeCall& call) {
  Strided from{0, strides_of(call.operand(0).dims)};
  const Dims& starts = call.ints("starts");
  const Dims& steps = call.ints("strides");
  for (std::size_t axis = 0; axis < starts.size(); ++axis) {
    if (call.ints("limits")[axis] > call.operand(0).dims[axis]) return fail("slice reaches beyond its operand");
    from.base += starts[axis] * from.strides[axis];
    from.strides[axis] *= steps[axis];
  }
  return copied(call, call.operand(0), from);
}

Result<Tensors> eval_pad(const NodeCall& call) {
  const Tensor& in = call.operand(0);
  FW_TRY(Tensor out, ops::make_tensor(call.dtype(), call.dims()));
  fill(out, call.operand(1));
  const Dims in_strides = strides_of(in.dims);
  const Dims out_strides = strides_of(out.dims);
  Strided from{0, in_strides};
  Strided to{0, out_strides};
  Dims copy(in.dims.size(), 0);
  for (std::size_t axis = 0; axis < copy.size(); ++axis) {
    const std::int64_t low = call.ints("low")[axis];
    const std::int64_t step = call.ints("interior")[axis] + 1;
    // Elements i with 0 <= low + i * step < extent of the result; negative padding cuts some off.
    const std::int64_t first = low >= 0 ? 0 : (-low + step - 1) / step;
    const std::int64_t last = out.dims[axis] - 1 - low < 0 ? -1 : (out.dims[axis] - 1 - low) / step;
    copy[axis] = std::max<std::int64_t>(0, std::min(in.dims[axis] - 1, last) - first + 1);
    from.base += first * in_strides[axis];
    to.base += (low + first * step) * out_strides[axis];
    to.strides[axis] *= step;
  }
  copy_strided(copy, in, from, out, to);
  return Tensors{std::move(out)};
}

Result<Tensors> eval_concat(const NodeCall& call) {
  FW_TRY(Tensor out, ops::make_tensor(call.dtype(), call.dims()));
  const auto axis = static_cast<std::size_t>(call.integer("axis"));
  Strided to{0, strides_of(out.dims)};
  for (const Tensor& in : call.operands) {
    copy_strided(in.dims, in, {0, strides_of(in.dims)}, out, to);
    to.base += in.dims[axis] * to.strides[axis];
  }
  return Tensors{std::move(out)};
}

Result<Tensors> eval_dynamic_slice(const NodeCall& call) {
  const Dims sizes = call.dims();
  return copied(call, call.operand(0), {dynamic_base(call, 1, sizes), strides_of(call.operand(0).dims)});
}

Result<Tensors> eval_dynamic_update_slice(const NodeCall& call) {
  const Tensor& update = call.operand(1);
  FW_TRY(Tensor out, ops::make_tensor(call.dtype(), call.dims()));
  const Dims strides = strides_of(out.dims);
  copy_strided(out.dims, call.operand(0), {0, strides}, out, {0, strides});
  copy_strided(update.dims, update, {0, strides_of(update.dims)}, out, {dynamic_base(call, 2, update.dims), strides});
  return Tensors{std::move(out)};
}

Result<Tensors> eval_constant(const NodeCall& call) { return Tensors{*call.attrs.get<ops::TensorHandle>("value")}; }

Result<Tensors> eval_iota(const NodeCall& call) {
  FW_TRY(Tensor out, ops::make_tensor(call.dtype(), call.dims()));
  const auto axis = static_cast<std::size_t>(call.integer("axis"));
  for (Counter at(out.dims); !at.done(); at.next()) {
    const std::int64_t linear = out.elements() - at.left;
    ops::set_int(out, linear, at.index[axis]);
  }
  return Tensors{std::move(out)};
}

}  // namespace fusewright::interpret
