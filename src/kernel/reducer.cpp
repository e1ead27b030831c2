#include "reducer.hpp"

#include <limits>

namespace fusewright::kernel {

namespace {

constexpr std::int64_t kNowhere = std::numeric_limits<std::int64_t>::max();

// Least and greatest number of a dtype, floats by their infinities.
ExprId extreme(KernelBuilder& b, DType dtype, bool greatest) {
  if (ops::is_float(dtype)) {
    const double infinity = std::numeric_limits<double>::infinity();
    return b.number(dtype, greatest ? infinity : -infinity);
  }
  if (dtype == DType::kPred) return b.integer(dtype, greatest ? 1 : 0);
  const int bits = ops::bit_width(dtype);
  if (ops::is_unsigned_integer(dtype))
    return b.integer(dtype, greatest ? (bits == 64 ? -1 : (std::int64_t{1} << bits) - 1) : 0);
  const std::int64_t high = bits == 64 ? std::numeric_limits<std::int64_t>::max() : (std::int64_t{1} << (bits - 1)) - 1;
  return b.integer(dtype, greatest ? high : -high - 1);
}

}  // namespace

Reducer Reducer::of(const region::Region& region, region::ValueId id) {
  const region::RegionValue& v = region[id];
  const DType operand = region[v.operands[0]].dtype;
  Reducer r;
  r.id = id;
  r.value = operand == DType::kF16 || operand == DType::kBF16 ? DType::kF32 : operand;
  const std::string& op = v.op_name;
  const bool pred = operand == DType::kPred;
  if (op == "reduce_prod")
    r.op = pred ? ScalarOp::kAnd : ScalarOp::kMul;
  else if (op == "reduce_max")
    r.op = pred ? ScalarOp::kOr : ScalarOp::kMax;
  else if (op == "reduce_min")
    r.op = pred ? ScalarOp::kAnd : ScalarOp::kMin;
  else if (op == "reduce_and")
    r.op = ScalarOp::kAnd;
  else if (op == "reduce_or")
    r.op = ScalarOp::kOr;
  else if (op == "arg_max" || op == "arg_min") {
    r.with_position = true;
    r.greatest = op == "arg_max";
    r.last = v.attrs.get_or<bool>("last", false);
    r.value = operand;
  }
  return r;
}

Reducer::Partial Reducer::identity(KernelBuilder& b) const {
  if (with_position) return {extreme(b, value, !greatest), b.index(last ? -1 : kNowhere)};
  switch (op) {
    case ScalarOp::kMax: return {extreme(b, value, false), {}};
    case ScalarOp::kMin: return {extreme(b, value, true), {}};
    case ScalarOp::kAnd: return {b.integer(value, value == DType::kPred ? 1 : -1), {}};
    case ScalarOp::kOr: return {b.integer(value, 0), {}};
    default: break;
  }
  const double unit = op == ScalarOp::kMul ? 1 : 0;
  return {ops::is_float(value) ? b.number(value, unit) : b.integer(value, static_cast<std::int64_t>(unit)), {}};
}

Reducer::Partial Reducer::combine(KernelBuilder& b, const Partial& x, const Partial& y) const {
  if (!with_position) return {b.op(op, value, {x.value, y.value}), {}};
  // y replaces x when it is the better one, or as good and in the better place; NaN is better than any number.
  const auto both = [&](ExprId p, ExprId q) { return b.op(ScalarOp::kAnd, DType::kPred, {p, q}); };
  const auto either = [&](ExprId p, ExprId q) { return b.op(ScalarOp::kOr, DType::kPred, {p, q}); };
  ExprId better = b.op(greatest ? ScalarOp::kGt : ScalarOp::kLt, DType::kPred, {y.value, x.value});
  ExprId same = b.op(ScalarOp::kEq, DType::kPred, {y.value, x.value});
  if (ops::is_float(value)) {
    const ExprId x_nan = b.op(ScalarOp::kIsNan, DType::kPred, {x.value}),
                 y_nan = b.op(ScalarOp::kIsNan, DType::kPred, {y.value});
    const ExprId x_number = b.op(ScalarOp::kNot, DType::kPred, {x_nan});
    better = both(x_number, either(y_nan, better));
    same = either(same, both(x_nan, y_nan));
  }
  const ExprId place = b.op(last ? ScalarOp::kGt : ScalarOp::kLt, DType::kPred, {y.position, x.position});
  const ExprId take = b.let("take", either(better, both(same, place)));
  return {b.select(value, take, y.value, x.value), b.select(DType::kS64, take, y.position, x.position)};
}

ExprId Reducer::result(KernelBuilder& b, const region::Region& region, const Partial& x) const {
  return b.convert(region[id].dtype, with_position ? x.position : x.value);
}

}  // namespace fusewright::kernel
