#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "fusewright/ops/expr.hpp"

/// Expressions by hand: the parser of the rule language stands above this room.
namespace fusewright::tests {

using ops::Expr;
using ops::ExprPtr;
using Named = std::vector<std::pair<std::string, ExprPtr>>;

inline ExprPtr make(Expr::Kind kind, std::string text, std::vector<ExprPtr> args = {}, Named named = {}) {
  Expr expr;
  expr.kind = kind;
  expr.text = std::move(text);
  expr.args = std::move(args);
  expr.named = std::move(named);
  return std::make_shared<const Expr>(std::move(expr));
}
inline ExprPtr num(std::int64_t value) {
  Expr expr;
  expr.kind = Expr::Kind::kInt;
  expr.integer = value;
  return std::make_shared<const Expr>(std::move(expr));
}
inline ExprPtr real(double value) {
  Expr expr;
  expr.kind = Expr::Kind::kFloat;
  expr.number = value;
  return std::make_shared<const Expr>(std::move(expr));
}
inline ExprPtr boolean(bool value) {
  Expr expr;
  expr.kind = Expr::Kind::kBool;
  expr.integer = value ? 1 : 0;
  return std::make_shared<const Expr>(std::move(expr));
}
inline ExprPtr id(std::string name) { return make(Expr::Kind::kName, std::move(name)); }
inline ExprPtr list(std::vector<ExprPtr> items) { return make(Expr::Kind::kList, "", std::move(items)); }
inline ExprPtr call(std::string name, std::vector<ExprPtr> args, Named named = {}) {
  return make(Expr::Kind::kCall, std::move(name), std::move(args), std::move(named));
}
inline ExprPtr bin(ExprPtr left, std::string op, ExprPtr right) {
  return make(Expr::Kind::kBinary, std::move(op), {std::move(left), std::move(right)});
}
inline ExprPtr unary(std::string op, ExprPtr operand) {
  return make(Expr::Kind::kUnary, std::move(op), {std::move(operand)});
}
inline ExprPtr choose(ExprPtr condition, ExprPtr yes, ExprPtr no) {
  return make(Expr::Kind::kConditional, "", {std::move(condition), std::move(yes), std::move(no)});
}
inline ExprPtr index(ExprPtr base, ExprPtr at) {
  return make(Expr::Kind::kIndex, "", {std::move(base), std::move(at)});
}
inline ExprPtr slice(ExprPtr base, ExprPtr first, ExprPtr last) {
  return make(Expr::Kind::kSlice, "", {std::move(base), std::move(first), std::move(last)});
}
inline ExprPtr field(ExprPtr base, std::string name) {
  return make(Expr::Kind::kResult, std::move(name), {std::move(base)});
}

/// A composite operator with these operands and attributes, `lets` and results.
inline ops::OpInfo composite(std::string name, std::vector<ops::OperandSpec> operands, std::vector<ops::AttrSpec> attrs,
                             Named lets, std::vector<ExprPtr> results) {
  ops::OpInfo info;
  info.name = std::move(name);
  info.op_class = ops::OpClass::kComposite;
  info.operands = std::move(operands);
  info.attrs = std::move(attrs);
  info.body = std::make_shared<const ops::OpBody>(ops::OpBody{std::move(lets), std::move(results)});
  return info;
}

}  // namespace fusewright::tests
