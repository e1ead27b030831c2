#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "fusewright/interpret/error_model.hpp"
#include "src/interpret/elements.hpp"

namespace fusewright::interpret {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Difference of two elements: exact for integers as far as a double holds it.
double distance(const Tensor& a, const Tensor& b, std::int64_t i) {
  if (!ops::is_float(a.dtype)) {
    const std::int64_t x = ops::get_int(a, i);
    const std::int64_t y = ops::get_int(b, i);
    if (x == y) return 0;
    return std::fabs(ops::get_double(a, i) - ops::get_double(b, i)) +
           (ops::get_double(a, i) == ops::get_double(b, i) ? 1 : 0);
  }
  const double x = ops::get_double(a, i);
  const double y = ops::get_double(b, i);
  if (x == y || (std::isnan(x) && std::isnan(y))) return 0;
  const double out = std::fabs(x - y);
  return std::isnan(out) ? kInfinity : out;
}

// For readers: the sign of a NaN says nothing.
double without_nan_sign(double x) { return std::isnan(x) ? std::fabs(x) : x; }

std::string index_text(std::int64_t linear, const Dims& dims) {
  Counter at(dims);
  at.seek(linear);
  std::string out = "[";
  for (std::size_t i = 0; i < dims.size(); ++i) out += (i > 0 ? "," : "") + std::to_string(at.index[i]);
  return out + "]";
}

template <class BoundOf>
CompareReport compare_each(const Tensor& actual, const Tensor& expected, BoundOf bound_of) {
  CompareReport report;
  if (actual.dtype != expected.dtype || actual.dims != expected.dims) {
    report.max_error = report.ratio = kInfinity;
    report.message = "the result is " + to_string(actual.type()) + ", expected " + to_string(expected.type());
    return report;
  }
  double worst = -1;
  for (std::int64_t i = 0; i < expected.elements(); ++i) {
    const double error = distance(actual, expected, i);
    const double bound = bound_of(i);
    if (std::isinf(bound)) continue;  // anything is right
    const double ratio = error <= bound ? (error == 0 ? 0 : error / bound) : bound > 0 ? error / bound : kInfinity;
    if (!(error <= bound)) ++report.wrong;
    // Of several equally bad ones the one with the larger error, for the reader.
    if (ratio < worst || (ratio == worst && error <= report.max_error)) continue;
    worst = ratio;
    report.max_error = error;
    report.bound = bound;
    report.ratio = ratio;
    report.index = i;
    report.actual = without_nan_sign(ops::get_double(actual, i));
    report.expected = without_nan_sign(ops::get_double(expected, i));
  }
  if (worst < 0 && expected.elements() > 0) report.bound = kInfinity;  // of every element
  report.ok = report.wrong == 0;
  if (!report.ok)
    report.message =
        fmt::format("element {} is {}, expected {} (error {:.3g}, bound {:.3g}); {} of {} elements are wrong",
                    index_text(report.index, expected.dims), report.actual, report.expected, report.max_error,
                    report.bound, report.wrong, expected.elements());
  return report;
}

}  // namespace

CompareReport compare(const ops::Tensor& actual, const Bounded& expected) {
  return compare_each(actual, expected.value, [&](std::int64_t i) { return expected.radius_at(i); });
}

CompareReport compare_tolerance(const ops::Tensor& actual, const ops::Tensor& expected, double rtol, double atol) {
  return compare_each(actual, expected, [&](std::int64_t i) {
    const double size = std::fabs(ops::get_double(expected, i));
    return std::isfinite(size) ? atol + rtol * size : 0.0;
  });
}

}  // namespace fusewright::interpret
