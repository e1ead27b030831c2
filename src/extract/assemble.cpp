#include "assemble.hpp"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <set>

#include "fusewright/graph/algorithms.hpp"
#include "fusewright/support/check.hpp"
#include "kernel_flow.hpp"

namespace fusewright::extract {

namespace {

using plan::Plan;

class Assembler {
 public:
  Assembler(const Graph& graph, const Uses& uses, const std::vector<Kernel>& kernels,
            const std::vector<Declined>& declined, const NodeFacts& facts)
      : graph_(graph),
        uses_(uses),
        kernels_(kernels),
        declined_(declined),
        facts_(facts),
        computed_in_(graph.nodes.size()) {
    for (std::uint32_t k = 0; k < kernels_.size(); ++k)
      if (kernels_[k].alive)
        for (const NodeId n : kernels_[k].nodes) computed_in_[n.index].push_back(k);
  }

  Plan run() {
    Plan plan;
    order();
    std::vector<std::uint32_t> made;
    for (const std::uint32_t k : order_) {
      const std::vector<NodeId>& nodes = kernels_[k].nodes;
      if (is_view(graph_, nodes))
        plan.views.push_back({{nodes.front(), 0}, graph_[nodes.front()].operands[0]});
      else
        made.push_back(k);
    }
    plan.groups.resize(made.size());
    tbb::parallel_for(std::size_t{0}, made.size(),
                      [&](std::size_t i) { plan.groups[i] = group(kernels_[made[i]], i); });
    std::map<std::uint32_t, std::string> names;
    for (std::size_t i = 0; i < made.size(); ++i) {
      names[made[i]] = plan.groups[i].name;
      plan.extraction.cost += plan.groups[i].seconds_estimated;
    }
    cuts(plan, names);
    load_time(plan);
    return plan;
  }

 private:
  // Groups as their first nodes stand in the model, each behind those it reads from, if only from within a body.
  void order() {
    std::vector<std::uint32_t> alive;
    for (std::uint32_t k = 0; k < kernels_.size(); ++k)
      if (kernels_[k].alive) alive.push_back(k);
    const auto key = [&](std::uint32_t k) { return std::pair(uses_.position(kernels_[k].nodes.front()), k); };
    std::sort(alive.begin(), alive.end(), [&](auto a, auto b) { return key(a) < key(b); });
    std::vector<std::size_t> place(kernels_.size());
    for (std::size_t i = 0; i < alive.size(); ++i) place[alive[i]] = i;
    auto edges = kernel_edges(graph_, uses_, kernels_);
    for (auto& [from, to] : edges) {
      from = place[from];
      to = place[to];
    }
    const auto order = graph::stable_order(alive.size(), std::move(edges));
    FW_CHECK(order.has_value()) << "the groups depend on each other in a circle";
    for (const std::size_t i : *order) order_.push_back(alive[i]);
  }

  plan::Group group(const Kernel& m, std::size_t number) const {
    plan::Group out;
    out.name = plan::group_name(graph_, m.nodes, number);
    out.fuse_rule = m.price != nullptr && m.price->rule != nullptr ? m.price->rule->name : "single";
    out.nodes = m.nodes;
    out.unsupported = m.unsupported;
    out.inputs = m.inputs;
    out.outputs = m.outputs;
    if (!m.unsupported.empty()) {
      out.region.captures = static_cast<std::uint32_t>(out.inputs.size());
      out.region.outputs.resize(out.outputs.size());
      return out;
    }
    Result<region::Region> region = plan::make_region(graph_, m.nodes, m.inputs, m.outputs);
    FW_CHECK(region.has_value()) << region.error().diagnostics.front().message;
    out.region = *std::move(region);
    out.schedule = m.price->schedule;
    out.bytes = region::planned_bytes(out.region);
    out.flops = region::work(out.region).flops;
    out.seconds_estimated = m.price->cost.seconds;
    out.cost_explanation = m.price->cost.explanation;
    return out;
  }

  // Of all refusals on record those that still hold: the value is written, and a group that does not compute it reads
  // it.
  void cuts(Plan& plan, const std::map<std::uint32_t, std::string>& names) const {
    std::map<std::pair<Value, std::string>, plan::Cut> cut;
    for (const Declined& d : declined_) {
      if (!d.reader.valid()) continue;
      for (const std::uint32_t g : computed_in_[d.reader.index]) {
        const auto name = names.find(g);
        const auto& writers = computed_in_[d.value.node.index];
        if (name == names.end() || std::find(writers.begin(), writers.end(), g) != writers.end()) continue;
        // Where several ways were tried, the one that only cost decided against says most.
        plan::Cut& known = cut[{d.value, name->second}];
        if (known.reason.empty() || known.why != plan::Cut::Why::kCost || d.why == plan::Cut::Why::kCost)
          known = {d.value, name->second, d.why, d.reason, d.fused, d.cut};
      }
    }
    std::map<Value, std::vector<const plan::Group*>> readers;
    for (const plan::Group& group : plan.groups)
      for (const Value in : group.inputs) readers[in].push_back(&group);
    for (const plan::Group& group : plan.groups)
      for (const Value out : group.outputs) {
        if (uses_.is_result(out))
          cut.try_emplace({out, ""}, plan::Cut{out, "", plan::Cut::Why::kOutput, "output of the model", 0, 0});
        for (const plan::Group* reader : readers[out])
          cut.try_emplace(
              {out, reader->name},
              plan::Cut{out, reader->name,
                        reader->unsupported.empty() ? plan::Cut::Why::kRule : plan::Cut::Why::kTemplate,
                        reader->unsupported.empty() ? "no fuse rule takes both kernels together" : reader->unsupported,
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

  const Graph& graph_;
  const Uses& uses_;
  const std::vector<Kernel>& kernels_;
  const std::vector<Declined>& declined_;
  const NodeFacts& facts_;
  std::vector<std::vector<std::uint32_t>> computed_in_;  // by node
  std::vector<std::uint32_t> order_;
};

}  // namespace

Plan assemble(const Graph& graph, const Uses& uses, const std::vector<Kernel>& kernels,
              const std::vector<Declined>& declined, const NodeFacts& facts) {
  return Assembler(graph, uses, kernels, declined, facts).run();
}

}  // namespace fusewright::extract
