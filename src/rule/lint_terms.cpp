#include <fmt/format.h>

#include <algorithm>

#include "src/rule/lint_forms.hpp"
#include "src/rule/make_expr.hpp"

namespace fusewright::rule {

using ops::Expr;

namespace {

constexpr std::size_t kMostSteps = 20'000;  // of one attempt to match: commutative operands are tried both ways

std::string without_blanks(const std::string& text) {
  std::string out;
  std::copy_if(text.begin(), text.end(), std::back_inserter(out), [](char c) { return c != ' ' && c != '\n'; });
  return out;
}
std::string text_without_blanks(const Expr& expr) { return without_blanks(ops::print_expr(expr)); }

ExprPtr name_expr(std::string text) { return named(std::move(text), {}); }

/// Whether an attribute of a pattern is a new name; else it is a value, or an expression.
bool is_binding(const Expr& attr) { return attr.kind == Expr::Kind::kName && !ops::dtype_from_name(attr.text); }

ExprPtr rename(const ExprPtr& expr, const std::map<std::string, ExprPtr>& names) {
  if (expr == nullptr) return nullptr;
  if (expr->kind == Expr::Kind::kName) {
    const auto at = names.find(expr->text);
    return at == names.end() ? expr : at->second;
  }
  Expr out = *expr;
  for (auto& arg : out.args) arg = rename(arg, names);
  for (auto& [key, value] : out.named) value = rename(value, names);
  return share(std::move(out));
}

Term variable(std::string name) {
  Term term;
  term.kind = Term::Kind::kVariable;
  term.text = std::move(name);
  return term;
}
Term number(double value) {
  Term term;
  term.kind = Term::Kind::kNumber;
  term.text = fmt::format("{}", value);
  return term;
}
Term opaque(const ExprPtr& expr) {
  Term term;
  term.text = text_without_blanks(*expr);
  return term;
}

bool is_commutative(const ops::OpTable& table, const Term& term) {
  return term.kind == Term::Kind::kApply && term.args.size() == 2 &&
         std::all_of(term.ops.begin(), term.ops.end(), [&](OpId op) { return table[op].commutative; });
}

/// Tries one way to match after the other until one is accepted; how many steps are left bounds all of them.
class Matching {
 public:
  using Accept = std::function<bool(const Substitution&)>;

  explicit Matching(const ops::OpTable& table) : table_(table) {}

  bool match(const Term& pattern, const Term& term, const Substitution& so_far, const Accept& accept) {
    if (steps_++ > kMostSteps) return false;
    switch (pattern.kind) {
      case Term::Kind::kVariable: return bind(pattern, term, so_far, accept);
      case Term::Kind::kNumber:
        return term.kind == Term::Kind::kNumber && (pattern.text.empty() || pattern.text == term.text) &&
               accept(so_far);
      case Term::Kind::kOpaque: return false;
      case Term::Kind::kApply: return apply(pattern, term, so_far, accept);
      case Term::Kind::kTuple:
        return term.kind == Term::Kind::kTuple && operands(pattern, term, false, 0, so_far, accept);
    }
    return false;
  }

 private:
  bool bind(const Term& pattern, const Term& term, const Substitution& so_far, const Accept& accept) {
    if (term.optional && !pattern.optional) return false;
    const auto known = so_far.values.find(pattern.text);
    if (known != so_far.values.end())
      return print_term(table_, known->second) == print_term(table_, term) && accept(so_far);
    Substitution with = so_far;
    with.values.emplace(pattern.text, term);
    return accept(with);
  }

  bool apply(const Term& pattern, const Term& term, const Substitution& so_far, const Accept& accept) {
    if (term.kind != Term::Kind::kApply || term.ops.empty() || pattern.result != term.result ||
        !std::includes(pattern.ops.begin(), pattern.ops.end(), term.ops.begin(), term.ops.end()))
      return false;
    Substitution with = so_far;
    if (!match_attrs(pattern, term, with)) return false;
    return operands(pattern, term, false, 0, with, accept) ||
           (is_commutative(table_, pattern) && operands(pattern, term, true, 0, with, accept));
  }

  /// Operands from `at` on.
  bool operands(const Term& pattern, const Term& term, bool swapped, std::size_t at, const Substitution& so_far,
                const Accept& accept) {
    if (pattern.args.size() != term.args.size()) return false;
    if (at == pattern.args.size()) return accept(so_far);
    return match(pattern.args[swapped ? 1 - at : at], term.args[at], so_far,
                 [&](const Substitution& next) { return operands(pattern, term, swapped, at + 1, next, accept); });
  }

  static bool match_attrs(const Term& pattern, const Term& term, Substitution& substitution) {
    for (const auto& [key, value] : pattern.attrs) {
      const auto at = term.attrs.find(key);
      // An attribute that the other does not mention is free there; only a name fits that.
      const ExprPtr found = at == term.attrs.end() ? name_expr("?" + key) : at->second;
      if (is_binding(*value)) {
        const auto [known, fresh] = substitution.attrs.emplace(value->text, found);
        if (!fresh && text_without_blanks(*known->second) != text_without_blanks(*found)) return false;
      } else if (text_without_blanks(*found) != text_without_blanks(*value)) {
        return false;
      }
    }
    return true;
  }

  const ops::OpTable& table_;
  std::size_t steps_ = 0;
};

}  // namespace

Terms::Terms(const ops::OpTable& table, const RewriteVariant& variant) : table_(table), variant_(variant) {
  for (const Step& step : variant.steps) {
    if (step.kind == Step::Kind::kLet) lets_[step.name] = inlined(step.value);
  }
}

ExprPtr Terms::inlined(const ExprPtr& expr) const {
  if (expr == nullptr) return nullptr;
  if (expr->kind == Expr::Kind::kName) {
    const auto at = lets_.find(expr->text);
    return at == lets_.end() ? expr : at->second;
  }
  const bool chooses = expr->kind == Expr::Kind::kBinary && expr->text == "??";
  if (const auto there = chooses ? is_there(*expr->args[0]) : std::nullopt) return inlined(expr->args[*there ? 0 : 1]);
  Expr out = *expr;
  for (auto& arg : out.args) arg = inlined(arg);
  for (auto& [key, value] : out.named) value = inlined(value);
  return std::make_shared<const Expr>(std::move(out));
}

/// Whether a name stands for something in this variant; nothing where that differs from match to match.
std::optional<bool> Terms::is_there(const Expr& name) const {
  if (name.kind != Expr::Kind::kName) return std::nullopt;
  if (std::ranges::find(variant_.absent, name.text) != variant_.absent.end()) return false;
  const auto node = std::ranges::find(variant_.nodes, name.text, &PatternNode::name);
  return node == variant_.nodes.end() || node->optional ? std::nullopt : std::optional(true);
}

std::vector<ExprPtr> Terms::conditions(const RewriteRule& rule) const {
  std::vector<ExprPtr> conditions;
  for (const Step& step : variant_.steps)
    if (step.kind == Step::Kind::kGuard) conditions.push_back(inlined(rule.guards[step.guard].expr));
  return conditions;
}

std::map<std::string, Term> Terms::named_nodes() const {
  std::map<std::string, Term> nodes;
  for (std::size_t i = 0; i < variant_.nodes.size(); ++i) {
    const PatternNode& node = variant_.nodes[i];
    if (node.kind == PatternNode::Kind::kApply && !node.name.empty())
      nodes[node.name] = of_node(static_cast<std::uint32_t>(i));
  }
  return nodes;
}

Term Terms::of_node(std::uint32_t index) const {
  const PatternNode& node = variant_.nodes[index];
  Term term;
  switch (node.kind) {
    case PatternNode::Kind::kVariable:
      term = variable(node.name);
      term.optional = node.optional;
      return term;
    case PatternNode::Kind::kWildcard:
      term = variable("_" + std::to_string(index));
      term.optional = node.optional;
      return term;
    case PatternNode::Kind::kLiteral:
      if (node.literal.any) {
        term.kind = Term::Kind::kNumber;
        return term;
      }
      term = number(node.literal.value);
      if (node.literal.approximate) term.text = fmt::format("~{}", term.text);
      if (node.literal.tolerance > 0) term.text += fmt::format(" within {}", node.literal.tolerance);
      return term;
    case PatternNode::Kind::kApply: break;
  }
  term.kind = Term::Kind::kApply;
  term.ops = node.ops.ops;
  term.result = node.result;
  for (const std::uint32_t operand : node.operands) term.args.push_back(of_node(operand));
  for (const auto& attr : node.attrs)
    term.attrs[attr.attr] = attr.value ? literal_of(*attr.value) : name_expr(attr.bind);
  return term;
}

namespace {

Term one_or_tuple(std::vector<Term> terms) {
  if (terms.size() == 1) return std::move(terms[0]);
  Term tuple;
  tuple.kind = Term::Kind::kTuple;
  tuple.args = std::move(terms);
  return tuple;
}

}  // namespace

Term Terms::from() const {
  std::vector<Term> terms;
  for (const std::uint32_t root : variant_.roots) terms.push_back(of_node(root));
  return one_or_tuple(std::move(terms));
}

Term Terms::to() const {
  std::vector<Term> terms;
  for (const ExprPtr& to : variant_.to) terms.push_back(of_expr(to));
  return one_or_tuple(std::move(terms));
}

Term Terms::operate(const std::string& op, const std::vector<ExprPtr>& args) const {
  Term term;
  term.kind = Term::Kind::kApply;
  term.ops = {table_.require(op)};
  for (const auto& arg : args) term.args.push_back(of_expr(arg));
  return term;
}

Term Terms::of_expr(const ExprPtr& expr) const {
  static const std::map<std::string, std::string> kOps = {
      {"+", "add"}, {"-", "sub"}, {"*", "mul"}, {"/", "div"}, {"%", "mod"}, {"**", "pow"},  {"==", "eq"},
      {"!=", "ne"}, {"<", "lt"},  {"<=", "le"}, {">", "gt"},  {">=", "ge"}, {"and", "and"}, {"or", "or"}};
  switch (expr->kind) {
    case Expr::Kind::kInt: return number(static_cast<double>(expr->integer));
    case Expr::Kind::kFloat: return number(expr->number);
    case Expr::Kind::kName: {
      if (const auto let = lets_.find(expr->text); let != lets_.end()) return of_expr(let->second);
      for (std::size_t i = 0; i < variant_.nodes.size(); ++i) {
        const PatternNode& node = variant_.nodes[i];
        if (node.kind == PatternNode::Kind::kApply && node.name == expr->text)
          return of_node(static_cast<std::uint32_t>(i));
      }
      return variable(expr->text);
    }
    case Expr::Kind::kUnary: {
      Term inner = of_expr(expr->args[0]);
      if (expr->text == "-" && inner.kind == Term::Kind::kNumber && !inner.text.empty() && inner.text[0] != '-') {
        inner.text = "-" + inner.text;
        return inner;
      }
      Term term;
      term.kind = Term::Kind::kApply;
      term.ops = {table_.require(expr->text == "-" ? "neg" : "not")};
      term.args.push_back(std::move(inner));
      return term;
    }
    case Expr::Kind::kBinary: {
      if (expr->text == "??") {
        return of_expr(expr->args[is_there(*expr->args[0]).value_or(true) ? 0 : 1]);
      }
      if (expr->text == "along") {
        Term term = operate("broadcast", {expr->args[0]});
        const Expr& axes = *expr->args[1];
        Expr list;
        list.kind = Expr::Kind::kList;
        list.args = {inlined(expr->args[1])};
        term.attrs["dims"] =
            axes.kind == Expr::Kind::kList ? list.args[0] : std::make_shared<const Expr>(std::move(list));
        return term;
      }
      const auto op = kOps.find(expr->text);
      return op == kOps.end() ? opaque(expr) : operate(op->second, expr->args);
    }
    case Expr::Kind::kCall: return of_call(*expr);
    case Expr::Kind::kResult: {
      Term term = of_expr(expr->args[0]);
      if (term.kind != Term::Kind::kApply || term.ops.empty()) return opaque(expr);
      const auto& names = table_[term.ops[0]].results;
      term.result = static_cast<std::uint32_t>(std::find(names.begin(), names.end(), expr->text) - names.begin());
      return term;
    }
    default: return opaque(expr);
  }
}

Term Terms::of_call(const Expr& expr) const {
  const auto whole = [&] { return opaque(std::make_shared<const Expr>(expr)); };
  if (expr.text == "fold" && expr.args.size() == 1) return of_expr(expr.args[0]);
  if (ops::dtype_from_name(expr.text) && expr.args.size() == 1) {
    Term term = operate("convert", expr.args);
    term.attrs["dtype"] = name_expr(expr.text);
    return term;
  }
  const OpId op = table_.find(expr.text);
  if (!op.valid()) {
    Term term = whole();
    if (!is_one_of(expr.text, {"unsqueeze", "squeeze", "broadcast_to"}) || expr.args.size() != 2) return term;
    term.function = expr.text;
    term.args = {of_expr(expr.args[0])};
    term.attrs["to"] = inlined(expr.args[1]);
    return term;
  }
  const auto& info = table_[op];
  Term term;
  term.kind = Term::Kind::kApply;
  term.ops = {op};
  const bool variadic = !info.operands.empty() && info.operands.back().variadic;
  for (std::size_t i = 0; i < expr.args.size(); ++i) {
    if (variadic || i < info.operands.size())
      term.args.push_back(of_expr(expr.args[i]));
    else if (i - info.operands.size() < info.attrs.size())
      term.attrs[info.attrs[i - info.operands.size()].name] = inlined(expr.args[i]);
  }
  for (const auto& [key, value] : expr.named) term.attrs[key] = inlined(value);
  return term;
}

bool match_term(const ops::OpTable& table, const Term& pattern, const Term& term,
                const std::function<bool(const Substitution&)>& accept) {
  return Matching(table).match(pattern, term, {}, accept);
}
bool match_term(const ops::OpTable& table, const Term& pattern, const Term& term, Substitution& substitution) {
  return match_term(table, pattern, term, [&](const Substitution& found) {
    substitution = found;
    return true;
  });
}

namespace {

std::map<std::string, ExprPtr> exprs_of(const ops::OpTable& table, const Substitution& substitution) {
  std::map<std::string, ExprPtr> names = substitution.attrs;
  for (const auto& [name, term] : substitution.values) names[name] = expr_of(table, term);
  return names;
}

Term replaced(const Term& term, const Substitution& substitution, const std::map<std::string, ExprPtr>& exprs) {
  if (term.kind == Term::Kind::kVariable) {
    const auto at = substitution.values.find(term.text);
    return at == substitution.values.end() ? term : at->second;
  }
  Term out = term;
  for (Term& arg : out.args) arg = replaced(arg, substitution, exprs);
  for (auto& [key, value] : out.attrs) value = rename(value, exprs);
  return out;
}

}  // namespace

Term instantiate(const ops::OpTable& table, const Term& term, const Substitution& substitution) {
  return replaced(term, substitution, exprs_of(table, substitution));
}

ExprPtr instantiate(const ops::OpTable& table, const ExprPtr& expr, const Substitution& substitution) {
  return rename(expr, exprs_of(table, substitution));
}

Substitution with_nodes(const ops::OpTable& table, const std::map<std::string, Term>& nodes,
                        const Substitution& substitution) {
  Substitution all = substitution;
  for (const auto& [name, term] : nodes) all.values[name] = instantiate(table, term, substitution);
  return all;
}

const std::vector<OpId>& root_ops(const Term& term) {
  return term.kind == Term::Kind::kTuple ? term.args[0].ops : term.ops;
}

ExprPtr expr_of(const ops::OpTable& table, const Term& term) {
  if (term.kind == Term::Kind::kNumber) {
    char* end = nullptr;
    Expr number = leaf(Expr::Kind::kFloat, {});
    number.number = std::strtod(term.text.c_str(), &end);
    return !term.text.empty() && *end == '\0' ? share(std::move(number)) : name_expr(term.text);
  }
  if (term.kind == Term::Kind::kOpaque && !term.args.empty())
    return call(term.function, {expr_of(table, term.args[0]), term.attrs.at("to")});
  if (term.kind != Term::Kind::kApply && term.kind != Term::Kind::kTuple) return name_expr(term.text);
  Expr applied = leaf(Expr::Kind::kCall, {});
  for (const OpId op : term.ops) applied.text += (applied.text.empty() ? "" : "|") + table[op].name;
  for (const Term& arg : term.args) applied.args.push_back(expr_of(table, arg));
  if (is_commutative(table, term)) std::ranges::sort(applied.args, {}, [](const ExprPtr& a) { return text_of(*a); });
  applied.named.assign(term.attrs.begin(), term.attrs.end());
  if (term.result == 0) return share(std::move(applied));
  Expr result = leaf(Expr::Kind::kResult, {}, std::to_string(term.result));
  result.args = {share(std::move(applied))};
  return share(std::move(result));
}

std::string print_term(const ops::OpTable& table, const Term& term) {
  return text_without_blanks(*expr_of(table, term));
}

std::size_t operators_in(const Term& term) {
  std::size_t count = term.kind == Term::Kind::kApply ? 1 : 0;
  for (const Term& arg : term.args) count += operators_in(arg);
  return count;
}

}  // namespace fusewright::rule
