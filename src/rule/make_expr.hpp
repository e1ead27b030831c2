#pragma once

#include <memory>
#include <string>
#include <utility>

#include "fusewright/ops/expr.hpp"

/// Short ways to make expressions.
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

}  // namespace fusewright::rule
