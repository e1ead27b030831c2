#include <fmt/format.h>

#include <charconv>
#include <functional>
#include <map>

#include "derive.hpp"
#include "fusewright/audit/audit.hpp"
#include "fusewright/audit/text.hpp"
#include "fusewright/support/names.hpp"
#include "pages.hpp"

namespace fusewright::audit {

namespace {

Result<std::size_t> find_group(const plan::Plan& plan, const std::string& given) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), number);
  if (error == std::errc() && end == given.data() + given.size() && number < plan.groups.size()) return number;
  std::vector<std::string> names;
  for (std::size_t g = 0; g < plan.groups.size(); ++g) {
    if (plan.groups[g].name == given) return g;
    names.push_back(plan.groups[g].name);
  }
  return fail(unknown_name("group", given, names));
}

std::string place(const Span& span) {
  return span.valid() ? fmt::format("{}:{}", span.source->name, line_column(span).line) : "";
}

template <class Rule>
const Rule* rule_named(const std::vector<Rule>& rules, const std::string& name) {
  for (const Rule& rule : rules)
    if (rule.name == name) return &rule;
  return nullptr;
}

/// The rules that a group owes its form to, where they are written and what they say of themselves.
struct RuleNote {
  std::string rule, place, doc;
};
std::vector<RuleNote> rule_notes(const Subject& subject, const plan::Group& group) {
  std::vector<RuleNote> notes;
  if (const auto* rule = rule_named(subject.rules.fuses, group.fuse_rule))
    notes.push_back({rule->name, place(rule->span), rule->doc});
  for (const plan::RewriteUse& use : group.rewrites)
    if (const auto* rule = rule_named(subject.rules.rewrites, use.rule))
      notes.push_back({rule->name, place(rule->span), rule->doc});
  return notes;
}

Json schedule_json(const schedule::Schedule& s) {
  const schedule::Resources& r = s.resources;
  return {{"template", ops::name(s.kind)},
          {"tile", s.tile},
          {"vector", s.vector},
          {"threads", s.threads},
          {"staged", s.staged.size()},
          {"launches", r.launches},
          {"parallelism", r.parallelism},
          {"live_values", r.live_values},
          {"registers", r.registers},
          {"shared_bytes", r.shared_bytes},
          {"scratch_bytes", r.scratch_bytes},
          {"reread_bytes", r.reread_bytes},
          {"recomputed_units", number(r.recomputed_units)}};
}

std::string schedule_text(const schedule::Schedule& s) {
  const schedule::Resources& r = s.resources;
  std::string text =
      fmt::format("template {}, tile [{}], vectors of {}", ops::name(s.kind), fmt::join(s.tile, ", "), s.vector);
  if (s.threads > 0) text += fmt::format(", {} threads a block", s.threads);
  text += fmt::format("; {} launch{}, {} tasks; {} values alive", r.launches, r.launches == 1 ? "" : "es",
                      r.parallelism, r.live_values);
  if (!s.staged.empty()) text += fmt::format(", {} values kept in buffers", s.staged.size());
  if (r.registers > 0) text += fmt::format(", {} registers", r.registers);
  if (r.shared_bytes > 0) text += fmt::format(", {} shared bytes a block", r.shared_bytes);
  if (r.scratch_bytes > 0) text += fmt::format(", {} scratch bytes a thread", r.scratch_bytes);
  if (r.reread_bytes > 0) text += fmt::format(", {} bytes read again", r.reread_bytes);
  if (r.recomputed_units > 0) text += fmt::format(", {:.3g} operations computed again", r.recomputed_units);
  return text;
}

Json tensors_json(const plan::Plan& plan, const std::vector<Value>& values) {
  Json json = Json::array();
  for (const Value v : values)
    json.push_back({{"tensor", value_name(plan.graph, v)}, {"type", ops::to_string(plan.graph.type(v))}});
  return json;
}

std::string tensors_text(const plan::Plan& plan, const char* head, const std::vector<Value>& values) {
  std::string out;
  for (const Value v : values)
    out += fmt::format("  {:9} {} {}\n", out.empty() ? head : "", value_name(plan.graph, v),
                       ops::to_string(plan.graph.type(v)));
  return out;
}

std::string node_text(const plan::Plan& plan, graph::NodeId id) {
  const graph::Node& node = plan.graph[id];
  std::vector<std::string> operands, sources;
  for (const Value v : node.operands)
    if (v.valid()) operands.push_back(value_name(plan.graph, v));
  for (const graph::SourceId s : node.sources) sources.push_back(plan.graph.sources[s.index].name);
  return fmt::format("{} = {}({}) {} from {}", node.name, plan.graph.info(id).name, fmt::join(operands, ", "),
                     ops::to_string(node.types[0]), listed(sources, 8));
}

}  // namespace

Json to_json(const std::vector<Attempt>& attempts) {
  Json json = Json::array();
  for (const Attempt& a : attempts) {
    Json item = {{"rule", a.rule}, {"why", name(a.why)}, {"reason", a.reason}};
    if (a.why == Why::kCost) item["seconds_fused"] = number(a.seconds);
    json.push_back(std::move(item));
  }
  return json;
}

std::string to_text(const std::vector<Attempt>& attempts, std::size_t indent) {
  // Rules that fail for one reason share a line; those that got furthest come first.
  std::map<std::pair<Why, std::string>, std::vector<std::string>, std::greater<>> by_reason;
  for (const Attempt& a : attempts) by_reason[{a.why, a.reason}].push_back(a.rule);
  std::string out;
  for (const auto& [why, rules] : by_reason)
    if (!rules.front().empty())
      out += fmt::format(
          "{:{}}{}\n", "", indent,
          wrapped(fmt::format("{} ({}): {}", why.second, name(why.first), fmt::join(rules, ", ")), indent + 2));
  return out;
}

Result<Page> group_page(const Subject& subject, const std::string& given) {
  FW_TRY(const std::size_t g, find_group(subject.plan, given));
  const plan::Plan& plan = subject.plan;
  const plan::Group& group = plan.groups[g];
  const Edges edges(subject);
  const Derived derived = derive(subject, group);
  Page page;
  Json& json = page.json = group_json(plan, g);
  json["bytes_before"] = bytes_alone(plan.graph, group);
  json["inputs"] = tensors_json(plan, group.inputs);
  json["outputs"] = tensors_json(plan, group.outputs);
  page.text = group_text(plan, g, group.source_nodes.size());
  if (group.unsupported.empty()) {
    const cost::KernelCost cost =
        cost::kernel_cost(group.region, group.schedule, subject.device, edges.hot_inputs(group.inputs));
    json["schedule"] = schedule_json(group.schedule);
    json["cost"] = {{"seconds", number(cost.seconds)},
                    {"launch", number(cost.launch)},
                    {"compute", number(cost.compute)},
                    {"memory", number(cost.memory)},
                    {"bound_by", cost.explanation}};
    page.text += fmt::format("  cost      launch {} + the larger of compute {} ({}flop) and memory {}\n",
                             human_seconds(cost.launch), human_seconds(cost.compute), human_count(group.flops),
                             human_seconds(cost.memory));
    page.text += fmt::format("  schedule  {}\n", wrapped(schedule_text(group.schedule), 12));
  }
  page.text += tensors_text(plan, "reads", group.inputs) + tensors_text(plan, "writes", group.outputs);

  page.text += "  operators\n";
  json["operators"] = Json::array();
  for (const graph::NodeId id : group.nodes) {
    page.text += fmt::format("    {}\n", wrapped(node_text(plan, id), 8));
    Json sources = Json::array();
    for (const graph::SourceId s : plan.graph[id].sources) sources.push_back(plan.graph.sources[s.index].name);
    json["operators"].push_back({{"node", plan.graph[id].name},
                                 {"op", plan.graph.info(id).name},
                                 {"type", ops::to_string(plan.graph[id].types[0])},
                                 {"source_nodes", std::move(sources)}});
  }

  page.text += "  rules\n";
  json["rules"] = Json::array();
  for (const RuleNote& note : rule_notes(subject, group)) {
    page.text += fmt::format("    {}  {}\n", note.rule, note.place);
    if (!note.doc.empty()) page.text += fmt::format("      {}\n", wrapped(note.doc, 6));
    json["rules"].push_back({{"rule", note.rule}, {"place", note.place}, {"doc", note.doc}});
  }

  page.text += "  how its nodes came from the model's\n" + to_text(derived);
  json["derivation"] = to_json(derived);

  for (const bool leaving : {false, true}) {
    const std::vector<Edge> all = leaving ? edges.leaving(g) : edges.entering(g);
    Json& list = json[leaving ? "cuts" : "cuts_before"] = Json::array();
    if (!all.empty()) page.text += leaving ? "  ends at\n" : "  begins at\n";
    for (const Edge& edge : all) {
      Json item = edge.json(plan);
      page.text += edge_text(plan, edge, leaving) + reason_text(edge);
      if (edge.reader) {
        const std::vector<Attempt>& attempts = edges.attempts(edge.writer, *edge.reader);
        item["writer"] = plan.groups[edge.writer].name;
        item["attempts"] = to_json(attempts);
        page.text += to_text(attempts, 8);
      }
      list.push_back(std::move(item));
    }
  }
  return page;
}

}  // namespace fusewright::audit
