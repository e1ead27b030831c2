#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fusewright/ops/expr.hpp"
#include "fusewright/rule/rule.hpp"

namespace fusewright::prove {

/// Names anywhere in an expression; an attribute that is asked for as "name.attr".
void names_in(const ops::Expr& expr, std::set<std::string>& out);
/// Names in arguments of calls of these functions.
void names_in_calls(const ops::Expr& expr, const std::set<std::string>& functions, std::set<std::string>& out);

/// By pattern node: whether the rule knows nothing of it but the operator, not even its operands. It stands for any
/// value of the operator then, and how that was made is all one.
std::vector<bool> opaque_nodes(const ops::OpTable& table, const rule::RewriteRule& rule,
                               const rule::RewriteVariant& variant);

/// The steps of a rule on what is known of an unfinished term, so that what a guard refuses is not built at all. Types,
/// attributes, and numbers of constants that the rule reads; other questions about values are left to the matcher.
class EarlyGuards final : public ops::TermBuilder {
 public:
  EarlyGuards(const ops::OpTable& table, const rule::RewriteRule& rule, const rule::RewriteVariant& variant);

  void know(const std::string& name, ops::AttrValue value);
  void know(const std::string& name, const ops::Type& type);
  void know_absent(const std::string& name);
  void forget(const std::string& name);  ///< what was known last of all types first
  bool knows(const std::string& name) const { return env_.contains(name); }

  /// Every element of a value whose type is known is this number, as its dtype rounds it; until it is forgotten.
  void know_number(const std::string& name, double number);
  void forget_number(const std::string& name);

  /// False when a guard that what is newly known decides does not hold.
  bool hold();

  Result<std::vector<ops::TermValue>> apply(ops::OpId, const std::vector<std::optional<ops::TermValue>>&,
                                            const ops::Attrs&, const Span& span) override;
  const ops::Type& type(ops::TermValue value) override { return values_[value.id].type; }
  Result<ops::AttrValue> query(const std::string& function, const std::vector<ops::TermValue>& args,
                               const Span& span) override;

 private:
  struct KnownValue {
    ops::Type type;
    std::optional<double> number = {};
  };

  void count(const std::string& name, int change);
  bool holds(std::size_t step);

  const ops::OpTable& table_;
  const rule::RewriteRule& rule_;
  const rule::RewriteVariant& variant_;
  std::vector<std::set<std::string>> needs_;                   // by step: names that it and its lets rest on
  std::map<std::string, std::vector<std::size_t>> needed_by_;  // by name: guards
  std::vector<std::size_t> missing_;                           // by step: how many of its names are not known
  std::vector<std::size_t> decided_;  // guards all of whose names are known since the last hold()
  ops::Env env_;
  std::vector<KnownValue> values_;  // names are forgotten in the reverse order
};

}  // namespace fusewright::prove
