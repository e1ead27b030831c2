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

std::string to_string(const StopReason& reason) {
  const std::string numbers = number(reason.reached) + " of " + number(reason.limit);
  switch (reason.kind) {
    case StopReason::Kind::kSaturated: return "saturated";
    case StopReason::Kind::kNodes: return "node limit: " + numbers;
    case StopReason::Kind::kIterations: return "iteration limit: " + numbers;
    case StopReason::Kind::kMatches: return "match limit of rule '" + reason.rule + "': " + numbers;
    case StopReason::Kind::kSeconds: return "time limit: " + numbers + " seconds";
    case StopReason::Kind::kBytes: return "memory limit: " + numbers + " bytes";
    case StopReason::Kind::kCancelled: return "cancelled";
  }
  return {};
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
  for (const Asleep& asleep : trace.asleep) {
    if (asleep.rule != rule) continue;
    std::string names;
    const auto& node = rules.rewrites[rule.index].variants[asleep.variant].nodes[asleep.node];
    for (const ops::OpId op : node.ops.ops) names += (names.empty() ? "" : " or ") + table[op].name;
    out.push_back({asleep.variant, names + " anywhere in the graph", 0, 0});
  }
  return out;
}

}  // namespace fusewright::saturate
