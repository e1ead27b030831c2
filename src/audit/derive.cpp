#include "derive.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "fusewright/audit/text.hpp"
#include "fusewright/egraph/explain.hpp"
#include "fusewright/saturate/apply.hpp"

namespace fusewright::audit {

namespace {

using egraph::ApplicationId;
using egraph::EClassId;
using egraph::ENodeId;

std::string number_text(const ops::Tensor& tensor) {
  return tensor.elements() == 1 && ops::is_float(tensor.dtype) ? fmt::format("{:.6g}", ops::get_double(tensor, 0))
                                                               : ops::to_string(tensor.type());
}

/// Writes terms of the e-graph down: model nodes by name below the root, everything else by operator.
class Terms {
 public:
  explicit Terms(const Subject& subject) : subject_(subject), egraph_(subject.saturated->graph()) {}

  std::string print(EClassId term) const { return print(egraph::founder(term), 0); }

 private:
  static constexpr int kDeepest = 3;

  std::string print(ENodeId n, int depth) const {
    const egraph::ENode& node = egraph_[n];
    if (node.op == egraph_.result_op()) {
      const std::string pack = print(egraph::founder(egraph_.original_operands(n)[0]), depth);
      return fmt::format("{}:{}", pack, egraph_.result_number(n));
    }
    if (node.op.index >= egraph_.table().size()) return "..";
    const ops::OpInfo& info = egraph_.table()[node.op];
    if (info.name == "constant") return number_text(*egraph_.attrs(n).get<ops::TensorHandle>("value"));
    const graph::NodeId origin = subject_.saturated->imported.origin(n);
    if (origin.valid() && (depth > 0 || node.arity == 0)) return subject_.imported[origin].name;
    if (depth >= kDeepest) return "..";
    std::string out = info.name + "(";
    std::string separator;
    for (const EClassId operand : egraph_.original_operands(n)) {
      if (operand == egraph_.none()) continue;
      out += separator + print(egraph::founder(operand), depth + 1);
      separator = ", ";
    }
    for (const auto& [name, value] : egraph_.attrs(n).entries()) {
      const std::string text = ops::to_string(value);
      if (text.size() > 24) continue;
      out += fmt::format("{}{} = {}", separator, name, text);
      separator = ", ";
    }
    return out + ")";
  }

  const Subject& subject_;
  const egraph::EGraph& egraph_;
};

std::vector<Step> steps_of(const Subject& subject, const egraph::Explanation& why, EClassId first) {
  const Terms terms(subject);
  std::vector<Step> steps{{terms.print(first), "", "", true}};
  for (const egraph::ProofStep& step : why.chain) {
    Step next{terms.print(step.to), "", "", step.forward};
    if (step.reason.kind == egraph::Reason::Kind::kApplication) {
      const rule::RewriteRule& rule = subject.saturated->rule(step.reason.application);
      next.rule = rule.name;
      next.exactness = rule::to_string(rule.exactness);
    }
    if (next.term != steps.back().term || !next.rule.empty()) steps.push_back(std::move(next));
  }
  return steps;
}

std::vector<std::string> rules_of(const saturate::Saturated& s, const egraph::Explanation& why) {
  std::set<std::string> names;
  for (const ApplicationId id : why.applications) names.insert(s.rule(id).name);
  return {names.begin(), names.end()};
}

/// The model's nodes by class.
std::map<EClassId, std::vector<ENodeId>> originals(const saturate::Saturated& s) {
  std::map<EClassId, std::vector<ENodeId>> out;
  for (std::uint32_t i = 0; i < s.imported.origins.size(); ++i)
    if (s.imported.origin(ENodeId(i)).valid()) out[s.graph().find(egraph::term(ENodeId(i)))].push_back(ENodeId(i));
  return out;
}

}  // namespace

Derived derive(const Subject& subject, const plan::Group& group) {
  Derived out;
  if (subject.saturated == nullptr || !subject.saturated->graph().records()) return out;
  const saturate::Saturated& s = *subject.saturated;
  const egraph::EGraph& egraph = s.graph();
  const auto model = originals(s);
  const egraph::ApplyMatch apply = saturate::replayer(s.rules->rewrites, s.program);
  std::set<ApplicationId> applications;
  std::set<ENodeId> done;
  for (const graph::NodeId id : group.nodes) {
    const plan::TermId term = id.index < subject.plan.terms.size() ? subject.plan.terms[id.index] : plan::TermId();
    if (!term.valid() || !done.insert(ENodeId(term.index)).second) continue;
    const ENodeId n(term.index);
    const EClassId made = egraph::term(n);
    if (s.imported.origin(n).valid()) continue;
    const auto equal = model.find(egraph.find(made));
    const EClassId from = equal == model.end() ? made : egraph::term(equal->second.front());
    const egraph::Explanation why =
        from == made ? egraph::explain_node(egraph, s.program, n) : egraph::explain(egraph, s.program, from, made);
    applications.insert(why.applications.begin(), why.applications.end());
    out.derivations.push_back({subject.plan.graph[id].name,
                               from == made ? "" : subject.imported[s.imported.origin(egraph::founder(from))].name,
                               steps_of(subject, why, from), rules_of(s, why), why.applications.size()});
    if (const Status replayed = egraph::replay(egraph, s.program, why, from, made, apply); !replayed)
      out.failure = replayed.error().diagnostics.front().message;
  }
  out.applications = applications.size();
  return out;
}

std::vector<std::pair<std::string, std::size_t>> rules_on(const Subject& subject, graph::SourceId source) {
  std::map<std::string, std::size_t> count;
  if (subject.saturated == nullptr || !subject.saturated->graph().records()) return {};
  const saturate::Saturated& s = *subject.saturated;
  egraph::Provenance provenance(s.graph());
  egraph::Decoded match;
  for (std::size_t i = 0; i < s.graph().application_count(); ++i) {
    const ApplicationId id(i);
    egraph::decode(s.graph(), s.program, s.graph()[id].pattern, s.graph().matched(id), false, match);
    const bool on = std::any_of(match.nodes.begin(), match.nodes.end(), [&](ENodeId n) {
      return n.valid() && std::ranges::binary_search(provenance.sources(n), source);
    });
    if (on) ++count[s.rule(id).name];
  }
  return {count.begin(), count.end()};
}

Json to_json(const Derived& derived) {
  Json json = {{"applications", derived.applications}, {"replays", derived.failure.empty()}};
  if (!derived.failure.empty()) json["failure"] = derived.failure;
  json["nodes"] = Json::array();
  for (const Derivation& d : derived.derivations) {
    Json item = {{"node", d.node},
                 {"origin", d.origin},
                 {"rules", d.rules},
                 {"applications", d.applications},
                 {"steps", Json::array()}};
    for (const Step& step : d.steps) {
      Json s = {{"term", step.term}};
      if (!step.rule.empty()) s.update({{"rule", step.rule}, {"exactness", step.exactness}, {"forward", step.forward}});
      item["steps"].push_back(std::move(s));
    }
    json["nodes"].push_back(std::move(item));
  }
  return json;
}

std::string to_text(const Derived& derived) {
  if (derived.derivations.empty()) return "    every node is the model's own\n";
  std::string out;
  for (const Derivation& d : derived.derivations) {
    const std::string from = d.origin.empty() ? fmt::format("made by {}", fmt::join(d.rules, ", "))
                                              : fmt::format("equal to the model's {}", d.origin);
    out += fmt::format("    {}\n", wrapped(fmt::format("{}, {}", d.node, from), 6));
    for (std::size_t i = 0; i < d.steps.size(); ++i) {
      const Step& step = d.steps[i];
      if (i > 0)
        out += step.rule.empty() ? "        by equal operands\n"
                                 : fmt::format("        by {}{} ({})\n", step.rule,
                                               step.forward ? "" : ", read backwards", step.exactness);
      out += fmt::format("      {} {}\n", i == 0 ? " " : "=", wrapped(step.term, 8));
    }
  }
  out += derived.failure.empty()
             ? fmt::format("    replayed from the model's nodes alone: {} applications hold\n", derived.applications)
             : fmt::format("    DOES NOT REPLAY: {}\n", derived.failure);
  return out;
}

}  // namespace fusewright::audit
