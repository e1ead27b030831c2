#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "fusewright/graph/graph.hpp"
#include "fusewright/rule/rule.hpp"

namespace fusewright::prove {

/// Floats as numbers, integers as their bits.
struct Special {
  double number = 0;
  std::int64_t integer = 0;
};

void put(ops::Tensor& tensor, std::int64_t i, const Special& value);

/// What an operand's elements are set to.
struct Specials {
  std::vector<Special> finite, infinite;  ///< whatever the rule: alone and in pairs
  /// The rule's own numbers and those just beyond, where its bounds may be; what narrower formats round: alone
  std::vector<Special> beyond;
  std::vector<Special> extreme;  ///< with squares or exponentials beyond the format: alone
  std::vector<Special> telling;  ///< those of all of them that are tried by threes
  std::vector<Special> fewest;   ///< and where there are many operands
  /// All that there are of eight bits; of wider floats some of each magnitude. Alone, where each element is computed by
  /// itself: it is cheap there.
  std::vector<Special> many;
  std::vector<Special> near;  ///< large and nearly equal: in pairs, where each element is computed by itself
};

/// Magnitudes of the constants of one element in both sides, zero aside.
std::set<double> magnitudes_in(const graph::Graph& left, const graph::Graph& right);

/// @param weight  of a constant: where operators are regrouped, no zero that may stand below a fraction bar.
Specials special_values(ops::DType dtype, const rule::Exactness& exactness, bool weight,
                        const std::set<double>& magnitudes);

}  // namespace fusewright::prove
