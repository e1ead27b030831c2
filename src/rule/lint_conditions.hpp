#pragma once

#include <optional>
#include <set>
#include <vector>

#include "src/rule/lint_differences.hpp"

namespace fusewright::rule {

/// A sum of numbers by their texts, each with its factor.
struct Linear {
  std::map<std::string, double> terms;
  double constant = 0;
  bool whole = true;    ///< of whole numbers and factors
  bool number = false;  ///< surely a number: else it may be a list or a text
};

/// What conditions say together: of tensors' dtypes, of numbers, and of what is equal. Never says more than follows.
class Conditions {
 public:
  explicit Conditions(const Facts& facts);

  /// Adds a condition; false when it cannot hold besides those that were added.
  bool add(const ops::Expr& expr, bool holds = true);

 private:
  bool add_either(const ops::Expr& expr, bool holds);
  bool implications(const ops::Expr& expr, bool holds);
  bool predicate(const ops::Expr& expr, bool holds);
  bool comparison(const std::string& op, const ops::Expr& a, const ops::Expr& b);
  bool membership(const ops::Expr& item, const ops::Expr& list, bool holds);
  bool equality(const ops::Expr& a, const ops::Expr& b, bool equal);
  std::optional<bool> dtype_test(const std::string& op, const ops::Expr& a, const ops::Expr& b);

  bool narrow(const std::string& tensor, const DTypeSet& set);
  bool unite(const std::string& a, const std::string& b);
  std::string root(const std::string& text) const;

  std::optional<Linear> linear(const ops::Expr& expr);
  bool leaf(const ops::Expr& expr, Linear& out);
  /// `a - b`, and what it is where a sum of both is zero.
  struct Distance {
    std::string a, b;
    double zero = 0;
  };
  static std::optional<Distance> distance(const Linear& sum);
  bool order(const Linear& sum, bool strict);
  bool unequal_still();
  bool widths_fit();

  ops::ExprPtr plain(const ops::Expr& expr) const;
  std::string tensor_of(const ops::Expr& expr, const std::map<std::string, std::string>& same) const;

  Facts facts_;
  Differences numbers_;
  std::map<std::string, DTypeSet> dtypes_;        ///< by the name of a tensor that has it
  std::map<std::string, std::string> equal_;      ///< of texts that are equal to another: the other
  std::map<std::string, std::string> constants_;  ///< of a text that is no other's equal: the constant it equals
  std::vector<std::pair<std::string, std::string>> different_;
  std::vector<Linear> not_zero_;
  std::map<std::string, bool> stated_;
  std::set<std::string> seen_;  ///< numbers that conditions ask for
};

}  // namespace fusewright::rule
