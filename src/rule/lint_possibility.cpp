#include "src/rule/checker.hpp"
#include "src/rule/lint_conditions.hpp"

namespace fusewright::rule {

namespace {

/// Why a condition that gives a number or a list to an attribute of a pattern never holds; empty where it may.
std::string impossible_value(const ops::OpTable& table, const RewriteVariant& variant, const ops::Expr& guard) {
  using Kind = ops::Expr::Kind;
  if (guard.kind != Kind::kBinary || guard.text != "==") return {};
  const bool left = guard.args[0]->kind == Kind::kName;
  const ops::Expr &name = *guard.args[left ? 0 : 1], &value = *guard.args[left ? 1 : 0];
  if (name.kind != Kind::kName) return {};
  for (const PatternNode& node : variant.nodes)
    for (const AttrPattern& attr : node.attrs) {
      if (attr.bind != name.text || node.ops.ops.empty()) continue;
      const ops::OpInfo& info = table[node.ops.ops[0]];
      const ops::AttrSpec* spec = find_attr(info, attr.attr);
      auto constant = spec == nullptr ? std::nullopt : constant_attr(value, spec->kind);
      if (!constant) continue;
      if (std::string why = impossible_attribute(info, {attr.attr, {}, std::move(constant), attr.span}); !why.empty())
        return why;
    }
  return {};
}

/// The first condition of a list that cannot hold with those before it, the one it contradicts if it is one, and why
/// where that is known.
struct Impossible {
  std::size_t at = 0;
  std::optional<std::size_t> with = {};
  std::string why = {};
};
std::optional<Impossible> find_impossible(const std::vector<ExprPtr>& guards, const Facts& facts) {
  Conditions all(facts);
  for (std::size_t i = 0; i < guards.size(); ++i) {
    if (all.add(*guards[i])) continue;
    Impossible found{i};
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
  reports.warning(
      "impossible-guard", guard.span,
      "`" + guard.text + "` can never hold here, so the rule never fires" + (found.why.empty() ? "" : ": " + found.why),
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
    const std::vector<ExprPtr> exprs = Terms(table, variant).conditions(rule);
    std::vector<const Guard*> guards;
    for (const Step& step : variant.steps)
      if (step.kind == Step::Kind::kGuard) guards.push_back(&rule.guards[step.guard]);
    auto found = find_impossible(exprs, known.facts);
    for (std::size_t i = 0; !found && i < exprs.size(); ++i)
      if (std::string why = impossible_value(table, variant, *exprs[i]); !why.empty())
        found = Impossible{i, {}, std::move(why)};
    if (!found) return;
    if (!impossible) impossible.emplace(*found, std::move(guards));
  }
  if (dead) {
    reports.warning("impossible-match", dead->dead->span, "this can never match: " + dead->why);
  } else if (impossible) {
    report_impossible(impossible->first, impossible->second, reports);
  }
}

/// Whether a template makes kernels of an operator: of all that computes, if it is none of its own.
bool takes(std::optional<ops::Template> kernel, const ops::OpInfo& info, bool& own) {
  using ops::OpClass;
  using ops::Template;
  static const std::map<Template, std::set<OpClass>> kOwn = {
      {Template::kReduce, {OpClass::kReduction}},     {Template::kRow, {OpClass::kReduction}},
      {Template::kContract, {OpClass::kContraction}}, {Template::kConv, {OpClass::kConvolution}},
      {Template::kWindow, {OpClass::kWindow}},        {Template::kSort, {OpClass::kSort, OpClass::kScan}}};
  const OpClass c = info.op_class;
  if (c == OpClass::kControl || c == OpClass::kEffect || c == OpClass::kUninterpreted) return false;
  const auto row = kernel ? kOwn.find(*kernel) : kOwn.end();
  own = row == kOwn.end() || row->second.contains(c);
  return own || c == OpClass::kElementwise || c == OpClass::kMovement || c == OpClass::kIndexing ||
         c == OpClass::kSource || c == OpClass::kComposite;
}

/// Segments that must be there and that no kernel, or none of the rule's template, is made of.
void check_fuse_possible(const ops::OpTable& table, const FuseRule& rule, Reports& reports) {
  const std::string kernel =
      rule.kernel ? "no kernel of the template " + std::string(ops::name(*rule.kernel)) : "no kernel";
  bool has_own = false;
  for (const FuseRoot& root : rule.roots) {
    for (const Segment& segment : root.segments) {
      bool possible = segment.min == 0;
      for (const OpId op : segment.ops.ops) {
        bool own = false;
        possible |= takes(rule.kernel, table[op], own);
        has_own |= own;
      }
      for (const AttrPattern& attr : segment.attrs) {
        const bool written = attr.value && !segment.ops.ops.empty();
        const std::string why = written ? impossible_attribute(table[segment.ops.ops[0]], attr) : std::string();
        if (why.empty()) continue;
        reports.warning("impossible-match", segment.span, "this can never match: " + why);
        return;
      }
      if (possible) continue;
      reports.warning("impossible-match", segment.span,
                      "this can never match: " + kernel + " is made of `" + segment.text + "`");
      return;
    }
  }
  if (!has_own && !rule.roots.empty())
    reports.warning("impossible-match", rule.span,
                    "this can never match: " + kernel + " is made without what the template is for");
}

}  // namespace

void lint_possibility(const RuleSet& rules, Reports& reports) {
  TypeLints types(*rules.table);
  for (const RewriteRule& rule : rules.rewrites) {
    if (rule.origin == RewriteRule::Origin::kWritten && !rule.variants.empty())
      check_rewrite_possible(*rules.table, types, rule, reports);
  }
  for (const FuseRule& rule : rules.fuses) {
    check_fuse_possible(*rules.table, rule, reports);
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
