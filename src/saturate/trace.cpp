#include "fusewright/saturate/trace.hpp"

#include <algorithm>
#include <cmath>

namespace fusewright::saturate {
namespace {

std::string number(double value) {
  if (std::floor(value) == value) return std::to_string(static_cast<std::int64_t>(value));
  std::string text = std::to_string(value);
  text.erase(text.find_last_not_of('0') + 1);
  return text;
}

}  // namespace

bool is_used(const rule::RewriteRule& rule, const rule::Exactness& allowed, const std::string& target) {
  const bool here = rule.targets.empty() || std::ranges::find(rule.targets, target) != rule.targets.end();
  return here && rule.exactness.within(allowed);
}

std::string to_string(const StopReason& reason) {
  const std::string numbers = number(reason.reached) + " of " + number(reason.limit);
  switch (reason.kind) {
    case StopReason::Kind::kSaturated: return "saturated";
    case StopReason::Kind::kNodes: return "node limit: " + numbers;
    case StopReason::Kind::kIterations: return "iteration limit: " + numbers;
    case StopReason::Kind::kMatches: return "match limit of rule '" + reason.rule + "': " + numbers;
    case StopReason::Kind::kSeconds: return "time limit: " + numbers + " seconds";
    case StopReason::Kind::kBytes: return "memory limit: " + numbers + " bytes";
    case StopReason::Kind::kMemory: return "out of memory: the e-graph holds " + number(reason.reached) + " bytes";
    case StopReason::Kind::kCancelled: return "cancelled";
  }
  return {};
}

std::vector<Asleep> asleep(const rule::RuleSet& rules, const Trace& trace) {
  std::vector<Asleep> out;
  const auto occurs = [&](ops::OpId op) { return trace.occurred[op.index] != 0; };
  for (std::size_t r = 0; r < rules.rewrites.size(); ++r) {
    if (!is_used(rules.rewrites[r], trace.allowed, trace.target)) continue;
    for (std::uint32_t v = 0; v < rules.rewrites[r].variants.size(); ++v) {
      const auto& nodes = rules.rewrites[r].variants[v].nodes;
      const auto missing = std::find_if(nodes.rbegin(), nodes.rend(), [&](const rule::PatternNode& node) {
        return node.kind == rule::PatternNode::Kind::kApply && std::ranges::none_of(node.ops.ops, occurs);
      });
      if (missing != nodes.rend())
        out.push_back({match::RuleId(r), v, static_cast<std::uint32_t>(nodes.rend() - missing - 1)});
    }
  }
  return out;
}

std::vector<WhyNot> why_not(const rule::RuleSet& rules, const match::Program& program, const Trace& trace,
                            match::RuleId rule) {
  const ops::OpTable& table = *rules.table;
  std::vector<WhyNot> out;
  for (const match::PatternInfo& pattern : program.patterns) {
    if (pattern.rule != rule) continue;
    for (const std::uint32_t at : pattern.code) {
      const egraph::InstrCount count = at < trace.instructions.size() ? trace.instructions[at] : egraph::InstrCount();
      out.push_back(
          {pattern.variant, match::print_instr(table, program, program.trie[at].instr), count.tried, count.passed});
      if (count.passed == 0) break;
    }
    if (pattern.roots.empty() || out.back().passed == 0) continue;
    const auto own = std::ranges::find(trace.rules, rule, &RuleTrace::rule);
    out.push_back({pattern.variant, "roots with what they share in common", out.back().passed,
                   own == trace.rules.end() ? 0 : own->matches});
  }
  for (const Asleep& lacking : asleep(rules, trace)) {
    if (lacking.rule != rule) continue;
    std::string names;
    const auto& node = rules.rewrites[rule.index].variants[lacking.variant].nodes[lacking.node];
    for (const ops::OpId op : node.ops.ops) names += (names.empty() ? "" : " or ") + table[op].name;
    out.push_back({lacking.variant, names + " anywhere in the graph", 0, 0});
  }
  return out;
}

void set_match_seconds(Trace& trace, const match::Program& program, std::span<const double> seconds) {
  std::vector<std::uint32_t> patterns_of(program.trie.size(), 0);  // by trie node
  for (const match::PatternInfo& pattern : program.patterns)
    for (const std::uint32_t at : pattern.code) ++patterns_of[at];
  // Parents stand in front of their children.
  std::vector<std::uint32_t> root_of(program.trie.size());
  for (std::uint32_t at = 0; at < root_of.size(); ++at) {
    const std::uint32_t parent = program.trie[at].parent;
    root_of[at] = parent == match::TrieNode::kNone ? at : root_of[parent];
  }
  const auto share = [&](std::uint32_t at) {
    return (static_cast<double>(trace.instructions[at].tried) + 1) / patterns_of[at];
  };
  std::vector<double> whole(program.trie.size(), 0);  // by root: of all patterns below
  for (const match::PatternInfo& pattern : program.patterns)
    for (const std::uint32_t at : pattern.code) whole[root_of[at]] += share(at);
  for (const match::PatternInfo& pattern : program.patterns) {
    const auto rule = std::ranges::lower_bound(trace.rules, pattern.rule, {}, &RuleTrace::rule);
    for (const std::uint32_t at : pattern.code)
      rule->match_seconds += seconds[root_of[at]] * share(at) / whole[root_of[at]];
    if (!pattern.roots.empty()) rule->match_seconds += seconds[pattern.code.back()] / patterns_of[pattern.code.back()];
  }
}

}  // namespace fusewright::saturate
