#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fusewright/egraph/ematch.hpp"
#include "fusewright/match/program.hpp"
#include "fusewright/rule/rule.hpp"
#include "fusewright/support/diagnostic.hpp"

namespace fusewright::saturate {

/// Whether a rule is used where these classes of exactness are allowed, for this target.
bool is_used(const rule::RewriteRule& rule, const rule::Exactness& allowed, const std::string& target);

struct StopReason {
  enum class Kind : std::uint8_t { kSaturated, kNodes, kIterations, kMatches, kSeconds, kBytes, kMemory, kCancelled };
  Kind kind = Kind::kSaturated;
  double limit = 0;  ///< as it was set: a count, seconds or bytes; kMemory: none, the system has no more than `reached`
  double reached = 0;
  std::string rule;  ///< kMatches: the rule that found too many
};
std::string to_string(const StopReason& reason);  ///< "node limit: 2000123 of 2000000"

/// What one rule did in all iterations.
struct RuleTrace {
  match::RuleId rule;
  std::string name;
  std::uint64_t matches = 0;           ///< found and tried
  std::uint64_t applied = 0;           ///< that changed the e-graph
  std::uint64_t unchanged = 0;         ///< whose outcome was known
  std::uint64_t errors = 0;            ///< that could not be evaluated; the first is in Trace::diagnostics
  std::vector<std::uint64_t> refused;  ///< by guard
  double seconds = 0;                  ///< applying, guards included
  /// Searching. Rules share what their patterns have in common: the time below a root is divided by the instructions
  /// that were tried, each by the patterns that it is a part of.
  double match_seconds = 0;
};

struct IterationTrace {
  std::uint64_t nodes = 0, classes = 0;  ///< live, at the end
  std::uint64_t matches = 0, applied = 0;
  double index_seconds = 0, match_seconds = 0, apply_seconds = 0, rebuild_seconds = 0;
};

/// A variant of a rule that was never looked for: of the operators of one node of its pattern none ever occurred.
struct Asleep {
  match::RuleId rule;
  std::uint32_t variant = 0;
  std::uint32_t node = 0;  ///< index into RewriteVariant::nodes
};

/// A record of one saturation, complete in itself.
struct Trace {
  std::vector<RuleTrace> rules;  ///< those of which a variant was looked for, in the order of the rule set
  std::vector<IterationTrace> iterations;
  std::vector<StopReason> stop_reasons;          ///< kSaturated alone, or the limits that were reached
  std::vector<Diagnostic> diagnostics;           ///< rules that went wrong: of each the first time
  std::vector<egraph::InstrCount> instructions;  ///< by trie node of the matcher program: what was tried, what passed
  std::vector<std::uint8_t> occurred;            ///< by operator: whether it was ever in the e-graph
  rule::Exactness allowed;                       ///< as of the options, and
  std::string target;
  std::uint64_t applications = 0;
  std::size_t bytes = 0;      ///< of the e-graph, at the end
  double import_seconds = 0;  ///< before `seconds`: making the e-graph of the model
  double seconds = 0;

  bool saturated() const { return stop_reasons.size() == 1 && stop_reasons[0].kind == StopReason::Kind::kSaturated; }
};

/// Variants of allowed rules that were never looked for, in the order of the rule set.
std::vector<Asleep> asleep(const rule::RuleSet& rules, const Trace& trace);

/// How far the patterns of a rule got: for each instruction on the way of its variants, what it looked at and what it
/// let through. For a rule that never matched, the instruction after which nothing passed, or the operator that does
/// not occur.
struct WhyNot {
  std::uint32_t variant = 0;
  std::string instruction;  ///< as in match::print_program
  std::uint64_t tried = 0, passed = 0;
};
std::vector<WhyNot> why_not(const rule::RuleSet& rules, const match::Program& program, const Trace& trace,
                            match::RuleId rule);

/// Divides the seconds of the searches (Matcher::seconds) among the rules of the trace.
void set_match_seconds(Trace& trace, const match::Program& program, std::span<const double> seconds);

}  // namespace fusewright::saturate
