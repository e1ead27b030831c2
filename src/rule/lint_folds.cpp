#include <algorithm>

#include "src/rule/lint_conditions.hpp"
#include "src/rule/make_expr.hpp"

namespace fusewright::rule {

using ops::Expr;
using Kind = Expr::Kind;

namespace {

/// Looks for values in the folds of one variant that may be known only when the model runs.
class Folds {
 public:
  Folds(const ops::OpTable& table, const RewriteVariant& variant, Conditions conditions)
      : table_(table), variant_(variant), conditions_(std::move(conditions)) {
    for (const Step& step : variant.steps)
      if (step.kind == Step::Kind::kLet) lets_[step.name] = step.value;
  }

  void check(const Expr& expr, Reports& reports) const {
    if (is_call(expr, "fold", 1)) {
      const Expr* found = not_constant(*expr.args[0]);
      if (found == nullptr) return;
      reports.warning("unguarded-fold", found->span,
                      "no condition says that '" + found->text +
                          "' is constant; where it is not, the rule is not applied, and the run warns");
      return;
    }
    for (const auto& arg : expr.args)
      if (arg != nullptr) check(*arg, reports);
  }

 private:
  /// The first name in a tensor's expression that may be no constant, or none. Recursion as deep as the rule's text.
  const Expr* not_constant(const Expr& expr) const {
    switch (expr.kind) {
      case Kind::kName: return name_is_constant(expr.text) ? nullptr : &expr;
      case Kind::kUnary: return first_of(expr, 0);
      case Kind::kResult: return first_of(expr, 0);
      case Kind::kConditional: return first_of(expr, 1);
      case Kind::kBinary: {
        const Expr& left = *expr.args[0];
        if (expr.text != "??" || left.kind != Kind::kName) return first_of(expr, 0);
        return std::ranges::find(variant_.absent, left.text) == variant_.absent.end() ? not_constant(left)
                                                                                      : not_constant(*expr.args[1]);
      }
      case Kind::kCall: {
        // Other functions ask of types, or are computed of attributes.
        const bool of_values = table_.find(expr.text).valid() || ops::dtype_from_name(expr.text).has_value() ||
                               is_one_of(expr.text, {"fold", "broadcast_to", "unsqueeze", "squeeze"});
        return of_values ? first_of(expr, 0) : nullptr;
      }
      case Kind::kInt:
      case Kind::kFloat:
      case Kind::kString:
      case Kind::kBool:
      case Kind::kList:
      case Kind::kIndex:
      case Kind::kSlice: return nullptr;
    }
    return nullptr;
  }
  const Expr* first_of(const Expr& expr, std::size_t from) const {
    for (std::size_t i = from; i < expr.args.size(); ++i)
      if (const Expr* found = not_constant(*expr.args[i])) return found;
    return nullptr;
  }

  bool name_is_constant(const std::string& name) const {
    if (const auto let = lets_.find(name); let != lets_.end()) return not_constant(*let->second) == nullptr;
    const auto node = std::ranges::find(variant_.nodes, name, &PatternNode::name);
    return node == variant_.nodes.end() || node_is_constant(*node);  // others are attributes, or left out
  }
  bool node_is_constant(const PatternNode& node) const {
    if (node.kind == PatternNode::Kind::kLiteral) return true;
    if (!node.name.empty() && conditions_.implies(*call("constant", {named(node.name, {})}))) return true;
    if (node.kind != PatternNode::Kind::kApply) return false;
    return std::ranges::all_of(node.operands,
                               [&](std::uint32_t operand) { return node_is_constant(variant_.nodes[operand]); });
  }

  const ops::OpTable& table_;
  const RewriteVariant& variant_;
  Conditions conditions_;
  std::map<std::string, ExprPtr> lets_;
};

}  // namespace

void lint_folds(const RuleSet& rules, Reports& reports) {
  TypeLints types(*rules.table);
  for (const RewriteRule& rule : rules.rewrites) {
    if (rule.origin != RewriteRule::Origin::kWritten) continue;
    for (const RewriteVariant& variant : rule.variants) {
      const PatternTypes known = types.of(rule, variant);
      if (known.dead != nullptr) continue;
      Conditions conditions(known.facts);
      const std::vector<ExprPtr> guards = Terms(*rules.table, variant).conditions(rule);
      if (!std::ranges::all_of(guards, [&](const ExprPtr& guard) { return conditions.add(*guard); })) continue;
      const Folds folds(*rules.table, variant, std::move(conditions));
      for (const ExprPtr& to : variant.to) folds.check(*to, reports);
      for (const Step& step : variant.steps)
        if (step.kind == Step::Kind::kLet) folds.check(*step.value, reports);
    }
  }
}

}  // namespace fusewright::rule
