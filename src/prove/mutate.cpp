#include "fusewright/prove/mutate.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "fusewright/rule/parse.hpp"

namespace fusewright::prove {

using ops::Expr;
using ops::ExprPtr;
using rule::ast::Pattern;
using rule::ast::PatternPtr;
using rule::ast::RuleDecl;

namespace {

/// One change somewhere in a tree: what kind of slip it is, the place before and after.
struct Change {
  std::string kind, before, after;
};
using EmitExpr = std::function<void(ExprPtr, const Change&)>;
using EmitPattern = std::function<void(PatternPtr, const Change&)>;

const std::map<std::string, std::string>& opposites() {
  static const std::map<std::string, std::string> kOpposites = {{"+", "-"},
                                                                {"-", "+"},
                                                                {"*", "/"},
                                                                {"/", "*"},
                                                                {"add", "sub"},
                                                                {"sub", "add"},
                                                                {"mul", "div"},
                                                                {"div", "mul"},
                                                                {"max", "min"},
                                                                {"min", "max"},
                                                                {"and", "or"},
                                                                {"or", "and"},
                                                                {"exp", "log"},
                                                                {"sqrt", "rsqrt"},
                                                                {"rsqrt", "sqrt"},
                                                                {"reduce_max", "reduce_min"},
                                                                {"reduce_min", "reduce_max"},
                                                                {"reduce_sum", "reduce_max"},
                                                                {"reduce_window_max", "reduce_window_min"},
                                                                {"reduce_window_min", "reduce_window_max"},
                                                                {"out_feature", "in_feature"},
                                                                {"feature", "batch"},
                                                                {"lhs_batch", "rhs_batch"},
                                                                {"rhs_batch", "lhs_batch"},
                                                                {"lhs_contract", "rhs_contract"},
                                                                {"rhs_contract", "lhs_contract"},
                                                                {"pad_low", "pad_high"},
                                                                {"pad_high", "pad_low"}};
  return kOpposites;
}

std::string opposite(const std::string& word) {
  const auto at = opposites().find(word);
  return at == opposites().end() ? std::string() : at->second;
}

ExprPtr made(Expr expr) { return std::make_shared<const Expr>(std::move(expr)); }

/// Breaks expressions. Recursion as deep as the rule's text.
class ExprMutator {
 public:
  /// @param names  by name another one of its sort, for swapped operands and attributes.
  explicit ExprMutator(const std::map<std::string, std::string>& names) : names_(names) {}

  void each(const ExprPtr& expr, const EmitExpr& emit) const {
    if (expr == nullptr) return;
    here(expr, emit);
    for (std::size_t i = 0; i < expr->args.size(); ++i)
      each(expr->args[i], [&](ExprPtr arg, const Change& change) {
        Expr copy = *expr;
        copy.args[i] = std::move(arg);
        emit(made(std::move(copy)), change);
      });
    for (std::size_t i = 0; i < expr->named.size(); ++i) {
      if (expr->named[i].first == "..") continue;
      each(expr->named[i].second, [&](ExprPtr value, const Change& change) {
        Expr copy = *expr;
        copy.named[i].second = std::move(value);
        emit(made(std::move(copy)), change);
      });
    }
  }

 private:
  static void put(const EmitExpr& emit, const ExprPtr& before, const std::string& kind, ExprPtr after) {
    const Change change{kind, ops::print_expr(*before), ops::print_expr(*after)};
    emit(std::move(after), change);
  }

  void here(const ExprPtr& e, const EmitExpr& emit) const {
    Expr copy = *e;
    switch (e->kind) {
      case Expr::Kind::kInt:
        ++copy.integer;
        put(emit, e, "wrong constant", made(copy));
        return;
      case Expr::Kind::kFloat:
        copy.number = e->number == 0 ? 1 : e->number * 2;
        copy.text.clear();  // as it was written
        put(emit, e, "wrong constant", made(copy));
        return;
      case Expr::Kind::kUnary:
        if (e->text == "-") put(emit, e, "wrong sign", e->args[0]);
        return;
      case Expr::Kind::kBinary: binary(e, emit); return;
      case Expr::Kind::kCall: call(e, emit); return;
      case Expr::Kind::kList:
        if (e->args.size() < 2) return;
        std::ranges::reverse(copy.args);
        put(emit, e, "wrong axis", made(copy));
        return;
      case Expr::Kind::kSlice: put(emit, e, "changed attribute", e->args[0]); return;
      case Expr::Kind::kName:
        if (const auto other = names_.find(e->text); other != names_.end()) {
          copy.text = other->second;
          put(emit, e, "swapped operand", made(copy));
        }
        return;
      case Expr::Kind::kResult:
        copy.text = opposite(e->text);
        if (!copy.text.empty()) put(emit, e, "changed attribute", made(copy));
        return;
      case Expr::Kind::kConditional:
        std::swap(copy.args[1], copy.args[2]);
        put(emit, e, "swapped operand", made(copy));
        return;
      case Expr::Kind::kString:
      case Expr::Kind::kBool:
      case Expr::Kind::kIndex: return;
    }
  }

  static void binary(const ExprPtr& e, const EmitExpr& emit) {
    Expr copy = *e;
    if (e->text == "along") {
      for (const std::int64_t axis : {0, 1}) {
        Expr number;
        number.integer = axis;
        copy.args[1] = made(std::move(number));
        put(emit, e, "wrong axis", made(copy));
      }
      return;
    }
    const bool arithmetic = !opposite(e->text).empty();
    if (arithmetic && e->text != "and" && e->text != "or") {
      copy.text = opposite(e->text);
      put(emit, e, e->text == "+" || e->text == "-" ? "wrong sign" : "wrong operator", made(copy));
      put(emit, e, "dropped term", e->args[0]);
    }
    if (e->text != "-" && e->text != "/" && e->text != "//" && e->text != "%" && e->text != "**") return;
    copy = *e;
    std::swap(copy.args[0], copy.args[1]);
    put(emit, e, "swapped operand", made(copy));
  }

  static void call(const ExprPtr& e, const EmitExpr& emit) {
    Expr copy = *e;
    if (const std::string other = opposite(e->text); !other.empty()) {
      copy.text = other;
      put(emit, e, "wrong operator", made(copy));
      copy = *e;
    }
    if (e->args.size() >= 2 && e->args[0] != nullptr && e->args[1] != nullptr) {
      std::swap(copy.args[0], copy.args[1]);
      put(emit, e, "swapped operand", made(copy));
    }
    if (!e->args.empty() && e->args[0] != nullptr && e->text != "fold") put(emit, e, "dropped operator", e->args[0]);
    if (e->args.size() == 2 && e->args[1] != nullptr) put(emit, e, "dropped operator", e->args[1]);
    for (std::size_t i = 0; i < e->named.size(); ++i) {
      copy = *e;
      copy.named.erase(copy.named.begin() + static_cast<std::ptrdiff_t>(i));
      put(emit, e, "changed attribute", made(copy));
    }
  }

  const std::map<std::string, std::string>& names_;
};

PatternPtr made(Pattern pattern) { return std::make_shared<const Pattern>(std::move(pattern)); }

/// Breaks patterns: what the rule now matches is more, or something else.
class PatternMutator {
 public:
  void each(const PatternPtr& p, const EmitPattern& emit) {
    if (p == nullptr) return;
    Pattern copy = *p;
    switch (p->kind) {
      case Pattern::Kind::kName:
        if (names_.insert(p->name.text).second) return;
        copy.name.text = p->name.text + "_other";
        put(emit, p, "dropped equality", copy);
        return;
      case Pattern::Kind::kWildcard: return;
      case Pattern::Kind::kLiteral: literal(p, emit); return;
      case Pattern::Kind::kApply:
      case Pattern::Kind::kBinary:
        copy.name.text = opposite(p->name.text);
        if (!copy.name.text.empty()) put(emit, p, "wrong operator", copy);
        break;
      case Pattern::Kind::kChoice:
      case Pattern::Kind::kOptional:
      case Pattern::Kind::kNegate: break;
    }
    const bool ordered = p->name.text == "sub" || p->name.text == "div";
    if (p->kind == Pattern::Kind::kBinary && ordered) {
      copy = *p;
      std::swap(copy.args[0], copy.args[1]);
      put(emit, p, "swapped operand", copy);
    }
    for (std::size_t i = 0; i < p->args.size(); ++i)
      each(p->args[i], [&](PatternPtr arg, const Change& change) {
        Pattern longer = *p;
        longer.args[i] = std::move(arg);
        emit(made(std::move(longer)), change);
      });
    attributes(p, emit);
  }

 private:
  static void put(const EmitPattern& emit, const PatternPtr& before, const std::string& kind, Pattern after) {
    PatternPtr changed = made(std::move(after));
    const Change change{kind, rule::print_pattern(*before), rule::print_pattern(*changed)};
    emit(std::move(changed), change);
  }

  static void literal(const PatternPtr& p, const EmitPattern& emit) {
    Pattern copy = *p;
    Expr number = *p->literal;
    number.text.clear();  // as it was written
    if (number.kind == Expr::Kind::kInt)
      ++number.integer;
    else if (std::isinf(number.number))
      number.number = -number.number;
    else
      number.number *= 2;
    copy.literal = std::make_shared<const Expr>(number);
    put(emit, p, "wrong constant", copy);
  }

  /// An attribute that must equal one met before now may be anything; one that is stated is another or may be anything.
  void attributes(const PatternPtr& p, const EmitPattern& emit) {
    for (std::size_t i = 0; i < p->attrs.size(); ++i) {
      const ExprPtr& value = p->attrs[i].value;
      Pattern copy = *p;
      if (value->kind == Expr::Kind::kName) {
        if (names_.insert(value->text).second) continue;
        Expr other = *value;
        other.text += "_other";
        copy.attrs[i].value = std::make_shared<const Expr>(std::move(other));
        put(emit, p, "dropped equality", copy);
        continue;
      }
      copy.attrs.erase(copy.attrs.begin() + static_cast<std::ptrdiff_t>(i));
      put(emit, p, "dropped attribute", std::move(copy));
    }
  }

  std::set<std::string> names_;  // met so far
};

// --- Rules -----------------------------------------------------------------------------------------------

/// Tensors and attributes that a pattern binds, in the order of the text.
void names_of(const PatternPtr& p, std::vector<std::string>& tensors, std::vector<std::string>& attributes) {
  if (p == nullptr) return;
  const auto add = [](std::vector<std::string>& to, const std::string& name) {
    if (!name.empty() && std::ranges::find(to, name) == to.end()) to.push_back(name);
  };
  if (p->kind == Pattern::Kind::kName) add(tensors, p->name.text);
  for (const PatternPtr& arg : p->args) names_of(arg, tensors, attributes);
  for (const auto& attr : p->attrs)
    if (attr.value->kind == Expr::Kind::kName) add(attributes, attr.value->text);
  add(tensors, p->as.text);
}

/// By name the next one of its sort.
std::map<std::string, std::string> others(const RuleDecl& rule) {
  std::vector<std::string> tensors, attributes;
  for (const auto& root : rule.roots) names_of(root.pattern, tensors, attributes);
  for (const auto& clause : rule.clauses)
    if (clause.where == nullptr) attributes.push_back(clause.let.name.text);
  std::map<std::string, std::string> out;
  for (const auto& names : {tensors, attributes})
    for (std::size_t i = 0; names.size() > 1 && i < names.size(); ++i) out[names[i]] = names[(i + 1) % names.size()];
  return out;
}

/// `a >= 16` with half the number, `a <= 16` with twice.
void each_bound(const ExprPtr& expr, const EmitExpr& emit) {
  if (expr == nullptr) return;
  const bool least = expr->text == ">=" || expr->text == ">", most = expr->text == "<=" || expr->text == "<";
  if (expr->kind == Expr::Kind::kBinary && (least || most)) {
    Expr number = *expr->args[1];
    number.text.clear();  // as it was written
    number.integer = least ? number.integer / 2 - (number.integer == 0 ? 1 : 0) : number.integer * 2 + 1;
    number.number *= least ? 0.5 : 2;
    Expr weaker = *expr;
    weaker.args[1] = made(std::move(number));
    const bool is_number = expr->args[1]->kind == Expr::Kind::kInt || expr->args[1]->kind == Expr::Kind::kFloat;
    if (is_number) emit(made(weaker), {"wrong constant", ops::print_expr(*expr), ops::print_expr(weaker)});
    return;
  }
  for (std::size_t i = 0; i < expr->args.size(); ++i)
    each_bound(expr->args[i], [&](ExprPtr arg, const Change& change) {
      Expr copy = *expr;
      copy.args[i] = std::move(arg);
      emit(made(std::move(copy)), change);
    });
}

/// The conjuncts of a condition.
void conjuncts(const ExprPtr& expr, std::vector<ExprPtr>& out) {
  if (expr->kind == Expr::Kind::kBinary && expr->text == "and") {
    for (const ExprPtr& arg : expr->args) conjuncts(arg, out);
  } else {
    out.push_back(expr);
  }
}

ExprPtr joined(const std::vector<ExprPtr>& parts, std::size_t without) {
  ExprPtr out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i == without) continue;
    Expr both;
    both.kind = Expr::Kind::kBinary;
    both.text = "and";
    both.span = parts[i]->span;
    both.args = {out, parts[i]};
    out = out == nullptr ? parts[i] : made(std::move(both));
  }
  return out;
}

class RuleMutator {
 public:
  explicit RuleMutator(const RuleDecl& rule) : rule_(rule) { rule_.tests.clear(); }

  std::vector<Mutant> run() {
    for (std::size_t i = 0; i < rule_.roots.size(); ++i) {
      PatternMutator patterns;
      patterns.each(rule_.roots[i].pattern, [&](PatternPtr pattern, const Change& change) {
        RuleDecl& decl = add(change);
        decl.roots[i].pattern = std::move(pattern);
      });
    }
    const std::map<std::string, std::string> names = others(rule_);
    const ExprMutator exprs(names);
    for (std::size_t i = 0; i < rule_.clauses.size(); ++i) {
      if (rule_.clauses[i].where != nullptr)
        guards(i);
      else
        exprs.each(rule_.clauses[i].let.value,
                   [&](ExprPtr value, const Change& change) { add(change).clauses[i].let.value = std::move(value); });
    }
    for (std::size_t i = 0; i < rule_.to.size(); ++i)
      exprs.each(rule_.to[i], [&](ExprPtr to, const Change& change) { add(change).to[i] = std::move(to); });
    if (!rule_.exactness.empty() && rule_.exactness[0].word.text != "bitexact")
      add({"stricter exactness", rule_.exactness[0].word.text, "bitexact"}).exactness.clear();
    return std::move(out_);
  }

 private:
  RuleDecl& add(const Change& change) {
    out_.push_back({rule_.name.text, change.kind, change.before, change.after, rule_});
    return out_.back().decl;
  }

  /// Each condition left out, by itself.
  void guards(std::size_t clause) {
    std::vector<ExprPtr> parts;
    conjuncts(rule_.clauses[clause].where, parts);
    for (std::size_t k = 0; k < parts.size(); ++k) {
      RuleDecl& decl = add({"dropped guard", ops::print_expr(*parts[k]), {}});
      if (parts.size() == 1)
        decl.clauses.erase(decl.clauses.begin() + static_cast<std::ptrdiff_t>(clause));
      else
        decl.clauses[clause].where = joined(parts, k);
      each_bound(parts[k], [&](ExprPtr weaker, const Change& change) {
        std::vector<ExprPtr> others = parts;
        others[k] = std::move(weaker);
        add(change).clauses[clause].where = joined(others, others.size());
      });
    }
  }

  RuleDecl rule_;
  std::vector<Mutant> out_;
};

}  // namespace

std::string Mutant::change() const {
  if (after.empty()) return kind + ": " + before;
  return kind + ": " + before + " -> " + after;
}

std::vector<Mutant> mutants_of(const RuleDecl& rewrite) { return RuleMutator(rewrite).run(); }

}  // namespace fusewright::prove
