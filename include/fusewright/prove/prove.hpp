#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "fusewright/prove/verdict.hpp"
#include "fusewright/rule/rule.hpp"

namespace fusewright::prove {

/// How much is tried of one rule. Counts, so that the same rules give the same report on every machine.
struct Budget {
  std::uint64_t terms_per_level = 2000;  ///< of one rank: the widest space with no more is searched, and searched whole
};

struct Options {
  std::vector<std::string> only;   ///< names of rules and operators; empty for all
  std::vector<std::string> files;  ///< rules from sources of these names only; empty for all
  Budget budget;
  int threads = 0;  ///< 0 for one on each core; the outcome does not depend on it
  std::function<void(std::size_t done, std::size_t all)> progress;  ///< called from any thread
  /// Called with each verdict as soon as it and all before it are known: in the order of the report, one at a time,
  /// from any thread.
  std::function<void(const Verdict&)> known;
};

/// The names of what prove() gives a verdict for, in the order of the verdicts.
/// Errors: a name in options that no rule has, with the nearest one.
Result<std::vector<std::string>> names_to_prove(const rule::RuleSet& rules, const Options& options);

/// A verdict for every rewrite, operator and fuse rule, by kind and name. Rules are tried in parallel; apart from the
/// seconds the outcome is the same every time.
/// Errors: those of names_to_prove.
Result<std::vector<Verdict>> prove(std::shared_ptr<const rule::RuleSet> rules, const Options& options);

}  // namespace fusewright::prove
