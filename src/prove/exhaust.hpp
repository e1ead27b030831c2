#pragma once

#include <string>

#include "fusewright/prove/instance.hpp"
#include "fusewright/prove/prove.hpp"
#include "src/prove/apply.hpp"
#include "src/prove/values.hpp"

namespace fusewright::prove {

/// Collects what became of instances; part of a verdict.
struct Search {
  std::uint64_t instances = 0, refused = 0, unknown = 0;
  std::uint64_t empty = 0;      ///< of the instances: no result has an element, so nothing was compared
  std::uint64_t many_ways = 0;  ///< of the instances: not every way in which they match was tried
  std::string space;
  bool sampled = false;        ///< of some level only a part was tried
  std::string unknown_reason;  ///< of the first instance that could not be evaluated
  std::optional<Counterexample> counterexample;
  Tried tried;
  std::vector<Instance> of_forms;  ///< by form of tried.bulk: the term that it was found in
};

/// Matches, applies and evaluates the instances of a rewrite in order of size, level by level, up to the first on which
/// the sides differ.
Search search_rewrite(const rule::RuleSet& rules, const LoneRule& rule, const Budget& budget, SourceCache& cache);

/// The operator on every operand type, attribute and optional operand of the space: its body must have a type and a
/// value wherever the operator has one, and where it is recognised, the recognised operator must give the same value.
/// @param recognise  null where it is never recognised.
Search search_op(const rule::RuleSet& rules, ops::OpId op, const LoneRule* recognise, const Budget& budget);

}  // namespace fusewright::prove
