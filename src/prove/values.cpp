#include "src/prove/values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <set>

#include "fusewright/interpret/error_model.hpp"
#include "fusewright/interpret/evaluate.hpp"
#include "fusewright/interpret/inputs.hpp"
#include "fusewright/ops/float_format.hpp"
#include "src/prove/same_graph.hpp"
#include "src/prove/zeros.hpp"

namespace fusewright::prove {

using graph::Graph;
using ops::DType;
using ops::Tensor;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::int64_t kFewElements = 8;  // of all operands; up to here every special value visits every operand

/// Leaves of the two sides: entry parameters, then weights.
struct Leaves {
  std::vector<ops::Type> types;
  std::size_t parameters = 0;
  std::int64_t elements = 0;
};

Leaves leaves_of(const Sides& sides) {
  Leaves out;
  for (const graph::Port& port : sides.left.inputs) out.types.push_back(port.type);
  out.parameters = out.types.size();
  for (const ops::TensorHandle& w : sides.weights) out.types.push_back(w->type());
  for (const ops::Type& type : out.types) out.elements += ops::element_count(type.shape).value_or(0);
  return out;
}

/// Floats as numbers, integers as their bits.
struct Special {
  double number = 0;
  std::int64_t integer = 0;
};

/// What an operand's elements are set to.
struct Specials {
  std::vector<Special> finite, infinite;  ///< whatever the rule
  std::vector<Special> beyond;            ///< just beyond the rule's own numbers, where its bounds may be
};

/// Magnitudes of the constants of one element in both sides, zero aside.
std::set<double> magnitudes_in(const Graph& left, const Graph& right) {
  std::set<double> out;
  for (const Graph* graph : {&left, &right})
    for (const graph::NodeId id : graph->entry_computation().nodes) {
      if (graph->info(id).name != "constant") continue;
      const Tensor& value = *(*graph)[id].attrs.get<ops::TensorHandle>("value");
      if (value.elements() != 1 || !(ops::is_float(value.dtype) || ops::is_integer(value.dtype))) continue;
      const double magnitude = std::fabs(ops::get_double(value, 0));
      if (magnitude > 0 && std::isfinite(magnitude)) out.insert(magnitude);
    }
  return out;
}

Specials special_integers(DType dtype, const std::set<double>& magnitudes) {
  constexpr double kLargestBound = 100;  // fits every integer of eight bits
  Specials out;
  const int bits = ops::bit_width(dtype);
  const bool has_sign = ops::is_signed_integer(dtype);
  if (bits <= 4) {  // all that there are
    const std::int64_t first = has_sign ? -(std::int64_t{1} << (bits - 1)) : 0;
    for (std::int64_t v = 0; v < std::int64_t{1} << bits; ++v) out.finite.push_back({0, first + v});
    return out;
  }
  const std::int64_t top = static_cast<std::int64_t>(~std::uint64_t{0} >> (64 - bits) >> (has_sign ? 1 : 0));
  for (const std::int64_t v : {std::int64_t{0}, std::int64_t{1}, top, std::int64_t{2}}) out.finite.push_back({0, v});
  if (has_sign)
    for (const std::int64_t v : {std::int64_t{-1}, -top - 1}) out.finite.push_back({0, v});
  for (const double magnitude : magnitudes) {
    if (magnitude < 2 || magnitude > kLargestBound) continue;
    const auto above = static_cast<std::int64_t>(magnitude) + 1;
    out.beyond.push_back({0, above});
    if (has_sign) out.beyond.push_back({0, -above});
  }
  return out;
}

/// @param weight  of a constant: where operators are regrouped, no zero that may stand below a fraction bar.
Specials special_values(DType dtype, const rule::Exactness& exactness, bool weight,
                        const std::set<double>& magnitudes) {
  if (dtype == DType::kPred) return {{{0, 0}, {0, 1}}, {}, {}};
  if (!ops::is_float(dtype)) return special_integers(dtype, magnitudes);
  Specials out;
  const ops::FloatFormat e = *ops::float_format(dtype);
  const bool any = exactness.bitexact() || !weight;
  for (const double v : {1.0, -1.0}) out.finite.push_back({v, 0});
  if (any)
    for (const double v : {0.0, -0.0, e.smallest(), -e.smallest()}) out.finite.push_back({v, 0});
  if (exactness.bitexact())
    for (const double v : {e.greatest(), -e.greatest(), e.least_normal(), e.next_to_one()})
      out.finite.push_back({v, 0});
  if (any)
    for (const double v : {kInfinity, -kInfinity, std::numeric_limits<double>::quiet_NaN()})
      out.infinite.push_back({v, 0});
  for (const double magnitude : magnitudes) {
    const double v = 1.25 * magnitude;
    if (v < e.least_normal() || v * v * v > e.greatest()) continue;  // a product of a few does not overflow
    for (const double sign : {1.0, -1.0}) out.beyond.push_back({sign * v, 0});
  }
  return out;
}

void put(Tensor& tensor, std::int64_t i, const Special& value) {
  if (ops::is_float(tensor.dtype))
    ops::set_double(tensor, i, value.number);
  else
    ops::set_int(tensor, i, value.integer);
}

using Values = std::vector<Tensor>;  // by leaf

Result<Values> random_values(const Leaves& leaves, std::uint64_t seed) {
  Values out;
  for (std::size_t i = 0; i < leaves.types.size(); ++i) {
    FW_TRY(Tensor t, interpret::make_input(leaves.types[i], seed, i));
    out.push_back(std::move(t));
  }
  return out;
}

/// One round of values at a time; nullopt behind the last.
class Rounds {
 public:
  Rounds(const Leaves& leaves, const rule::Exactness& exactness, const std::set<double>& magnitudes) : leaves_(leaves) {
    for (std::size_t l = 0; l < leaves.types.size(); ++l) {
      const auto [finite, infinite, beyond] =
          special_values(leaves.types[l].dtype, exactness, l >= leaves.parameters, magnitudes);
      pairs_.push_back(finite);
      pairs_.back().insert(pairs_.back().end(), infinite.begin(), infinite.end());
      specials_.push_back(finite);
      specials_.back().insert(specials_.back().end(), beyond.begin(), beyond.end());
      finite_.push_back(static_cast<std::int64_t>(specials_.back().size()));
      specials_.back().insert(specials_.back().end(), infinite.begin(), infinite.end());
    }
  }

  Result<std::optional<Values>> next() {
    if (random_ < (leaves_.elements <= kFewElements ? 3U : 1U)) {
      FW_TRY(Values v, random_values(leaves_, 100 + random_++));
      return std::optional(std::move(v));
    }
    while (leaf_ < leaves_.types.size()) {
      const auto elements = ops::element_count(leaves_.types[leaf_].shape).value_or(0);
      const auto count = static_cast<std::int64_t>(specials_[leaf_].size());
      if (elements == 0 || offset_ >= count) {
        ++leaf_;
        offset_ = 0;
        continue;
      }
      FW_TRY(Values v, random_values(leaves_, 7));
      for (std::int64_t i = 0; i < elements; ++i)
        put(v[leaf_], i, specials_[leaf_][static_cast<std::size_t>((offset_ + i) % count)]);
      // Beside many elements one round of numbers, and one of infinities where that had none.
      const std::int64_t begin = offset_, end = begin + std::min(elements, count);
      if (leaves_.elements <= kFewElements)
        offset_ = end;
      else
        offset_ = begin == 0 && end <= finite_[leaf_] ? finite_[leaf_] : count;
      return std::optional(std::move(v));
    }
    if (leaves_.types.size() != 2 || leaves_.elements != 2) return std::nullopt;
    const std::size_t pair = pair_++;
    if (pair >= pairs_[0].size() * pairs_[1].size()) return std::nullopt;
    FW_TRY(Values v, random_values(leaves_, 7));
    put(v[0], 0, pairs_[0][pair / pairs_[1].size()]);
    put(v[1], 0, pairs_[1][pair % pairs_[1].size()]);
    return std::optional(std::move(v));
  }

 private:
  const Leaves& leaves_;
  std::vector<std::vector<Special>> specials_, pairs_;  // by leaf
  std::vector<std::int64_t> finite_;                    // by leaf: so many specials are numbers
  std::uint64_t random_ = 0;
  std::size_t leaf_ = 0, pair_ = 0;
  std::int64_t offset_ = 0;
};

/// The graph with its weights as further parameters, behind its own: constants equal to one of them are read from
/// there.
Graph with_parameters(const Graph& graph, const std::vector<ops::TensorHandle>& weights) {
  if (weights.empty()) return graph;
  Graph out = graph;
  std::vector<graph::Value> made;
  graph::Builder builder(out, out.entry);
  for (std::size_t i = 0; i < weights.size(); ++i)
    made.push_back(builder.parameter(weights[i]->type(), fmt::format("weight{}", i)));
  std::vector<graph::NodeId>& order = out[out.entry].nodes;
  std::ranges::rotate(order, order.end() - static_cast<std::ptrdiff_t>(weights.size()));
  std::map<graph::Value, graph::Value> stands_for;
  for (const graph::NodeId id : order) {
    const ops::AttrValue* value = out[id].attrs.find("value");
    const auto* tensor = value != nullptr ? std::get_if<ops::TensorHandle>(value) : nullptr;
    for (std::size_t i = 0; tensor != nullptr && i < weights.size(); ++i)
      if (ops::same_constant(*tensor, weights[i])) stands_for[{id, 0}] = made[i];
  }
  const auto replace = [&](graph::Value& v) {
    if (const auto at = stands_for.find(v); at != stands_for.end()) v = at->second;
  };
  for (const graph::NodeId id : order)
    for (graph::Value& v : out[id].operands) replace(v);
  for (graph::Value& v : out[out.entry].results) replace(v);
  return out;
}

std::string element_text(const Tensor& tensor, std::int64_t i) {
  if (!ops::is_float(tensor.dtype)) return fmt::format("{}", ops::get_int(tensor, i));
  return fmt::format("{}", ops::get_double(tensor, i));
}

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
  options.approximate = exactness.has(rule::ExactnessClass::kApproximate) ? exactness.rtol : 0;
  return options;
}

/// Both sides compute one real function: they differ by no more than both may be off.
Result<std::string> compare_bounds(const Sides& sides, std::span<const Tensor> inputs) {
  interpret::BoundOptions options = bound_options(sides.exactness);
  FW_TRY(std::vector<interpret::Bounded> l, interpret::evaluate_with_bounds(sides.left, inputs, options));
  options.approximate = 0;
  FW_TRY(const std::vector<interpret::Bounded> r, interpret::evaluate_with_bounds(sides.right, inputs, options));
  for (std::size_t k = 0; k < l.size(); ++k) {
    interpret::Bounded& both = l[k];
    const auto elements = static_cast<std::size_t>(both.value.elements());
    if (both.radius.empty()) both.radius.assign(elements, 0);
    for (std::size_t i = 0; i < elements && i < static_cast<std::size_t>(r[k].value.elements()); ++i) {
      both.radius[i] += r[k].radius_at(static_cast<std::int64_t>(i));
      // An exact zero or subnormal may be lost on the way.
      if (const auto format = ops::float_format(both.value.dtype)) both.radius[i] += 4 * format->least_normal();
    }
    const interpret::CompareReport report = interpret::compare(r[k].value, both);
    if (!report.ok) return report.message;
  }
  return std::string();
}

using Open = std::vector<bool>;  // by result: the sign of its zeros is

Result<std::string> compare_sides(const Sides& sides, std::span<const Tensor> values, const Open& open) {
  if (!sides.exactness.bitexact()) return compare_bounds(sides, values);
  FW_TRY(const std::vector<Tensor> l, interpret::evaluate(sides.left, values));
  const Result<std::vector<Tensor>> r = interpret::evaluate(sides.right, values);
  if (!r) return "the right side cannot be evaluated: " + r.error().diagnostics[0].message;
  for (std::size_t k = 0; k < l.size(); ++k)
    if (std::string reason = compare_bits(l[k], (*r)[k], open[k]); !reason.empty()) return reason;
  return std::string();
}

/// Puts a zero, else a one, wherever the sides still differ.
Result<std::string> simplify(const Sides& sides, Values& values, const Open& open, std::string reason) {
  for (Tensor& tensor : values)
    for (std::int64_t i = 0; i < tensor.elements() && tensor.elements() <= 64; ++i)
      for (const double simple : {0.0, 1.0}) {
        FW_TRY(Tensor copy, ops::make_tensor(tensor.dtype, tensor.dims));
        std::memcpy(copy.mutable_data(), tensor.data(), tensor.bytes());
        std::swap(copy, tensor);
        ops::set_double(tensor, i, simple);
        const Result<std::string> still = compare_sides(sides, values, open);
        if (still && !still->empty()) {
          reason = *still;
          break;
        }
        std::swap(copy, tensor);
      }
  return reason;
}

std::string print_all(const Leaves& leaves, const Graph& given, const Values& values) {
  std::string out;
  for (std::size_t i = 0; i < values.size(); ++i)
    out += fmt::format("{}{} = {}", i == 0 ? "" : ", ",
                       i < leaves.parameters ? given.inputs[i].name : fmt::format("constant {}", i - leaves.parameters),
                       print_values(values[i]));
  return out;
}

}  // namespace

std::string compare_bits(const Tensor& left, const Tensor& right, bool any_zero) {
  if (left.dtype != right.dtype || left.dims != right.dims)
    return fmt::format("the right side is {}, the left side {}", to_string(right.type()), to_string(left.type()));
  for (std::int64_t i = 0; i < left.elements(); ++i)
    if (!same_element(left, right, i, any_zero))
      return fmt::format("element {} of the right side is {}, of the left side {}", i, element_text(right, i),
                         element_text(left, i));
  return {};
}

Result<std::optional<Difference>> find_difference(const Sides& given) {
  // Composite operators by their bodies and weights as parameters, once and not in every round.
  const auto every = [](const ops::OpInfo&) { return true; };
  FW_TRY(const Graph left, graph::expand_composites(with_parameters(given.left, given.weights), every));
  FW_TRY(const Graph right, graph::expand_composites(with_parameters(given.right, given.weights), every));
  const Sides sides{left, right, {}, given.exactness, given.evaluated};
  const Leaves leaves = leaves_of(given);
  Open open = open_zeros(left);
  const Open right_open = open_zeros(right);
  for (std::size_t k = 0; k < open.size() && k < right_open.size(); ++k) open[k] = open[k] || right_open[k];
  Rounds rounds(leaves, sides.exactness, magnitudes_in(left, right));
  if (same_graph(left, right)) {  // one value, if they have any
    FW_TRY(const Values values, random_values(leaves, 7));
    if (!given.evaluated) FW_TRY_STATUS(interpret::evaluate(left, values));
    return std::nullopt;
  }
  while (true) {
    FW_TRY(std::optional<Values> values, rounds.next());
    if (!values) return std::nullopt;
    FW_TRY(std::string reason, compare_sides(sides, *values, open));
    if (reason.empty()) continue;
    FW_TRY(reason, simplify(sides, *values, open, std::move(reason)));
    return std::optional(Difference{print_all(leaves, given.left, *values), std::move(reason)});
  }
}

std::string demands(const rule::Exactness& exactness) {
  if (exactness.bitexact()) return "the same bits on every special value";
  return "both sides within their error bounds; no extremes, zeros, infinities and NaN only in data";
}

std::string print_values(const Tensor& tensor) {
  constexpr std::int64_t kMost = 12;
  std::string out = "[";
  for (std::int64_t i = 0; i < std::min(tensor.elements(), kMost); ++i)
    out += (i == 0 ? "" : ", ") + element_text(tensor, i);
  return out + (tensor.elements() > kMost ? ", ...]" : "]");
}

}  // namespace fusewright::prove
