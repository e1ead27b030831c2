#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "fusewright/graph/graph.hpp"
#include "fusewright/rule/rule.hpp"
#include "src/prove/bulk.hpp"

namespace fusewright::prove {

/// What was tried of a rule's terms.
struct Tried {
  std::set<std::string> forms;  ///< terms of one element, and others but for their numbers
  std::set<std::string> kinds;  ///< see kind_of
  std::vector<Form> bulk;       ///< of which many random values are still to be tried
};

/// Two graphs over the same parameters whose results must agree.
struct Sides {
  const graph::Graph& left;
  const graph::Graph& right;
  std::vector<ops::TensorHandle> weights;  ///< constants of both that stand for any constant
  rule::Exactness exactness;
  bool evaluated = false;  ///< the left side is known to have a value
  /// Terms of other shapes that do the same to each of their elements are tried once; may be null.
  Tried* tried = nullptr;
};

/// Values on which the sides differ.
struct Difference {
  std::string values, reason;
};

/// Evaluates both sides on made-up inputs and weights: random ones, then special values (both zeros, ones, infinities,
/// NaN, subnormal and extreme numbers), in one operand, in every two and every three where each element is computed by
/// itself, in every element where there are at most three. What is asked of the results:
/// - bit-exact: the same bits, any NaN for a NaN; only which of two zeros max and min give is left open;
/// - else: within the sum of both sides' own error bounds where the left side stays in the range of its format, and but
///   for `approximate` whatever functions that are not arithmetic compute; zeros, infinities and NaN only in what is
///   not a weight, extremes in one operand only where regrouping may overflow.
/// Instances of many elements get one round of special values.
/// @returns nothing when they agree, or have no elements. Errors: the left side cannot be evaluated.
Result<std::optional<Difference>> find_difference(const Sides& sides);

/// So many random evaluations side by side of a form that find_difference has found no difference in. Nothing is found
/// where the form has operators that cannot be evaluated so. Errors: as find_difference.
Result<std::optional<Difference>> find_difference_in_bulk(const Form& form, const rule::Exactness& exactness,
                                                          std::int64_t rows);

/// Whether any result has an element; where none has there is nothing to compare.
bool has_elements(const graph::Graph& graph);

/// What find_difference asks for.
std::string demands(const rule::Exactness& exactness);

/// Empty when both have the same bits (any NaN for a NaN; with `any_zero` either zero), else what differs first.
std::string compare_bits(const ops::Tensor& left, const ops::Tensor& right, bool any_zero);

/// "[1, -0, nan]", at most 12 elements.
std::string print_values(const ops::Tensor& tensor);

}  // namespace fusewright::prove
