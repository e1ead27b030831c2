#include "src/prove/apply.hpp"

#include <algorithm>

#include "fusewright/egraph/convert.hpp"
#include "fusewright/egraph/ematch.hpp"
#include "fusewright/egraph/index.hpp"
#include "fusewright/saturate/apply.hpp"

namespace fusewright::prove {

using egraph::EClassId;
using egraph::ENodeId;
using saturate::Outcome;

namespace {

/// A right side that holds the left side itself: the node over its operands, among which the result's class is the left
/// side. Errors: that is a cycle still, or the graph has several results.
Result<graph::Graph> over_left_side(const graph::Graph& graph, egraph::Imported& imported,
                                    const egraph::Selection& smallest, ENodeId node) {
  const egraph::EGraph& egraph = imported.egraph;
  if (graph.outputs.size() != 1 || egraph[node].op == egraph.result_op()) return fail("a right side within itself");
  const auto operands = egraph.operands(node);
  graph::Graph frame = graph;  // its results are to be the operands
  std::vector<EClassId> given;
  for (const EClassId operand : operands)
    if (operand != egraph.none()) given.push_back(operand);
  frame[frame.entry].results = std::vector(given.size(), graph.entry_computation().results[0]);
  frame.outputs = std::vector(given.size(), graph.outputs[0]);
  given.swap(imported.results);
  Result<graph::Graph> below = egraph::to_graph(frame, imported, smallest);
  given.swap(imported.results);
  FW_TRY(graph::Graph out, std::move(below));
  std::vector<graph::Value> values;
  std::size_t next = 0;
  for (const EClassId operand : operands)
    values.push_back(operand == egraph.none() ? graph::Value() : out.entry_computation().results[next++]);
  graph::Builder builder(out, out.entry);
  FW_TRY(std::vector<graph::Value> made, builder.add(egraph[node].op, std::move(values), egraph.attrs(node)));
  builder.set_results({made[0]});
  return out;
}

/// The graphs that other nodes of a result's class than its own describe, for each result by itself.
void read_right_sides(const graph::Graph& graph, egraph::Imported& imported, Applied& out) {
  egraph::EGraph& egraph = imported.egraph;
  egraph.rebuild();
  egraph::Index index;
  index.refresh(egraph);
  const egraph::Selection smallest = egraph::select_smallest(imported);
  std::size_t found = 0;
  for (const EClassId result : imported.results) {
    const EClassId root = egraph.find(result);
    for (const auto& [op, node] : index.nodes(root)) {
      if (node == egraph::founder(result)) continue;
      egraph::Selection selection = smallest;
      selection.choice[root.index] = node;
      Result<graph::Graph> right = egraph::to_graph(graph, imported, selection);
      if (!right) right = over_left_side(graph, imported, smallest, node);
      if (!right) continue;  // of several results, or a cycle below: the other nodes tell
      out.rewritten.push_back(*std::move(right));
      ++found;
    }
  }
  if (found == 0) ++out.same;
}

/// Whether what was matched are the results of the graph: all roots of them, in whatever order.
bool are_results(const egraph::Imported& imported, const match::PatternInfo& pattern, const egraph::Decoded& match) {
  const auto same = [&](EClassId a, EClassId b) { return imported.egraph.find(a) == imported.egraph.find(b); };
  if (pattern.roots.empty()) return same(match.root, imported.results[0]);
  return std::ranges::all_of(imported.results, [&](EClassId result) {
    return std::ranges::any_of(
        pattern.roots, [&](const match::Root& root) { return same(match.registers[root.first_register], result); });
  });
}

}  // namespace

Result<LoneRule> compile_lone(const rule::RuleSet& rules, std::size_t rewrite) {
  FW_TRY(match::Program program, match::compile_program(*rules.table, rules.rewrites, {match::RuleId(rewrite)}));
  return LoneRule{&rules.rewrites, &rules.rewrites[rewrite], std::move(program)};
}

Applied apply_at_root(const LoneRule& rule, const graph::Graph& graph) {
  Applied out;
  egraph::Imported imported = egraph::from_graph(graph);
  imported.egraph.rebuild();
  egraph::Index index;
  index.refresh(imported.egraph);
  egraph::Matcher matcher(imported.egraph, rule.program, rule.rewrites->size());
  const egraph::MatchSet matches = matcher.run(index, {});
  std::vector<std::pair<match::PatternId, std::uint64_t>> at_results;
  for (std::size_t p = 0; p < rule.program.patterns.size(); ++p)
    for (std::uint64_t i = 0; i < matches.counts[p]; ++i) {
      const match::PatternId pattern(p);
      const match::PatternInfo& info = rule.program.patterns[p];
      egraph::Decoded decoded;
      egraph::decode(imported.egraph, rule.program, pattern, matches.record(pattern, info.words, i), false, decoded);
      if (are_results(imported, info, decoded)) at_results.emplace_back(pattern, i);
    }
  const std::size_t step = (at_results.size() + kMostMatches - 1) / kMostMatches;
  if (step > 1) out.left_out = at_results.size() - (at_results.size() + step - 1) / step;
  for (std::size_t k = 0; k < at_results.size(); k += step) {
    const auto [pattern, i] = at_results[k];
    if (k > 0) {  // the e-graph holds a right side already
      imported = egraph::from_graph(graph);
      imported.egraph.rebuild();
    }
    saturate::Applier applier(imported.egraph, *rule.rewrites, rule.program);
    const Outcome outcome =
        applier.apply(pattern, matches.record(pattern, rule.program.patterns[pattern.index].words, i));
    switch (outcome.kind) {
      case Outcome::Kind::kGuard: ++out.refused; break;
      case Outcome::Kind::kUnchanged:
        // What is left alone is no match of an operator's body.
        ++(rule.rule->origin == rule::RewriteRule::Origin::kRecognise ? out.refused : out.same);
        break;
      case Outcome::Kind::kError: out.error = applier.last_error().diagnostics[0].message; break;
      case Outcome::Kind::kChanged: read_right_sides(graph, imported, out); break;
    }
  }
  return out;
}

}  // namespace fusewright::prove
