#include "fusewright/extract/fusion.hpp"

#include <algorithm>
#include <unordered_map>

#include "assemble.hpp"
#include "bound.hpp"
#include "fusewright/interpret/uniform.hpp"
#include "fusewright/plan/sources.hpp"
#include "grouping.hpp"
#include "plan_kernels.hpp"
#include "siblings.hpp"
#include "split.hpp"
#include "windows.hpp"

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

/// Whether a kernel computes the node, as far as is known of its readers.
bool is_computed(const Graph& graph, const Uses& uses, const NodeFacts& facts, NodeId id) {
  if (is_source(graph, id) || facts.load_time[id.index]) return false;
  const auto& readers = uses.readers(id);
  return uses.node_is_result(id) ||
         !std::all_of(readers.begin(), readers.end(), [&](NodeId r) { return facts.load_time[r.index]; });
}

}  // namespace

Result<Plan> plan_kernels(Graph given, const rule::RuleSet& rules, const cost::Device& device,
                          const FusionOptions& options) {
  options.begin("group");
  FW_TRY(Graph graph, interpret::fold_uniform(std::move(given)));
  const Uses uses(graph);
  NodeFacts facts;
  find_constants(graph, facts);
  facts.duplicated.assign(graph.nodes.size(), false);
  Evaluator evaluator(graph, uses, rules, device, facts, options);
  const Landmarks landmarks(graph, uses, facts);
  Grouping grouping(graph, uses, landmarks, device, evaluator, facts);
  const auto& order = graph.entry_computation().nodes;
  for (std::size_t i = order.size(); i-- > 0;) {
    const NodeId id = order[i];
    if (!is_computed(graph, uses, facts, id) || (options.fuse && facts.is_number(id, uses))) continue;
    if (options.fuse)
      grouping.place(id);
    else
      grouping.place_alone(id);
  }
  grouping.finish_streams();
  if (options.fuse) grouping.place_numbers();
  std::string stopped;
  if (options.fuse) {
    options.begin("improve");
    stopped = grouping.improve(options);
    options.begin("split");
    // However grouping ended: no kernel is left that costs more than its operators.
    std::string split = split_kernels(graph, uses, facts, evaluator, grouping.kernels(), grouping.declined(), options);
    if (stopped.empty()) stopped = std::move(split);
    options.begin("windows");
    if (stopped.empty())
      stopped = WindowSearch(graph, uses, facts, landmarks, device, evaluator, grouping.kernels(), grouping.declined(),
                             options.worthwhile)
                    .run(options);
    options.begin("join siblings");
    if (stopped.empty()) stopped = join_siblings(graph, uses, evaluator, grouping.kernels(), options);
  }
  options.begin("assemble");
  Plan plan = assemble(graph, uses, grouping.kernels(), grouping.declined(), facts);
  if (!stopped.empty()) plan.extraction.stop_reasons.push_back(stopped);
  plan.graph = std::move(graph);
  FW_TRY_STATUS(plan::verify(plan));
  return plan;
}

Result<Plan> plan_fusion(const Graph& graph, const rule::RuleSet& rules, const cost::Device& device,
                         const FusionOptions& options) {
  FW_TRY(Plan plan, plan_kernels(graph, rules, device, options));
  const plan::KernelSources sources(plan.graph, graph);
  for (plan::Group& group : plan.groups) group.source_nodes = sources.names(sources.of(group.nodes));
  options.begin("bound");
  set_bound(plan, lower_bound(plan.graph, device));
  return plan;
}

// The same kernels as of a plan that does not fuse: only, nothing is made of them.
Result<Unfused> unfused(Graph given, const cost::Device& device) {
  FW_TRY(const Graph graph, interpret::fold_uniform(std::move(given)));
  const Uses uses(graph);
  NodeFacts facts;
  find_constants(graph, facts);
  facts.duplicated.assign(graph.nodes.size(), false);
  FusionOptions options;
  options.fuse = false;
  Evaluator evaluator(graph, uses, {}, device, facts, options);
  const auto& order = graph.entry_computation().nodes;
  Unfused out;
  std::vector<const Priced*> kernels;
  std::unordered_map<const Priced*, std::int64_t> bytes;
  for (std::size_t i = order.size(); i-- > 0;) {
    const NodeId id = order[i];
    if (!is_computed(graph, uses, facts, id)) continue;
    if (facts.constant[id.index]) {
      facts.load_time[id.index] = true;
      continue;
    }
    const std::vector<NodeId> nodes{id};
    if (is_view(graph, nodes)) continue;
    const std::vector<Value> outputs = evaluator.outputs(nodes, {});
    const Evaluated& price = evaluator.evaluate(nodes, outputs);
    ++out.kernels;
    if (!price) continue;
    kernels.push_back(&*price);
    const auto [known, fresh] = bytes.try_emplace(&*price);
    if (fresh) {
      FW_TRY(const region::Region region, plan::make_region(graph, nodes, evaluator.inputs(nodes), outputs));
      known->second = region::planned_bytes(region);
    }
    out.bytes += known->second;
  }
  for (std::size_t i = kernels.size(); i-- > 0;) out.seconds += kernels[i]->cost.seconds;  // as a plan adds them up
  return out;
}

}  // namespace fusewright::extract
