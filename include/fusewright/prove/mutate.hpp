#pragma once

#include <string>
#include <vector>

#include "fusewright/prove/journal.hpp"
#include "fusewright/prove/prove.hpp"
#include "fusewright/rule/ast.hpp"

namespace fusewright::prove {

/// A rewrite with one thing in it made wrong.
struct Mutant {
  std::string rule, kind;     ///< "dropped guard", "wrong sign", ...
  std::string before, after;  ///< the place as it was and as it is now
  rule::ast::RuleDecl decl;

  /// "dropped guard: r == shape(c)", "wrong operator: w * s -> w / s"; one rule may have the same several times.
  std::string change() const;
};

/// Every mutant of a rewrite, in the order of its text. Some do not check, and some are right all the same.
std::vector<Mutant> mutants_of(const rule::ast::RuleDecl& rewrite);

/// What became of a mutant.
struct MutantOutcome {
  std::string rule, kind, change;
  Verdict verdict;
  std::string reason;  ///< of one that was not refuted: why it is equivalent; empty when nobody has said
};

/// A reason for a mutant that is right all the same: "rule: change => reason" on a line.
struct Explanation {
  std::string mutant, reason;
};
/// Blank lines and those that start with `#` are left out. Errors: lines without a colon or reason.
Result<std::vector<Explanation>> read_explanations(const SourcePtr& source);

/// Breaks every rewrite of the files in every way that mutants_of knows, and proves the mutants that check, each by
/// itself. A solver's proof of a mutant is its explanation; all others that are not refuted need one.
/// @param journal  the outcomes that it has are not found out again, new ones are added; may be null.
/// Errors: names in options that no rule has; explanations of mutants that do not exist or are refuted; a journal that
/// cannot be written.
Result<std::vector<MutantOutcome>> prove_mutants(const rule::RuleSet& rules, const Options& options,
                                                 const std::vector<Explanation>& explanations,
                                                 MutantJournal* journal = nullptr);

/// docs/MUTATIONS.md: totals by kind, those that were not refuted with their reasons, then every mutant.
std::string mutants_to_markdown(const std::vector<MutantOutcome>& outcomes);

}  // namespace fusewright::prove
