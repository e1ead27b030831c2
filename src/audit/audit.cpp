#include "fusewright/audit/audit.hpp"

#include <fmt/format.h>

#include <map>

namespace fusewright::audit {

namespace {

using Json = nlohmann::ordered_json;

std::string_view name(plan::Cut::Why why) {
  switch (why) {
    case plan::Cut::Why::kRule: return "rule";
    case plan::Cut::Why::kGuard: return "guard";
    case plan::Cut::Why::kTemplate: return "template";
    case plan::Cut::Why::kCost: return "cost";
    case plan::Cut::Why::kOutput: return "output";
  }
  return "";
}

// What the group's operators move when each is a kernel of its own.
std::int64_t bytes_before(const graph::Graph& graph, const plan::Group& group) {
  std::int64_t bytes = 0;
  const auto size = [&](const ops::Type& type) { return type.is_tensor() ? ops::byte_size(type) : 0; };
  for (const graph::NodeId id : group.nodes) {
    for (const graph::Value v : graph[id].operands)
      if (v.valid()) bytes += size(graph.type(v));
    for (const ops::Type& type : graph[id].types) bytes += size(type);
  }
  return bytes;
}

std::multimap<std::string, const plan::Cut*> cuts_by_writer(const plan::Plan& plan) {
  std::map<plan::Value, std::string> writer;
  for (const plan::Group& group : plan.groups)
    for (const plan::Value v : group.outputs) writer.emplace(v, group.name);
  std::multimap<std::string, const plan::Cut*> cuts;
  for (const plan::Cut& cut : plan.cuts)
    if (const auto at = writer.find(cut.value); at != writer.end()) cuts.emplace(at->second, &cut);
  return cuts;
}

}  // namespace

Json to_json(const plan::Plan& plan, const saturate::Saturated* saturated) {
  Json json;
  std::int64_t bytes = 0;
  for (const plan::Group& group : plan.groups) bytes += group.bytes;
  json["groups_count"] = plan.groups.size();
  json["bytes"] = bytes;
  json["unfused"] = {{"kernels", plan.unfused_kernels},
                     {"bytes", plan.unfused_bytes},
                     {"seconds_estimated", plan.unfused_seconds_estimated}};
  json["extraction"] = {{"cost", plan.extraction.cost}, {"bound", plan.extraction.bound}, {"gap", plan.extraction.gap}};
  const auto cuts = cuts_by_writer(plan);
  json["groups"] = Json::array();
  for (std::size_t g = 0; g < plan.groups.size(); ++g) {
    const plan::Group& group = plan.groups[g];
    Json item;
    item["id"] = g;
    item["name"] = group.name;
    item["kind"] = schedule::name(group.schedule.kind);
    item["fuse_rule"] = group.fuse_rule;
    item["rewrites"] = Json::array();
    for (const plan::RewriteUse& use : group.rewrites)
      item["rewrites"].push_back(
          {{"rule", use.rule}, {"exactness", use.exactness}, {"source_nodes", use.source_nodes}});
    item["source_nodes"] = group.source_nodes;
    item["bytes_before"] = bytes_before(plan.graph, group);
    item["bytes"] = group.bytes;
    item["flops"] = group.flops;
    item["seconds_estimated"] = group.seconds_estimated;
    item["bound_by"] = group.cost_explanation;
    if (!group.unsupported.empty()) item["unsupported"] = group.unsupported;
    item["cuts"] = Json::array();
    for (auto [at, end] = cuts.equal_range(group.name); at != end; ++at) {
      const plan::Cut& cut = *at->second;
      Json c = {{"tensor", plan.graph[cut.value.node].name},
                {"reader", cut.consumer},
                {"why", name(cut.why)},
                {"reason", cut.reason}};
      if (cut.seconds_fused > 0 || cut.seconds_cut > 0) {
        c["seconds_fused"] = cut.seconds_fused;
        c["seconds_cut"] = cut.seconds_cut;
      }
      item["cuts"].push_back(std::move(c));
    }
    json["groups"].push_back(std::move(item));
  }
  json["views"] = Json::array();
  for (const plan::View& view : plan.views)
    json["views"].push_back({{"value", plan.graph[view.value.node].name}, {"of", plan.graph[view.of.node].name}});
  json["load_time"] = Json::array();
  for (const graph::NodeId id : plan.load_time) json["load_time"].push_back(plan.graph[id].name);
  json["rules"] = Json::array();
  if (saturated != nullptr)
    for (const saturate::RuleTrace& rule : saturated->trace.rules) {
      if (rule.matches == 0) continue;
      Json item = {{"rule", rule.name}, {"matches", rule.matches}, {"applied", rule.applied}};
      const auto& guards = saturated->rules->rewrites[rule.rule.index].guards;
      item["refused"] = Json::array();
      for (std::size_t k = 0; k < rule.refused.size() && k < guards.size(); ++k)
        if (rule.refused[k] > 0) item["refused"].push_back({{"guard", guards[k].text}, {"times", rule.refused[k]}});
      json["rules"].push_back(std::move(item));
    }
  return json;
}

std::string to_text(const plan::Plan& plan, const saturate::Saturated* saturated) {
  std::string out;
  std::int64_t bytes = 0;
  const auto cuts = cuts_by_writer(plan);
  for (std::size_t g = 0; g < plan.groups.size(); ++g) {
    const plan::Group& group = plan.groups[g];
    bytes += group.bytes;
    out += fmt::format("{} {}  [{}; {}]\n", g, group.name, group.fuse_rule, schedule::name(group.schedule.kind));
    out += fmt::format("    nodes     {}\n", fmt::join(group.source_nodes, ", "));
    for (const plan::RewriteUse& use : group.rewrites)
      out += fmt::format("    rewrite   {} ({}) on {}\n", use.rule, use.exactness, fmt::join(use.source_nodes, ", "));
    out += fmt::format("    bytes     {} as one kernel, {} one by one\n", group.bytes, bytes_before(plan.graph, group));
    if (group.unsupported.empty())
      out += fmt::format("    estimate  {:.2f} us: {}\n", 1e6 * group.seconds_estimated, group.cost_explanation);
    else
      out += fmt::format("    no kernel {}\n", group.unsupported);
    for (auto [at, end] = cuts.equal_range(group.name); at != end; ++at) {
      const plan::Cut& cut = *at->second;
      out += fmt::format("    cut       {} -> {}: {}: {}\n", plan.graph[cut.value.node].name,
                         cut.consumer.empty() ? "(output)" : cut.consumer, name(cut.why), cut.reason);
    }
  }
  out += fmt::format("{} groups, {} bytes; unfused {} kernels, {} bytes\n", plan.groups.size(), bytes,
                     plan.unfused_kernels, plan.unfused_bytes);
  out += fmt::format("estimated {:.2f} us, no plan under {:.2f} us (gap {:.1f} %); unfused {:.2f} us\n",
                     1e6 * plan.extraction.cost, 1e6 * plan.extraction.bound, 100 * plan.extraction.gap,
                     1e6 * plan.unfused_seconds_estimated);
  if (saturated != nullptr)
    for (const saturate::RuleTrace& rule : saturated->trace.rules)
      if (rule.applied > 0)
        out += fmt::format("rule {}: {} matches, {} applied\n", rule.name, rule.matches, rule.applied);
  return out;
}

}  // namespace fusewright::audit
