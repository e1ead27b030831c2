#include "src/prove/early_guards.hpp"

#include <algorithm>
#include <optional>

#include "fusewright/rule/check.hpp"

namespace fusewright::prove {

using ops::Expr;
using ops::Type;
using rule::PatternNode;

namespace {

/// Arguments of calls of these functions anywhere in an expression. Recursion as deep as the rule's text.
void collect(const Expr& expr, const std::set<std::string>& functions, bool inside, std::set<std::string>& out) {
  const bool here = inside || (expr.kind == Expr::Kind::kCall && functions.contains(expr.text));
  if (here && expr.kind == Expr::Kind::kName) out.insert(expr.text);
  for (const auto& arg : expr.args)
    if (arg != nullptr) collect(*arg, functions, here, out);
  for (const auto& [name, value] : expr.named) collect(*value, functions, here, out);
}

/// Whether an expression asks of a name how its value was made: its attributes, one or all, or a function of them.
/// Recursion as deep as the rule's text.
bool asks_how_made(const Expr& expr, const std::string& name, const ops::OpTable& table) {
  static const std::set<std::string> kOfTypes = {"shape", "rank",     "dim",        "size", "dtype",
                                                 "bits",  "is_float", "is_integer", "fold", "constant"};
  const auto is_name = [&](const Expr& e) { return e.kind == Expr::Kind::kName && e.text == name; };
  if (expr.kind == Expr::Kind::kResult && is_name(*expr.args[0])) return true;
  if (expr.kind == Expr::Kind::kCall && expr.text == name) return true;
  const bool of_types = expr.kind != Expr::Kind::kCall || kOfTypes.contains(expr.text) || table.find(expr.text).valid();
  for (const auto& arg : expr.args)
    if (arg != nullptr && ((!of_types && is_name(*arg)) || asks_how_made(*arg, name, table))) return true;
  for (const auto& [key, value] : expr.named)
    if ((key == ".." && is_name(*value)) || asks_how_made(*value, name, table)) return true;
  return false;
}

/// Names that mean something by themselves: dtypes and numbers.
bool has_meaning(const std::string& name) {
  return ops::dtype_from_name(name).has_value() || name == "inf" || name == "nan" || name == "pi" || name == "e";
}

}  // namespace

void names_in(const Expr& expr, std::set<std::string>& out) {
  if (expr.kind == Expr::Kind::kName) out.insert(expr.text);
  if (expr.kind == Expr::Kind::kResult && expr.args[0]->kind == Expr::Kind::kName) {
    out.insert(expr.args[0]->text + "." + expr.text);
    return;
  }
  for (const auto& arg : expr.args)
    if (arg != nullptr) names_in(*arg, out);
  for (const auto& [name, value] : expr.named) names_in(*value, out);
}

void names_in_calls(const Expr& expr, const std::set<std::string>& functions, std::set<std::string>& out) {
  collect(expr, functions, false, out);
}

std::vector<bool> opaque_nodes(const ops::OpTable& table, const rule::RewriteRule& rule,
                               const rule::RewriteVariant& variant) {
  const auto asked = [&](const std::string& name) {
    const auto asks = [&](const ops::ExprPtr& e) { return e != nullptr && asks_how_made(*e, name, table); };
    return std::ranges::any_of(rule.guards, asks, &rule::Guard::expr) ||
           std::ranges::any_of(variant.steps, asks, &rule::Step::value) || std::ranges::any_of(variant.to, asks);
  };
  std::vector<bool> out;
  for (const PatternNode& node : variant.nodes) {
    const auto blank = [&](std::uint32_t i) { return variant.nodes[i].kind == PatternNode::Kind::kWildcard; };
    out.push_back(node.kind == PatternNode::Kind::kApply && !node.operands.empty() && node.attrs.empty() &&
                  std::ranges::all_of(node.operands, blank) && (node.name.empty() || !asked(node.name)));
  }
  return out;
}

EarlyGuards::EarlyGuards(const ops::OpTable& table, const rule::RewriteRule& rule, const rule::RewriteVariant& variant)
    : table_(table), rule_(rule), variant_(variant) {
  const std::vector<std::string>& queries = rule::term_queries();
  std::map<std::string, std::set<std::string>> lets;  // what each let needs in the end
  for (const rule::Step& step : variant.steps) {
    const Expr& expr = step.kind == rule::Step::Kind::kGuard ? *rule.guards[step.guard].expr : *step.value;
    std::set<std::string> names, asked;
    std::set<std::string>& needs = needs_.emplace_back();
    names_in(expr, names);
    for (const std::string& name : names) {
      if (const auto let = lets.find(name); let != lets.end())
        needs.insert(let->second.begin(), let->second.end());
      else if (!has_meaning(name))
        needs.insert(name);
    }
    names_in_calls(expr, {queries.begin(), queries.end()}, asked);
    if (!asked.empty()) needs.insert("");  // of values: never known here
    if (step.kind == rule::Step::Kind::kLet) lets[step.name] = needs;
  }
}

void EarlyGuards::know(const std::string& name, ops::AttrValue value) {
  env_[name] = std::move(value);
  fresh_.insert(name);
}

void EarlyGuards::know(const std::string& name, const Type& type) {
  types_.push_back(type);
  env_[name] = ops::TermValue{types_.size() - 1};
  fresh_.insert(name);
}

void EarlyGuards::know_absent(const std::string& name) {
  env_[name] = std::monostate();
  fresh_.insert(name);
}

void EarlyGuards::forget(const std::string& name) {
  const auto at = env_.find(name);
  if (at == env_.end()) return;
  if (std::holds_alternative<ops::TermValue>(at->second)) types_.pop_back();
  env_.erase(at);
}

bool EarlyGuards::hold() {
  const std::set<std::string> fresh = std::exchange(fresh_, {});
  std::optional<ops::Env> env;  // with the lets that were computed on the way
  std::set<std::size_t> computed;
  for (std::size_t i = 0; i < variant_.steps.size(); ++i) {
    const rule::Step& step = variant_.steps[i];
    if (step.kind != rule::Step::Kind::kGuard) continue;
    const std::set<std::string>& needs = needs_[i];
    if (std::ranges::none_of(needs, [&](const std::string& n) { return fresh.contains(n); })) continue;
    if (!std::ranges::all_of(needs, [&](const std::string& n) { return env_.contains(n); })) continue;
    if (!env) env = env_;
    for (std::size_t k = 0; k < i; ++k) {
      const rule::Step& let = variant_.steps[k];
      if (let.kind != rule::Step::Kind::kLet || computed.contains(k)) continue;
      if (!std::ranges::includes(needs, needs_[k])) continue;
      computed.insert(k);
      if (auto value = ops::elaborate(table_, *let.value, *env, *this)) (*env)[let.name] = *std::move(value);
    }
    const auto value = ops::elaborate(table_, *rule_.guards[step.guard].expr, *env, *this);
    const auto* attr = value ? std::get_if<ops::AttrValue>(&*value) : nullptr;
    const bool* truth = attr != nullptr ? std::get_if<bool>(attr) : nullptr;
    if (truth != nullptr && !*truth) return false;
  }
  return true;
}

Result<std::vector<ops::TermValue>> EarlyGuards::apply(ops::OpId, const std::vector<std::optional<ops::TermValue>>&,
                                                       const ops::Attrs&, const Span& span) {
  return fail("only types are known", span);
}

}  // namespace fusewright::prove
