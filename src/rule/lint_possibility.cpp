#include <algorithm>
#include <cmath>

#include "src/rule/lint_passes.hpp"

namespace fusewright::rule {

using ops::Expr;

namespace {

using Kind = Expr::Kind;

DTypeSet dtypes_where(bool (*holds)(ops::DType)) {
  DTypeSet set;
  for (std::size_t i = 0; i < kDTypeCount; ++i) set[i] = holds(static_cast<ops::DType>(i));
  return set;
}

std::string text_of(const Expr& expr) { return ops::print_expr(expr); }

/// What conditions say together, of tensors' dtypes and of numbers. Never says more than follows.
class Conditions {
 public:
  explicit Conditions(Facts facts) : facts_(std::move(facts)) {}

  /// Adds a condition; false when it cannot hold besides those that were added.
  bool add(const Expr& expr, bool holds = true) {
    if (expr.kind == Kind::kBool) return (expr.integer != 0) == holds;
    if (expr.kind == Kind::kUnary && expr.text == "not") return add(*expr.args[0], !holds);
    if (expr.kind == Kind::kBinary && (expr.text == "and" || expr.text == "or"))
      return (expr.text == "and") == holds ? add(*expr.args[0], holds) && add(*expr.args[1], holds)
                                           : add_either(expr, holds);
    if (!consistent(expr, holds)) return false;
    if (expr.kind == Kind::kCall) return predicate(expr, holds);
    if (expr.kind == Kind::kBinary) return comparison(expr, holds);
    return true;
  }

 private:
  /// One of two must hold: what is known then is what either leaves.
  bool add_either(const Expr& expr, bool holds) {
    std::vector<Facts> left;
    for (const auto& arg : expr.args) {
      Conditions branch = *this;
      if (branch.add(*arg, holds)) left.push_back(std::move(branch.facts_));
    }
    if (left.empty()) return false;
    Facts either = std::move(left[0]);
    if (left.size() == 2) {
      std::erase_if(either.dtypes, [&](const auto& fact) { return !left[1].dtypes.contains(fact.first); });
      std::erase_if(either.numbers, [&](const auto& fact) { return !left[1].numbers.contains(fact.first); });
      for (auto& [key, set] : either.dtypes) set |= left[1].dtypes.at(key);
      for (auto& [key, range] : either.numbers) {
        range.low = std::min(range.low, left[1].numbers.at(key).low);
        range.high = std::max(range.high, left[1].numbers.at(key).high);
      }
    }
    facts_ = std::move(either);
    return true;
  }

  /// The same condition, word for word, must not be stated both ways.
  bool consistent(const Expr& expr, bool holds) {
    const auto [at, fresh] = stated_.emplace(text_of(expr), holds);
    return fresh || at->second == holds;
  }

  bool narrow(const std::string& tensor, const DTypeSet& set) {
    const auto [at, fresh] = facts_.dtypes.emplace(tensor, set);
    if (!fresh) at->second &= set;
    return at->second.any();
  }

  bool predicate(const Expr& expr, bool holds) {
    const bool of_dtype = expr.text == "is_float" || expr.text == "is_integer";
    if (!of_dtype || expr.args.size() != 1) return true;
    const DTypeSet set = dtypes_where(expr.text == "is_float" ? ops::is_float : ops::is_integer);
    return narrow("dtype(" + text_of(*expr.args[0]) + ")", holds ? set : ~set);
  }

  /// The dtypes that a list or a name means, or nothing.
  static std::optional<DTypeSet> dtype_constant(const Expr& expr) {
    DTypeSet set;
    const std::vector<ExprPtr> one = {std::make_shared<const Expr>(expr)};
    for (const auto& item : expr.kind == Kind::kList ? expr.args : one) {
      const auto dtype = item->kind == Kind::kName ? ops::dtype_from_name(item->text) : std::nullopt;
      if (!dtype) return std::nullopt;
      set.set(static_cast<std::size_t>(*dtype));
    }
    return set;
  }

  /// `permute(x, [a])`, by which extents are compared, as the extent it stands for; a list of one as its element.
  static Expr single(const Expr& expr) {
    if (expr.kind == Kind::kList && expr.args.size() == 1) return *expr.args[0];
    const bool extent = expr.kind == Kind::kCall && expr.text == "permute" && expr.args.size() == 2 &&
                        expr.args[1]->kind == Kind::kList && expr.args[1]->args.size() == 1;
    if (!extent) return expr;
    Expr out = expr;
    out.text = "dim";
    out.args[1] = expr.args[1]->args[0];
    return out;
  }

  bool comparison(const Expr& expr, bool holds) {
    const Expr a = single(*expr.args[0]);
    const Expr b = single(*expr.args[1]);
    const bool negative = expr.text == "!=" || expr.text == "not in";
    if (expr.text == "==" || expr.text == "!=" || expr.text == "in" || expr.text == "not in") {
      if (const auto set = dtype_constant(b)) return narrow(text_of(a), holds == negative ? ~*set : *set);
      if (const auto set = dtype_constant(a); set && expr.text != "in" && expr.text != "not in")
        return narrow(text_of(b), holds == negative ? ~*set : *set);
    }
    static const std::map<std::string, std::string> kOpposite = {{"==", "!="}, {"!=", "=="}, {"<", ">="},
                                                                 {">=", "<"},  {">", "<="},  {"<=", ">"}};
    const auto opposite = kOpposite.find(expr.text);
    if (opposite == kOpposite.end()) return true;
    const std::string op = holds ? expr.text : opposite->second;
    if (text_of(a) == text_of(b)) return op == "==" || op == "<=" || op == ">=";
    const auto left = range_of(a), right = range_of(b);
    if (!left || !right) return true;
    return order(op, a, *left, b, *right);
  }

  /// Numbers an expression can be, or nothing when it may be no number.
  std::optional<Interval> range_of(const Expr& expr) const {
    if (expr.kind == Kind::kInt) return Interval{static_cast<double>(expr.integer), static_cast<double>(expr.integer)};
    if (expr.kind == Kind::kFloat) return Interval{expr.number, expr.number};
    if (const auto known = facts_.numbers.find(text_of(expr)); known != facts_.numbers.end()) return known->second;
    if (expr.kind == Kind::kCall) {
      constexpr double kMost = std::numeric_limits<double>::infinity();
      if (expr.text == "bits") return Interval{1, 128};
      if (expr.text == "rank" || expr.text == "dim" || expr.text == "len" || expr.text == "size")
        return Interval{0, kMost};
      return std::nullopt;
    }
    if (expr.kind == Kind::kUnary && expr.text == "-") {
      const auto x = range_of(*expr.args[0]);
      return x ? std::optional(Interval{-x->high, -x->low}) : std::nullopt;
    }
    if (expr.kind == Kind::kBinary && (expr.text == "+" || expr.text == "-")) {
      const auto a = range_of(*expr.args[0]), b = range_of(*expr.args[1]);
      if (!a || !b) return std::nullopt;
      return expr.text == "+" ? Interval{a->low + b->low, a->high + b->high}
                              : Interval{a->low - b->high, a->high - b->low};
    }
    return std::nullopt;
  }

  static bool is_count(const Expr& expr) {
    return expr.kind == Kind::kCall && (expr.text == "rank" || expr.text == "dim" || expr.text == "len" ||
                                        expr.text == "size" || expr.text == "bits");
  }

  bool order(const std::string& op, const Expr& a, Interval left, const Expr& b, Interval right) {
    // Of whole numbers, a < b is a + 1 <= b.
    const double step = is_count(a) || is_count(b) ? 1 : 0;
    if (op == "==") {
      const Interval both{std::max(left.low, right.low), std::min(left.high, right.high)};
      return keep(a, both) && keep(b, both);
    }
    if (op == "!=") return !(left.low == left.high && right.low == right.high && left.low == right.low);
    if (op == ">" || op == ">=") return order(op == ">" ? "<" : "<=", b, right, a, left);
    const double gap = op == "<" ? step : 0;
    if (op == "<" && gap == 0 && !(left.low < right.high)) return false;
    return keep(a, {left.low, std::min(left.high, right.high - gap)}) &&
           keep(b, {std::max(right.low, left.low + gap), right.high});
  }

  bool keep(const Expr& expr, const Interval& range) {
    if (range.empty()) return false;
    const bool fixed = expr.kind == Kind::kInt || expr.kind == Kind::kFloat;
    if (!fixed) facts_.numbers[text_of(expr)] = range;
    return true;
  }

  Facts facts_;
  std::map<std::string, bool> stated_;
};

/// The first condition of a list that cannot hold with those before it, and the one it contradicts if it is one.
struct Impossible {
  std::size_t at = 0;
  std::optional<std::size_t> with;
};
std::optional<Impossible> find_impossible(const std::vector<ExprPtr>& guards, const Facts& facts) {
  Conditions all(facts);
  for (std::size_t i = 0; i < guards.size(); ++i) {
    if (all.add(*guards[i])) continue;
    Impossible found{i, {}};
    if (!Conditions(facts).add(*guards[i])) return found;
    for (std::size_t j = 0; j < i && !found.with; ++j) {
      Conditions two(facts);
      if (two.add(*guards[j]) && !two.add(*guards[i])) found.with = j;
    }
    return found;
  }
  return std::nullopt;
}

void report_impossible(const Impossible& found, const std::vector<const Guard*>& guards, Reports& reports) {
  const Guard& guard = *guards[found.at];
  std::vector<Note> notes;
  if (found.with) notes.push_back({guards[*found.with]->span, "it contradicts this one"});
  reports.warning("impossible-guard", guard.span, "`" + guard.text + "` can never hold here, so the rule never fires",
                  std::move(notes));
}

void check_rewrite_possible(const ops::OpTable& table, TypeLints& types, const RewriteRule& rule, Reports& reports) {
  // A part that is optional, or one of two, may be impossible; the rule is only when all of it is.
  std::optional<std::pair<Impossible, std::vector<const Guard*>>> impossible;
  std::optional<PatternTypes> dead;
  for (const RewriteVariant& variant : rule.variants) {
    PatternTypes known = types.of(rule, variant);
    if (known.dead != nullptr) {
      if (!dead) dead = std::move(known);
      continue;
    }
    const Terms terms(table, variant);
    std::vector<ExprPtr> exprs;
    std::vector<const Guard*> guards;
    for (const Step& step : variant.steps) {
      if (step.kind != Step::Kind::kGuard) continue;
      exprs.push_back(terms.inlined(rule.guards[step.guard].expr));
      guards.push_back(&rule.guards[step.guard]);
    }
    const auto found = find_impossible(exprs, known.facts);
    if (!found) return;
    if (!impossible) impossible.emplace(*found, std::move(guards));
  }
  if (dead) {
    reports.warning("impossible-match", dead->dead->span,
                    "this can never match: " + dead->why + " all operators around it");
  } else if (impossible) {
    report_impossible(impossible->first, impossible->second, reports);
  }
}

}  // namespace

void lint_possibility(const RuleSet& rules, Reports& reports) {
  TypeLints types(*rules.table);
  for (const RewriteRule& rule : rules.rewrites) {
    if (rule.origin == RewriteRule::Origin::kWritten && !rule.variants.empty())
      check_rewrite_possible(*rules.table, types, rule, reports);
  }
  for (const FuseRule& rule : rules.fuses) {
    std::vector<ExprPtr> exprs;
    std::vector<const Guard*> guards;
    for (const Guard& guard : rule.guards) {
      exprs.push_back(guard.expr);
      guards.push_back(&guard);
    }
    if (const auto found = find_impossible(exprs, {})) report_impossible(*found, guards, reports);
  }
}

}  // namespace fusewright::rule
