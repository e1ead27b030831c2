#include <algorithm>

#include "src/rule/checker.hpp"

namespace fusewright::rule {

using ops::Expr;

namespace {

void collect_calls(const Expr& expr, std::set<std::string>& calls) {
  if (expr.kind == Expr::Kind::kCall) calls.insert(expr.text);
  for (const auto& arg : expr.args) {
    if (arg != nullptr) collect_calls(*arg, calls);
  }
  for (const auto& [key, value] : expr.named) collect_calls(*value, calls);
}

std::set<std::string> called_names(const ast::RuleDecl& decl) {
  std::set<std::string> calls;
  for (const auto& expr : decl.to) collect_calls(*expr, calls);
  for (const auto& clause : decl.clauses)
    collect_calls(clause.where != nullptr ? *clause.where : *clause.let.value, calls);
  return calls;
}

constexpr std::size_t kMostRoots = 4;  // orders of roots that are alike are tried one by one

/// What is only for fuse rules, and what a rewrite must have.
bool check_shape(const ast::RuleDecl& decl, Reports& reports) {
  if (decl.kernel) {
    reports.error(decl.kernel->span, "a rewrite states an equality; only a fuse rule names a kernel template");
  }
  if (!decl.no_duplicate.empty()) {
    reports.error(decl.no_duplicate[0].span, "'no_duplicate' is about kernels; only a fuse rule can say it");
  }
  if (decl.roots.empty()) reports.error(decl.name.span, "the rewrite has no 'match'");
  if (decl.to.empty()) reports.error(decl.name.span, "the rewrite has no 'to'");
  if (decl.roots.empty() || decl.to.empty()) return false;
  if (decl.roots.size() > kMostRoots) {
    reports.error(decl.roots[kMostRoots].span,
                  "a rewrite has at most " + std::to_string(kMostRoots) + " values to match");
    return false;
  }
  if (decl.to.size() == decl.roots.size()) return true;
  const std::string given = decl.to.size() == 1 ? "one value" : std::to_string(decl.to.size()) + " values";
  const std::string wanted = decl.roots.size() == 1 ? "one value" : std::to_string(decl.roots.size()) + " values";
  reports.error(decl.to_span, "the rewrite matches " + wanted + " and gives " + given, {},
                {{decl.roots[0].span, "what 'to' gives is equal, one by one, to what 'match' names"}});
  return false;
}

/// Builds one variant after the other; guards are common to all of them.
class RewriteChecker {
 public:
  RewriteChecker(const ast::RuleDecl& decl, const RuleContext& context, RewriteRule& rule)
      : decl_(decl), c_(context), rule_(rule) {}

  void run() {
    std::vector<ast::PatternPtr> roots;
    for (const auto& root : decl_.roots) roots.push_back(root.pattern);
    const std::size_t errors = c_.reports.error_count();
    std::vector<Lowered> variants = lower_patterns(roots, called_names(decl_), c_);
    sound_ = c_.reports.error_count() == errors;
    for (const auto& lowered : variants) all_.insert(lowered.scope.scope.begin(), lowered.scope.scope.end());
    check_lets();
    for (auto& lowered : variants) finish(lowered);
    if (c_.reports.error_count() == errors) warn_unused();  // what an error hides may be the use
  }

 private:
  void finish(Lowered& lowered) {
    RewriteVariant& variant = lowered.variant;
    Scope scope = lowered.scope.scope;
    for (const auto& [name, binding] : all_) {
      if (scope.emplace(name, binding).second) variant.absent.push_back(name);
    }
    check_shared(variant);
    for (const std::uint32_t root : variant.roots) {
      if (variant.nodes[root].kind == PatternNode::Kind::kApply || !sound_) continue;
      c_.reports.error(variant.nodes[root].span,
                       "the root of a pattern must be an operator, not a name or a number that "
                       "fits everything");
    }
    std::vector<Guard> derived;
    std::vector<Step> steps = lowered.scope.finish(derived, ExprPlace::kRewrite);
    for (Step& step : steps) {
      if (step.kind == Step::Kind::kGuard) step.guard = common_guard(derived[step.guard]);
      variant.steps.push_back(std::move(step));
    }
    used_.insert(lowered.scope.used.begin(), lowered.scope.used.end());

    ExprContext context{c_.table, c_.reports, ExprPlace::kRewrite, scope, {}, std::move(lowered.scope.attr_refs),
                        false,    {}};
    const std::size_t errors = c_.reports.error_count();
    for (const auto& clause : decl_.clauses) add_clause(clause, context, scope, variant);
    for (const auto& expr : decl_.to)
      variant.to.push_back(lower_expr(expr, context, kTensors | kNumbers | kTruths, "what a rewrite gives"));
    if (sound_ && c_.reports.error_count() == errors) check_absent(variant, scope);
    used_.insert(context.used.begin(), context.used.end());
    bind_attrs(context.attr_refs, variant);
    rule_.variants.push_back(std::move(variant));
  }

  /// Of what this variant leaves out; the attributes of such parts are bound behind this.
  void check_absent(const RewriteVariant& variant, const Scope& scope) {
    std::map<std::string, Span> places;
    for (const std::string& name : variant.absent) places[name] = scope.at(name).span;
    for (const PatternNode& node : variant.nodes)
      if (node.optional && !node.name.empty()) places[node.name] = node.span;
    AbsentUses uses(c_.table, std::move(places), c_.reports);
    for (const Step& step : variant.steps) {
      const ExprPtr& expr = step.kind == Step::Kind::kGuard ? rule_.guards[step.guard].expr : step.value;
      uses.check(expr);
      if (step.kind == Step::Kind::kGuard) uses.ask(*expr);
    }
    for (const ExprPtr& expr : variant.to) uses.check(expr);
  }

  void check_lets() {
    LetChecks lets(c_.reports);
    for (const auto& clause : decl_.clauses) {
      if (clause.where != nullptr)
        lets.read(*clause.where);
      else
        lets.bind(clause.let.name, *clause.let.value, all_.contains(clause.let.name.text));
    }
  }

  /// Each root has a value in common with those before it: that is what their matches are joined by.
  void check_shared(const RewriteVariant& variant) {
    if (variant.roots.size() == 1 || !sound_) return;
    std::uint32_t first = 0;
    std::set<std::string> before;
    for (const std::uint32_t root : variant.roots) {
      std::set<std::string> own;  // the nodes of a root stand in front of it, behind those of the roots before
      for (std::uint32_t i = first; i <= root; ++i) {
        if (variant.nodes[i].kind != PatternNode::Kind::kLiteral) own.insert(variant.nodes[i].name);
      }
      own.erase("");
      const bool shared = std::ranges::any_of(own, [&](const std::string& name) { return before.contains(name); });
      if (first > 0 && !shared) {
        c_.reports.error(variant.nodes[root].span, "this pattern shares no value with those before it",
                         "what is only alike may run side by side: fuse ... { match CHAIN times {2,8} }",
                         {{variant.nodes[variant.roots[0]].span, "the first one is here"}});
      }
      before.insert(own.begin(), own.end());
      first = root + 1;
    }
  }

  void add_clause(const ast::Clause& clause, ExprContext& context, Scope& scope, RewriteVariant& variant) {
    if (clause.where != nullptr) {
      for (const auto& conjunct : conjuncts(clause.where)) {
        ExprPtr condition = lower_expr(conjunct, context, kTruths, "a condition");
        const std::uint32_t guard = common_guard(make_guard(std::move(condition), conjunct->span));
        variant.steps.push_back({Step::Kind::kGuard, guard, {}, nullptr});
      }
      return;
    }
    const ast::Name& name = clause.let.name;
    ExprPtr value = lower_expr(clause.let.value, context);
    const auto [at, fresh] =
        scope.try_emplace(name.text, Binding{Binding::Kind::kTensor, name.span, {}, false, false, context.kinds});
    if (!fresh && !lets_.contains(name.text)) {
      c_.reports.error(name.span, "'" + name.text + "' is bound already", {}, {{at->second.span, "it is bound here"}});
    }
    if (const auto [let, first] = lets_.emplace(name.text, name.span); !first && let->second.begin != name.span.begin) {
      c_.reports.error(name.span, "'" + name.text + "' is bound already", {}, {{let->second, "it is bound here"}});
    }
    all_lets_.emplace(name.text, name.span);
    variant.steps.push_back({Step::Kind::kLet, 0, name.text, std::move(value)});
  }

  std::uint32_t common_guard(Guard guard) {
    for (std::size_t i = 0; i < rule_.guards.size(); ++i) {
      const Guard& known = rule_.guards[i];
      if (known.text == guard.text && known.span.begin == guard.span.begin &&
          ops::print_expr(*known.expr) == ops::print_expr(*guard.expr)) {
        return static_cast<std::uint32_t>(i);
      }
    }
    rule_.guards.push_back(std::move(guard));
    return static_cast<std::uint32_t>(rule_.guards.size() - 1);
  }

  /// The nodes bind the attributes that expressions asked for; those of absent parts are absent.
  void bind_attrs(const std::set<AttrRef>& refs, RewriteVariant& variant) {
    for (const AttrRef& ref : refs) {
      const std::string name = ref.node + "." + ref.attr;
      const auto at = std::find_if(variant.nodes.begin(), variant.nodes.end(), [&](const PatternNode& node) {
        return node.kind == PatternNode::Kind::kApply && node.name == ref.node;
      });
      if (at == variant.nodes.end()) {
        variant.absent.push_back(name);
      } else {
        at->attrs.push_back({ref.attr, name, {}, at->span});
      }
    }
  }

  void warn_unused() {
    for (const auto& [name, binding] : all_) {
      if (binding.derived || used_.contains(name) || name.starts_with("_")) continue;
      const bool attr = binding.kind == Binding::Kind::kAttr;
      c_.reports.warning("unused-name", binding.span,
                         "'" + name + "' is bound and never used; " +
                             (attr ? "leave it out, or call it '_" + name + "'" : "'_' matches without a name"));
    }
    for (const auto& [name, span] : all_lets_) {
      if (!used_.contains(name)) c_.reports.warning("unused-name", span, "'" + name + "' is computed and never used");
    }
  }

  const ast::RuleDecl& decl_;
  const RuleContext& c_;
  RewriteRule& rule_;
  bool sound_ = true;  ///< the patterns have no errors
  Scope all_;
  std::map<std::string, Span> lets_, all_lets_;
  std::set<std::string> used_;
};

}  // namespace

Guard make_guard(ExprPtr expr, const Span& span) {
  std::string text =
      span.valid() ? span.source->text.substr(span.begin, span.end - span.begin) : ops::print_expr(*expr);
  return {std::move(expr), std::move(text), span};
}

std::vector<ExprPtr> conjuncts(const ExprPtr& expr) {
  std::vector<ExprPtr> out;
  std::vector<ExprPtr> stack = {expr};
  while (!stack.empty()) {
    const ExprPtr top = stack.back();
    stack.pop_back();
    if (top->kind == Expr::Kind::kBinary && top->text == "and") {
      stack.push_back(top->args[1]);
      stack.push_back(top->args[0]);
    } else {
      out.push_back(top);
    }
  }
  return out;
}

Exactness check_exactness(const ast::RuleDecl& decl, Reports& reports) {
  Exactness exactness;
  for (const auto& word : decl.exactness) {
    const auto one = parse_exactness(word.word.text);
    if (!one) {
      const auto& d = one.error().diagnostics[0];
      reports.error(word.word.span, d.message, d.suggestion);
      continue;
    }
    if (one->classes != 0 && (exactness.classes & one->classes) == one->classes)
      reports.error(word.word.span, "'" + word.word.text + "' is named twice");
    exactness.classes |= one->classes;
    const bool approximate = one->has(ExactnessClass::kApproximate);
    if (approximate && (!word.rtol || !(*word.rtol > 0 && *word.rtol < 1))) {
      reports.error(word.word.span, "approximate says how far off it may be: approximate(rtol) with 0 < rtol < 1");
    } else if (!approximate && word.rtol) {
      reports.error(word.word.span, "only approximate takes a number");
    } else if (approximate) {
      exactness.rtol = *word.rtol;
    }
  }
  return exactness;
}

std::vector<std::string> check_targets(const ast::RuleDecl& decl, Reports& reports) {
  static const std::vector<std::string> known = {"x86", "nvptx"};  // the first words of devices' targets
  std::vector<std::string> targets;
  for (const auto& target : decl.targets) {
    if (std::find(known.begin(), known.end(), target.text) == known.end())
      reports.error(target.span, "there is no target '" + target.text + "' (there are x86, nvptx)",
                    did_you_mean(target.text, known));
    targets.push_back(target.text);
  }
  return targets;
}

RewriteRule check_rewrite(const ast::RuleDecl& decl, const RuleContext& context) {
  RewriteRule rule;
  rule.name = decl.name.text;
  rule.span = decl.name.span;
  rule.exactness = check_exactness(decl, context.reports);
  rule.targets = check_targets(decl, context.reports);
  if (check_shape(decl, context.reports)) RewriteChecker(decl, context, rule).run();
  return rule;
}

}  // namespace fusewright::rule
