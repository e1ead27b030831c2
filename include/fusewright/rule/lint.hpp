#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fusewright/rule/rule.hpp"

namespace fusewright::rule {

/// One kind of warning, by the name that `allow(name, "reason")` silences.
struct LintInfo {
  std::string_view name;
  std::string_view meaning;
};
/// In the order in which grammar/LANGUAGE.md describes them.
const std::vector<LintInfo>& lints();

/// Everything in a rule set that is no error and yet looks like a slip, in the order of files and places: the findings
/// of checking and those that need all rules at once. What a declaration allows is left out; an allowance that
/// silences nothing is itself a finding. Decides by what is written alone, so nothing is run.
std::vector<Finding> lint_rules(const RuleSet& rules);

/// As print_diagnostic, with the name of the lint behind the message: `warning: ... [unused-name]`.
std::string print_finding(const Finding& finding);

}  // namespace fusewright::rule
