#include "fusewright/audit/audit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "edges.hpp"
#include "fusewright/audit/text.hpp"
#include "fusewright/plan/memory.hpp"
#include "fusewright/support/beside.hpp"
#include "pages.hpp"

namespace fusewright::audit {

std::int64_t bytes_alone(const graph::Graph& graph, const plan::Group& group) {
  std::int64_t bytes = 0;
  const auto size = [&](const ops::Type& type) { return type.is_tensor() ? ops::byte_size(type) : 0; };
  for (const graph::NodeId id : group.nodes) {
    for (const graph::Value v : graph[id].operands)
      if (v.valid()) bytes += size(graph.type(v));
    for (const ops::Type& type : graph[id].types) bytes += size(type);
  }
  return bytes;
}

std::string edge_text(const plan::Plan& plan, const Edge& edge, bool leaving) {
  const std::string tensor = value_name(plan.graph, edge.value);
  if (!edge.reader) return fmt::format("    {} is an output of the model\n", tensor);
  const std::size_t other = leaving ? *edge.reader : edge.writer;
  return fmt::format("    {} {} {} {}\n", tensor, leaving ? "->" : "<-", other, plan.groups[other].name);
}

std::string reason_text(const Edge& edge) {
  if (!edge.reader) return {};
  const bool plain = edge.why == Why::kRule && edge.reason.starts_with("rule ");
  return fmt::format("      {}\n",
                     wrapped(plain ? edge.reason : fmt::format("{}: {}", name(edge.why), edge.reason), 8));
}

std::string group_text(const plan::Plan& plan, std::size_t g, std::size_t most_nodes) {
  const plan::Group& group = plan.groups[g];
  std::string out = wrapped(fmt::format("{} {} [rule {}, template {}]", g, group.name, group.fuse_rule,
                                        ops::name(group.schedule.kind)),
                            4) +
                    '\n';
  out += fmt::format("  nodes     {}\n", wrapped(listed(group.source_nodes, most_nodes), 12));
  for (const plan::RewriteUse& use : group.rewrites)
    out += fmt::format(
        "  rewrite   {}\n",
        wrapped(fmt::format("{} ({}) on {}", use.rule, use.exactness, listed(use.source_nodes, most_nodes)), 14));
  for (const plan::Recognition& r : group.recognised)
    out += fmt::format("  operator  {}\n", wrapped(fmt::format("{} is {}", r.op, r.value), 12));
  out += fmt::format("  bytes     {} as one kernel, {} one by one\n", group.bytes, bytes_alone(plan.graph, group));
  if (group.unsupported.empty())
    out += fmt::format("  estimate  {}: {}\n", human_seconds(group.seconds_estimated),
                       wrapped(group.cost_explanation, 14));
  else
    out += fmt::format("  no kernel {}\n", wrapped(group.unsupported, 12));
  return out;
}

namespace {

std::string table(const plan::Plan& plan) {
  std::string out =
      fmt::format("{:>3} {:34} {:15} {:>5} {:>8} {:>9}\n", "", "kernel", "rule", "nodes", "bytes", "estimate");
  for (std::size_t g = 0; g < plan.groups.size(); ++g) {
    const plan::Group& group = plan.groups[g];
    out +=
        fmt::format("{:>3} {:34} {:15} {:>5} {:>8} {:>9}\n", g, shorten(group.name, 34), shorten(group.fuse_rule, 15),
                    group.source_nodes.size(), human_bytes(group.bytes), human_seconds(group.seconds_estimated));
  }
  return out;
}

Json memory_json(const plan::Memory& memory) {
  return {{"total", memory.total()},
          {"inputs", memory.inputs},
          {"weights", memory.constants},
          {"outputs", memory.outputs},
          {"between_kernels", memory.intermediates}};
}

std::string header(const Subject& subject, const plan::Memory& memory) {
  const plan::Plan& plan = subject.plan;
  const std::int64_t bytes = planned_bytes(plan);
  std::string out =
      fmt::format("{}\n", wrapped(fmt::format("{}, planned for {}", subject.model, subject.device.name), 0));
  out += fmt::format("  kernels   {} instead of {}\n", plan.groups.size(), plan.unfused_kernels);
  out += fmt::format("  bytes     {} instead of {} ({} instead of {})\n", bytes, plan.unfused_bytes, human_bytes(bytes),
                     human_bytes(plan.unfused_bytes));
  out += fmt::format("  estimate  {} instead of {}; none under {} (gap {:.1f} %)\n",
                     human_seconds(plan.extraction.cost), human_seconds(plan.unfused_seconds_estimated),
                     human_seconds(plan.extraction.bound), 100 * plan.extraction.gap);
  out += fmt::format(
      "  memory    {}\n",
      wrapped(fmt::format("{} at once: inputs {}, weights {}, outputs {}, between kernels {}",
                          human_bytes(memory.total()), human_bytes(memory.inputs), human_bytes(memory.constants),
                          human_bytes(memory.outputs), human_bytes(memory.intermediates)),
              12));
  for (const std::string& reason : subject.stop_reasons) out += fmt::format("  stopped   {}\n", wrapped(reason, 12));
  return out;
}

Json rules_json(const Subject& subject) {
  Json json = Json::array();
  if (subject.saturated == nullptr) return json;
  for (const saturate::RuleTrace& rule : subject.saturated->trace.rules) {
    if (rule.matches == 0) continue;
    Json item = {{"rule", rule.name}, {"matches", rule.matches}, {"applied", rule.applied}, {"refused", Json::array()}};
    const auto& guards = subject.rules.rewrites[rule.rule.index].guards;
    for (std::size_t k = 0; k < rule.refused.size() && k < guards.size(); ++k)
      if (rule.refused[k] > 0) item["refused"].push_back({{"guard", guards[k].text}, {"times", rule.refused[k]}});
    json.push_back(std::move(item));
  }
  return json;
}

/// Some of the groups, from `first` to before `last`.
struct Range {
  std::size_t first, last;
};

std::string groups_text(const Subject& subject, Range range) {
  constexpr std::size_t kMostNodes = 60;
  const plan::Plan& plan = subject.plan;
  const Edges edges(subject);
  std::string out;
  for (std::size_t g = range.first; g < range.last; ++g) {
    out += "\n" + group_text(plan, g, kMostNodes);
    const std::vector<Edge> leaving = edges.leaving(g);
    if (!leaving.empty()) out += "  ends at\n";
    for (std::size_t i = 0; i < leaving.size(); ++i) {
      out += edge_text(plan, leaving[i], true);
      const bool shared = i + 1 < leaving.size() && leaving[i].reason == leaving[i + 1].reason;  // said once
      if (!shared) out += reason_text(leaving[i]);
    }
  }
  return out;
}

std::vector<Json> groups_json(const Subject& subject, Range range) {
  const plan::Plan& plan = subject.plan;
  const Edges edges(subject);
  std::vector<Json> out;
  for (std::size_t g = range.first; g < range.last; ++g) {
    Json item = group_json(plan, g);
    item["bytes_before"] = bytes_alone(plan.graph, plan.groups[g]);
    item["bound_by"] = plan.groups[g].cost_explanation;
    if (!plan.groups[g].unsupported.empty()) item["unsupported"] = plan.groups[g].unsupported;
    item["cuts"] = Json::array();
    for (const Edge& edge : edges.leaving(g)) item["cuts"].push_back(edge.json(plan));
    out.push_back(std::move(item));
  }
  return out;
}

/// What `say` says of all groups, in two parts that are made at once.
template <class Say>
auto two_parts(const Subject& subject, const Say& say) {
  const std::size_t all = subject.plan.groups.size();
  auto second = beside([&] { return say(subject, Range{all / 2, all}); });
  auto first = say(subject, Range{0, all / 2});
  return std::pair(std::move(first), second.get());
}

std::string rules_text(const Subject& subject) {
  if (subject.saturated == nullptr) return {};
  std::string out = fmt::format("\n{:60} {:>8} {:>8}\n", "rewrite", "matches", "applied");
  for (const saturate::RuleTrace& rule : subject.saturated->trace.rules) {
    if (rule.matches == 0) continue;
    out += fmt::format("{:60} {:>8} {:>8}\n", shorten(rule.name, 60), rule.matches, rule.applied);
    const auto& guards = subject.rules.rewrites[rule.rule.index].guards;
    for (std::size_t k = 0; k < rule.refused.size() && k < guards.size(); ++k)
      if (rule.refused[k] > 0)
        out +=
            fmt::format("    {}\n", wrapped(fmt::format("refused {} times: {}", rule.refused[k], guards[k].text), 8));
  }
  return out;
}

}  // namespace

Json overview_json(const Subject& subject) {
  const plan::Plan& plan = subject.plan;
  auto memory = beside([&] { return plan::memory(plan); });
  auto [groups, more] = two_parts(subject, groups_json);
  std::ranges::move(more, std::back_inserter(groups));
  Json json = {{"model", subject.model},
               {"device", subject.device.name},
               {"kernels", plan.groups.size()},
               {"bytes", planned_bytes(plan)},
               {"unfused", unfused_json(plan)},
               {"extraction", extraction_json(plan)},
               {"memory", memory_json(memory.get())},
               {"stop_reasons", subject.stop_reasons},
               {"groups", std::move(groups)},
               {"views", views_json(plan)},
               {"load_time", Json::array()},
               {"rules", rules_json(subject)}};
  for (const graph::NodeId id : plan.load_time) json["load_time"].push_back(plan.graph[id].name);
  return json;
}

std::string overview_text(const Subject& subject) {
  const plan::Plan& plan = subject.plan;
  auto memory = beside([&] { return plan::memory(plan); });
  const auto [groups, more] = two_parts(subject, groups_text);
  return header(subject, memory.get()) + "\n" + table(plan) + groups + more + rules_text(subject) +
         "\n`audit --group NAME` says more of a kernel, `--why NODE` of a node of the model.\n";
}

}  // namespace fusewright::audit
