#pragma once

#include <optional>

#include "src/rule/lint_passes.hpp"

namespace fusewright::rule {

/// A way back to a rule: which conditions were met on it, and what the names of the rule stand for when it matches
/// again.
struct Round {
  std::vector<ExprPtr> conditions;
  std::map<std::string, Term> values;
};

/// Conditions and terms, tried on small tensors of a few shapes and dtypes.
class Trials {
 public:
  explicit Trials(const ops::OpTable& table) : table_(table) {}

  /// Makes a term smaller by rules whose conditions `holds` says to hold: `x * 1` is x.
  using Reduce = std::function<Term(const Term& term, const std::function<bool(const ExprPtr& condition)>& holds)>;

  /// Whether for some tensors a round can be gone again and again, with something new for `name` each time. Nothing
  /// where it cannot be tried.
  std::optional<bool> goes_on(const Round& round, const std::string& name, const Reduce& reduce) const;
  /// Whether all conditions may hold for tensors for which the first ones do.
  bool may_hold(const std::vector<ExprPtr>& conditions, std::size_t first) const;

 private:
  const ops::OpTable& table_;
};

}  // namespace fusewright::rule
