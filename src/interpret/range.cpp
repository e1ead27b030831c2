#include "fusewright/interpret/range.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "fusewright/ops/float_format.hpp"
#include "src/interpret/walk.hpp"

namespace fusewright::interpret {

namespace {

using ops::ScalarOp;
using Flags = std::vector<bool>;

/// A tensor, and which of its elements came from outside the range; null: none.
struct Ranged {
  Tensor value;
  std::shared_ptr<const Flags> lost;

  bool lost_at(std::size_t i) const { return lost != nullptr && (*lost)[i]; }
};

Ranged with_flags(Tensor value, Flags flags) {
  const bool any = std::ranges::find(flags, true) != flags.end();
  return {std::move(value), any ? std::make_shared<const Flags>(std::move(flags)) : nullptr};
}

struct Operands {
  double x[3] = {};
  int count = 0;

  bool finite() const {
    return std::all_of(x, x + count, [](double v) { return std::isfinite(v); });
  }
};

/// Infinite there as in the mathematics.
bool is_pole(ScalarOp op, const Operands& o) {
  using enum ScalarOp;
  if (op == kDiv) return o.x[1] == 0;
  if (op == kLog || op == kRsqrt || op == kPow) return o.x[0] == 0;
  if (op == kLog1p) return o.x[0] == -1;
  return op == kAtanh && std::fabs(o.x[0]) == 1;
}

/// What is never zero for finite operands like these, but may come out as zero.
bool never_zero(ScalarOp op, const Operands& o) {
  using enum ScalarOp;
  if (op == kMul) return o.x[0] != 0 && o.x[1] != 0;
  if (op == kDiv || op == kPow) return o.x[0] != 0;
  return op == kExp || op == kLogistic;
}

bool leaves_range(ScalarOp op, const Operands& o, double result, const ops::FloatFormat& format) {
  if (!o.finite()) return false;
  if (std::isinf(result) || (format.finite_only && std::isnan(result))) return !is_pole(op, o);
  return std::fabs(result) < format.least_normal() && never_zero(op, o);
}

bool all_finite(const Tensor& tensor) {
  if (!ops::is_float(tensor.dtype)) return true;
  for (std::int64_t i = 0; i < tensor.elements(); ++i)
    if (!std::isfinite(ops::get_double(tensor, i))) return false;
  return true;
}

Ranged pointwise(ScalarOp op, std::span<const Ranged> operands, Tensor result) {
  const auto format = ops::float_format(result.dtype);
  Flags flags(static_cast<std::size_t>(result.elements()), false);
  for (std::size_t i = 0; i < flags.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    if (op == ScalarOp::kSelect) {
      const std::size_t taken = ops::get_int(operands[0].value, at) != 0 ? 1 : 2;
      flags[i] = operands[0].lost_at(i) || operands[taken].lost_at(i);
      continue;
    }
    Operands o;
    for (const Ranged& operand : operands) {
      o.x[o.count++] = ops::get_double(operand.value, at);
      flags[i] = flags[i] || operand.lost_at(i);
    }
    flags[i] = flags[i] || (format && leaves_range(op, o, ops::get_double(result, at), *format));
  }
  return with_flags(std::move(result), std::move(flags));
}

Ranged folded(const ops::OpInfo& info, std::span<const Ranged> operands, Tensor result) {
  const bool computes = info.op_class != ops::OpClass::kSource && info.op_class != ops::OpClass::kMovement;
  const auto lost = [](const Ranged& operand) { return operand.lost != nullptr; };
  const auto finite = [](const Ranged& operand) { return !operand.value.storage || all_finite(operand.value); };
  const bool any =
      std::ranges::any_of(operands, lost) || (computes && !all_finite(result) && std::ranges::all_of(operands, finite));
  Flags flags(static_cast<std::size_t>(result.elements()), any);
  return with_flags(std::move(result), std::move(flags));
}

struct RangeDomain {
  using Value = Ranged;

  static const Tensor& tensor(const Ranged& value) { return value.value; }
  static Ranged exact(Tensor value) { return {std::move(value), nullptr}; }

  static Result<std::vector<Ranged>> node(const ops::OpInfo& info, std::span<const Ranged> operands,
                                          const ops::Attrs& attrs, std::span<const ops::Type> types, std::uint64_t seed,
                                          const Nested<Ranged>* nested) {
    const NodeFn function = find_node_fn(info);
    if (function == nullptr) return cannot_evaluate(info, attrs);
    Tensors values;
    for (const Ranged& operand : operands) values.push_back(operand.value);
    ScalarBody body;
    if (nested != nullptr)
      body = [&](std::span<const Scalar> args) { return run_nested<RangeDomain>(*nested, args, values); };
    FW_TRY(Tensors results, function({info, values, attrs, types, seed, nested == nullptr ? nullptr : &body}));
    std::vector<Ranged> out;
    for (Tensor& result : results)
      out.push_back(info.scalar ? pointwise(*info.scalar, operands, std::move(result))
                                : folded(info, operands, std::move(result)));
    return out;
  }

  static Result<std::int64_t> decide(const Ranged& value) {
    if (value.value.elements() != 1)
      return fail("control flow hangs on a value of type " + to_string(value.value.type()));
    return ops::get_int(value.value, 0);
  }

  static Result<Ranged> stack(std::span<const Ranged> elements, const ops::Type& element) {
    Tensors values;
    Flags flags;
    for (const Ranged& one : elements) {
      values.push_back(one.value);
      for (std::int64_t i = 0; i < one.value.elements(); ++i) flags.push_back(one.lost_at(static_cast<std::size_t>(i)));
    }
    FW_TRY(Tensor value, stack_tensors(values, element));
    return with_flags(std::move(value), std::move(flags));
  }
};

}  // namespace

Result<std::vector<std::vector<bool>>> out_of_range(const graph::Graph& graph, std::span<const Tensor> inputs,
                                                    const EvaluateOptions& options) {
  FW_TRY_STATUS(check_inputs(graph, inputs));
  std::vector<Ranged> args;
  for (const Tensor& input : inputs) args.push_back({input, nullptr});
  RangeDomain domain;
  FW_TRY(const std::vector<Ranged> results, Walker<RangeDomain>(graph, domain, options).run_entry(std::move(args)));
  std::vector<Flags> out;
  for (const Ranged& result : results)
    out.push_back(result.lost ? *result.lost : Flags(static_cast<std::size_t>(result.value.elements()), false));
  return out;
}

}  // namespace fusewright::interpret
