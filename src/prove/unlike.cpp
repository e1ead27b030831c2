#include "src/prove/unlike.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "fusewright/interpret/error_model.hpp"
#include "fusewright/interpret/evaluate.hpp"
#include "fusewright/interpret/range.hpp"
#include "fusewright/ops/float_format.hpp"

namespace fusewright::prove {

using ops::Tensor;

namespace {

bool same_element(const Tensor& a, const Tensor& b, std::int64_t i, bool any_zero) {
  if (!ops::is_float(a.dtype)) return ops::get_int(a, i) == ops::get_int(b, i);
  const double x = ops::get_double(a, i), y = ops::get_double(b, i);
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
  return x == y && (any_zero || x != 0 || std::signbit(x) == std::signbit(y));
}

interpret::BoundOptions bound_options(const rule::Exactness& exactness) {
  interpret::BoundOptions options;
  options.excess_precision = exactness.has(rule::ExactnessClass::kExcessPrecision) ||
                             exactness.has(rule::ExactnessClass::kContracting) ||
                             exactness.has(rule::ExactnessClass::kFactoring);
  options.reassociating =
      exactness.has(rule::ExactnessClass::kReassociating) || exactness.has(rule::ExactnessClass::kFactoring);
  options.approximate = exactness.has(rule::ExactnessClass::kApproximate) ? exactness.rtol : 0;
  return options;
}

/// Whether a value near enough to be right is asked of some element, or there are none.
bool says_something(const interpret::Bounded& bounded) {
  const std::int64_t elements = bounded.value.elements();
  for (std::int64_t i = 0; i < elements; ++i)
    if (std::isfinite(bounded.radius_at(i)) && !std::isnan(ops::get_double(bounded.value, i))) return true;
  return elements == 0;
}

Result<Unlike> compare_bounds(const Pair& sides, std::span<const Tensor> inputs, Asked asked) {
  interpret::BoundOptions options = bound_options(sides.exactness);
  FW_TRY(std::vector<interpret::Bounded> l, interpret::evaluate_with_bounds(sides.left, inputs, options));
  options.approximate = 0;
  FW_TRY(const std::vector<interpret::Bounded> r, interpret::evaluate_with_bounds(sides.right, inputs, options));
  std::optional<std::vector<std::vector<bool>>> lost;
  Unlike found{.bounded = false};
  for (std::size_t k = 0; k < l.size(); ++k) {
    interpret::Bounded& both = l[k];
    const auto elements = static_cast<std::size_t>(both.value.elements());
    if (both.radius.empty()) both.radius.assign(elements, 0);
    const auto format = ops::float_format(both.value.dtype);
    for (std::size_t i = 0; format && i < elements && i < static_cast<std::size_t>(r[k].value.elements()); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      // An overflow is no rounding; an exact zero or subnormal may be lost on the way.
      const bool overflows =
          std::isfinite(ops::get_double(both.value, at)) && !std::isfinite(ops::get_double(r[k].value, at));
      const bool own = !overflows && !sides.exactness.has(rule::ExactnessClass::kApproximate);
      both.radius[i] += (own ? r[k].radius_at(at) : 0) + 4 * format->least_normal();
    }
    interpret::CompareReport report = interpret::compare(r[k].value, both);
    if (!report.ok && asked == Asked::kInRange && !lost) {
      FW_TRY(lost, interpret::out_of_range(sides.left, inputs));
    }
    for (std::size_t i = 0; !report.ok && lost && i < elements; ++i)
      if ((*lost)[k][i]) both.radius[i] = std::numeric_limits<double>::infinity();
    if (!report.ok) report = interpret::compare(r[k].value, both);
    if (!report.ok) return Unlike{report.message, report.index, both.value.elements()};
    found.bounded = found.bounded || says_something(both);
  }
  return found;
}

}  // namespace

std::string element_text(const Tensor& tensor, std::int64_t i) {
  if (!ops::is_float(tensor.dtype)) return fmt::format("{}", ops::get_int(tensor, i));
  const double value = ops::get_double(tensor, i);
  return std::isnan(value) ? "nan" : fmt::format("{}", value);
}

Unlike first_unlike(const Tensor& left, const Tensor& right, bool any_zero) {
  if (left.dtype != right.dtype || left.dims != right.dims)
    return {fmt::format("the right side is {}, the left side {}", to_string(right.type()), to_string(left.type()))};
  for (std::int64_t i = 0; i < left.elements(); ++i)
    if (!same_element(left, right, i, any_zero))
      return {fmt::format("element {} of the right side is {}, of the left side {}", i, element_text(right, i),
                          element_text(left, i)),
              i, left.elements()};
  return {};
}

Result<Unlike> compare_sides(const Pair& sides, std::span<const Tensor> values, const Open& open, Asked asked) {
  if (!sides.exactness.bitexact()) return compare_bounds(sides, values, asked);
  FW_TRY(const std::vector<Tensor> l, interpret::evaluate(sides.left, values));
  const Result<std::vector<Tensor>> r = interpret::evaluate(sides.right, values);
  if (!r) return Unlike{"the right side cannot be evaluated: " + r.error().diagnostics[0].message};
  for (std::size_t k = 0; k < l.size(); ++k)
    if (Unlike unlike = first_unlike(l[k], (*r)[k], open[k])) return unlike;
  return Unlike();
}

}  // namespace fusewright::prove
