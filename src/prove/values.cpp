#include "src/prove/values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>

#include "fusewright/interpret/error_model.hpp"
#include "fusewright/interpret/evaluate.hpp"
#include "fusewright/interpret/range.hpp"
#include "fusewright/ops/float_format.hpp"
#include "src/prove/pointwise.hpp"
#include "src/prove/rounds.hpp"
#include "src/prove/same_graph.hpp"
#include "src/prove/zeros.hpp"

namespace fusewright::prove {

using graph::Graph;
using ops::DType;
using ops::Tensor;

namespace {

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
  const double value = ops::get_double(tensor, i);
  return std::isnan(value) ? "nan" : fmt::format("{}", value);
}

bool same_element(const Tensor& a, const Tensor& b, std::int64_t i, bool any_zero) {
  if (!ops::is_float(a.dtype)) return ops::get_int(a, i) == ops::get_int(b, i);
  const double x = ops::get_double(a, i), y = ops::get_double(b, i);
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
  return x == y && (any_zero || x != 0 || std::signbit(x) == std::signbit(y));
}

/// Where the sides differ.
struct Unlike {
  std::string reason = {};  ///< empty where they do not
  std::int64_t index = 0;   ///< of the element
  bool bounded = true;      ///< something was asked of some element, or there are none

  explicit operator bool() const { return !reason.empty(); }
};

Unlike first_unlike(const Tensor& left, const Tensor& right, bool any_zero) {
  if (left.dtype != right.dtype || left.dims != right.dims)
    return {fmt::format("the right side is {}, the left side {}", to_string(right.type()), to_string(left.type()))};
  for (std::int64_t i = 0; i < left.elements(); ++i)
    if (!same_element(left, right, i, any_zero))
      return {fmt::format("element {} of the right side is {}, of the left side {}", i, element_text(right, i),
                          element_text(left, i)),
              i};
  return {};
}

interpret::BoundOptions bound_options(const rule::Exactness& exactness) {
  interpret::BoundOptions options;
  options.excess_precision = exactness.has(rule::ExactnessClass::kExcessPrecision) ||
                             exactness.has(rule::ExactnessClass::kContracting) ||
                             exactness.has(rule::ExactnessClass::kFactoring);
  options.reassociating =
      !exactness.has(rule::ExactnessClass::kApproximate) || exactness.has(rule::ExactnessClass::kReassociating);
  options.approximate = exactness.has(rule::ExactnessClass::kApproximate) ? exactness.rtol : 0;
  return options;
}

/// Of which elements something is asked.
enum class Asked : std::uint8_t { kInRange, kEverywhere };

/// Whether a value near enough to be right is asked of some element, or there are none.
bool says_something(const interpret::Bounded& bounded) {
  const std::int64_t elements = bounded.value.elements();
  for (std::int64_t i = 0; i < elements; ++i)
    if (std::isfinite(bounded.radius_at(i)) && !std::isnan(ops::get_double(bounded.value, i))) return true;
  return elements == 0;
}

/// Both sides compute one real function: they differ by no more than both may be off. Nothing is asked where the left
/// side left the range of its format on the way; where it did not, the right side must not either.
Result<Unlike> compare_bounds(const Sides& sides, std::span<const Tensor> inputs, Asked asked = Asked::kInRange) {
  interpret::BoundOptions options = bound_options(sides.exactness);
  FW_TRY(std::vector<interpret::Bounded> l, interpret::evaluate_with_bounds(sides.left, inputs, options));
  options.approximate = 0;
  FW_TRY(const std::vector<interpret::Bounded> r, interpret::evaluate_with_bounds(sides.right, inputs, options));
  std::optional<std::vector<std::vector<bool>>> lost;
  Unlike found{{}, 0, false};
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
    if (!report.ok) return Unlike{report.message, report.index};
    found.bounded = found.bounded || says_something(both);
  }
  return found;
}

using Open = std::vector<bool>;  // by result: the sign of its zeros is

Result<Unlike> compare_sides(const Sides& sides, std::span<const Tensor> values, const Open& open, Asked asked) {
  if (!sides.exactness.bitexact()) return compare_bounds(sides, values, asked);
  FW_TRY(const std::vector<Tensor> l, interpret::evaluate(sides.left, values));
  const Result<std::vector<Tensor>> r = interpret::evaluate(sides.right, values);
  if (!r) return Unlike{"the right side cannot be evaluated: " + r.error().diagnostics[0].message};
  for (std::size_t k = 0; k < l.size(); ++k)
    if (Unlike unlike = first_unlike(l[k], (*r)[k], open[k])) return unlike;
  return Unlike();
}

std::string print_all(const Leaves& leaves, const Graph& given, const Values& values) {
  std::string out;
  for (std::size_t i = 0; i < values.size(); ++i)
    out += fmt::format("{}{} = {}", i == 0 ? "" : ", ",
                       i < leaves.parameters ? given.inputs[i].name : fmt::format("constant {}", i - leaves.parameters),
                       print_values(values[i]));
  return out;
}

/// What a graph computes, but for the values of its constants.
std::string form_of(const Graph& graph) {
  std::string out;
  for (const graph::NodeId id : graph.entry_computation().nodes) {
    const graph::Node& node = graph[id];
    out += fmt::format("{} {}", id.index, node.op.index);
    for (const graph::Value v : node.operands)
      out += v.valid() ? fmt::format(" {}.{}", v.node.index, v.result) : std::string(" -");
    for (const auto& [name, value] : node.attrs.entries())
      if (!std::holds_alternative<ops::TensorHandle>(value)) out += fmt::format(" {}={}", name, ops::to_string(value));
    for (const ops::Type& type : node.types) out += ":" + ops::to_string(type);
  }
  return out;
}

/// Looks for values on which the sides differ.
class Differing {
 public:
  Differing(const Sides& sides, const Leaves& leaves)
      : sides_(sides),
        leaves_(leaves),
        magnitudes_(magnitudes_in(sides.left, sides.right)),
        open_(open_zeros(sides.left)) {
    const Open right = open_zeros(sides.right);
    for (std::size_t k = 0; k < open_.size() && k < right.size(); ++k) open_[k] = open_[k] || right[k];
  }

  /// Errors: the left side cannot be evaluated, or nothing is known of its errors whatever the values.
  Result<std::optional<Values>> find() {
    const std::optional<Graph> left = widened(sides_.left, 1), right = widened(sides_.right, 1);
    std::optional<Values> values;
    if (left && right) {
      FW_TRY(values, pointwise(*left, *right));
    } else {
      FW_TRY(values, in_rounds());
    }
    if (!values && !bounded_) return fail("its error bounds are infinite");
    return values;
  }

  /// Puts a zero, else a one, wherever the sides still differ. @returns how they do.
  Result<std::string> simplify(Values& values) {
    FW_TRY(const Unlike unlike, compare(sides_, values));
    std::string reason = unlike.reason;
    for (Tensor& tensor : values)
      for (std::int64_t i = 0; i < tensor.elements() && tensor.elements() <= 64; ++i)
        for (const double simple : {0.0, 1.0}) {
          const Special before{ops::get_double(tensor, i), ops::get_int(tensor, i)};
          ops::set_double(tensor, i, simple);
          const Result<Unlike> still = compare(sides_, values);
          if (still && *still) {
            reason = still->reason;
            break;
          }
          put(tensor, i, before);
        }
    return reason;
  }

 private:
  Result<Unlike> compare(const Sides& sides, std::span<const Tensor> values, Asked asked = Asked::kInRange) {
    FW_TRY(Unlike unlike, compare_sides(sides, values, open_, asked));
    bounded_ = bounded_ || unlike.bounded;
    return unlike;
  }

  /// All rounds in one evaluation, where the sides compute each element by itself: both for one element are given. What
  /// was tried of them is not tried again.
  Result<std::optional<Values>> pointwise(const Graph& left_one, const Graph& right_one) {
    FW_TRY(Values values, random_values(leaves_, 7));
    std::string key = fmt::format("{} {}{}", leaves_.parameters, graph::print(left_one), graph::print(right_one));
    if (sides_.tried == nullptr || sides_.tried->insert(std::move(key)).second) {
      FW_TRY(const Values columns, rounds_at_once(leaves_, sides_.exactness, magnitudes_));
      const std::int64_t rows = columns.empty() ? 1 : columns[0].elements();
      const Graph left = *widened(sides_.left, rows), right = *widened(sides_.right, rows);
      FW_TRY(const Unlike unlike, compare({left, right, {}, sides_.exactness}, columns));
      for (std::size_t l = 0; unlike && l < values.size(); ++l)
        for (std::int64_t i = 0; i < values[l].elements(); ++i)
          put(values[l], i, {ops::get_double(columns[l], unlike.index), ops::get_int(columns[l], unlike.index)});
      if (unlike) return std::optional(std::move(values));
    }
    FW_TRY(const Unlike unlike, compare(sides_, values));  // that elements are in the right places
    return unlike ? std::optional(std::move(values)) : std::nullopt;
  }

  Result<std::optional<Values>> in_rounds() {
    // Terms that are alike but for their numbers are tried thoroughly once.
    const bool thorough =
        sides_.tried == nullptr || sides_.tried->insert(form_of(sides_.left) + form_of(sides_.right)).second;
    Rounds rounds(leaves_, sides_.exactness, magnitudes_, thorough);
    std::vector<Values> all;
    while (true) {
      FW_TRY(std::optional<Values> values, rounds.next());
      if (!values) break;
      all.push_back(*std::move(values));
    }
    FW_TRY(const bool agree, all_agree(all));
    for (std::size_t i = 0; !agree && i < all.size(); ++i) {
      FW_TRY(const Unlike unlike, compare(sides_, all[i]));
      if (unlike) return std::optional(std::move(all[i]));
    }
    return std::nullopt;
  }

  /// All rounds in one evaluation. Where they differ somewhere it is still to be found out where, and whether anything
  /// is asked there.
  Result<bool> all_agree(const std::vector<Values>& rounds) {
    const auto count = static_cast<std::int64_t>(rounds.size());
    const std::optional<Graph> left = batched(sides_.left, count), right = batched(sides_.right, count);
    if (!left || !right) return false;
    Values stacked;
    for (std::size_t l = 0; l < leaves_.types.size(); ++l) {
      std::vector<std::int64_t> dims = {count};
      dims.insert(dims.end(), rounds[0][l].dims.begin(), rounds[0][l].dims.end());
      FW_TRY(Tensor column, ops::make_tensor(leaves_.types[l].dtype, std::move(dims)));
      const std::size_t bytes = rounds[0][l].bytes();
      for (std::size_t i = 0; bytes > 0 && i < rounds.size(); ++i)
        std::memcpy(column.mutable_data() + i * bytes, rounds[i][l].data(), bytes);
      stacked.push_back(std::move(column));
    }
    const Result<Unlike> unlike = compare({*left, *right, {}, sides_.exactness}, stacked, Asked::kEverywhere);
    return unlike && !*unlike;
  }

  const Sides& sides_;
  const Leaves& leaves_;
  std::set<double> magnitudes_;
  Open open_;
  bool bounded_ = false;  // something was asked of some round
};

/// Whether the sides are equal only by what `exp` and its like compute: they differ with other functions in their
/// place.
Result<bool> differ_in_formula(const Sides& sides, const Leaves& leaves) {
  if (sides.exactness.bitexact() || sides.exactness.has(rule::ExactnessClass::kApproximate)) return false;
  const std::optional<Graph> left = with_other_functions(sides.left), right = with_other_functions(sides.right);
  if (!left && !right) return false;
  FW_TRY(const Values values, random_values(leaves, 7));
  FW_TRY(const Unlike unlike,
         compare_bounds({left ? *left : sides.left, right ? *right : sides.right, {}, sides.exactness}, values));
  return static_cast<bool>(unlike);
}

}  // namespace

bool has_elements(const Graph& graph) {
  return std::ranges::any_of(
      graph.outputs, [](const graph::Port& port) { return ops::element_count(port.type.shape).value_or(1) > 0; });
}

std::string compare_bits(const Tensor& left, const Tensor& right, bool any_zero) {
  return first_unlike(left, right, any_zero).reason;
}

Result<std::optional<Difference>> find_difference(const Sides& given) {
  // Composite operators by their bodies and weights as parameters, once and not in every round.
  const auto every = [](const ops::OpInfo&) { return true; };
  FW_TRY(const Graph left, graph::expand_composites(with_parameters(given.left, given.weights), every));
  FW_TRY(const Graph right, graph::expand_composites(with_parameters(given.right, given.weights), every));
  for (const graph::NodeId id : right.entry_computation().nodes)
    if (right.info(id).op_class == ops::OpClass::kUninterpreted)
      return fail(fmt::format("the right side has '{}', an operator without a body", right.info(id).name));
  const Sides sides{left, right, {}, given.exactness, given.evaluated, given.tried};
  const Leaves leaves(given.left, given.weights);
  if (!has_elements(left)) return std::nullopt;  // their types are what is left to compare, and were
  if (same_graph(left, right)) {                 // one value, if they have any
    FW_TRY(const Values values, random_values(leaves, 7));
    if (!given.evaluated) FW_TRY_STATUS(interpret::evaluate(left, values));
    return std::nullopt;
  }
  Differing differing(sides, leaves);
  FW_TRY(std::optional<Values> values, differing.find());
  if (values) {
    FW_TRY(std::string reason, differing.simplify(*values));
    return std::optional(Difference{print_all(leaves, given.left, *values), std::move(reason)});
  }
  FW_TRY(const bool formula, differ_in_formula(sides, leaves));
  if (!formula) return std::nullopt;
  return std::optional(Difference{{},
                                  fmt::format("the right side is another formula, equal only by what the functions "
                                              "in it compute: exactness(approximate(RELATIVE ERROR)), not {}",
                                              rule::to_string(sides.exactness))});
}

std::string demands(const rule::Exactness& exactness) {
  if (exactness.bitexact()) return "the same bits on every special value";
  return "both sides within their error bounds where the left one stays in range; zeros, infinities and NaN only in "
         "data";
}

std::string print_values(const Tensor& tensor) {
  constexpr std::int64_t kMost = 12;
  std::string out = "[";
  for (std::int64_t i = 0; i < std::min(tensor.elements(), kMost); ++i)
    out += (i == 0 ? "" : ", ") + element_text(tensor, i);
  return out + (tensor.elements() > kMost ? ", ...]" : "]");
}

}  // namespace fusewright::prove
