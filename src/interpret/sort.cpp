#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "src/interpret/fold.hpp"
#include "src/interpret/node.hpp"
#include "src/interpret/ordering.hpp"
#include "src/interpret/scalar.hpp"

namespace fusewright::interpret {
namespace {

std::vector<Scalar> line_of(const Tensor& tensor, std::int64_t base, std::span<const std::int64_t> steps) {
  std::vector<Scalar> line;
  line.reserve(steps.size());
  for (const std::int64_t step : steps) line.push_back(get_scalar(tensor, base + step));
  return line;
}

// By the nested comparator, which sees (a of operand 0, b of operand 0, a of operand 1, ...). The first error ends it.
Result<std::vector<std::int64_t>> order_by_body(const ScalarBody& body, const std::vector<std::vector<Scalar>>& lines) {
  std::optional<Error> error;
  std::vector<Scalar> args(2 * lines.size());
  const auto order = stable_order(static_cast<std::int64_t>(lines[0].size()), [&](std::int64_t a, std::int64_t b) {
    if (error) return false;
    for (std::size_t k = 0; k < lines.size(); ++k) {
      args[2 * k] = lines[k][static_cast<std::size_t>(a)];
      args[2 * k + 1] = lines[k][static_cast<std::size_t>(b)];
    }
    Result<std::vector<Scalar>> before = body(args);
    if (!before) {
      error = std::move(before).error();
      return false;
    }
    return (*before)[0].i != 0;
  });
  if (error) return std::unexpected(*std::move(error));
  return order;
}

}  // namespace

int compare_keys(DType dtype, Scalar a, Scalar b) {
  if (ops::is_float(dtype)) {
    if (std::isnan(a.f) || std::isnan(b.f))
      return static_cast<int>(std::isnan(a.f)) - static_cast<int>(std::isnan(b.f));
    return a.f < b.f ? -1 : a.f > b.f ? 1 : 0;
  }
  if (a.i == b.i) return 0;
  if (ops::is_signed_integer(dtype)) return a.i < b.i ? -1 : 1;
  return static_cast<std::uint64_t>(a.i) < static_cast<std::uint64_t>(b.i) ? -1 : 1;
}

std::vector<std::int64_t> stable_order(std::int64_t count,
                                       const std::function<bool(std::int64_t, std::int64_t)>& before) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::vector<std::int64_t> merged(order.size());
  for (std::int64_t width = 1; width < count; width *= 2) {
    for (std::int64_t low = 0; low < count; low += 2 * width) {
      std::int64_t left = low;
      const std::int64_t middle = std::min(low + width, count);
      std::int64_t right = middle;
      const std::int64_t high = std::min(low + 2 * width, count);
      for (std::int64_t to = low; to < high; ++to) {
        const bool take_right = left == middle || (right < high && before(order[static_cast<std::size_t>(right)],
                                                                          order[static_cast<std::size_t>(left)]));
        merged[static_cast<std::size_t>(to)] = order[static_cast<std::size_t>(take_right ? right++ : left++)];
      }
    }
    std::swap(order, merged);
  }
  return order;
}

std::vector<std::int64_t> key_order(DType dtype, std::span<const Scalar> keys, bool descending) {
  return stable_order(static_cast<std::int64_t>(keys.size()), [&](std::int64_t a, std::int64_t b) {
    const int order = compare_keys(dtype, keys[static_cast<std::size_t>(a)], keys[static_cast<std::size_t>(b)]);
    return descending ? order > 0 : order < 0;
  });
}

Result<Tensors> eval_sort(const NodeCall& call) {
  const Dims axes = {call.integer("axis")};
  const ReductionLayout layout = reduction_layout(call.operand(0).dims, axes);
  Tensors results;
  for (std::size_t k = 0; k < call.operands.size(); ++k) {
    FW_TRY(Tensor out, ops::make_tensor(call.dtype(k), call.dims(k)));
    results.push_back(std::move(out));
  }
  for (const std::int64_t base : layout.outer) {
    std::vector<std::vector<Scalar>> lines;
    for (const Tensor& operand : call.operands) lines.push_back(line_of(operand, base, layout.inner));
    std::vector<std::int64_t> order;
    if (call.body != nullptr) {
      FW_TRY(order, order_by_body(*call.body, lines));
    } else {
      order = key_order(call.operand(0).dtype, lines[0], call.attrs.get<bool>("descending"));
    }
    for (std::size_t k = 0; k < results.size(); ++k)
      for (std::size_t i = 0; i < order.size(); ++i)
        set_scalar(results[k], base + layout.inner[i], lines[k][static_cast<std::size_t>(order[i])]);
  }
  return results;
}

Result<Tensors> eval_top_k(const NodeCall& call) {
  const Tensor& in = call.operand(0);
  const Dims axes = {call.integer("axis")};
  FW_TRY(Tensor values, ops::make_tensor(call.dtype(0), call.dims(0)));
  FW_TRY(Tensor indices, ops::make_tensor(call.dtype(1), call.dims(1)));
  const ReductionLayout from = reduction_layout(in.dims, axes);
  const ReductionLayout to = reduction_layout(values.dims, axes);
  if (to.inner.size() > from.inner.size()) return fail("top_k of more elements than there are");
  for (std::size_t line = 0; line < to.outer.size(); ++line) {
    const std::vector<Scalar> keys = line_of(in, from.outer[line], from.inner);
    const std::vector<std::int64_t> order = key_order(in.dtype, keys, call.attrs.get<bool>("largest"));
    for (std::size_t i = 0; i < to.inner.size(); ++i) {
      set_scalar(values, to.outer[line] + to.inner[i], keys[static_cast<std::size_t>(order[i])]);
      ops::set_int(indices, to.outer[line] + to.inner[i], order[i]);
    }
  }
  return Tensors{std::move(values), std::move(indices)};
}

}  // namespace fusewright::interpret
