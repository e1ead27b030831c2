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

/// Significant bits of the formats that conversions go through, the leading one among them.
constexpr int kPrecisions[] = {3, 4, 8, 11, 24, 53};

/// Whole numbers of which a format with fewer bits has not all: it makes two of them one, and rounds the third up.
void add_unrepresentable(std::int64_t top, bool has_sign, Specials& out) {
  for (const int precision : kPrecisions) {
    const std::int64_t first = std::int64_t{1} << precision;
    if (first + 3 > top) break;
    for (const std::int64_t v : {first, first + 1}) out.finite.push_back({0, v});
    out.beyond.push_back({0, first + 3});
    if (has_sign) out.beyond.push_back({0, -first - 1});
  }
}

Specials special_integers(DType dtype, const std::set<double>& magnitudes) {
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
  add_unrepresentable(top, has_sign, out);
  for (const double magnitude : magnitudes) {
    if (magnitude >= 0x1p62 || std::floor(magnitude) + 1 > static_cast<double>(top)) continue;
    const auto bound = static_cast<std::int64_t>(magnitude);
    for (const std::int64_t v : {bound - 1, bound, bound + 1}) {
      out.beyond.push_back({0, v});
      if (has_sign) out.beyond.push_back({0, -v});
    }
  }
  return out;
}

/// Ties between whole numbers, and what a narrower format rounds: whole numbers and numbers near one that it lies
/// halfway between two of, and just above, which is lost when a third format rounds first.
void add_ties(const ops::FloatFormat& format, Specials& out) {
  add(out.beyond, {0.5, -0.5, 1.5, -1.5, 2.5, -2.5});
  const double last = ops::power_of_two(-format.mantissa_bits);
  for (const int precision : kPrecisions) {
    if (precision > format.mantissa_bits) break;
    const double half = ops::power_of_two(-precision), whole = ops::power_of_two(precision);
    add(out.beyond, {1 + half, 1 + half + last});
    if (whole + 3 <= format.greatest()) add(out.beyond, {whole + 1, whole + 3});
  }
}

/// Formats with room for products of a large number with a few moderate ones.
constexpr int kWideExponent = 8;

/// See Specials::many and ::near.
void add_many(DType dtype, const rule::Exactness& exactness, Specials& out) {
  const auto format = ops::float_format(dtype);
  const bool wide =
      exactness.has(rule::ExactnessClass::kApproximate) && format && format->exponent_bits >= kWideExponent;
  // Zeros, infinities and subnormal numbers are tried elsewhere; a product of a few that is regrouped does not
  // overflow.
  const auto fits = [&](double v) {
    const double size = std::fabs(v);
    if (exactness.bitexact()) return size > 0 && size <= format->greatest();
    return size >= format->least_normal() && (wide || size * size * size <= format->greatest());
  };
  constexpr int kByte = 8;
  if (ops::bit_width(dtype) == kByte) {
    ops::Tensor byte = *ops::make_tensor(dtype, {1});
    for (int bits = 0; bits < 1 << kByte; ++bits) {
      *reinterpret_cast<std::uint8_t*>(byte.mutable_data()) = static_cast<std::uint8_t>(bits);
      const Special value{ops::get_double(byte, 0), ops::get_int(byte, 0)};
      if (!ops::is_float(dtype) || fits(value.number)) out.many.push_back(value);
    }
    return;
  }
  if (!format) return;
  for (int exponent = -24; exponent <= (wide ? 24 : 7); ++exponent)
    for (const double leading : {1.37, 1.83}) {
      const double v = leading * ops::power_of_two(exponent);
      if (fits(v)) add(out.many, {v, -v});
    }
  if (!wide) return;
  add(out.near, {17, -17, 100, 1000, 1000.001, 1e5});
}

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

namespace {

Specials special_floats(DType dtype, const rule::Exactness& exactness, bool weight,
                        const std::set<double>& magnitudes) {
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
    add_ties(e, out);
    add(out.telling, {e.greatest(), -e.greatest(), e.smallest()});
  } else if (!weight) {
    add_extremes(e, exactness, out);
  }
  for (const double magnitude : magnitudes) {
    const double v = 1.25 * magnitude;
    if (v < e.least_normal() || v * v * v > e.greatest()) continue;  // a product of a few does not overflow
    add(out.beyond, {v, -v, magnitude, -magnitude});
    if (exactness.bitexact()) add(out.beyond, {magnitude * e.next_to_one(), -magnitude * e.next_to_one()});
  }
  return out;
}

}  // namespace

Specials special_values(DType dtype, const rule::Exactness& exactness, bool weight,
                        const std::set<double>& magnitudes) {
  if (dtype == DType::kPred) {
    const std::vector<Special> both = {{0, 0}, {0, 1}};
    return {both, {}, {}, {}, both, both, {}, {}};
  }
  Specials out =
      ops::is_float(dtype) ? special_floats(dtype, exactness, weight, magnitudes) : special_integers(dtype, magnitudes);
  add_many(dtype, exactness, out);
  return out;
}

}  // namespace fusewright::prove
