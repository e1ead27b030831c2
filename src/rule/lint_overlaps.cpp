#include <algorithm>

#include "src/rule/lint_conditions.hpp"

namespace fusewright::rule {

namespace {

constexpr std::size_t kMostVariants = 64;  // of a rule that is compared with others

/// One way that a rewrite can match.
struct Way {
  const RewriteRule* rule;
  const RewriteVariant* variant;
  Term pattern;
  std::vector<ExprPtr> guards;
  Term to;
  std::map<std::string, Term> nodes;  ///< that have names
};

std::vector<Way> ways_of(const ops::OpTable& table, const RewriteRule& rule) {
  std::vector<Way> ways;
  for (const RewriteVariant& variant : rule.variants) {
    const Terms terms(table, variant);
    ways.push_back({&rule, &variant, terms.from(), terms.conditions(rule), terms.to(), terms.named_nodes()});
  }
  return ways;
}

bool applies_wherever(const RewriteRule& general, const RewriteRule& special) {
  const auto has = [&](const std::string& target) {
    return std::find(general.targets.begin(), general.targets.end(), target) != general.targets.end();
  };
  const bool targets = general.targets.empty() ||
                       (!special.targets.empty() && std::all_of(special.targets.begin(), special.targets.end(), has));
  return targets && general.exactness.within(special.exactness);
}

enum class Relation { kNone, kShadows, kSame };

/// What the conditions of a way say together, of its own names.
class Premises {
 public:
  Premises(const ops::OpTable& table, TypeLints& types, const Way& way)
      : table_(table), own_(with_nodes(table, way.nodes, {})) {
    std::vector<std::pair<std::string, Term>> nodes(way.nodes.begin(), way.nodes.end());
    const auto inner_first = [](const auto& node) { return std::pair(operators_in(node.second), node.first); };
    std::ranges::sort(nodes, {}, inner_first);
    for (const auto& [name, term] : nodes) names_.emplace(text_of(*in_own_names(expr_of(table, term))), named(name));
    for (const auto& guard : way.guards) texts_.insert(text_of(*instantiate(table, guard, own_)));
    PatternTypes known = types.of(*way.rule, *way.variant);
    if (known.dead != nullptr) return;
    conditions_.emplace(known.facts);
    for (const auto& guard : way.guards)
      if (conditions_ && !conditions_->add(*in_own_names(instantiate(table, guard, own_)))) conditions_.reset();
  }

  /// Whether all conditions of another way hold under a substitution by terms of this one.
  bool imply(const Way& other, const Substitution& substitution) const {
    return std::ranges::all_of(other.guards, [&](const ExprPtr& guard) {
      const ExprPtr asked = instantiate(table_, guard, substitution);
      return texts_.contains(text_of(*asked)) || (conditions_ && conditions_->implies(*in_own_names(asked)));
    });
  }
  const Substitution& own() const { return own_; }

 private:
  static ExprPtr named(const std::string& name) {
    ops::Expr expr;
    expr.kind = ops::Expr::Kind::kName;
    expr.text = name;
    return std::make_shared<const ops::Expr>(std::move(expr));
  }
  ExprPtr in_own_names(const ExprPtr& expr) const { return plain(*expr, {}, names_); }

  const ops::OpTable& table_;
  Substitution own_;
  Known names_;
  std::set<std::string> texts_;
  std::optional<Conditions> conditions_;  ///< none where nothing fits them
};

/// What `general` is to `special`: it matches all of it with the same outcome, or exactly the same with another one.
Relation relation(const ops::OpTable& table, TypeLints& types, const Way& general, const Way& special) {
  std::optional<Premises> premises;
  const auto holds = [&](const Way& way, const Way& other, const Substitution& substitution) {
    if (!premises) premises.emplace(table, types, way);
    return premises->imply(other, with_nodes(table, other.nodes, substitution));
  };
  bool matches = false;
  const auto same_outcome = [&](const Substitution& s) {
    if (!holds(special, general, s)) return false;
    matches = true;
    return print_term(table, instantiate(table, general.to, with_nodes(table, general.nodes, s))) ==
           print_term(table, instantiate(table, special.to, premises->own()));
  };
  if (match_term(table, general.pattern, special.pattern, same_outcome)) return Relation::kShadows;
  if (!matches) return Relation::kNone;
  premises.reset();
  const auto back = [&](const Substitution& s) { return holds(general, special, s); };
  return match_term(table, special.pattern, general.pattern, back) ? Relation::kSame : Relation::kNone;
}

class RewriteOverlaps {
 public:
  RewriteOverlaps(const RuleSet& rules, Reports& reports)
      : rules_(rules), table_(*rules.table), types_(table_), reports_(reports) {}

  void run() {
    for (const RewriteRule& rule : rules_.rewrites) {
      if (rule.variants.size() > kMostVariants) continue;
      for (Way& way : ways_of(table_, rule)) {
        for (const OpId op : root_ops(way.pattern)) by_root_[op].push_back(ways_.size());
        ways_.push_back(std::move(way));
      }
    }
    for (std::size_t i = 0; i < ways_.size();) {
      std::size_t end = i;
      while (end < ways_.size() && ways_[end].rule == ways_[i].rule) ++end;
      if (ways_[i].rule->origin == RewriteRule::Origin::kWritten) check(i, end);
      i = end;
    }
  }

 private:
  /// All ways of one rule: it is shadowed when every one of them is, whichever rule does it.
  void check(std::size_t begin, std::size_t end) {
    const RewriteRule& rule = *ways_[begin].rule;
    std::vector<const RewriteRule*> shadows;
    bool all = end - begin == rule.variants.size();
    for (std::size_t i = begin; i < end; ++i) {  // all of them, for what they overlap with is told, too
      const RewriteRule* by = shadow_of(i);
      all = all && by != nullptr;
      if (by != nullptr && std::ranges::find(shadows, by) == shadows.end()) shadows.push_back(by);
    }
    if (!all || shadows.empty()) return;
    std::string names;
    std::vector<Note> notes;
    for (const RewriteRule* shadow : shadows) {
      names += (names.empty() ? "'" : " and '") + shadow->name + "'";
      const bool generated = shadow->origin != RewriteRule::Origin::kWritten;
      notes.push_back({shadow->span, generated ? "it is made for this operator" : "it is here"});
    }
    const char* what = shadows.size() == 1 ? " matches all that it matches and gives the same"
                                           : " together match all that it matches and give the same";
    reports_.warning("shadowed", rule.span, "'" + rule.name + "' adds nothing: " + names + what, std::move(notes));
  }

  const RewriteRule* shadow_of(std::size_t special) {
    const Way& way = ways_[special];
    const std::vector<OpId>& root = root_ops(way.pattern);
    if (root.empty()) return nullptr;
    for (const std::size_t i : by_root_[root[0]]) {
      const Way& general = ways_[i];
      if (general.rule == way.rule || !applies_wherever(*general.rule, *way.rule)) continue;
      const Relation is = relation(table_, types_, general, way);
      const bool mutual = is == Relation::kShadows && general.rule->origin == RewriteRule::Origin::kWritten &&
                          general.rule->name > way.rule->name && applies_wherever(*way.rule, *general.rule) &&
                          relation(table_, types_, way, general) == Relation::kShadows;
      if (is == Relation::kShadows && !mutual) return general.rule;  // of two that are one, the later is reported
      if (is == Relation::kSame && general.rule->origin == RewriteRule::Origin::kWritten &&
          general.rule->name < way.rule->name)
        report_overlap(*way.rule, *general.rule);
    }
    return nullptr;
  }

  void report_overlap(const RewriteRule& rule, const RewriteRule& other) {
    reports_.warning("overlapping", rule.span,
                     "'" + rule.name + "' and '" + other.name +
                         "' match the same under the same conditions and make different terms of it",
                     {{other.span, "the other one is here"}});
  }

  const RuleSet& rules_;
  const ops::OpTable& table_;
  TypeLints types_;
  Reports& reports_;
  std::vector<Way> ways_;
  std::map<OpId, std::vector<std::size_t>> by_root_;
};

// --- Fuse rules ----------------------------------------------------------------------------------------

/// Whether a chain asks that operands are one value, by a name that stands twice or is that of a segment.
bool asks_for_equal_values(const FuseRoot& root) {
  std::set<std::string> names;
  for (const Segment& segment : root.segments)
    if (!segment.name.empty()) names.insert(segment.name);
  for (const Segment& segment : root.segments)
    for (const Capture& capture : segment.captures)
      if (!capture.name.empty() && !names.insert(capture.name).second) return true;
  return false;
}

/// Whether every region of the special chain is one of the general chain: its segments go in order into segments of
/// the general one that hold their operators, several into one that holds any number.
bool covers(const FuseRoot& general, const FuseRoot& special) {
  if (general.min > special.min || general.max < special.max || !general.shared.empty()) return false;
  if (asks_for_equal_values(general)) return false;
  std::size_t at = 0;
  std::uint32_t held = 0;  // operators that are in the segment `at` at the least
  bool occupied = false;
  const auto fits = [&](const Segment& into, const Segment& s) {
    const bool inside = into.attrs.empty() &&
                        std::includes(into.ops.ops.begin(), into.ops.ops.end(), s.ops.ops.begin(), s.ops.ops.end());
    const bool whole = !occupied && s.min >= into.min && s.max <= into.max;
    return inside && (into.max == Segment::kUnbounded || whole);
  };
  for (const Segment& segment : special.segments) {
    for (; at < general.segments.size() && !fits(general.segments[at], segment); ++at, held = 0, occupied = false) {
      if (held < general.segments[at].min) return false;
    }
    if (at == general.segments.size()) return false;
    held += segment.min;
    occupied = true;
  }
  for (; at < general.segments.size(); ++at, held = 0) {
    if (held < general.segments[at].min) return false;
  }
  return true;
}

bool covers(const FuseRule& general, const FuseRule& special) {
  if (general.kernel && general.kernel != special.kernel) return false;
  if (!general.guards.empty() || !general.targets.empty() || !general.no_duplicate.empty()) return false;
  if (!general.exactness.within(special.exactness) || general.roots.size() != special.roots.size()) return false;
  for (std::size_t i = 0; i < general.roots.size(); ++i) {
    if (!covers(general.roots[i], special.roots[i])) return false;
  }
  return special.no_duplicate.empty();
}

void fuse_overlaps(const RuleSet& rules, Reports& reports) {
  for (const FuseRule& special : rules.fuses) {
    for (const FuseRule& general : rules.fuses) {
      if (&general == &special || !covers(general, special)) continue;
      if (covers(special, general) && general.name > special.name) continue;  // of two that are one, the later
      reports.warning("shadowed", special.span,
                      "'" + special.name + "' adds nothing: '" + general.name +
                          "' admits every region that it admits, for the same kernels",
                      {{general.span, "it is here"}});
      break;
    }
  }
}

}  // namespace

void lint_overlaps(const RuleSet& rules, Reports& reports) {
  RewriteOverlaps(rules, reports).run();
  fuse_overlaps(rules, reports);
}

}  // namespace fusewright::rule
