#pragma once

#include <z3++.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fusewright/rule/rule.hpp"

namespace fusewright::prove {

/// Reads guards as formulas over the numbers that they name: values of constants, ranks, extents, attributes.
class GuardReader {
 public:
  GuardReader(z3::context& context, const ops::OpTable& table, const rule::RewriteVariant& variant);

  /// What a guard says of numbers, or nothing where it says something else, too. A guard that must hold may be read as
  /// something weaker.
  std::optional<z3::expr> read(const ops::Expr& guard);

  const std::map<std::string, z3::expr>& constants() const { return constants_; }    ///< by name, reals
  const std::map<std::string, z3::expr>& attributes() const { return attributes_; }  ///< by name
  const std::map<std::string, z3::expr>& ranks() const { return ranks_; }
  const std::vector<z3::expr>& extents() const { return extents_; }  ///< that were asked for
  /// What holds of ranks and extents by themselves: axes that are asked for are there.
  z3::expr sense() const;
  /// Some numbers are read as whole ones that need not be.
  bool narrowed() const { return narrowed_; }

 private:
  using Number = std::optional<z3::expr>;

  Number truth(const ops::Expr& expr);
  Number comparison(const std::string& op, const ops::Expr& left, const ops::Expr& right);
  Number number(const ops::Expr& expr);
  Number name(const std::string& text);
  Number call(const ops::Expr& expr);
  Number binary(const ops::Expr& expr);
  Number shape_is(const ops::Expr& shape, const ops::Expr& list);
  std::optional<std::vector<z3::expr>> numbers(const ops::Expr& list);
  z3::expr rank(const std::string& tensor);
  z3::expr extent(const std::string& tensor, const z3::expr& axis);
  z3::expr size(const std::string& tensor);
  z3::expr real(const z3::expr& number) const;
  std::pair<z3::expr, z3::expr> alike(const z3::expr& a, const z3::expr& b) const;

  z3::context& context_;
  const ops::OpTable& table_;
  const rule::RewriteVariant& variant_;
  std::map<std::string, z3::expr> constants_, attributes_, ranks_;
  std::vector<z3::expr> extents_, there_;
  bool narrowed_ = false;
};

}  // namespace fusewright::prove
