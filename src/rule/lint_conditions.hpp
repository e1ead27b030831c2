#pragma once

#include <optional>
#include <set>
#include <vector>

#include "src/rule/lint_differences.hpp"
#include "src/rule/lint_forms.hpp"

namespace fusewright::rule {

DTypeSet dtypes_where(const auto& holds) {
  DTypeSet set;
  for (std::size_t i = 0; i < kDTypeCount; ++i) set[i] = holds(static_cast<ops::DType>(i));
  return set;
}

/// A sum of numbers by their texts, each with its factor.
struct Linear {
  std::map<std::string, double> terms;
  double constant = 0;
  bool whole = true;    ///< of whole numbers and factors
  bool number = false;  ///< surely a number: else it may be a list or a text
};

/// What conditions say together: of tensors' dtypes, of numbers, of elements of lists, and of what is equal. Never says
/// more than follows. Numbers are held as differences, bounds of sums and equations of whole numbers; `min`, `%` and
/// the like as what they say of their operands; where one of several must hold, each is tried.
class Conditions {
 public:
  explicit Conditions(const Facts& facts);

  /// Adds a condition; false when it cannot hold besides those that were added.
  bool add(const ops::Expr& expr, bool holds = true);
  /// Whether a condition holds, and can be worked out, wherever those that were added hold.
  bool implies(const ops::Expr& expr) const;

 private:
  using Statement = std::pair<ops::ExprPtr, bool>;

  bool state(const ops::Expr& expr, bool holds);
  bool state_all(std::vector<Statement> statements);
  bool either(std::vector<Statement> alternatives);
  bool propagate();
  bool settle();
  bool possible(std::size_t& splits) const;

  bool implications(const ops::Expr& expr, bool holds);
  bool predicate(const ops::Expr& expr, bool holds);
  bool comparison(const std::string& op, const ops::Expr& a, const ops::Expr& b);
  bool membership(const ops::ExprPtr& item, const ops::ExprPtr& list, bool holds);
  bool equality(const ops::ExprPtr& a, const ops::ExprPtr& b, bool equal);
  std::optional<bool> dtype_test(const std::string& op, const ops::Expr& a, const ops::Expr& b);
  void equal_elements(const ops::ExprPtr& a, const ops::ExprPtr& b);
  bool surely_list(const ops::Expr& expr) const;
  bool learn();

  bool narrow(const std::string& tensor, const DTypeSet& set);
  bool unite(const std::string& a, const std::string& b);
  std::string root(const std::string& text) const;

  std::optional<Linear> linear(const ops::Expr& expr);
  bool leaf(const ops::Expr& expr, Linear& out);
  void define(const ops::Expr& expr);
  bool is_whole(const ops::Expr& expr) const;
  /// `a - b`, and what it is where a sum of both is zero.
  struct Distance {
    std::string a, b;
    double zero = 0;
  };
  static std::optional<Distance> distance(const Linear& sum);
  bool order(const Linear& sum, bool strict);
  bool numbers_fit();
  bool bounds_fit();
  bool equations_fit() const;
  bool unequal_still();
  bool widths_fit();

  Facts facts_;
  Differences numbers_;
  std::vector<std::pair<Linear, bool>> bounds_;  ///< sums that are zero at most; below it where true
  std::vector<Linear> equations_;                ///< sums of whole numbers that are zero
  std::vector<Linear> not_zero_;
  std::map<std::string, DTypeSet> dtypes_;         ///< by the name of a tensor that has it
  std::map<std::string, std::string> equal_;       ///< of texts that are equal to another: the other
  std::map<std::string, ops::ExprPtr> constants_;  ///< of a text that is no other's equal: the constant it equals
  std::vector<std::pair<std::string, std::string>> different_;
  std::vector<std::pair<ops::ExprPtr, ops::ExprPtr>> equal_lists_;
  std::map<std::string, bool> stated_;
  std::vector<Statement> statements_;            ///< as they were stated
  std::vector<Statement> open_;                  ///< what follows from them, and is not stated yet
  std::vector<std::vector<Statement>> choices_;  ///< of each, one must hold
  std::map<std::string, ops::ExprPtr> seen_;     ///< numbers that conditions ask for
  Known known_;
  std::shared_ptr<std::size_t> work_left_;  ///< of this and of its copies, so that many conditions take no long time
};

}  // namespace fusewright::rule
