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

/// Questions that the number of a constant answers.
const std::set<std::string>& number_queries() {
  static const std::set<std::string> kQueries = {"splat", "value", "is_zero", "is_one"};
  return kQueries;
}

/// What stands for the number of a name among the names that a guard needs.
std::string number_of(const std::string& name) { return "number of " + name; }

/// What the questions about values in an expression need: the numbers of names, or what is never known here.
/// Recursion as deep as the rule's text.
void questions_in(const Expr& expr, std::set<std::string>& out) {
  const std::vector<std::string>& queries = rule::term_queries();
  if (expr.kind == Expr::Kind::kCall && std::ranges::find(queries, expr.text) != queries.end()) {
    const bool of_number = number_queries().contains(expr.text) && expr.args.size() == 1;
    const bool of_name = of_number && expr.args[0]->kind == Expr::Kind::kName;
    out.insert(of_name ? number_of(expr.args[0]->text) : "value of a term");
  }
  for (const auto& arg : expr.args)
    if (arg != nullptr) questions_in(*arg, out);
  for (const auto& [name, value] : expr.named) questions_in(*value, out);
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
  std::map<std::string, std::set<std::string>> lets;  // what each let needs in the end
  for (const rule::Step& step : variant.steps) {
    const Expr& expr = step.kind == rule::Step::Kind::kGuard ? *rule.guards[step.guard].expr : *step.value;
    std::set<std::string> names;
    std::set<std::string>& needs = needs_.emplace_back();
    names_in(expr, names);
    questions_in(expr, names);
    for (const std::string& name : names) {
      if (const auto let = lets.find(name); let != lets.end())
        needs.insert(let->second.begin(), let->second.end());
      else if (!has_meaning(name))
        needs.insert(name);
    }
    if (step.kind == rule::Step::Kind::kLet) lets[step.name] = needs;
    const std::size_t at = needs_.size() - 1;
    missing_.push_back(needs.size());
    if (step.kind == rule::Step::Kind::kGuard)
      for (const std::string& name : needs) needed_by_[name].push_back(at);
  }
}

void EarlyGuards::count(const std::string& name, int change) {
  const auto steps = needed_by_.find(name);
  if (steps == needed_by_.end()) return;
  for (const std::size_t step : steps->second) {
    missing_[step] = static_cast<std::size_t>(static_cast<int>(missing_[step]) - change);
    if (change > 0 && missing_[step] == 0) decided_.push_back(step);
  }
}

void EarlyGuards::know(const std::string& name, ops::AttrValue value) {
  if (env_.emplace(name, std::move(value)).second) count(name, 1);
}

void EarlyGuards::know(const std::string& name, const Type& type) {
  if (!env_.emplace(name, ops::TermValue{values_.size()}).second) return;
  values_.push_back({type});
  count(name, 1);
}

void EarlyGuards::know_absent(const std::string& name) {
  if (env_.emplace(name, std::monostate()).second) count(name, 1);
}

void EarlyGuards::forget(const std::string& name) {
  const auto at = env_.find(name);
  if (at == env_.end()) return;
  if (std::holds_alternative<ops::TermValue>(at->second)) values_.pop_back();
  env_.erase(at);
  count(name, -1);
}

void EarlyGuards::know_number(const std::string& name, double number) {
  const auto at = env_.find(name);
  const auto* value = at != env_.end() ? std::get_if<ops::TermValue>(&at->second) : nullptr;
  if (value == nullptr) return;
  values_[value->id].number = number;
  count(number_of(name), 1);
}

void EarlyGuards::forget_number(const std::string& name) {
  const auto at = env_.find(name);
  const auto* value = at != env_.end() ? std::get_if<ops::TermValue>(&at->second) : nullptr;
  if (value == nullptr || !values_[value->id].number) return;
  values_[value->id].number.reset();
  count(number_of(name), -1);
}

bool EarlyGuards::hold() {
  const std::vector<std::size_t> decided = std::exchange(decided_, {});
  return std::ranges::all_of(decided, [&](std::size_t step) { return missing_[step] > 0 || holds(step); });
}

bool EarlyGuards::holds(std::size_t step) {
  std::vector<std::string> computed;
  for (std::size_t k = 0; k < step; ++k) {
    const rule::Step& let = variant_.steps[k];
    if (let.kind != rule::Step::Kind::kLet || !std::ranges::includes(needs_[step], needs_[k])) continue;
    if (auto value = ops::elaborate(table_, *let.value, env_, *this)) {
      env_[let.name] = *std::move(value);
      computed.push_back(let.name);
    }
  }
  const auto value = ops::elaborate(table_, *rule_.guards[variant_.steps[step].guard].expr, env_, *this);
  for (const std::string& name : computed) env_.erase(name);
  const auto* attr = value ? std::get_if<ops::AttrValue>(&*value) : nullptr;
  const bool* truth = attr != nullptr ? std::get_if<bool>(attr) : nullptr;
  return truth == nullptr || *truth;
}

Result<std::vector<ops::TermValue>> EarlyGuards::apply(ops::OpId, const std::vector<std::optional<ops::TermValue>>&,
                                                       const ops::Attrs&, const Span& span) {
  return fail("only types are known", span);
}

Result<ops::AttrValue> EarlyGuards::query(const std::string& function, const std::vector<ops::TermValue>& args,
                                          const Span& span) {
  const bool known = args.size() == 1 && values_[args[0].id].number && number_queries().contains(function);
  if (!known) return fail("not known yet", span);
  const ops::DType dtype = values_[args[0].id].type.dtype;
  const double number = ops::round_to(dtype, *values_[args[0].id].number);
  if (function == "splat") return ops::AttrValue(true);
  if (function == "is_zero") return ops::AttrValue(number == 0);
  if (function == "is_one") return ops::AttrValue(number == 1);
  if (ops::is_float(dtype)) return ops::AttrValue(number);
  return ops::AttrValue(static_cast<std::int64_t>(number));
}

}  // namespace fusewright::prove
