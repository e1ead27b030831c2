#pragma once

#include <memory>
#include <string>
#include <vector>

#include "fusewright/cost/device.hpp"
#include "fusewright/rule/rule.hpp"

namespace fusewright::driver {

/// What one `test` or `reject` of a rule file came to.
struct RuleTestResult {
  std::string rule, name;
  bool reject = false;
  bool passed = false;
  bool fired = false;
  std::string reason;  ///< why it did not pass
  Span span;
};

/// Names of the rule set's sources that lie at or below these paths, whatever else they include.
std::vector<std::string> sources_under(const rule::RuleSet& rules, const std::vector<std::string>& paths);

/// Builds each example's graph, saturates it with the rules and plans it for a device: a `test` passes when its rule
/// fired and all that it states came out, a `reject` when its rule did not fire, for the guard that it names.
/// @param files  examples from sources of these names only; empty for all.
Result<std::vector<RuleTestResult>> run_rule_tests(std::shared_ptr<const rule::RuleSet> rules,
                                                   const cost::Device& device,
                                                   const std::vector<std::string>& files = {});

}  // namespace fusewright::driver
