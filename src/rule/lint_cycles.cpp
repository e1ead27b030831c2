#include <algorithm>

#include "src/rule/lint_trials.hpp"

namespace fusewright::rule {

namespace {

constexpr std::size_t kLongest = 4;        // rules in a cycle that is looked for
constexpr std::size_t kMostVariants = 16;  // of a rule that is followed
constexpr std::size_t kMostTerms = 300;    // reached from one rule
constexpr std::size_t kLargest = 40;       // operators of a term that is followed

/// One rewrite as terms.
struct Arrow {
  const RewriteRule* rule;
  Term from, to;
  std::vector<ExprPtr> conditions;
  std::map<std::string, Term> nodes;
};

/// Conditions on dtypes hold for a larger term as for the one it came from.
bool only_of_dtypes(const ops::Expr& expr) {
  using Kind = ops::Expr::Kind;
  if (expr.kind == Kind::kCall) {
    static const std::set<std::string> kOfDType = {"is_float", "is_integer", "dtype", "bits"};
    return kOfDType.contains(expr.text);
  }
  if (expr.kind == Kind::kName) return ops::dtype_from_name(expr.text).has_value();
  return std::all_of(expr.args.begin(), expr.args.end(),
                     [](const auto& a) { return a == nullptr || only_of_dtypes(*a); });
}

void subterms(const Term& term, std::vector<const Term*>& out) {
  out.push_back(&term);
  for (const Term& arg : term.args) subterms(arg, out);
}

class Cycles {
 public:
  Cycles(const RuleSet& rules, Reports& reports) : table_(*rules.table), trials_(table_), reports_(reports) {
    for (const RewriteRule& rule : rules.rewrites) {
      if (rule.origin != RewriteRule::Origin::kWritten || rule.variants.size() > kMostVariants) continue;
      for (const RewriteVariant& variant : rule.variants) add(rule, variant);
    }
    for (std::size_t i = 0; i < arrows_.size(); ++i) {
      for (const OpId op : root_ops(arrows_[i].from)) by_root_[op].push_back(i);
    }
  }

  void run() {
    for (const Arrow& arrow : arrows_) follow(arrow);
  }

 private:
  struct Reached {
    Term term;
    std::vector<const RewriteRule*> path;
    std::vector<ExprPtr> conditions;  ///< of all rules of the path
    bool at_root = true;              ///< all were applied to the whole term
  };

  void add(const RewriteRule& rule, const RewriteVariant& variant) {
    const Terms terms(table_, variant);
    arrows_.push_back({&rule, terms.from(), terms.to(), terms.conditions(rule), terms.named_nodes()});
  }
  std::vector<ExprPtr> conditions(const Arrow& arrow, const Substitution& substitution) const {
    if (arrow.conditions.empty()) return {};
    const Substitution all = with_nodes(table_, arrow.nodes, substitution);
    std::vector<ExprPtr> out;
    for (const ExprPtr& condition : arrow.conditions) out.push_back(instantiate(table_, condition, all));
    return out;
  }

  /// Everything that a few rules make of what one rule gives, breadth first.
  void follow(const Arrow& start) {
    const std::string home = print_term(table_, start.from);
    std::set<std::string> seen;
    std::vector<Reached> queue = {{start.to, {start.rule}, conditions(start, {}), true}};
    for (std::size_t i = 0; i < queue.size() && queue.size() < kMostTerms; ++i) {
      const Reached now = queue[i];
      const std::string text = print_term(table_, now.term);
      if (now.at_root && text == home && trials_.may_hold(now.conditions, start.conditions.size())) {
        report_undone(now.path);
        return;
      }
      if (!seen.insert(text).second) continue;
      if (grows(start, now)) {
        report_growing(now.path);
        return;
      }
      if (now.path.size() < kLongest && operators_in(now.term) <= kLargest) step(now, queue);
    }
  }

  void step(const Reached& now, std::vector<Reached>& queue) const {
    apply_at(now, now.term, [](Term term) { return term; }, true, queue);
  }

  /// Applies every rule to a part of a term, then to the parts of that. `put_back` makes the whole of a new part.
  void apply_at(const Reached& now, const Term& part, const std::function<Term(Term)>& put_back, bool root,
                std::vector<Reached>& queue) const {
    const bool tuple = part.kind == Term::Kind::kTuple;
    if ((part.kind != Term::Kind::kApply && !tuple) || root_ops(part).size() != 1) return;
    const auto rules = by_root_.find(root_ops(part)[0]);
    if (rules != by_root_.end()) {
      for (const std::size_t i : rules->second) {
        Substitution substitution;
        if (queue.size() >= kMostTerms || !match_term(table_, arrows_[i].from, part, substitution)) continue;
        Reached next{put_back(instantiate(table_, arrows_[i].to, substitution)), now.path, now.conditions,
                     now.at_root && root};
        next.path.push_back(arrows_[i].rule);
        for (ExprPtr& condition : conditions(arrows_[i], substitution)) next.conditions.push_back(std::move(condition));
        queue.push_back(std::move(next));
      }
    }
    for (std::size_t i = 0; i < part.args.size(); ++i) {
      const auto inside = [&](Term term) {
        Term whole = part;
        whole.args[i] = std::move(term);
        return put_back(std::move(whole));
      };
      apply_at(now, part.args[i], inside, tuple, queue);
    }
  }

  /// Whether the first rule matches inside of the term again, with something new and larger for one of its names.
  bool grows(const Arrow& start, const Reached& now) const {
    const bool free = std::ranges::all_of(now.conditions, [](const ExprPtr& c) { return only_of_dtypes(*c); });
    std::vector<const Term*> old, parts;
    subterms(start.from, old);
    subterms(now.term, parts);
    std::set<std::string> known;
    for (const Term* part : old) known.insert(print_term(table_, *part));
    for (const Term* part : parts) {
      Substitution substitution;
      if (!match_term(table_, start.from, *part, substitution)) continue;
      for (const auto& [name, found] : substitution.values) {
        if (!holds_inside(found, name) || known.contains(print_term(table_, found))) continue;
        const auto goes_on =
            trials_.goes_on({now.conditions, substitution.values}, name,
                            [&](const Term& term, const Holds& holds) { return reduced(term, holds); });
        if (goes_on ? *goes_on : free && holds_inside(reduced(found, [](const ExprPtr&) { return true; }), name))
          return true;
      }
      for (const auto& [name, expr] : substitution.attrs) {
        const std::string text = ops::print_expr(*expr);
        if (free && text.size() > name.size() && text.find(name) != std::string::npos &&
            text.find_first_of("+-*") != std::string::npos)
          return true;
      }
    }
    return false;
  }

  static bool holds_inside(const Term& term, const std::string& name) {
    std::vector<const Term*> inside;
    subterms(term, inside);
    return std::any_of(inside.begin() + 1, inside.end(),
                       [&](const Term* t) { return t->kind == Term::Kind::kVariable && t->text == name; });
  }

  using Holds = std::function<bool(const ExprPtr&)>;
  /// Without what other rules take away again: `x * 1` is x.
  Term reduced(Term term, const Holds& holds) const {
    for (Term& arg : term.args) arg = reduced(std::move(arg), holds);
    const auto rules = term.ops.size() == 1 ? by_root_.find(term.ops[0]) : by_root_.end();
    if (rules == by_root_.end()) return term;
    for (const std::size_t i : rules->second) {
      Substitution substitution;
      if (arrows_[i].to.kind == Term::Kind::kVariable && match_term(table_, arrows_[i].from, term, substitution) &&
          std::ranges::all_of(conditions(arrows_[i], substitution), holds))
        return instantiate(table_, arrows_[i].to, substitution);
    }
    return term;
  }

  static std::string chain(const std::vector<const RewriteRule*>& path) {
    std::string text;
    for (const RewriteRule* rule : path) text += "'" + rule->name + "' -> ";
    return text + "'" + path[0]->name + "'";
  }
  bool first_seen(const std::vector<const RewriteRule*>& path) {
    std::set<std::string> names;
    for (const RewriteRule* rule : path) names.insert(rule->name);
    return reported_.insert(names).second;
  }
  static std::vector<Note> others(const std::vector<const RewriteRule*>& path) {
    std::set<std::string> said = {path[0]->name};
    std::vector<Note> notes;
    for (const RewriteRule* rule : path)
      if (said.insert(rule->name).second) notes.push_back({rule->span, "'" + rule->name + "' is here"});
    return notes;
  }
  static bool one_rule(const std::vector<const RewriteRule*>& path) {
    return std::ranges::all_of(path, [&](const RewriteRule* rule) { return rule->name == path[0]->name; });
  }

  void report_undone(const std::vector<const RewriteRule*>& path) {
    if (!first_seen(path)) return;
    const std::string name = "'" + path[0]->name + "'";
    reports_.warning("undone", path[0]->span,
                     path.size() == 1 ? name + " makes of a term the term itself"
                     : one_rule(path)
                         ? name + " leads back to where it began, applied " + std::to_string(path.size()) + " times"
                         : "these rules lead back to where they began: " + chain(path),
                     others(path));
  }
  void report_growing(const std::vector<const RewriteRule*>& path) {
    if (!first_seen(path)) return;
    reports_.warning("growing", path[0]->span,
                     one_rule(path) ? "'" + path[0]->name + "' matches again what it makes, larger each time"
                                    : "these rules make ever larger terms: " + chain(path),
                     others(path));
  }

  const ops::OpTable& table_;
  Trials trials_;
  Reports& reports_;
  std::vector<Arrow> arrows_;
  std::map<OpId, std::vector<std::size_t>> by_root_;
  std::set<std::set<std::string>> reported_;
};

}  // namespace

void lint_cycles(const RuleSet& rules, Reports& reports) { Cycles(rules, reports).run(); }

}  // namespace fusewright::rule
