#include <algorithm>

#include "src/interpret/contraction.hpp"
#include "src/interpret/parallel.hpp"
#include "src/interpret/scalar.hpp"
#include "src/interpret/windows.hpp"

namespace fusewright::interpret {
namespace {

// kRows rows of gathered lhs times one panel: the sums run over k in order, in registers.
template <int kRows, class T, class Acc>
void multiply(const T* lhs, std::int64_t depth, const T* panel, Acc* out) {
  Acc sums[kRows][kPanel] = {};
  for (std::int64_t k = 0; k < depth; ++k, panel += kPanel)
    for (int r = 0; r < kRows; ++r) {
      const Acc value(lhs[r * depth + k]);
      for (int j = 0; j < kPanel; ++j) sums[r][j] += value * Acc(panel[j]);
    }
  for (int r = 0; r < kRows; ++r)
    for (int j = 0; j < kPanel; ++j) out[r * kPanel + j] = sums[r][j];
}

void put(Tensor& out, std::int64_t index, double value) { ops::set_double(out, index, value); }
void put(Tensor& out, std::int64_t index, const Quad& value) {
  ops::set_double(out, index, static_cast<double>(value));
}
void put(Tensor& out, std::int64_t index, std::uint64_t value) {
  ops::set_int(out, index, static_cast<std::int64_t>(value));
}

// One block of rows of one batch against all columns.
template <class T, class Acc>
void run_block(const Contraction& plan, const T* lhs, const T* panels, std::int64_t batch, std::int64_t row,
               Tensor& out) {
  const std::int64_t rows = std::min(kRowBlock, plan.rows - row);
  std::vector<T> gathered(static_cast<std::size_t>(kRowBlock * plan.depth), T(0));
  for (std::int64_t r = 0; r < rows; ++r) gather_row(plan, lhs, batch, row + r, gathered.data() + r * plan.depth);
  Acc sums[4 * kPanel];
  for (std::int64_t column = 0; column < plan.columns; column += kPanel, panels += plan.depth * kPanel)
    for (std::int64_t r = 0; r < rows; r += 4) {
      multiply<4>(gathered.data() + r * plan.depth, plan.depth, panels, sums);
      for (std::int64_t i = r; i < std::min(rows, r + 4); ++i)
        for (std::int64_t j = column; j < std::min(plan.columns, column + kPanel); ++j)
          put(out,
              plan.out_batch[static_cast<std::size_t>(batch)] + plan.out_row[static_cast<std::size_t>(row + i)] +
                  plan.out_column[static_cast<std::size_t>(j)],
              sums[(i - r) * kPanel + (j - column)]);
    }
}

template <class T, class Acc>
void run(const Contraction& plan, const std::vector<T>& lhs, const std::vector<T>& rhs, Tensor& out) {
  const std::vector<T> panels = pack_panels(plan, rhs);
  const std::int64_t panel_size = (plan.columns + kPanel - 1) / kPanel * plan.depth * kPanel;
  const std::int64_t blocks = (plan.rows + kRowBlock - 1) / kRowBlock;
  parallel_for(plan.batches * blocks, grain_for(kRowBlock * plan.depth * (plan.columns + 1)),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i)
                   run_block<T, Acc>(plan, lhs.data(), panels.data() + i / blocks * panel_size, i / blocks,
                                     i % blocks * kRowBlock, out);
               });
}

// Integers as unsigned, which wrap.
std::vector<std::uint64_t> unsigned_of(const Tensor& tensor) {
  const std::vector<std::int64_t> values = ints_of(tensor);
  return {values.begin(), values.end()};
}

Result<Tensors> run_plan(const NodeCall& call, const Contraction& plan) {
  const DType in = call.operand(0).dtype;
  if (!ops::is_float(in) && !ops::is_integer(in) && in != DType::kPred)
    return fail(ErrorKind::kUnsupported, call.info.name + " of " + std::string(ops::name(in)) + " cannot be evaluated");
  FW_TRY(Tensor out, ops::make_tensor(call.dtype(), call.dims()));
  if (!ops::is_float(in))
    run<std::uint64_t, std::uint64_t>(plan, unsigned_of(call.operand(0)), unsigned_of(call.operand(1)), out);
  else if (in == DType::kF64 || out.dtype == DType::kF64)
    run<double, Quad>(plan, floats_of(call.operand(0)), floats_of(call.operand(1)), out);
  else
    run<double, double>(plan, floats_of(call.operand(0)), floats_of(call.operand(1)), out);
  return Tensors{std::move(out)};
}

Dims joined(Dims a, const Dims& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace

Contraction plan_dot(const NodeCall& call) {
  const Dims& lhs = call.operand(0).dims;
  const Dims& rhs = call.operand(1).dims;
  const Dims& lhs_batch = call.ints("lhs_batch");
  const Dims& rhs_batch = call.ints("rhs_batch");
  const Dims& lhs_contract = call.ints("lhs_contract");
  const Dims& rhs_contract = call.ints("rhs_contract");
  const Dims lhs_free = other_axes(static_cast<std::int64_t>(lhs.size()), joined(lhs_batch, lhs_contract));
  const Dims rhs_free = other_axes(static_cast<std::int64_t>(rhs.size()), joined(rhs_batch, rhs_contract));
  const Dims lhs_strides = strides_of(lhs);
  const Dims rhs_strides = strides_of(rhs);
  const auto left = [&](const Dims& axes) { return offsets_of(pick(lhs, axes), pick(lhs_strides, axes)); };
  const auto right = [&](const Dims& axes) { return offsets_of(pick(rhs, axes), pick(rhs_strides, axes)); };
  Contraction plan;
  plan.lhs_batch = left(lhs_batch);
  plan.lhs_row = left(lhs_free);
  plan.lhs_feature = left(lhs_contract);
  plan.taps = {0};
  plan.rhs_batch = right(rhs_batch);
  plan.rhs_depth = right(rhs_contract);
  plan.rhs_column = right(rhs_free);
  plan.batches = static_cast<std::int64_t>(plan.lhs_batch.size());
  plan.rows = static_cast<std::int64_t>(plan.lhs_row.size());
  plan.depth = static_cast<std::int64_t>(plan.lhs_feature.size());
  plan.columns = static_cast<std::int64_t>(plan.rhs_column.size());
  for (std::int64_t b = 0; b < plan.batches; ++b) plan.out_batch.push_back(b * plan.rows * plan.columns);
  for (std::int64_t m = 0; m < plan.rows; ++m) plan.out_row.push_back(m * plan.columns);
  for (std::int64_t n = 0; n < plan.columns; ++n) plan.out_column.push_back(n);
  return plan;
}

namespace {

// The attributes of a convolution with its axes by role: element 0 of the extents is batch (out_feature of the
// weights), 1 is feature (in_feature), the rest is spatial.
struct ConvShape {
  Dims lhs, rhs, out, lhs_strides, rhs_strides, out_strides;
  std::size_t spatial;

  explicit ConvShape(const NodeCall& call)
      : lhs(pick(call.operand(0).dims, call.ints("lhs_spec"))),
        rhs(pick(call.operand(1).dims, call.ints("rhs_spec"))),
        out(pick(call.dims(), call.ints("out_spec"))),
        lhs_strides(pick(strides_of(call.operand(0).dims), call.ints("lhs_spec"))),
        rhs_strides(pick(strides_of(call.operand(1).dims), call.ints("rhs_spec"))),
        out_strides(pick(strides_of(call.dims()), call.ints("out_spec"))),
        spatial(lhs.size() - 2) {}
};

Dims tail(const Dims& dims) { return Dims(dims.begin() + 2, dims.end()); }

// For each place of the output and each tap of the window, the offset of the input element that meets it, or -1.
std::vector<std::int64_t> conv_taps(const NodeCall& call, const ConvShape& shape) {
  std::vector<std::vector<std::vector<std::int64_t>>> offsets(shape.spatial);  // by axis, output index, tap
  for (std::size_t i = 0; i < shape.spatial; ++i) {
    const std::int64_t window = shape.rhs[i + 2];
    const auto taps = window_taps({.input = shape.lhs[i + 2],
                                   .output = shape.out[i + 2],
                                   .window = window,
                                   .stride = call.ints("strides")[i],
                                   .pad_low = call.ints("pad_low")[i],
                                   .base_dilation = call.ints("lhs_dilation")[i],
                                   .window_dilation = call.ints("rhs_dilation")[i]});
    for (const std::vector<Tap>& met : taps) {
      offsets[i].emplace_back(static_cast<std::size_t>(window), -1);
      for (const Tap& tap : met) {
        const std::int64_t weight = call.ints("reversal")[i] != 0 ? window - 1 - tap.tap : tap.tap;
        offsets[i].back()[static_cast<std::size_t>(weight)] = tap.input * shape.lhs_strides[i + 2];
      }
    }
  }
  std::vector<std::int64_t> out;
  const Dims window = tail(shape.rhs);
  const Dims places = tail(shape.out);
  out.reserve(static_cast<std::size_t>(product(window) * product(places)));
  for (Counter place(places); !place.done(); place.next())
    for (Counter tap(window); !tap.done(); tap.next()) {
      std::int64_t offset = 0;
      for (std::size_t i = 0; i < shape.spatial && offset >= 0; ++i) {
        const std::int64_t step =
            offsets[i][static_cast<std::size_t>(place.index[i])][static_cast<std::size_t>(tap.index[i])];
        offset = step < 0 ? -1 : offset + step;
      }
      out.push_back(offset);
    }
  return out;
}

}  // namespace

Contraction plan_conv(const NodeCall& call) {
  const ConvShape shape(call);
  const std::int64_t groups = call.integer("groups");
  const std::int64_t batch_groups = call.integer("batch_groups");
  const Dims window = tail(shape.rhs);
  const Dims places = tail(shape.out);
  Contraction plan;
  plan.taps = conv_taps(call, shape);
  plan.places = product(places);
  plan.tap_count = product(window);
  plan.batches = groups * batch_groups;  // one of the two is 1
  plan.rows = shape.out[0] * plan.places;
  plan.depth = shape.rhs[1] * plan.tap_count;
  plan.columns = shape.rhs[0] / plan.batches;
  for (std::int64_t g = 0; g < plan.batches; ++g) {
    plan.lhs_batch.push_back(groups > 1 ? g * shape.rhs[1] * shape.lhs_strides[1]
                                        : g * shape.out[0] * shape.lhs_strides[0]);
    plan.rhs_batch.push_back(g * plan.columns * shape.rhs_strides[0]);
    plan.out_batch.push_back(g * plan.columns * shape.out_strides[1]);
  }
  const std::vector<std::int64_t> place_offsets = offsets_of(places, tail(shape.out_strides));
  for (std::int64_t n = 0; n < shape.out[0]; ++n)
    for (const std::int64_t place : place_offsets) {
      plan.lhs_row.push_back(n * shape.lhs_strides[0]);
      plan.out_row.push_back(n * shape.out_strides[0] + place);
    }
  const std::vector<std::int64_t> tap_offsets = offsets_of(window, tail(shape.rhs_strides));
  for (std::int64_t f = 0; f < shape.rhs[1]; ++f) {
    plan.lhs_feature.push_back(f * shape.lhs_strides[1]);
    for (const std::int64_t tap : tap_offsets) plan.rhs_depth.push_back(f * shape.rhs_strides[1] + tap);
  }
  for (std::int64_t n = 0; n < plan.columns; ++n) {
    plan.rhs_column.push_back(n * shape.rhs_strides[0]);
    plan.out_column.push_back(n * shape.out_strides[1]);
  }
  return plan;
}

Result<Tensors> eval_dot(const NodeCall& call) { return run_plan(call, plan_dot(call)); }
Result<Tensors> eval_conv(const NodeCall& call) { return run_plan(call, plan_conv(call)); }

}  // namespace fusewright::interpret
