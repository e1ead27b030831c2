#include <algorithm>
#include <cmath>
#include <limits>

#include "fusewright/ops/float_format.hpp"
#include "fusewright/support/check.hpp"
#include "src/interpret/fold.hpp"
#include "src/interpret/node.hpp"
#include "src/interpret/parallel.hpp"
#include "src/interpret/scalar.hpp"
#include "src/interpret/windows.hpp"

namespace fusewright::interpret {
namespace {

template <class Acc>
Acc sum_or_product(Fold fold, const double* x, std::span<const std::int64_t> offsets) {
  Acc out = fold == Fold::kSum ? Acc(0) : Acc(1);
  if (fold == Fold::kSum)
    for (const std::int64_t at : offsets) out += x[at];
  else
    for (const std::int64_t at : offsets) out *= x[at];
  return out;
}

ScalarOp combiner(Fold fold) {
  switch (fold) {
    case Fold::kSum: return ScalarOp::kAdd;
    case Fold::kProd: return ScalarOp::kMul;
    case Fold::kMax: return ScalarOp::kMax;
    case Fold::kMin: return ScalarOp::kMin;
    case Fold::kAnd: return ScalarOp::kAnd;
    case Fold::kOr: return ScalarOp::kOr;
  }
  return ScalarOp::kAdd;
}

Status check_foldable(const NodeCall& call) {
  const DType dtype = call.operand(0).dtype;
  if (ops::is_float(dtype) || ops::is_integer(dtype) || dtype == DType::kPred) return {};
  return fail(ErrorKind::kUnsupported,
              call.info.name + " of " + std::string(ops::name(dtype)) + " cannot be evaluated");
}

// Each result from its own terms: `terms_of(result)` gives their offsets into x, relative to `base_of(result)`.
template <class BaseOf, class TermsOf>
Result<Tensors> fold_all(const NodeCall& call, std::int64_t work, BaseOf base_of, TermsOf terms_of) {
  FW_TRY_STATUS(check_foldable(call));
  const Fold fold = fold_of(call.info.name);
  const DType dtype = call.dtype();
  FW_TRY(Tensor out, ops::make_tensor(dtype, call.dims()));
  const bool floats = ops::is_float(dtype);
  const std::vector<double> f = floats ? floats_of(call.operand(0)) : std::vector<double>();
  const std::vector<std::int64_t> i = floats ? std::vector<std::int64_t>() : ints_of(call.operand(0));
  parallel_for(out.elements(), grain_for(work), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t at = begin; at < end; ++at) {
      const auto& terms = terms_of(at);
      const std::int64_t base = terms.empty() ? 0 : base_of(at);  // of no terms there may be no element to point at
      if (floats)
        ops::set_double(out, at, fold_floats(fold, dtype, f.data() + base, terms));
      else
        ops::set_int(out, at, fold_ints(fold, dtype, i.data() + base, terms));
    }
  });
  return Tensors{std::move(out)};
}

}  // namespace

Fold fold_of(std::string_view op) {
  if (op.ends_with("sum")) return Fold::kSum;
  if (op.ends_with("prod")) return Fold::kProd;
  if (op.ends_with("max")) return Fold::kMax;
  if (op.ends_with("min")) return Fold::kMin;
  if (op.ends_with("and")) return Fold::kAnd;
  FW_CHECK(op.ends_with("or")) << op << " does not fold";
  return Fold::kOr;
}

double float_identity(Fold fold, DType dtype) {
  if (fold == Fold::kSum) return 0;
  if (fold == Fold::kProd) return 1;
  const ops::FloatFormat format = *ops::float_format(dtype);
  const double greatest = format.finite_only ? format.greatest() : std::numeric_limits<double>::infinity();
  return fold == Fold::kMax ? -greatest : greatest;
}

std::int64_t int_identity(Fold fold, DType dtype) {
  const int bits = dtype == DType::kPred ? 1 : ops::bit_width(dtype);
  const std::int64_t low =
      ops::is_signed_integer(dtype) ? -1 - static_cast<std::int64_t>(~std::uint64_t{0} >> (65 - bits)) : 0;
  switch (fold) {
    case Fold::kSum:
    case Fold::kOr: return 0;
    case Fold::kProd: return 1;
    case Fold::kMax: return low;
    case Fold::kMin: return wrap(dtype, ~low);  // the other end, signed or not
    case Fold::kAnd: return wrap(dtype, -1);
  }
  return 0;
}

double fold_floats(Fold fold, DType dtype, const double* x, std::span<const std::int64_t> offsets) {
  if (fold == Fold::kSum || fold == Fold::kProd)
    return dtype == DType::kF64 ? static_cast<double>(sum_or_product<Quad>(fold, x, offsets))
                                : sum_or_product<double>(fold, x, offsets);
  double out = float_identity(fold, dtype);
  for (const std::int64_t at : offsets) {
    const double pair[2] = {out, x[at]};
    out = wide_op(combiner(fold), pair);
  }
  return out;
}

std::int64_t fold_ints(Fold fold, DType dtype, const std::int64_t* x, std::span<const std::int64_t> offsets) {
  std::int64_t out = int_identity(fold, dtype);
  for (const std::int64_t at : offsets) {
    const std::int64_t pair[2] = {out, x[at]};
    out = int_op(combiner(fold), dtype, pair);
  }
  return out;
}

ReductionLayout reduction_layout(std::span<const std::int64_t> dims, std::span<const std::int64_t> axes) {
  const Dims strides = strides_of(dims);
  const Dims kept = other_axes(static_cast<std::int64_t>(dims.size()), axes);
  Dims reduced(axes.begin(), axes.end());
  std::sort(reduced.begin(), reduced.end());
  return {offsets_of(pick(dims, kept), pick(strides, kept)), offsets_of(pick(dims, reduced), pick(strides, reduced))};
}

Result<Tensors> eval_reduction(const NodeCall& call) {
  const ReductionLayout layout = reduction_layout(call.operand(0).dims, call.ints("axes"));
  return fold_all(
      call, static_cast<std::int64_t>(layout.inner.size()),
      [&](std::int64_t at) { return layout.outer[static_cast<std::size_t>(at)]; },
      [&](std::int64_t) -> const std::vector<std::int64_t>& { return layout.inner; });
}

Result<Tensors> eval_reduce_window(const NodeCall& call) {
  const Dims out_dims = call.dims();
  const std::vector<WindowAxis> axes = window_axes(call);
  const WindowOffsets offsets(axes, call.operand(0).dims);
  return fold_all(
      call, 8 * product(call.ints("window")), [](std::int64_t) { return std::int64_t{0}; },
      [&](std::int64_t at) {
        Counter index(out_dims);
        index.seek(at);
        return offsets.at(index.index);
      });
}

Result<Tensors> eval_arg_reduction(const NodeCall& call) {
  const Tensor& in = call.operand(0);
  const Dims axes = {call.integer("axis")};
  const ReductionLayout layout = reduction_layout(in.dims, axes);
  if (layout.inner.empty() && !layout.outer.empty()) return fail(call.info.name + " over an axis without elements");
  const bool last = call.attrs.get<bool>("last");
  const bool floats = ops::is_float(in.dtype);
  const ScalarOp better = call.info.name == "arg_max" ? ScalarOp::kGt : ScalarOp::kLt;
  FW_TRY(Tensor out, ops::make_tensor(call.dtype(), call.dims()));
  // True when `candidate` takes the place of `best`, which comes before it.
  const auto replaces = [&](Scalar candidate, Scalar best) {
    if (floats && std::isnan(best.f)) return last && std::isnan(candidate.f);
    if (floats && std::isnan(candidate.f)) return true;
    const Scalar pair[2] = {candidate, best};
    if (scalar_op(better, in.dtype, DType::kPred, pair).i != 0) return true;
    return last && scalar_op(ScalarOp::kEq, in.dtype, DType::kPred, pair).i != 0;
  };
  parallel_for(out.elements(), grain_for(8 * in.dims[static_cast<std::size_t>(axes[0])]),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t at = begin; at < end; ++at) {
                   const std::int64_t base = layout.outer[static_cast<std::size_t>(at)];
                   std::size_t best = 0;
                   for (std::size_t k = 1; k < layout.inner.size(); ++k)
                     if (replaces(get_scalar(in, base + layout.inner[k]), get_scalar(in, base + layout.inner[best])))
                       best = k;
                   ops::set_int(out, at, static_cast<std::int64_t>(best));
                 }
               });
  return Tensors{std::move(out)};
}

// From the first term to the last, in row-major order of the reduced axes, starting from the inits.
Result<Tensors> eval_reduce(const NodeCall& call) {
  if (call.body == nullptr) return fail(ErrorKind::kUnsupported, "reduce without a computation");
  const std::size_t count = call.operands.size() / 2;
  const ReductionLayout layout = reduction_layout(call.operand(0).dims, call.ints("axes"));
  Tensors results;
  for (std::size_t k = 0; k < count; ++k) {
    FW_TRY(Tensor out, ops::make_tensor(call.dtype(k), call.dims(k)));
    results.push_back(std::move(out));
  }
  std::vector<Scalar> args(2 * count);
  for (std::size_t at = 0; at < layout.outer.size(); ++at) {
    for (std::size_t k = 0; k < count; ++k) args[k] = get_scalar(call.operand(count + k), 0);
    for (const std::int64_t term : layout.inner) {
      for (std::size_t k = 0; k < count; ++k) args[count + k] = get_scalar(call.operand(k), layout.outer[at] + term);
      FW_TRY(const std::vector<Scalar> combined, (*call.body)(args));
      std::copy_n(combined.begin(), count, args.begin());
    }
    for (std::size_t k = 0; k < count; ++k) set_scalar(results[k], static_cast<std::int64_t>(at), args[k]);
  }
  return results;
}

namespace {

// One line: element i of the result folds the elements before it, itself included unless `exclusive`.
template <class Acc, class Combine, class Store>
void run_line(std::int64_t extent, bool exclusive, bool reverse, Acc running, Combine combine, Store store) {
  for (std::int64_t step = 0; step < extent; ++step) {
    const std::int64_t at = reverse ? extent - 1 - step : step;
    const Acc before = running;
    running = combine(running, at);
    store(at, exclusive ? before : running);
  }
}

template <class Acc>
void cumulate_floats(const NodeCall& call, Tensor& out) {
  const Tensor& in = call.operand(0);
  const Fold fold = fold_of(call.info.name);
  const Dims axes = {call.integer("axis")};
  const ReductionLayout lines = reduction_layout(in.dims, axes);
  for (const std::int64_t base : lines.outer)
    run_line(
        static_cast<std::int64_t>(lines.inner.size()), call.attrs.get<bool>("exclusive"),
        call.attrs.get<bool>("reverse"), Acc(float_identity(fold, in.dtype)),
        [&](const Acc& so_far, std::int64_t at) {
          const Acc pair[2] = {so_far, Acc(ops::get_double(in, base + lines.inner[static_cast<std::size_t>(at)]))};
          return wide_op(combiner(fold), pair);
        },
        [&](std::int64_t at, const Acc& value) {
          ops::set_double(out, base + lines.inner[static_cast<std::size_t>(at)], static_cast<double>(value));
        });
}

void cumulate_ints(const NodeCall& call, Tensor& out) {
  const Tensor& in = call.operand(0);
  const Fold fold = fold_of(call.info.name);
  const Dims axes = {call.integer("axis")};
  const ReductionLayout lines = reduction_layout(in.dims, axes);
  for (const std::int64_t base : lines.outer)
    run_line(
        static_cast<std::int64_t>(lines.inner.size()), call.attrs.get<bool>("exclusive"),
        call.attrs.get<bool>("reverse"), int_identity(fold, in.dtype),
        [&](std::int64_t so_far, std::int64_t at) {
          const std::int64_t pair[2] = {so_far, ops::get_int(in, base + lines.inner[static_cast<std::size_t>(at)])};
          return int_op(combiner(fold), in.dtype, pair);
        },
        [&](std::int64_t at, std::int64_t value) {
          ops::set_int(out, base + lines.inner[static_cast<std::size_t>(at)], value);
        });
}

}  // namespace

Result<Tensors> eval_cumulative(const NodeCall& call) {
  FW_TRY_STATUS(check_foldable(call));
  FW_TRY(Tensor out, ops::make_tensor(call.dtype(), call.dims()));
  if (!ops::is_float(out.dtype))
    cumulate_ints(call, out);
  else if (out.dtype == DType::kF64)
    cumulate_floats<Quad>(call, out);
  else
    cumulate_floats<double>(call, out);
  return Tensors{std::move(out)};
}

}  // namespace fusewright::interpret
