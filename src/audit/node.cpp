#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "derive.hpp"
#include "fusewright/audit/audit.hpp"
#include "fusewright/audit/text.hpp"
#include "fusewright/plan/sources.hpp"
#include "fusewright/support/names.hpp"
#include "pages.hpp"

namespace fusewright::audit {

namespace {

using graph::NodeId;

/// A node of the model file and what stands for it in the plan.
struct Found {
  std::string name, op;
  Span span;
  graph::SourceId source;     // invalid where a node of the plan was named
  std::vector<NodeId> nodes;  // of the plan
};

bool is_fixed(const graph::Graph& graph, NodeId id) {
  const std::string& op = graph.info(id).name;
  return op == "constant" || op == "parameter";
}

Result<Found> find_node(const Subject& subject, const std::string& given) {
  const graph::Graph& graph = subject.plan.graph;
  std::vector<std::string> names;
  for (std::size_t s = 0; s < graph.sources.size(); ++s) {
    const graph::SourceNode& source = graph.sources[s];
    if (source.name == given)
      return Found{source.name, source.op, source.span, graph::SourceId(s),
                   plan::Sources(graph).nodes(graph::SourceId(s))};
    names.push_back(source.name);
  }
  for (const NodeId id : graph.entry_computation().nodes) {
    if (graph[id].name == given) return Found{given, graph.info(id).name, {}, {}, {id}};
    names.push_back(graph[id].name);
  }
  return fail(unknown_name("node", given, names));
}

/// Where one node of the plan is computed.
std::string where(const Subject& subject, const Edges& edges, NodeId id) {
  const plan::Plan& plan = subject.plan;
  std::vector<std::string> groups;
  for (const std::size_t g : edges.groups_of(id)) groups.push_back(fmt::format("{} {}", g, plan.groups[g].name));
  if (groups.size() == 1) return "in kernel " + groups.front();
  if (!groups.empty()) return "again in each of the kernels " + listed(groups, 16);
  if (is_fixed(plan.graph, id)) return "a " + plan.graph.info(id).name;
  if (std::find(plan.load_time.begin(), plan.load_time.end(), id) != plan.load_time.end())
    return "once, when the model is loaded";
  for (const plan::View& view : plan.views)
    if (view.value.node == id) return "not at all: it is a view of " + value_name(plan.graph, view.of);
  return "at load, inside of other constants";
}

bool concerns(const Subject& subject, const Edge& edge, const std::set<NodeId>& nodes) {
  if (nodes.contains(edge.value.node)) return true;
  if (!edge.reader) return false;
  // A node on the reading side: one of its operands is the tensor, or a view of it.
  const plan::Plan& plan = subject.plan;
  for (const NodeId id : plan.groups[*edge.reader].nodes) {
    if (!nodes.contains(id)) continue;
    for (Value v : plan.graph[id].operands)
      for (bool more = v.valid(); more;) {
        if (v == edge.value) return true;
        more = false;
        for (const plan::View& view : plan.views)
          if (view.value == v) {
            v = view.of;
            more = true;
            break;
          }
      }
  }
  return false;
}

}  // namespace

Result<Page> node_page(const Subject& subject, const std::string& given) {
  FW_TRY(const Found found, find_node(subject, given));
  const plan::Plan& plan = subject.plan;
  const Edges edges(subject);
  Page page;
  Json& json = page.json = {{"node", found.name}, {"op", found.op}};
  std::string place;
  if (found.span.valid()) {
    place = fmt::format("  {}:{}", found.span.source->name, line_column(found.span).line);
    json["file"] = found.span.source->name;
    json["line"] = line_column(found.span).line;
  }
  page.text = fmt::format("{} ({}){}\n", found.name, found.op, place);

  json["computed"] = Json::array();
  std::set<std::size_t> groups;
  for (const NodeId id : found.nodes) {
    const std::string text = where(subject, edges, id);
    page.text += fmt::format("  {} {}\n", plan.graph[id].name,
                             wrapped(fmt::format("({}) is computed {}", plan.graph.info(id).name, text), 6));
    Json item = {
        {"node", plan.graph[id].name}, {"op", plan.graph.info(id).name}, {"where", text}, {"groups", Json::array()}};
    for (const std::size_t g : edges.groups_of(id)) {
      item["groups"].push_back(plan.groups[g].name);
      groups.insert(g);
    }
    json["computed"].push_back(std::move(item));
  }
  if (found.nodes.empty())
    page.text += "  nothing in the plan comes from it: no output needs it, or rules made it unnecessary\n";

  if (found.source.valid()) {
    json["rules"] = Json::array();
    const auto rules = rules_on(subject, found.source);
    if (!rules.empty()) page.text += "  rules that applied to it or to what came of it\n";
    for (const auto& [rule, times] : rules) {
      json["rules"].push_back({{"rule", rule}, {"applied", times}});
      page.text += fmt::format("    {}{}\n", rule, times > 1 ? fmt::format(" x {}", times) : "");
    }
  }

  const std::set<NodeId> nodes(found.nodes.begin(), found.nodes.end());
  json["cuts"] = Json::array();
  for (const bool leaving : {false, true}) {
    std::string text;
    for (const std::size_t g : groups)
      for (const Edge& edge : leaving ? edges.leaving(g) : edges.entering(g)) {
        if (!concerns(subject, edge, nodes)) continue;
        text += edge_text(plan, edge, leaving) + reason_text(edge);
        Json item = edge.json(plan);
        item["writer"] = plan.groups[edge.writer].name;
        if (edge.reader) {
          const std::vector<Attempt>& attempts = edges.attempts(edge.writer, *edge.reader);
          text += to_text(attempts, 8);
          item["attempts"] = to_json(attempts);
        }
        json["cuts"].push_back(std::move(item));
      }
    if (!text.empty())
      page.text += (leaving ? "  what it makes is stored\n" : "  what it reads comes from another kernel\n") + text;
    else if (!groups.empty())
      page.text += leaving ? "  what it makes is read in the same kernel only\n" : "  it reads from no other kernel\n";
  }
  return page;
}

}  // namespace fusewright::audit
