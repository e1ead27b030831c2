#include "fusewright/rule/lint.hpp"

#include <algorithm>

#include "src/rule/lint_passes.hpp"

namespace fusewright::rule {

const std::vector<LintInfo>& lints() {
  static const std::vector<LintInfo> table = {
      {"unused-name", "a name, an input or an operand that nothing uses"},
      {"rule-name", "a rule's name that is not in kebab-case"},
      {"empty-class", "an operator class without operators"},
      {"no-test", "a rule without a `test`"},
      {"no-reject", "a rule without a `reject`"},
      {"impossible-match", "a pattern that no operands fit"},
      {"impossible-guard", "conditions that never hold, alone or together"},
      {"shadowed", "a rule that adds nothing to another one"},
      {"overlapping", "two rules that match the same under the same conditions and differ in what they make of it"},
      {"undone", "rules that lead back to where they began"},
      {"growing", "rules that make ever larger terms"},
      {"unguarded-fold", "a `fold` of what no condition says is constant"},
      {"exactness-missing", "a rule that rounds otherwise than it says"},
      {"exactness-unneeded", "a rule that claims a freedom it does not use"},
      {"unused-allow", "an `allow` that silences nothing"},
  };
  return table;
}

namespace {

bool within(const Span& place, const Span& extent) {
  return place.valid() && extent.valid() && place.source == extent.source && place.begin >= extent.begin &&
         place.begin < extent.end;
}

/// Leaves out what is allowed, and reports allowances that nothing needed.
std::vector<Finding> apply_allowances(const RuleSet& rules, std::vector<Finding> findings) {
  std::vector<bool> needed(rules.allowances.size());
  const auto allowed = [&](const Finding& finding) {
    bool silenced = false;
    for (std::size_t i = 0; i < rules.allowances.size(); ++i) {
      const Allowance& allowance = rules.allowances[i];
      if (allowance.lint != finding.lint || !within(finding.diagnostic.span, allowance.declaration)) continue;
      needed[i] = silenced = true;
    }
    return silenced;
  };
  std::erase_if(findings, allowed);
  for (std::size_t i = 0; i < rules.allowances.size(); ++i) {
    const Allowance& allowance = rules.allowances[i];
    if (needed[i]) continue;
    Diagnostic d{Severity::kWarning, allowance.span, "there is no '" + allowance.lint + "' to allow here", {}, {}};
    findings.push_back({std::move(d), "unused-allow"});
  }
  return findings;
}

}  // namespace

std::vector<Finding> lint_rules(const RuleSet& rules) {
  Reports reports;
  lint_examples(rules, reports);
  lint_possibility(rules, reports);
  lint_overlaps(rules, reports);
  lint_cycles(rules, reports);
  lint_folds(rules, reports);
  lint_exactness(rules, reports);
  std::vector<Finding> findings = rules.findings;
  for (Finding& finding : reports.take_findings()) findings.push_back(std::move(finding));
  findings = apply_allowances(rules, std::move(findings));
  sort_findings(findings);
  return findings;
}

std::string print_finding(const Finding& finding) {
  Diagnostic d = finding.diagnostic;
  if (!finding.lint.empty()) d.message += " [" + finding.lint + "]";
  return print_diagnostic(d);
}

void lint_examples(const RuleSet& rules, Reports& reports) {
  std::map<std::string, std::pair<bool, bool>> has;  // test, reject
  for (const TestCase& test : rules.tests) (test.reject ? has[test.rule].second : has[test.rule].first) = true;
  const auto check = [&](const std::string& rule, const Span& span) {
    const auto [test, reject] = has[rule];
    if (!test) reports.warning("no-test", span, "'" + rule + "' has no test that shows it at work");
    if (!reject) reports.warning("no-reject", span, "'" + rule + "' has no reject that shows where it stops");
  };
  for (const RewriteRule& rule : rules.rewrites) {
    if (rule.origin == RewriteRule::Origin::kWritten) check(rule.name, rule.span);
  }
  for (const FuseRule& rule : rules.fuses) check(rule.name, rule.span);
}

}  // namespace fusewright::rule
