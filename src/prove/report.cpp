#include "fusewright/prove/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace fusewright::prove {

namespace {

std::string place(const Span& span) {
  if (!span.valid()) return {};
  return fmt::format("{}:{}", span.source->name, line_column(span).line);
}

}  // namespace

std::string table_head(std::size_t widest) {
  return fmt::format("{:9} {:8} {:{}} {:>9} {:>9} {:>7}  {}\n", "verdict", "kind", "rule", widest, "instances",
                     "refused", "seconds", "theory, and space");
}

std::string table_line(const Verdict& v, std::size_t widest) {
  return fmt::format("{:9} {:8} {:{}} {:9} {:9} {:7.1f}  {}{}{}\n", name(v.kind), name(v.subject), v.rule, widest,
                     v.instances, v.refused, v.seconds, v.theory, v.theory.empty() || v.space.empty() ? "" : "; ",
                     v.space);
}

std::string table_end(const std::vector<Verdict>& verdicts) {
  std::map<Verdict::Kind, std::size_t> counts;
  std::string details;
  for (const Verdict& v : verdicts) {
    ++counts[v.kind];
    if (v.counterexample) {
      details += fmt::format("\n{}: {} is refuted ({}):\n  {}\n", place(v.span), v.rule, v.exactness,
                             v.counterexample->reject);
      if (!v.counterexample->values.empty()) details += fmt::format("  # {}\n", v.counterexample->values);
      details += fmt::format("  # {}\n", v.counterexample->reason);
    } else if (v.kind == Verdict::Kind::kUndecided) {
      details += fmt::format("\n{}: {} is undecided: {}\n", place(v.span), v.rule, v.reason);
    }
  }
  return details + fmt::format("\n{} proved, {} exhausted, {} sampled, {} refuted, {} undecided\n",
                               counts[Verdict::Kind::kProved], counts[Verdict::Kind::kExhausted],
                               counts[Verdict::Kind::kSampled], counts[Verdict::Kind::kRefuted],
                               counts[Verdict::Kind::kUndecided]);
}

std::string to_text(const std::vector<Verdict>& verdicts) {
  std::size_t widest = 4;
  for (const Verdict& v : verdicts) widest = std::max(widest, v.rule.size());
  std::string out = table_head(widest);
  for (const Verdict& v : verdicts) out += table_line(v, widest);
  return out + table_end(verdicts);
}

nlohmann::ordered_json to_json(const std::vector<Verdict>& verdicts) {
  nlohmann::ordered_json rules = nlohmann::ordered_json::array();
  for (const Verdict& v : verdicts) {
    nlohmann::ordered_json row = {{"rule", v.rule},           {"kind", name(v.subject)}, {"place", place(v.span)},
                                  {"exactness", v.exactness}, {"verdict", name(v.kind)}, {"theory", v.theory},
                                  {"space", v.space},         {"demands", v.demands},    {"instances", v.instances},
                                  {"refused", v.refused},     {"seconds", v.seconds}};
    if (!v.reason.empty()) row["reason"] = v.reason;
    if (v.counterexample)
      row["counterexample"] = {{"reject", v.counterexample->reject},
                               {"values", v.counterexample->values},
                               {"reason", v.counterexample->reason}};
    rules.push_back(std::move(row));
  }
  return {{"rules", std::move(rules)}};
}

}  // namespace fusewright::prove
