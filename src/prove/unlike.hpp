#pragma once

#include <span>
#include <string>
#include <vector>

#include "fusewright/graph/graph.hpp"
#include "fusewright/rule/rule.hpp"

namespace fusewright::prove {

/// Two graphs over the same parameters whose results must agree.
struct Pair {
  const graph::Graph& left;
  const graph::Graph& right;
  const rule::Exactness& exactness;
};

/// Where the sides differ.
struct Unlike {
  std::string reason = {};  ///< empty where they do not
  std::int64_t index = 0;   ///< of the element
  std::int64_t of = 0;      ///< as many elements as the result has
  bool bounded = true;      ///< something was asked of some element, or there are none

  explicit operator bool() const { return !reason.empty(); }
};

using Open = std::vector<bool>;  ///< by result: the sign of its zeros is

/// Of which elements something is asked.
enum class Asked : std::uint8_t { kInRange, kEverywhere };

/// Evaluates both on the same values of their parameters. Bit-exact: the same bits, any NaN for a NaN. Else both
/// compute one real function: they differ by no more than both may be off. Nothing is asked where the left side left
/// the range of its format on the way; where it did not, the right side must not either.
/// Errors: the left side cannot be evaluated.
Result<Unlike> compare_sides(const Pair& sides, std::span<const ops::Tensor> values, const Open& open,
                             Asked asked = Asked::kInRange);

/// The same bits in every element, any NaN for a NaN; with `any_zero` either zero.
Unlike first_unlike(const ops::Tensor& left, const ops::Tensor& right, bool any_zero);

/// "-0", "nan", "17".
std::string element_text(const ops::Tensor& tensor, std::int64_t i);

}  // namespace fusewright::prove
