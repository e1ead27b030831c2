#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fusewright/egraph/convert.hpp"
#include "fusewright/egraph/explain.hpp"
#include "fusewright/graph/graph.hpp"
#include "fusewright/match/program.hpp"
#include "fusewright/rule/rule.hpp"
#include "fusewright/saturate/trace.hpp"

namespace fusewright::saturate {

/// All hold inside an iteration. Reaching one ends the search with what was found so far (see StopReason).
struct Limits {
  std::uint64_t nodes = 2'000'000;  ///< live e-nodes
  std::uint64_t iterations = 100;
  std::uint64_t matches_per_rule = 500'000;  ///< of one rule in one iteration; only that rule stops
  double seconds = 300;  ///< the other limits come first: time differs from run to run, and with it what was found
  std::uint64_t bytes = std::uint64_t{4} << 30;  ///< of the e-graph and the matches
};

struct Options {
  rule::Exactness allowed;  ///< rules that need more are not used; set reassociating for the usual choice
  std::string target;       ///< "x86", "nvptx", ...; rules that require another are not used
  Limits limits;
  bool record = true;  ///< justifications; without them nothing can be explained and rule-made nodes have no sources
  const std::atomic<bool>* cancel = nullptr;  ///< set by another thread to end the search
};

/// A saturated e-graph and how it came about. Holds the rules that it was made with.
struct Saturated {
  egraph::Imported imported;
  std::shared_ptr<const rule::RuleSet> rules;
  match::Program program;  ///< the patterns of which all operators occurred
  Trace trace;

  const egraph::EGraph& graph() const { return imported.egraph; }
  /// The rule of an application.
  const rule::RewriteRule& rule(egraph::ApplicationId id) const {
    const auto pattern = imported.egraph[id].pattern;
    return rules->rewrites[program.patterns[pattern.index].rule.index];
  }
};

/// Applies the rewrites of a rule set to the entry computation of a graph until nothing new comes of it or a limit is
/// reached. Every match of an iteration is found before the first is applied, and from the second iteration on only
/// matches that look at something new; so the outcome does not depend on the order of the rules, and the same input
/// gives the same numbers. Where memory runs out, what was found so far is the outcome, as with any limit. Errors:
/// rules that cannot be compiled, or rules over another operator table than the graph's; kResource where there is no
/// memory even for the graph itself.
Result<Saturated> saturate(const graph::Graph& graph, std::shared_ptr<const rule::RuleSet> rules,
                           const Options& options);

/// The rewrites that these options allow.
std::vector<match::RuleId> select_rules(const std::vector<rule::RewriteRule>& rewrites, const Options& options);

/// The loop itself, on an e-graph that is there already. After an error (kResource) the e-graph is of no use.
/// @param rules    RuleIds count their rewrites; those that the options allow are applied.
/// @param program  empty; gets the patterns of those rewrites whose operators all occur.
Result<Trace> run(egraph::EGraph& egraph, const rule::RuleSet& rules, match::Program& program, const Options& options);

}  // namespace fusewright::saturate
