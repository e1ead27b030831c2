#include "fusewright/audit/values.hpp"

#include <fmt/format.h>

#include <cmath>

namespace fusewright::audit {

Json number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

std::string value_name(const graph::Graph& graph, graph::Value value) {
  const std::string& node = graph[value.node].name;
  return value.result == 0 ? node : fmt::format("{}:{}", node, value.result);
}

Json group_json(const plan::Plan& plan, std::size_t g) {
  const plan::Group& group = plan.groups[g];
  Json json;
  json["id"] = g;
  json["name"] = group.name;
  json["kind"] = ops::name(group.schedule.kind);
  json["fuse_rule"] = group.fuse_rule;
  json["rewrites"] = Json::array();
  for (const plan::RewriteUse& use : group.rewrites)
    json["rewrites"].push_back({{"rule", use.rule}, {"exactness", use.exactness}, {"source_nodes", use.source_nodes}});
  json["recognised"] = Json::array();
  for (const plan::Recognition& r : group.recognised) json["recognised"].push_back({{"op", r.op}, {"value", r.value}});
  json["nodes"] = group.source_nodes;
  const auto names = [&](const std::vector<plan::Value>& values) {
    Json list = Json::array();
    for (const plan::Value v : values) list.push_back(value_name(plan.graph, v));
    return list;
  };
  json["inputs"] = names(group.inputs);
  json["outputs"] = names(group.outputs);
  json["bytes"] = group.bytes;
  json["flops"] = number(group.flops);
  json["seconds_estimated"] = number(group.seconds_estimated);
  return json;
}

Json views_json(const plan::Plan& plan) {
  Json json = Json::array();
  for (const plan::View& view : plan.views)
    json.push_back({{"value", value_name(plan.graph, view.value)}, {"of", value_name(plan.graph, view.of)}});
  return json;
}

Json unfused_json(const plan::Plan& plan) {
  return {{"kernels", plan.unfused_kernels},
          {"bytes", plan.unfused_bytes},
          {"seconds_estimated", number(plan.unfused_seconds_estimated)}};
}

Json extraction_json(const plan::Plan& plan) {
  const plan::Extraction& e = plan.extraction;
  return {{"cost", number(e.cost)}, {"bound", number(e.bound)}, {"gap", number(e.gap)}};
}

std::int64_t planned_bytes(const plan::Plan& plan) {
  std::int64_t bytes = 0;
  for (const plan::Group& group : plan.groups) bytes += group.bytes;
  return bytes;
}

}  // namespace fusewright::audit
