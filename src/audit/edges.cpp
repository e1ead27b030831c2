#include "edges.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "fusewright/audit/text.hpp"
#include "fusewright/plan/storage.hpp"

namespace fusewright::audit {

using graph::NodeId;

std::string_view name(Why why) {
  switch (why) {
    case Why::kRule: return "rule";
    case Why::kGuard: return "guard";
    case Why::kTemplate: return "template";
    case Why::kCycle: return "cycle";
    case Why::kCost: return "cost";
    case Why::kOutput: return "output";
  }
  return "";
}

Json Edge::json(const plan::Plan& plan) const {
  Json json = {{"tensor", value_name(plan.graph, value)},
               {"reader", reader ? plan.groups[*reader].name : ""},
               {"why", name(why)},
               {"reason", reason}};
  if (why == Why::kCost) {
    json["seconds_fused"] = number(seconds_fused);
    json["seconds_cut"] = number(seconds_cut);
  }
  return json;
}

/// Two groups as one region.
struct Edges::Union {
  std::vector<NodeId> nodes;  // topological
  std::string refused;        // why there is no region
  Form form;
};

Edges::Edges(const Subject& subject) : subject_(subject), plan_(subject.plan), uses_(subject.plan.graph) {
  for (const plan::View& view : plan_.views) {
    views_.emplace(view.value, view.of);
    viewed_by_[view.of].push_back(view.value.node);
  }
  for (std::size_t g = 0; g < plan_.groups.size(); ++g) {
    for (const NodeId id : plan_.groups[g].nodes) in_[id].push_back(g);
    std::set<Value> read;
    for (const Value input : plan_.groups[g].inputs) {
      read_as_[input].push_back(g);
      if (read.insert(storage(input)).second) readers_[storage(input)].push_back(g);
    }
  }
  next_.resize(plan_.groups.size());
  for (std::size_t g = 0; g < plan_.groups.size(); ++g) {
    std::set<std::size_t> next;
    for (const Value out : plan_.groups[g].outputs)
      if (const auto readers = readers_.find(out); readers != readers_.end())
        next.insert(readers->second.begin(), readers->second.end());
    next_[g].assign(next.begin(), next.end());
  }
  for (const Value v : plan_.graph.entry_computation().results) results_.insert(storage(v));
  for (const plan::Cut& cut : plan_.cuts) recorded_.emplace(std::pair(cut.value, cut.consumer), &cut);
}

Value Edges::storage(Value v) const { return plan::storage_of(views_, v); }

std::vector<std::size_t> Edges::groups_of(NodeId node) const {
  const auto at = in_.find(node);
  return at == in_.end() ? std::vector<std::size_t>{} : at->second;
}

std::vector<bool> Edges::hot_inputs(const std::vector<Value>& inputs) const {
  std::vector<bool> hot;
  for (const Value v : inputs) hot.push_back(!groups_of(storage(v).node).empty());
  return hot;
}

// Whether the reader also depends on the writer by way of another group: one that runs between them.
bool Edges::cyclic(std::size_t writer, std::size_t reader) const {
  if (writer >= reader) return false;
  std::vector<bool> seen(reader - writer, false);  // by group behind the writer
  std::vector<std::size_t> stack{writer};
  while (!stack.empty()) {
    const std::size_t at = stack.back();
    stack.pop_back();
    for (const std::size_t next : next_[at]) {
      if (next == reader && at != writer) return true;
      if (next <= writer || next >= reader || seen[next - writer]) continue;
      seen[next - writer] = true;
      stack.push_back(next);
    }
  }
  return false;
}

// A tensor of two groups that become one is still written where the caller, a third group or a view outside reads it.
bool Edges::is_read_outside(Value v, std::size_t writer, std::size_t reader, const std::set<NodeId>& inside) const {
  if (uses_.is_result(v)) return true;
  if (const auto at = read_as_.find(v); at != read_as_.end())
    for (const std::size_t g : at->second)
      if (g != writer && g != reader) return true;
  if (const auto at = viewed_by_.find(v); at != viewed_by_.end())
    for (const NodeId view : at->second)
      if (!inside.contains(view)) return true;
  return false;
}

Edges::Union Edges::united(std::size_t writer, std::size_t reader) const {
  const plan::Group& first = plan_.groups[writer];
  const plan::Group& second = plan_.groups[reader];
  Union both;
  both.form.apart = first.seconds_estimated + second.seconds_estimated;
  std::set<std::pair<std::uint32_t, NodeId>> nodes;
  const auto add = [&](NodeId id) { nodes.emplace(uses_.position(id), id); };
  for (const NodeId id : first.nodes) add(id);
  for (const NodeId id : second.nodes) add(id);
  for (Value v : second.inputs)  // what reshapes the tensor in between is part of the kernel
    if (const auto& outputs = first.outputs; std::find(outputs.begin(), outputs.end(), storage(v)) != outputs.end())
      for (auto view = views_.find(v); view != views_.end(); view = views_.find(v = view->second)) add(v.node);
  std::set<NodeId> inside;
  for (const auto& [position, id] : nodes) {
    both.nodes.push_back(id);
    inside.insert(id);
  }

  const auto is_scalar = [&](Value v) {
    return plan_.graph.info(v.node).name == "constant" && plan_.graph.type(v).shape.empty();
  };
  std::vector<Value> inputs;
  std::set<Value> seen;
  for (const NodeId id : both.nodes)
    for (const Value v : plan_.graph[id].operands)
      if (v.valid() && !inside.contains(v.node) && !is_scalar(v) && seen.insert(v).second) inputs.push_back(v);

  std::vector<Value> outputs;
  const auto write = [&](Value v) {
    if (is_read_outside(v, writer, reader, inside)) outputs.push_back(v);
  };
  for (const auto* group : {&first, &second})
    for (const Value v : group->outputs) write(v);
  for (const NodeId id : both.nodes)
    if (views_.contains({id, 0})) write({id, 0});
  Result<region::Region> region = plan::make_region(plan_.graph, both.nodes, inputs, outputs);
  if (region)
    both.form.region = *std::move(region);
  else
    both.refused = region.error().diagnostics.front().message;
  both.form.hot = hot_inputs(inputs);
  both.form.guard_facts = guard_facts(both.nodes, inside);
  return both;
}

std::vector<std::uint8_t> Edges::guard_facts(const std::vector<NodeId>& nodes, const std::set<NodeId>& inside) const {
  std::vector<std::uint8_t> out;
  const auto note = [&](Value v) {
    const auto& readers = uses_.readers(v.node);
    const bool outside = std::ranges::any_of(readers, [&](NodeId reader) { return !inside.contains(reader); });
    const bool constant = plan_.graph.info(v.node).name == "constant";
    out.push_back(static_cast<std::uint8_t>((constant ? 8 : 0) | (uses_.is_result(v) ? 4 : 0) |
                                            (readers.size() == 1 ? 2 : 0) | (outside ? 1 : 0)));
  };
  for (const NodeId id : nodes) {
    for (const Value operand : plan_.graph[id].operands)
      if (operand.valid()) note(operand);
    for (std::uint32_t result = 0; result < plan_.graph[id].types.size(); ++result) note({id, result});
  }
  return out;
}

Attempt Edges::attempt(const rule::FuseRule& rule, const Union& both) const {
  for (const NodeId id : both.nodes) {
    const bool taken = std::any_of(rule.roots.begin(), rule.roots.end(), [&](const rule::FuseRoot& root) {
      return std::any_of(root.segments.begin(), root.segments.end(),
                         [&](const rule::Segment& segment) { return segment.ops.contains(plan_.graph[id].op); });
    });
    if (!taken) return {rule.name, Why::kRule, fmt::format("it takes no {}", plan_.graph.info(id).name)};
  }
  if (const auto admitted = extract::admits(rule, plan_.graph, uses_, both.nodes); !admitted) {
    std::string reason = admitted.error().reason;
    if (const std::string prefix = fmt::format("rule {}: ", rule.name); reason.starts_with(prefix))
      reason.erase(0, prefix.size());
    return {rule.name, admitted.error().by_guard ? Why::kGuard : Why::kRule, std::move(reason)};
  }
  if (!both.refused.empty()) return {rule.name, Why::kTemplate, both.refused};
  Attempt best{rule.name, Why::kTemplate, ""};
  for (const auto& [kind, word] : ops::kTemplates) {
    if (rule.kernel && *rule.kernel != kind) continue;
    const auto schedule = schedule::fit(both.form.region, kind, subject_.device.shape);
    if (!schedule) {
      if (best.why == Why::kTemplate && best.reason.empty())
        best.reason = fmt::format("template {}: {}", word, schedule.error().reason);
      continue;
    }
    const cost::KernelCost cost = cost::kernel_cost(both.form.region, *schedule, subject_.device, both.form.hot);
    if (best.why == Why::kCost && best.seconds <= cost.seconds) continue;
    best.why = Why::kCost;
    best.seconds = cost.seconds;
    best.reason = fmt::format("one kernel takes {} ({}), two take {}", human_seconds(cost.seconds), cost.explanation,
                              human_seconds(both.form.apart));
  }
  if (best.why == Why::kCost && best.seconds < both.form.apart) best.reason += "; the search did not come by this";
  return best;
}

std::vector<Attempt> Edges::attempts(const Union& both) const {
  std::vector<Attempt> all;
  for (const rule::FuseRule& rule : subject_.rules.fuses) all.push_back(attempt(rule, both));
  return all;
}

Edges::Attempts Edges::find_attempts(std::size_t writer, std::size_t reader) const {
  const auto alone = [](std::vector<Attempt> all) {
    return std::make_shared<const std::vector<Attempt>>(std::move(all));
  };
  for (const std::size_t g : {writer, reader})
    if (const std::string& reason = plan_.groups[g].unsupported; !reason.empty())
      return alone({{"", Why::kTemplate, reason}});
  if (cyclic(writer, reader))
    return alone({{"", Why::kCycle, "between them stands another kernel that reads the one and feeds the other"}});
  const Union both = united(writer, reader);
  if (!both.refused.empty()) return alone(attempts(both));  // the refusal names a node
  Attempts& known = by_form_[both.form];
  if (known == nullptr) known = alone(attempts(both));
  return known;
}

const std::vector<Attempt>& Edges::attempts(std::size_t writer, std::size_t reader) const {
  Attempts& known = by_pair_[{writer, reader}];
  if (known == nullptr) known = find_attempts(writer, reader);
  return *known;
}

// The attempt that got furthest says most; among equals the rule of one of the two kernels.
Edge Edges::edge(Value value, std::size_t writer, std::size_t reader) const {
  Edge edge{value, writer, reader, Why::kRule, "no fuse rule", 0, 0};
  const plan::Group& first = plan_.groups[writer];
  const plan::Group& second = plan_.groups[reader];
  std::tuple<int, bool, double> furthest{-1, false, 0};
  for (const Attempt& a : attempts(writer, reader)) {
    const bool own = a.rule == first.fuse_rule || a.rule == second.fuse_rule;
    const std::tuple rank{static_cast<int>(a.why), own, -a.seconds};
    if (rank <= furthest) continue;
    furthest = rank;
    edge.why = a.why;
    edge.reason = a.rule.empty() ? a.reason : fmt::format("rule {}: {}", a.rule, a.reason);
    edge.seconds_fused = a.seconds;
    edge.seconds_cut = a.why == Why::kCost ? first.seconds_estimated + second.seconds_estimated : 0;
  }
  // Where only the planner knows of a price (computing a tensor again in each reader, say), that is the reason.
  const auto record = recorded_.find({value, second.name});
  if (record == recorded_.end() || record->second->why != Why::kCost) return edge;
  const plan::Cut& cut = *record->second;
  if (edge.why == Why::kCost && edge.seconds_fused >= edge.seconds_cut) return edge;
  return {value,
          writer,
          reader,
          cut.why,
          fmt::format("{}; both kernels as one: {}", cut.reason, edge.reason),
          cut.seconds_fused,
          cut.seconds_cut};
}

std::vector<Edge> Edges::leaving(std::size_t group) const {
  std::vector<Edge> out;
  for (const Value value : plan_.groups[group].outputs) {
    if (results_.contains(value))
      out.push_back({value, group, std::nullopt, Why::kOutput, "output of the model", 0, 0});
    if (const auto readers = readers_.find(value); readers != readers_.end())
      for (const std::size_t reader : readers->second)
        if (reader != group) out.push_back(edge(value, group, reader));
  }
  return out;
}

std::vector<Edge> Edges::entering(std::size_t group) const {
  std::vector<Edge> out;
  std::set<Value> seen;
  for (const Value input : plan_.groups[group].inputs) {
    const Value value = storage(input);
    if (!seen.insert(value).second) continue;
    for (const std::size_t writer : groups_of(value.node)) {
      const auto& outputs = plan_.groups[writer].outputs;
      if (writer != group && std::find(outputs.begin(), outputs.end(), value) != outputs.end())
        out.push_back(edge(value, writer, group));
    }
  }
  return out;
}

}  // namespace fusewright::audit
