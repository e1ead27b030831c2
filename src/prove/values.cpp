#include "src/prove/values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>

#include "fusewright/interpret/evaluate.hpp"
#include "src/prove/pointwise.hpp"
#include "src/prove/rounds.hpp"
#include "src/prove/same_graph.hpp"
#include "src/prove/unlike.hpp"
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

Special special_at(const Tensor& tensor, std::int64_t i) {
  return {ops::get_double(tensor, i), ops::get_int(tensor, i)};
}

std::string print_all(const Leaves& leaves, const Graph& graph, const Values& values) {
  std::string out;
  for (std::size_t i = 0; i < values.size(); ++i)
    out += fmt::format("{}{} = {}", i == 0 ? "" : ", ",
                       i < leaves.parameters ? graph.inputs[i].name : fmt::format("constant {}", i - leaves.parameters),
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
  Differing(const Pair& sides, const Leaves& leaves, Tried* tried)
      : sides_(sides),
        tried_(tried),
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

  /// The same of many random values.
  Result<std::optional<Values>> find_in_bulk(const Form& form, std::int64_t rows) {
    FW_TRY(const Values columns, bulk_values(form.leaves(), rows, sides_.exactness));
    if (columns.empty()) return std::nullopt;
    rows = columns[0].dims[0];
    const auto of_rows = [&](const Graph& graph) {
      return form.pointwise ? widened(graph, rows) : batched(graph, rows);
    };
    const std::optional<Graph> left = of_rows(sides_.left), right = of_rows(sides_.right);
    if (!left || !right) return std::nullopt;
    // Out of range is, beside others, every element that an operator on whole tensors reads.
    const Asked asked = form.pointwise ? Asked::kInRange : Asked::kEverywhere;
    FW_TRY(const Unlike unlike, compare({*left, *right, sides_.exactness}, columns, asked));
    if (!unlike) return std::nullopt;
    FW_TRY(Values values, random_values(leaves_, 7));
    for (std::size_t l = 0; l < values.size(); ++l) {
      const std::int64_t each = columns[l].elements() / rows, first = unlike.index / (unlike.of / rows) * each;
      for (std::int64_t i = 0; i < values[l].elements(); ++i)
        put(values[l], i, special_at(columns[l], form.pointwise ? first : first + i));
    }
    return std::optional(std::move(values));
  }

  /// Puts a zero, else a one, wherever the sides still differ. @returns how they do.
  Result<std::string> simplify(Values& values) {
    FW_TRY(const Unlike unlike, compare(sides_, values));
    std::string reason = unlike.reason;
    for (Tensor& tensor : values)
      for (std::int64_t i = 0; i < tensor.elements() && tensor.elements() <= 64; ++i)
        for (const double simple : {0.0, 1.0}) {
          const Special before = special_at(tensor, i);
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
  Result<Unlike> compare(const Pair& sides, std::span<const Tensor> values, Asked asked = Asked::kInRange) {
    FW_TRY(Unlike unlike, compare_sides(sides, values, open_, asked));
    bounded_ = bounded_ || unlike.bounded;
    return unlike;
  }

  /// All rounds in one evaluation, where the sides compute each element by itself: both for one element are given. What
  /// was tried of them is not tried again.
  Result<std::optional<Values>> pointwise(const Graph& left_one, const Graph& right_one) {
    FW_TRY(Values values, random_values(leaves_, 7));
    std::string key = fmt::format("{} {}{}", leaves_.parameters, graph::print(left_one), graph::print(right_one));
    if (tried_ == nullptr || tried_->forms.insert(std::move(key)).second) {
      FW_TRY(const Values columns, rounds_at_once(leaves_, sides_.exactness, magnitudes_));
      const std::int64_t rows = columns.empty() ? 1 : columns[0].elements();
      const Graph left = *widened(sides_.left, rows), right = *widened(sides_.right, rows);
      FW_TRY(const Unlike unlike, compare({left, right, sides_.exactness}, columns));
      for (std::size_t l = 0; unlike && l < values.size(); ++l)
        for (std::int64_t i = 0; i < values[l].elements(); ++i) put(values[l], i, special_at(columns[l], unlike.index));
      if (unlike) return std::optional(std::move(values));
      if (tried_ != nullptr) tried_->bulk.push_back(form(true));
    }
    FW_TRY(const Unlike unlike, compare(sides_, values));  // that elements are in the right places
    return unlike ? std::optional(std::move(values)) : std::nullopt;
  }

  Result<std::optional<Values>> in_rounds() {
    // Terms that are alike but for their numbers are tried thoroughly once.
    const bool thorough =
        tried_ == nullptr || tried_->forms.insert(form_of(sides_.left) + form_of(sides_.right)).second;
    Rounds rounds(leaves_, sides_.exactness, magnitudes_, thorough);
    std::vector<Values> all;
    while (true) {
      FW_TRY(std::optional<Values> values, rounds.next());
      if (!values) break;
      all.push_back(*std::move(values));
    }
    if (tried_ != nullptr && thorough) {
      Form own = form(false);
      if (tried_->kinds.insert(kind_of(own)).second) tried_->bulk.push_back(std::move(own));
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
    const Result<Unlike> unlike = compare({*left, *right, sides_.exactness}, stacked, Asked::kEverywhere);
    return unlike && !*unlike;
  }

  Form form(bool pointwise) const { return {sides_.left, sides_.right, leaves_.parameters, pointwise}; }

  const Pair& sides_;
  Tried* tried_;  // may be null
  const Leaves& leaves_;
  std::set<double> magnitudes_;
  Open open_;
  bool bounded_ = false;  // something was asked of some round
};

/// Whether the sides are equal only by what `exp` and its like compute: they differ with other functions in their
/// place.
Result<bool> differ_in_formula(const Pair& sides, const Leaves& leaves) {
  if (sides.exactness.bitexact() || sides.exactness.has(rule::ExactnessClass::kApproximate)) return false;
  const std::optional<Graph> left = with_other_functions(sides.left), right = with_other_functions(sides.right);
  if (!left && !right) return false;
  FW_TRY(const Values values, random_values(leaves, 7));
  FW_TRY(const Unlike unlike,
         compare_sides({left ? *left : sides.left, right ? *right : sides.right, sides.exactness}, values, {}));
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
  const Pair sides{left, right, given.exactness};
  const Leaves leaves(given.left, given.weights);
  if (!has_elements(left)) return std::nullopt;  // their types are what is left to compare, and were
  if (same_graph(left, right)) {                 // one value, if they have any
    FW_TRY(const Values values, random_values(leaves, 7));
    if (!given.evaluated) FW_TRY_STATUS(interpret::evaluate(left, values));
    return std::nullopt;
  }
  Differing differing(sides, leaves, given.tried);
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

Result<std::optional<Difference>> find_difference_in_bulk(const Form& form, const rule::Exactness& exactness,
                                                          std::int64_t rows) {
  Leaves leaves(form.left);
  leaves.parameters = form.parameters;
  const Pair sides{form.left, form.right, exactness};
  Differing differing(sides, leaves, nullptr);
  FW_TRY(std::optional<Values> values, differing.find_in_bulk(form, rows));
  if (!values) return std::nullopt;
  FW_TRY(std::string reason, differing.simplify(*values));
  if (reason.empty()) return std::nullopt;  // out of range by itself
  return std::optional(Difference{print_all(leaves, form.left, *values), std::move(reason)});
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
