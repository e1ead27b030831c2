#include "src/interpret/ball.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "fusewright/support/check.hpp"

namespace fusewright::interpret {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Deviation factor of the probabilistic bound: it fails with probability 2 exp(-lambda^2 / 2), 3e-14 for one element.
constexpr double kLambda = 8;

// Monotone in every operand, up or down: the extremes lie at the ends of the intervals.
constexpr OpSet kMonotone = {ScalarOp::kCopy,  ScalarOp::kSign,      ScalarOp::kExp,      ScalarOp::kExpm1,
                             ScalarOp::kLog,   ScalarOp::kLog1p,     ScalarOp::kSqrt,     ScalarOp::kRsqrt,
                             ScalarOp::kCbrt,  ScalarOp::kAsin,      ScalarOp::kAcos,     ScalarOp::kAtan,
                             ScalarOp::kSinh,  ScalarOp::kTanh,      ScalarOp::kAsinh,    ScalarOp::kAcosh,
                             ScalarOp::kAtanh, ScalarOp::kLogistic,  ScalarOp::kErf,      ScalarOp::kFloor,
                             ScalarOp::kCeil,  ScalarOp::kTrunc,     ScalarOp::kMax,      ScalarOp::kMin,
                             ScalarOp::kClamp, ScalarOp::kRoundEven, ScalarOp::kRoundAway};

// Exact where the operands are: they round nothing.
constexpr OpSet kExact = {ScalarOp::kCopy,      ScalarOp::kAbs,  ScalarOp::kNeg,   ScalarOp::kSign,
                          ScalarOp::kFloor,     ScalarOp::kCeil, ScalarOp::kTrunc, ScalarOp::kRoundEven,
                          ScalarOp::kRoundAway, ScalarOp::kMax,  ScalarOp::kMin,   ScalarOp::kClamp,
                          ScalarOp::kRem};

// What reassociation and the folding of weights rearrange.
constexpr OpSet kRearranged = {ScalarOp::kAdd, ScalarOp::kSub, ScalarOp::kMul, ScalarOp::kDiv};

// Integer operations through which a radius is followed.
constexpr OpSet kFollowed = {ScalarOp::kAdd, ScalarOp::kSub, ScalarOp::kMul,   ScalarOp::kNeg,  ScalarOp::kAbs,
                             ScalarOp::kMax, ScalarOp::kMin, ScalarOp::kClamp, ScalarOp::kCopy, ScalarOp::kSign};

// Distance of what a value may be from what it is. An overflow of a format without infinities is NaN, which lies
// nowhere.
double distance_to(double end, double value) {
  if (end == value || (std::isnan(end) && std::isnan(value))) return 0;
  const double distance = std::fabs(end - value);
  return std::isnan(distance) ? kInfinity : distance;
}

// Distance of f(ends of the intervals) from f(centers): all combinations of the two ends.
template <class R>
double corner_spread(ScalarOp op, const double* c, const double* r) {
  const int count = ops::arity(op);
  R at[3] = {};
  for (int k = 0; k < count; ++k) at[k] = R(c[k]);
  const R center = wide_op(op, at);
  double spread = 0;
  for (int corner = 0; corner < (1 << count); ++corner) {
    for (int k = 0; k < count; ++k) at[k] = (corner >> k & 1) != 0 ? R(R(c[k]) + R(r[k])) : R(R(c[k]) - R(r[k]));
    const R value = wide_op(op, at);
    if (value == center || (value != value && center != center)) continue;
    const double distance = std::fabs(static_cast<double>(R(value - center)));
    if (!(distance <= kInfinity)) return kInfinity;  // NaN on one side: a pole or the edge of the domain lies within
    spread = std::max(spread, distance);
  }
  return spread;
}

double corners(ScalarOp op, DType dtype, const double* c, const double* r) {
  return dtype == DType::kF64 ? corner_spread<Quad>(op, c, r) : corner_spread<double>(op, c, r);
}

double cosh_spread(DType dtype, double c, double r) {
  const double size = std::fabs(c);
  // Even, with its minimum at 0, so the ends are |c| + r and the point nearest to 0.
  const double middle = size > r ? size : (size + r) / 2;
  const double half = size > r ? r : (size + r) / 2;
  const double at_center = std::cosh(size);
  const double offset = std::fabs(std::cosh(middle) - at_center);
  return corners(ScalarOp::kCosh, dtype, &middle, &half) + offset;
}

double tan_spread(DType dtype, double c, double r) {
  const auto branch = [](double x) { return std::floor(x / std::numbers::pi + 0.5); };
  if (branch(c - r) != branch(c + r)) return kInfinity;
  return corners(ScalarOp::kTan, dtype, &c, &r);
}

double div_spread(const double* c, const double* r) {
  const double nearest = std::fabs(c[1]) - r[1];
  if (!(nearest > 0)) return kInfinity;
  return (r[0] + std::fabs(c[0] / c[1]) * r[1]) / nearest;
}

// The quotient may jump from one integer to the next, which moves the remainder by the divisor.
double rem_spread(ScalarOp op, const double* c, const double* r) {
  const double nearest = std::fabs(c[1]) - r[1];
  if (!(nearest > 0)) return kInfinity;
  const double quotient = c[0] / c[1];
  const double error = div_spread(c, r);
  const auto whole = [op](double x) { return op == ScalarOp::kRem ? std::trunc(x) : std::floor(x); };
  const double smooth = r[0] + (std::fabs(quotient) + 1) * r[1];
  return whole(quotient - error) == whole(quotient + error) ? smooth : smooth + std::fabs(c[1]) + r[1];
}

double pow_spread(DType dtype, const double* c, const double* r) {
  const bool integral = r[1] == 0 && c[1] == std::floor(c[1]);
  if (c[0] - r[0] < 0 && !integral) return kInfinity;
  const double spread = corners(ScalarOp::kPow, dtype, c, r);
  if (!(std::fabs(c[0]) < r[0])) return spread;
  // The base may be 0, where an even power turns around.
  return c[1] - r[1] < 0 ? kInfinity : std::max(spread, std::fabs(std::pow(c[0], c[1])));
}

double atan2_spread(DType dtype, const double* c, const double* r) {
  const bool may_be_left = c[1] - r[1] <= 0;
  const bool crosses_axis = std::fabs(c[0]) <= r[0];
  if (may_be_left && crosses_axis) return 2 * std::numbers::pi;
  return corners(ScalarOp::kAtan2, dtype, c, r);
}

// How far the result moves when the operands move within their radii.
double spread_of(ScalarOp op, DType dtype, const double* c, const double* r) {
  const int count = ops::arity(op);
  bool moves = false;
  for (int k = 0; k < count; ++k) {
    moves = moves || r[k] > 0;
    if (r[k] > 0 && !std::isfinite(c[k])) return kInfinity;
  }
  if (!moves) return 0;
  if (kMonotone.has(op)) return corners(op, dtype, c, r);
  const double product = std::fabs(c[0]) * r[1] + std::fabs(c[1]) * r[0] + r[0] * r[1];
  if (op == ScalarOp::kAbs || op == ScalarOp::kNeg || op == ScalarOp::kConvert) return r[0];
  if (op == ScalarOp::kSin || op == ScalarOp::kCos) return std::min(r[0], 2.0);
  if (op == ScalarOp::kTan) return tan_spread(dtype, c[0], r[0]);
  if (op == ScalarOp::kCosh) return cosh_spread(dtype, c[0], r[0]);
  if (op == ScalarOp::kAdd || op == ScalarOp::kSub) return r[0] + r[1];
  if (op == ScalarOp::kMul) return product;
  if (op == ScalarOp::kFma) return product + r[2];
  if (op == ScalarOp::kDiv) return div_spread(c, r);
  if (op == ScalarOp::kRem || op == ScalarOp::kMod) return rem_spread(op, c, r);
  if (op == ScalarOp::kPow) return pow_spread(dtype, c, r);
  if (op == ScalarOp::kAtan2) return atan2_spread(dtype, c, r);
  return kInfinity;  // nothing is known
}

// Error of the kernel's operation before it rounds to the dtype, beyond what the operands bring.
double own_error(ScalarOp op, DType dtype, const double* c, double wide, double spread, const BoundOptions& options) {
  const double size = std::fabs(wide) + spread;
  if (kTranscendental.has(op)) {
    const DType computed = accumulator(dtype);
    // Results below the smallest normal number may be flushed.
    const double normal =
        computed == DType::kF64 ? std::numeric_limits<double>::min() : std::numeric_limits<float>::min();
    return 2 * kMathUlp * unit_roundoff(computed) * size + normal;
  }
  // All others are rounded correctly: the same result from the same operands, unless something may be rearranged.
  if (!options.reassociating || !kRearranged.has(op)) return 0;
  const bool sum = op == ScalarOp::kAdd || op == ScalarOp::kSub;
  return 2 * unit_roundoff(dtype) * (sum ? std::fabs(c[0]) + std::fabs(c[1]) + spread : size) + smallest(dtype);
}

// Whether a test of floats or integers can come out either way.
bool uncertain_test(ScalarOp op, DType dtype, const double* c, const double* r) {
  if (!ops::is_comparison(op)) return r[0] > 0 && std::fabs(c[0]) + r[0] > largest(dtype);
  const double radius = r[0] + r[1];
  if (radius == 0) return false;
  return std::isinf(radius) || std::fabs(c[0] - c[1]) <= radius;
}

Ball select_ball(DType to, const Ball* x) {
  const Ball& taken = x[0].value.i != 0 ? x[1] : x[2];
  if (x[0].radius == 0) return taken;
  const Ball& other = x[0].value.i != 0 ? x[2] : x[1];
  const double a = number_of(to, taken.value);
  const double b = number_of(to, other.value);
  const bool same = a == b || (std::isnan(a) && std::isnan(b));
  const double distance = same ? 0 : std::fabs(a - b);
  const double radius = std::max(taken.radius, distance + other.radius);
  return {taken.value, std::isnan(radius) ? kInfinity : radius};
}

Ball convert_ball(DType from, DType to, const Ball& x) {
  const Scalar value = convert(from, to, x.value);
  if (x.radius == 0) return {value, 0};
  const double c = number_of(from, x.value);
  if (to == DType::kPred) return {value, std::fabs(c) <= x.radius || std::isnan(c) ? 1.0 : 0.0};
  if (std::isinf(x.radius) || !std::isfinite(c)) return {value, kInfinity};
  // Monotone and saturating for floats; integers that wrap may land anywhere.
  const auto at = [&](double y) { return number_of(to, convert(DType::kF64, to, {y, 0})); };
  const double center = at(c);
  if (!ops::is_float(from) && center != number_of(to, value)) return {value, kInfinity};
  return {value, std::max(distance_to(at(c + x.radius), center), distance_to(at(c - x.radius), center))};
}

// Integers and pred with an uncertain operand.
double int_spread(ScalarOp op, DType dtype, const Ball* x, const double* c, const double* r) {
  if (op == ScalarOp::kAnd || op == ScalarOp::kOr || op == ScalarOp::kXor || op == ScalarOp::kNot) {
    if (dtype != DType::kPred) return kInfinity;
    const std::int64_t deciding = op == ScalarOp::kAnd ? 0 : op == ScalarOp::kOr ? 1 : -1;
    for (int k = 0; k < ops::arity(op); ++k)
      if (x[k].radius == 0 && x[k].value.i == deciding) return 0;
    return 1;
  }
  if (!kFollowed.has(op)) return kInfinity;
  const double spread = spread_of(op, DType::kF64, c, r);
  const double bits = ops::bit_width(dtype) - (ops::is_signed_integer(dtype) ? 1 : 0);
  const bool fits = std::fabs(wide_op(op, c)) + spread < std::ldexp(1.0, static_cast<int>(bits));
  return fits ? spread : kInfinity;
}

}  // namespace

double unit_roundoff(DType dtype) {
  if (dtype == DType::kF64) return 0x1p-53;
  if (dtype == DType::kF32) return 0x1p-24;
  if (dtype == DType::kF16) return 0x1p-11;
  if (dtype == DType::kBF16) return 0x1p-8;
  return dtype == DType::kF8E4M3FN ? 0x1p-4 : 0x1p-3;
}

double smallest(DType dtype) {
  if (dtype == DType::kF64) return std::numeric_limits<double>::denorm_min();
  if (dtype == DType::kF32) return 0x1p-149;
  if (dtype == DType::kF16) return 0x1p-24;
  if (dtype == DType::kBF16) return 0x1p-133;
  return dtype == DType::kF8E4M3FN ? 0x1p-9 : 0x1p-16;
}

DType accumulator(DType dtype) { return dtype == DType::kF64 ? DType::kF64 : DType::kF32; }

double number_of(DType dtype, Scalar value) {
  if (ops::is_float(dtype)) return value.f;
  return dtype == DType::kU64 ? static_cast<double>(static_cast<std::uint64_t>(value.i)) : static_cast<double>(value.i);
}

Ball finish_float(DType dtype, double wide, double error, bool keeps_precision) {
  const Scalar value{round_element(dtype, wide), 0};
  if (std::isnan(error)) return {value, kInfinity};
  if (!std::isfinite(wide)) return {value, error};
  // `wide` is itself rounded to f64, which may be just enough to cross a tie.
  const double reach = error == 0 ? 0 : error + 4 * unit_roundoff(DType::kF64) * std::fabs(wide);
  // A kernel rounds what lies within reach, and rounding is monotone.
  double radius = 0;
  for (const double end : {wide - reach, wide + reach}) {
    radius = std::max(radius, distance_to(round_element(dtype, end), value.f));
    if (keeps_precision) radius = std::max(radius, distance_to(end, value.f));
  }
  return {value, radius};
}

Ball ball_op(ScalarOp op, DType from, DType to, const Ball* x, const BoundOptions& options) {
  if (op == ScalarOp::kSelect) return select_ball(to, x);
  if (op == ScalarOp::kConvert && !(ops::is_float(from) && ops::is_float(to))) return convert_ball(from, to, x[0]);
  const int count = ops::arity(op);
  double c[3] = {};
  double r[3] = {};
  Scalar values[3] = {};
  bool exact = true;
  bool lost = false;  // an infinity or NaN that need not be one
  bool nan = false;   // one that is NaN wherever the others lie
  for (int k = 0; k < count; ++k) {
    values[k] = x[k].value;
    c[k] = number_of(from, x[k].value);
    r[k] = x[k].radius;
    exact = exact && r[k] == 0;
    lost = lost || (r[k] > 0 && !std::isfinite(c[k]));
    nan = nan || (r[k] == 0 && std::isnan(c[k]) && op != ScalarOp::kPow);
  }
  if (ops::is_float(from) && ops::is_float(to)) {
    const double wide = op == ScalarOp::kConvert ? c[0] : float_op(op, to, c);
    // An infinity or NaN is certain if the operands give it wherever they lie.
    if (!std::isfinite(wide))
      return {{round_element(to, wide), 0}, exact || nan ? 0 : lost ? kInfinity : corners(op, to, c, r)};
    const double spread = spread_of(op, to, c, r);
    if (kExact.has(op)) return {{wide, 0}, std::isnan(spread) ? kInfinity : spread};
    const double error = spread + own_error(op, to, c, wide, spread, options);
    return finish_float(to, wide, error, options.excess_precision);
  }
  const Scalar value = scalar_op(op, from, to, values);
  if (exact) return {value, 0};
  if (to == DType::kPred && (ops::is_comparison(op) || ops::is_float(from)))
    return {value, uncertain_test(op, from, c, r) ? 1.0 : 0.0};
  return {value, int_spread(op, from, x, c, r)};
}

Ball finish_sum(DType dtype, const SumStats& stats, const BoundOptions& options) {
  if (!std::isfinite(stats.sum))
    return finish_float(dtype, stats.sum, stats.nan || stats.input_error == 0 ? 0 : kInfinity, false);
  const DType sums_in = accumulator(dtype);
  const double u = unit_roundoff(sums_in);
  const auto n = static_cast<double>(stats.terms);
  const double size = stats.magnitude + stats.input_error;
  // A partial sum that overflows in one order and not in another.
  if (size > largest(sums_in)) return {{round_element(dtype, stats.sum), 0}, kInfinity};
  const double deviation = kLambda * std::sqrt(stats.squares);
  const double worst = (stats.factor_roundoff > 0 ? n : std::max(0.0, n - 1)) * u * size;
  const double likely =
      kLambda * std::sqrt(n) * u * (stats.largest_partial + 4 * std::sqrt(stats.squares) + stats.input_error);
  const double seen = 4 * std::fabs(stats.naive - stats.sum);
  const double order = std::min(worst, std::max(likely, seen));
  // Weights that were multiplied by a factor at load are off by two roundings each.
  const double folding = options.reassociating ? 2 * stats.factor_roundoff * std::min(size, deviation) : 0;
  return finish_float(dtype, stats.sum, stats.input_error + order + folding, options.excess_precision);
}

}  // namespace fusewright::interpret
