#include "src/prove/specials.hpp"

#include <cmath>
#include <limits>

#include "fusewright/ops/float_format.hpp"

namespace fusewright::prove {

using ops::DType;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

void add(std::vector<Special>& to, std::initializer_list<double> numbers) {
  for (const double v : numbers) to.push_back({v, 0});
}

Specials special_integers(DType dtype, const std::set<double>& magnitudes) {
  constexpr double kLargestBound = 100;  // fits every integer of eight bits
  Specials out;
  const int bits = ops::bit_width(dtype);
  const bool has_sign = ops::is_signed_integer(dtype);
  const auto top = static_cast<std::int64_t>(~std::uint64_t{0} >> (64 - bits) >> (has_sign ? 1 : 0));
  for (const std::int64_t v : {std::int64_t{0}, std::int64_t{1}, top, std::int64_t{2}}) out.finite.push_back({0, v});
  if (has_sign)
    for (const std::int64_t v : {std::int64_t{-1}, -top - 1}) out.finite.push_back({0, v});
  out.telling = out.fewest = out.finite;
  if (bits <= 4) {  // all that there are
    out.finite.clear();
    const std::int64_t first = has_sign ? -(std::int64_t{1} << (bits - 1)) : 0;
    for (std::int64_t v = 0; v < std::int64_t{1} << bits; ++v) out.finite.push_back({0, first + v});
    return out;
  }
  for (const double magnitude : magnitudes) {
    if (magnitude < 2 || magnitude > kLargestBound) continue;
    const auto above = static_cast<std::int64_t>(magnitude) + 1;
    out.beyond.push_back({0, above});
    if (has_sign) out.beyond.push_back({0, -above});
  }
  return out;
}

/// Formats with room for products of a large number with a few moderate ones.
constexpr int kWideExponent = 8;

/// For rules that are not bit-exact. Extremes by twos and threes only where nothing may be regrouped, which might
/// overflow on the way.
void add_extremes(const ops::FloatFormat& format, const rule::Exactness& exactness, Specials& out) {
  if (format.exponent_bits < kWideExponent) return;
  const double large = ops::power_of_two(format.bias() / 2 + kWideExponent);
  const double exponential = 1.1 * std::log(format.greatest());  // overflows by `exp`
  add(out.extreme, {large, -large, 1 / large, exponential, -exponential});
  if (exactness.has(rule::ExactnessClass::kReassociating) || exactness.has(rule::ExactnessClass::kFactoring)) return;
  add(out.extreme, {format.greatest(), -format.greatest()});
  add(out.telling, {large, -large, 1 / large});
}

}  // namespace

void put(ops::Tensor& tensor, std::int64_t i, const Special& value) {
  if (ops::is_float(tensor.dtype))
    ops::set_double(tensor, i, value.number);
  else
    ops::set_int(tensor, i, value.integer);
}

std::set<double> magnitudes_in(const graph::Graph& left, const graph::Graph& right) {
  std::set<double> out;
  for (const graph::Graph* graph : {&left, &right})
    for (const graph::NodeId id : graph->entry_computation().nodes) {
      if (graph->info(id).name != "constant") continue;
      const ops::Tensor& value = *(*graph)[id].attrs.get<ops::TensorHandle>("value");
      if (value.elements() != 1 || !(ops::is_float(value.dtype) || ops::is_integer(value.dtype))) continue;
      const double magnitude = std::fabs(ops::get_double(value, 0));
      if (magnitude > 0 && std::isfinite(magnitude)) out.insert(magnitude);
    }
  return out;
}

Specials special_values(DType dtype, const rule::Exactness& exactness, bool weight,
                        const std::set<double>& magnitudes) {
  if (dtype == DType::kPred) {
    const std::vector<Special> both = {{0, 0}, {0, 1}};
    return {both, {}, {}, {}, both, both};
  }
  if (!ops::is_float(dtype)) return special_integers(dtype, magnitudes);
  Specials out;
  const ops::FloatFormat e = *ops::float_format(dtype);
  const bool any = exactness.bitexact() || !weight;
  add(out.finite, {1, -1});
  add(out.telling, {1, -1});
  add(out.fewest, {1});
  if (any) {
    add(exactness.bitexact() ? out.finite : out.beyond, {e.smallest(), -e.smallest()});
    add(out.finite, {0.0, -0.0});
    add(out.telling, {0.0, -0.0});
    add(out.fewest, {0.0});
  }
  if (any && !exactness.has(rule::ExactnessClass::kFactoring)) {  // inf * (2 - 1) is not inf * 2 - inf * 1
    add(out.infinite, {kInfinity, -kInfinity, kNaN});
    add(out.telling, {kInfinity, -kInfinity, kNaN});
    add(out.fewest, {kInfinity, -kInfinity});
  }
  if (exactness.bitexact()) {
    add(out.finite, {e.greatest(), -e.greatest(), e.least_normal(), e.next_to_one()});
    add(out.telling, {e.greatest(), -e.greatest(), e.smallest()});
  } else if (!weight) {
    add_extremes(e, exactness, out);
  }
  for (const double magnitude : magnitudes) {
    const double v = 1.25 * magnitude;
    if (v < e.least_normal() || v * v * v > e.greatest()) continue;  // a product of a few does not overflow
    add(out.beyond, {v, -v});
  }
  return out;
}

}  // namespace fusewright::prove
