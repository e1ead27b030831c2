#include <algorithm>

#include "src/rule/checker.hpp"

namespace fusewright::rule {

using ops::Expr;

void AbsentUses::visit(const Expr& expr) {
  const auto place = expr.kind == Expr::Kind::kName ? places_.find(expr.text) : places_.end();
  if (place != places_.end() && !asked_.contains(expr.text)) {
    reports_.error(expr.span, "'" + expr.text + "' may be left out, and then this has no meaning",
                   "write (" + expr.text + " ?? ...), or a if present(" + expr.text + ") else b",
                   {{place->second, "it is optional here"}});
  }
  if (expr.kind == Expr::Kind::kCall && expr.text == "present") return;
  const std::set<std::string> before = asked_;
  const bool condition = expr.kind == Expr::Kind::kConditional ||
                         (expr.kind == Expr::Kind::kBinary && (expr.text == "and" || expr.text == "or"));
  if (condition) ask(*expr.args[0]);
  const OpId op = expr.kind == Expr::Kind::kCall ? table_.find(expr.text) : OpId();
  for (std::size_t i = 0; i < expr.args.size(); ++i) {
    const auto* operand = op.valid() ? operand_at(table_[op], i) : nullptr;
    const bool alternative = expr.kind == Expr::Kind::kBinary && expr.text == "??" && i == 0;
    part(expr.args[i], alternative || (operand != nullptr && operand->optional));
  }
  for (const auto& [key, value] : expr.named) {
    const auto optional = [&](const ops::OperandSpec& operand) { return operand.name == key && operand.optional; };
    part(value, op.valid() && std::any_of(table_[op].operands.begin(), table_[op].operands.end(), optional));
  }
  asked_ = before;
}

void AbsentUses::part(const ExprPtr& expr, bool may_be_absent) {
  if (expr == nullptr || (may_be_absent && expr->kind == Expr::Kind::kName)) return;
  visit(*expr);
}

void AbsentUses::ask(const Expr& expr) {
  if (expr.kind == Expr::Kind::kCall && expr.text == "present" && !expr.args.empty()) asked_.insert(expr.args[0]->text);
  for (const auto& arg : expr.args) {
    if (arg != nullptr) ask(*arg);
  }
}

}  // namespace fusewright::rule
