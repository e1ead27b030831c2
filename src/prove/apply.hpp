#pragma once

#include <memory>
#include <string>
#include <vector>

#include "fusewright/graph/graph.hpp"
#include "fusewright/match/program.hpp"
#include "fusewright/rule/rule.hpp"

namespace fusewright::prove {

/// One rewrite by itself, compiled as the engine compiles it.
struct LoneRule {
  const std::vector<rule::RewriteRule>* rewrites = nullptr;
  const rule::RewriteRule* rule = nullptr;
  match::Program program;
};
Result<LoneRule> compile_lone(const rule::RuleSet& rules, std::size_t rewrite);

/// Ways to match one term that are tried, evenly spaced: operands of commutative operators either way round are one
/// match with other names.
inline constexpr std::size_t kMostMatches = 16;

/// What the engine makes of the results of a graph.
struct Applied {
  std::uint64_t refused = 0;   ///< matches that a guard refused
  std::uint64_t same = 0;      ///< matches whose right side is the left side's own term
  std::uint64_t left_out = 0;  ///< of the ways to match it, beyond kMostMatches
  /// For each other match, and each root of it, the same ports and the right side as that root's result.
  std::vector<graph::Graph> rewritten;
  std::string error;  ///< a match whose right side has no meaning or another type; or empty
};
/// Matches the rule at the graph's first result (of several roots, at all of its results), by the engine's own matcher,
/// guards and right-hand sides: in every way, or in kMostMatches of more.
Applied apply_at_root(const LoneRule& rule, const graph::Graph& graph);

}  // namespace fusewright::prove
