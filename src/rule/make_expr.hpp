#pragma once

#include <memory>
#include <set>
#include <string>
#include <utility>

#include "fusewright/ops/expr.hpp"

/// Short ways to make expressions, and to look into them.
namespace fusewright::rule {

inline ops::Expr leaf(ops::Expr::Kind kind, Span span, std::string text = {}) {
  ops::Expr expr;
  expr.kind = kind;
  expr.span = std::move(span);
  expr.text = std::move(text);
  return expr;
}
inline ops::ExprPtr share(ops::Expr expr) { return std::make_shared<const ops::Expr>(std::move(expr)); }
inline ops::ExprPtr named(std::string text, Span span) {
  return share(leaf(ops::Expr::Kind::kName, std::move(span), std::move(text)));
}

/// Names in an expression. Recursion as deep as the rule's text.
inline void collect_names(const ops::Expr& expr, std::set<std::string>& names) {
  if (expr.kind == ops::Expr::Kind::kName) names.insert(expr.text);
  for (const auto& arg : expr.args) {
    if (arg != nullptr) collect_names(*arg, names);
  }
  for (const auto& [key, value] : expr.named) collect_names(*value, names);
}

}  // namespace fusewright::rule
