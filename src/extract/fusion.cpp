#include "fusewright/extract/fusion.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <queue>
#include <set>

#include "fusewright/interpret/uniform.hpp"
#include "fusewright/support/check.hpp"
#include "grouping.hpp"

namespace fusewright::extract {

namespace {

using plan::Plan;

bool is_source(const Graph& graph, NodeId id) {
  const std::string& op = graph.info(id).name;
  return op == "parameter" || op == "constant";
}

// What depends on constants alone is computed when the model is loaded, except what would only be larger for it:
// broadcasts, iotas, and large tensors made of nothing else. Those are left to the kernels that read them.
void find_constants(const Graph& graph, NodeFacts& facts) {
  constexpr std::int64_t kLarge = 1 << 16;  // elements
  facts.constant.assign(graph.nodes.size(), false);
  facts.load_time.assign(graph.nodes.size(), false);
  for (const NodeId id : graph.entry_computation().nodes) {
    const ops::OpInfo& info = graph.info(id);
    const graph::Node& node = graph[id];
    if (info.name == "parameter" || info.op_class == ops::OpClass::kControl || info.op_class == ops::OpClass::kEffect ||
        info.op_class == ops::OpClass::kUninterpreted || !node.computations.empty())
      continue;
    const bool constant = std::all_of(node.operands.begin(), node.operands.end(),
                                      [&](graph::Value v) { return !v.valid() || facts.constant[v.node.index]; });
    if (!constant) continue;
    facts.constant[id.index] = true;
    const bool stored = std::any_of(node.operands.begin(), node.operands.end(), [&](graph::Value v) {
      return v.valid() && facts.load_time[v.node.index] && !graph.type(v).shape.empty();
    });
    const Result<std::int64_t> elements = ops::element_count(node.types[0].shape);
    facts.load_time[id.index] = info.name == "constant" || (info.name != "broadcast" && info.name != "iota" &&
                                                            (stored || (elements && *elements <= kLarge)));
  }
}

bool is_view(const Graph& graph, NodeId id) { return graph.info(id).name == "reshape"; }

/// Turns the finished partition into the plan's groups, in an order in which every tensor is written before it is read.
class Assembler {
 public:
  Assembler(const Graph& graph, const Uses& uses, const cost::Device& device, const Grouping& grouping,
            const NodeFacts& facts)
      : graph_(graph), uses_(uses), device_(device), grouping_(grouping), facts_(facts) {}

  Plan run() {
    Plan plan;
    order();
    std::size_t made = 0;
    std::map<std::uint32_t, std::string> names;
    for (const std::uint32_t g : order_) {
      const Grouping::Member& m = grouping_.members()[g];
      if (m.nodes.size() == 1 && is_view(graph_, m.nodes.front())) {
        plan.views.push_back({{m.nodes.front(), 0}, graph_[m.nodes.front()].operands[0]});
        continue;
      }
      plan.groups.push_back(group(m, made++));
      names[g] = plan.groups.back().name;
      plan.extraction.cost += plan.groups.back().seconds_estimated;
    }
    cuts(plan, names);
    load_time(plan);
    plan.extraction.bound = bound(plan);
    plan.extraction.cost = std::max(plan.extraction.cost, plan.extraction.bound);
    plan.extraction.gap =
        plan.extraction.cost > 0 ? (plan.extraction.cost - plan.extraction.bound) / plan.extraction.cost : 0;
    plan.graph = graph_;
    return plan;
  }

 private:
  // Among groups that can run, the one whose first node stands first in the model.
  void order() {
    const auto& members = grouping_.members();
    std::vector<std::size_t> waiting(members.size(), 0);
    std::priority_queue<std::pair<std::int64_t, std::uint32_t>> ready;
    const auto key = [&](std::uint32_t g) {
      return std::make_pair(-static_cast<std::int64_t>(uses_.position(members[g].nodes.front())), g);
    };
    std::size_t alive = 0;
    for (std::uint32_t g = 0; g < members.size(); ++g) {
      if (!members[g].alive) continue;
      ++alive;
      waiting[g] = grouping_.writers(g).size();
      if (waiting[g] == 0) ready.push(key(g));
    }
    while (!ready.empty()) {
      const std::uint32_t g = ready.top().second;
      ready.pop();
      order_.push_back(g);
      for (const std::uint32_t r : grouping_.readers(g))
        if (--waiting[r] == 0) ready.push(key(r));
    }
    FW_CHECK(order_.size() == alive) << "the groups depend on each other in a circle";
  }

  plan::Group group(const Grouping::Member& m, std::size_t number) const {
    plan::Group out;
    out.name = plan::group_name(graph_, m.nodes, number);
    out.fuse_rule = m.eval.rule != nullptr ? m.eval.rule->name : "single";
    out.nodes = m.nodes;
    out.unsupported = m.unsupported;
    graph::SourceSet sources;
    for (const NodeId id : m.nodes) sources = graph::merge(sources, graph_[id].sources);
    for (const graph::SourceId s : sources) out.source_nodes.push_back(graph_.sources[s.index].name);
    std::sort(out.source_nodes.begin(), out.source_nodes.end());
    if (!m.unsupported.empty()) {
      for (const NodeId id : m.nodes) {
        for (const Value v : graph_[id].operands)
          if (v.valid()) out.inputs.push_back(v);
        for (std::uint32_t r = 0; r < graph_[id].types.size(); ++r) out.outputs.push_back({id, r});
      }
      out.region.captures = static_cast<std::uint32_t>(out.inputs.size());
      out.region.outputs.resize(out.outputs.size());
      return out;
    }
    out.inputs = m.eval.inputs;
    out.outputs = m.eval.outputs;
    out.region = m.eval.region;
    out.schedule = m.eval.schedule;
    out.bytes = region::planned_bytes(out.region);
    out.flops = region::work(out.region).flops;
    out.seconds_estimated = m.eval.cost.seconds;
    out.cost_explanation = m.eval.cost.explanation;
    return out;
  }

  // Of all refusals on record those that still hold: the value is written, and a group that does not compute it reads
  // it.
  void cuts(Plan& plan, const std::map<std::uint32_t, std::string>& names) const {
    std::map<std::pair<Value, std::string>, plan::Cut> cut;
    for (const Grouping::Declined& d : grouping_.declined()) {
      if (!d.reader.valid()) continue;
      for (const std::uint32_t g : grouping_.groups_of(d.reader)) {
        const auto name = names.find(g);
        const auto& writers = grouping_.groups_of(d.value.node);
        if (name == names.end() || std::find(writers.begin(), writers.end(), g) != writers.end()) continue;
        // Where several ways were tried, the one that only cost decided against says most.
        plan::Cut& known = cut[{d.value, name->second}];
        if (known.reason.empty() || known.why != plan::Cut::Why::kCost || d.why == plan::Cut::Why::kCost)
          known = {d.value, name->second, d.why, d.reason, d.fused, d.cut};
      }
    }
    for (const plan::Group& group : plan.groups)
      for (const Value out : group.outputs) {
        if (uses_.is_result(out))
          cut.try_emplace({out, ""}, plan::Cut{out, "", plan::Cut::Why::kOutput, "output of the model", 0, 0});
        for (const plan::Group& reader : plan.groups)
          if (&reader != &group && std::find(reader.inputs.begin(), reader.inputs.end(), out) != reader.inputs.end())
            cut.try_emplace(
                {out, reader.name},
                plan::Cut{out, reader.name,
                          reader.unsupported.empty() ? plan::Cut::Why::kRule : plan::Cut::Why::kTemplate,
                          reader.unsupported.empty() ? "no fuse rule takes both kernels together" : reader.unsupported,
                          0, 0});
      }
    for (auto& entry : cut) plan.cuts.push_back(std::move(entry.second));
  }

  // Folded nodes that a kernel, a view or an output reads, and what they are made of.
  void load_time(Plan& plan) const {
    std::set<NodeId> needed;
    std::vector<NodeId> stack;
    const auto need = [&](Value v) {
      if (v.valid() && facts_.constant[v.node.index] && needed.insert(v.node).second) stack.push_back(v.node);
    };
    for (const plan::Group& group : plan.groups)
      for (const Value in : group.inputs)
        if (facts_.load_time[in.node.index]) need(in);
    for (const plan::View& view : plan.views)
      if (facts_.load_time[view.of.node.index]) need(view.of);
    for (const Value v : graph_.entry_computation().results)
      if (facts_.load_time[v.node.index]) need(v);
    while (!stack.empty()) {
      const NodeId id = stack.back();
      stack.pop_back();
      for (const Value v : graph_[id].operands) need(v);
    }
    for (const NodeId id : graph_.entry_computation().nodes)
      if (needed.contains(id) && graph_.info(id).name != "constant") plan.load_time.push_back(id);
  }

  // Whatever the grouping, every parameter and weight that is read whole comes once from the last level of memory,
  // every result is written, and one kernel is launched.
  double bound(const Plan& plan) const {
    if (plan.groups.empty()) return 0;
    std::set<Value> read, parts;
    for (const plan::Group& group : plan.groups) {
      const std::vector<std::int64_t> bytes =
          region::planned_inputs_bytes(group.region.values.empty() ? region::Region() : group.region);
      for (std::size_t c = 0; c < bytes.size(); ++c) {
        const Value in = group.inputs[c];
        if (!is_source(graph_, in.node)) continue;
        (bytes[c] < ops::byte_size(graph_.type(in)) ? parts : read).insert(in);
      }
    }
    double seconds = device_.launch_seconds;
    double bytes = 0;
    for (const Value v : read)
      if (!parts.contains(v)) bytes += static_cast<double>(ops::byte_size(graph_.type(v)));
    double fastest = 0;
    for (const cost::MemoryLevel& level : device_.memory) fastest = std::max(fastest, level.bytes_per_second);
    double written = 0;
    for (const Value v : graph_.entry_computation().results)
      if (!is_source(graph_, v.node) && graph_.type(v).is_tensor())
        written += static_cast<double>(ops::byte_size(graph_.type(v)));
    return seconds + bytes / device_.memory.back().bytes_per_second + written / fastest;
  }

  const Graph& graph_;
  const Uses& uses_;
  const cost::Device& device_;
  const Grouping& grouping_;
  const NodeFacts& facts_;
  std::vector<std::uint32_t> order_;
};

}  // namespace

Result<Plan> plan_fusion(const Graph& given, const rule::RuleSet& rules, const cost::Device& device,
                         const FusionOptions& options) {
  FW_TRY(const Graph graph, interpret::fold_uniform(given));
  const Uses uses(graph);
  NodeFacts facts;
  find_constants(graph, facts);
  facts.duplicated.assign(graph.nodes.size(), false);
  rule::RuleSet none;
  Evaluator evaluator(graph, uses, options.fuse ? rules : none, device, facts);
  Grouping grouping(graph, uses, device, evaluator, facts);
  const auto& order = graph.entry_computation().nodes;
  for (std::size_t i = order.size(); i-- > 0;) {
    const NodeId id = order[i];
    if (is_source(graph, id) || facts.load_time[id.index]) continue;
    const auto& readers = uses.readers(id);
    if (!uses.node_is_result(id) &&
        std::all_of(readers.begin(), readers.end(), [&](NodeId r) { return facts.load_time[r.index]; }))
      continue;
    if (options.fuse)
      grouping.place(id);
    else
      grouping.place_alone(id);
  }
  grouping.finish_streams();
  const bool finished = !options.fuse || grouping.improve(options);
  Plan plan = Assembler(graph, uses, device, grouping, facts).run();
  if (!finished)
    plan.extraction.stop_reasons.push_back(
        fmt::format("extraction stopped after {} s with the best plan so far", options.seconds));
  FW_TRY_STATUS(plan::verify(plan));
  return plan;
}

}  // namespace fusewright::extract
