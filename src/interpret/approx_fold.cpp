#include <algorithm>
#include <cmath>
#include <limits>

#include "src/interpret/approx.hpp"
#include "src/interpret/fold.hpp"
#include "src/interpret/parallel.hpp"
#include "src/interpret/windows.hpp"

namespace fusewright::interpret {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The operand as numbers, with its radii; those are null when it is exact.
struct Numbers {
  std::vector<double> values;
  const double* radii;

  explicit Numbers(const Approx& x) : radii(x.radii ? x.radii->data() : nullptr) {
    values.reserve(static_cast<std::size_t>(x.value.elements()));
    if (ops::is_float(x.value.dtype))
      values = floats_of(x.value);
    else
      for (std::int64_t i = 0; i < x.value.elements(); ++i)
        values.push_back(number_of(x.value.dtype, get_scalar(x.value, i)));
  }
  double radius(std::int64_t at) const { return radii == nullptr ? 0 : radii[at]; }
};

// A product while it is formed: what it is, and what it would be with every factor at its largest.
struct ProductStats {
  double product = 1, largest = 1, cap = 1, floor = 1;
  std::int64_t terms = 0;

  void add(double factor, double radius) {
    const double size = std::fabs(factor) + radius;
    product *= factor;
    largest *= size;
    cap *= std::max(1.0, size);
    floor *= std::min(1.0, std::fabs(factor));
    ++terms;
  }
};

Ball finish_product(DType dtype, const ProductStats& stats, const BoundOptions& options) {
  const double spread = stats.largest - std::fabs(stats.product);
  if (!std::isfinite(stats.product))
    return finish_float(dtype, stats.product, spread == 0 || std::isnan(stats.product) ? 0 : kInfinity, false);
  const DType computed = accumulator(dtype);
  if (stats.cap > largest(computed)) return {{round_element(dtype, stats.product), 0}, kInfinity};
  const auto roundings = static_cast<double>(std::max<std::int64_t>(0, stats.terms - 1));
  const double underflow = stats.floor < 0x1p-100 ? smallest(computed) * stats.cap * roundings : 0;
  const double rounding = 1.01 * roundings * unit_roundoff(computed) * stats.largest;
  return finish_float(dtype, stats.product, spread + rounding + underflow, options.excess_precision);
}

// Max and min (of pred also and, or): between those of the lower and of the upper ends.
Ball extreme(Fold fold, DType dtype, const Numbers& x, std::int64_t base, std::span<const std::int64_t> offsets) {
  const bool down = fold == Fold::kMin || fold == Fold::kAnd;
  const double start = ops::is_float(dtype) ? float_identity(down ? Fold::kMin : Fold::kMax, dtype)
                                            : number_of(dtype, {0, int_identity(fold, dtype)});
  double low = start, center = start, high = start;
  const auto combine = [down](double& so_far, double value) {
    if (std::isnan(value) || std::isnan(so_far))
      so_far = std::numeric_limits<double>::quiet_NaN();
    else
      so_far = down ? std::min(so_far, value) : std::max(so_far, value);
  };
  for (const std::int64_t offset : offsets) {
    const double value = x.values[static_cast<std::size_t>(base + offset)];
    const double radius = x.radius(base + offset);
    combine(center, value);
    combine(low, value - radius);
    combine(high, value + radius);
  }
  const double radius = low == high || std::isnan(center) ? 0 : std::max(high - center, center - low);
  return {{center, 0}, std::isnan(radius) ? kInfinity : radius};
}

Ball fold_ball(const ApproxCall& call, const Numbers& x, std::int64_t base, std::span<const std::int64_t> offsets) {
  const Fold fold = fold_of(call.node.info.name);
  const DType dtype = call.node.dtype();
  const BoundOptions& options = call.options;
  if (fold == Fold::kSum) {
    SumStats stats;
    const bool in_f32 = accumulator(dtype) == DType::kF32;
    for (const std::int64_t offset : offsets)
      stats.add(x.values[static_cast<std::size_t>(base + offset)], x.radius(base + offset), in_f32);
    // Doubles are not wide enough to see the rounding errors of an f64 sum.
    if (!in_f32) stats.sum = fold_floats(fold, dtype, x.values.data() + base, offsets);
    return finish_sum(dtype, stats, options);
  }
  if (fold == Fold::kProd) {
    ProductStats stats;
    for (const std::int64_t offset : offsets)
      stats.add(x.values[static_cast<std::size_t>(base + offset)], x.radius(base + offset));
    return finish_product(dtype, stats, options);
  }
  return extreme(fold, dtype, x, base, offsets);
}

// Integers with radii: what the sum or product may be, if it cannot wrap.
double integer_radius(Fold fold, DType dtype, const Numbers& x, std::int64_t base,
                      std::span<const std::int64_t> offsets) {
  const bool pred = dtype == DType::kPred;
  if (fold == Fold::kMax || fold == Fold::kMin || (pred && (fold == Fold::kAnd || fold == Fold::kOr)))
    return extreme(fold, dtype, x, base, offsets).radius;
  if (fold == Fold::kAnd || fold == Fold::kOr || pred) return kInfinity;
  double largest_sum = 0, spread = 0;
  ProductStats product;
  for (const std::int64_t offset : offsets) {
    const double value = x.values[static_cast<std::size_t>(base + offset)];
    const double radius = x.radius(base + offset);
    largest_sum += std::fabs(value) + radius;
    spread += radius;
    product.add(value, radius);
  }
  const double limit = std::ldexp(1.0, ops::bit_width(dtype) - (ops::is_signed_integer(dtype) ? 1 : 0));
  if (fold == Fold::kSum) return largest_sum < limit ? spread : kInfinity;
  return product.cap < limit ? product.largest - std::fabs(product.product) : kInfinity;
}

// Each result from its own terms, as fold_all of the evaluator.
template <class BaseOf, class TermsOf>
Result<Approxes> approx_folds(const ApproxCall& call, std::int64_t work, BaseOf base_of, TermsOf terms_of) {
  const DType dtype = call.node.dtype();
  const Approx& x = call.operands[0];
  const Fold fold = fold_of(call.node.info.name);
  FW_TRY(Tensors values, centers(call));
  if (!ops::is_float(dtype) && x.exact()) return Approxes{{std::move(values[0]), nullptr}};
  const Numbers numbers(x);
  std::vector<double> radii(static_cast<std::size_t>(values[0].elements()));
  parallel_for(values[0].elements(), grain_for(4 * work), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t at = begin; at < end; ++at) {
      const auto& terms = terms_of(at);
      radii[static_cast<std::size_t>(at)] = ops::is_float(dtype)
                                                ? fold_ball(call, numbers, base_of(at), terms).radius
                                                : integer_radius(fold, dtype, numbers, base_of(at), terms);
    }
  });
  return Approxes{with_radii(std::move(values[0]), std::move(radii))};
}

}  // namespace

Result<Approxes> approx_reduction(const ApproxCall& call) {
  const ReductionLayout layout = reduction_layout(call.operands[0].value.dims, call.node.ints("axes"));
  return approx_folds(
      call, static_cast<std::int64_t>(layout.inner.size()),
      [&](std::int64_t at) { return layout.outer[static_cast<std::size_t>(at)]; },
      [&](std::int64_t) -> const std::vector<std::int64_t>& { return layout.inner; });
}

Result<Approxes> approx_reduce_window(const ApproxCall& call) {
  const Dims out_dims = call.node.dims();
  const WindowOffsets offsets(window_axes(call.node), call.operands[0].value.dims);
  return approx_folds(
      call, 8 * product(call.node.ints("window")), [](std::int64_t) { return std::int64_t{0}; },
      [&](std::int64_t at) {
        Counter index(out_dims);
        index.seek(at);
        return offsets.at(index.index);
      });
}

// Element i folds a prefix of its line; each prefix is bounded like a reduction of its own, in one pass.
Result<Approxes> approx_cumulative(const ApproxCall& call) {
  const DType dtype = call.node.dtype();
  const Approx& x = call.operands[0];
  FW_TRY(Tensors values, centers(call));
  if (!ops::is_float(dtype) && x.exact()) return Approxes{{std::move(values[0]), nullptr}};
  const Fold fold = fold_of(call.node.info.name);
  const Dims axes = {call.node.integer("axis")};
  const ReductionLayout lines = reduction_layout(x.value.dims, axes);
  const Numbers numbers(x);
  const bool exclusive = call.node.attrs.get<bool>("exclusive");
  const bool reverse = call.node.attrs.get<bool>("reverse");
  const bool in_f32 = accumulator(dtype) == DType::kF32;
  std::vector<double> radii(static_cast<std::size_t>(values[0].elements()), 0);
  for (const std::int64_t base : lines.outer) {
    SumStats sum;
    ProductStats product;
    std::vector<std::int64_t> prefix;
    for (std::size_t step = 0; step < lines.inner.size(); ++step) {
      const std::int64_t offset = lines.inner[reverse ? lines.inner.size() - 1 - step : step];
      double& radius = radii[static_cast<std::size_t>(base + offset)];
      const auto bound = [&] {
        if (fold == Fold::kSum && ops::is_float(dtype)) return finish_sum(dtype, sum, call.options).radius;
        if (fold == Fold::kProd && ops::is_float(dtype)) return finish_product(dtype, product, call.options).radius;
        return ops::is_float(dtype) ? extreme(fold, dtype, numbers, base, prefix).radius
                                    : integer_radius(fold, dtype, numbers, base, prefix);
      };
      if (exclusive) radius = bound();
      sum.add(numbers.values[static_cast<std::size_t>(base + offset)], numbers.radius(base + offset), in_f32);
      product.add(numbers.values[static_cast<std::size_t>(base + offset)], numbers.radius(base + offset));
      if (fold == Fold::kMax || fold == Fold::kMin || !ops::is_float(dtype)) prefix.push_back(offset);
      if (!exclusive) radius = bound();
    }
  }
  return Approxes{with_radii(std::move(values[0]), std::move(radii))};
}

// By the body on balls, one element after the other. Another order has other partial results of about the same size;
// what it may add is taken as three times what this order did.
Result<Approxes> approx_reduce(const ApproxCall& call) {
  if (call.body == nullptr || !*call.body)
    return fail(ErrorKind::kUnsupported,
                "there is no error bound for a reduce whose computation is no scalar function");
  FW_TRY(Tensors values, centers(call));
  const std::size_t count = call.operands.size() / 2;
  const ReductionLayout layout = reduction_layout(call.operands[0].value.dims, call.node.ints("axes"));
  std::vector<std::vector<double>> radii(count, std::vector<double>(layout.outer.size(), 0));
  std::vector<Ball> args(2 * count);
  for (std::size_t at = 0; at < layout.outer.size(); ++at) {
    for (std::size_t k = 0; k < count; ++k) args[k] = call.operands[count + k].ball(0);
    for (const std::int64_t term : layout.inner) {
      for (std::size_t k = 0; k < count; ++k) args[count + k] = call.operands[k].ball(layout.outer[at] + term);
      const std::vector<Ball> combined = (*call.body)(args);
      std::copy_n(combined.begin(), count, args.begin());
    }
    for (std::size_t k = 0; k < count; ++k) radii[k][at] = 4 * args[k].radius;
  }
  Approxes out;
  for (std::size_t k = 0; k < count; ++k) out.push_back(with_radii(std::move(values[k]), std::move(radii[k])));
  return out;
}

}  // namespace fusewright::interpret
