#include "fusewright/extract/extract.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "bound.hpp"
#include "fusewright/egraph/explain.hpp"
#include "fusewright/plan/sources.hpp"
#include "fusewright/support/beside.hpp"
#include "memory.hpp"
#include "plan_kernels.hpp"

namespace fusewright::extract {

namespace {

using egraph::ApplicationId;
using egraph::ENodeId;

/// For each node of the planned graph the rewrites that it owes its form to: those that lead to it from the nodes of
/// the model that it stands for, else from what its readers were made to read.
class RewriteUses {
 public:
  RewriteUses(const ExtractInput& input, const plan::Plan& plan)
      : in_(input), terms_(plan.terms), applications_(plan.graph.nodes.size()), provenance_(input.imported.egraph) {
    const egraph::EGraph& egraph = in_.imported.egraph;
    for (std::uint32_t i = 0; i < in_.imported.origins.size(); ++i) {
      const ENodeId n(i);
      if (in_.imported.origin(n).valid()) originals_.emplace_back(egraph.find(egraph::term(n)), n);
    }
    std::ranges::sort(originals_);
    const auto& order = plan.graph.entry_computation().nodes;
    std::vector<std::vector<graph::NodeId>> readers(plan.graph.nodes.size());
    for (const graph::NodeId id : order)
      for (const graph::Value operand : plan.graph[id].operands)
        if (operand.valid()) readers[operand.node.index].push_back(id);
    for (auto id = order.rbegin(); id != order.rend(); ++id) collect(*id, readers[id->index]);
  }

  /// @param own  sources that the group stands for
  std::vector<plan::RewriteUse> of(const plan::KernelSources& sources, const plan::Group& group,
                                   const graph::SourceSet& own) {
    std::set<ApplicationId> applications;
    // Shared constants owe their form to whichever node of the model was first to use them.
    const auto constant = [&](graph::NodeId id) { return sources.sources().is_constant(id); };
    const bool only_constants = std::ranges::all_of(group.nodes, constant);
    for (const graph::NodeId id : group.nodes)
      if (only_constants || !constant(id))
        applications.insert(applications_[id.index].begin(), applications_[id.index].end());
    struct Names {
      graph::SourceSet here;  // of the group
      bool elsewhere = false;
    };
    std::map<std::pair<std::string, std::string>, Names> uses;
    for (const ApplicationId id : applications) {
      const auto pattern = in_.imported.egraph[id].pattern;
      const rule::RewriteRule& rule = in_.rewrites[in_.program.patterns[pattern.index].rule.index];
      Names& names = uses[{rule.name, rule::to_string(rule.exactness)}];
      egraph::decode(in_.imported.egraph, in_.program, pattern, in_.imported.egraph.matched(id), false, match_);
      for (const ENodeId n : match_.nodes) {
        if (!n.valid() || in_.imported.egraph.fact(egraph::term(n)).constant()) continue;
        const graph::SourceSet& matched = provenance_.sources(n);
        graph::SourceSet both;
        std::ranges::set_intersection(matched, own, std::back_inserter(both));
        names.elsewhere = names.elsewhere || both.size() < matched.size();
        names.here = graph::merge(names.here, both);
      }
    }
    // What was applied to other groups' nodes alone made something shared: a constant, mostly.
    std::vector<plan::RewriteUse> out;
    for (const auto& [key, names] : uses)
      if (!names.here.empty() || !names.elsewhere) out.push_back({key.first, key.second, sources.names(names.here)});
    return out;
  }

 private:
  /// Invalid for what is no term of the e-graph.
  ENodeId chosen(graph::NodeId id) const {
    return terms_[id.index].valid() ? ENodeId(terms_[id.index].index) : ENodeId();
  }

  /// Precondition: those of its readers are known.
  void collect(graph::NodeId id, const std::vector<graph::NodeId>& readers) {
    const ENodeId n = chosen(id);
    if (!n.valid()) return;
    const egraph::EGraph& egraph = in_.imported.egraph;
    const egraph::EClassId own = egraph.find(egraph::term(n));
    std::set<ApplicationId>& all = applications_[id.index];
    const auto add = [&](egraph::EClassId from) {
      const auto some = egraph::applications_between(egraph, in_.program, from, egraph::term(n));
      all.insert(some.begin(), some.end());
    };
    const auto originals = std::ranges::equal_range(originals_, own, {}, [](const auto& of) { return of.first; });
    if (!originals.empty()) {
      for (const auto& [c, original] : originals)
        if (original != n) add(egraph::term(original));
      return;
    }
    bool asked = false;
    for (const graph::NodeId reader : readers) {
      const ENodeId r = chosen(reader);
      if (!r.valid() || egraph.fact(own).constant()) continue;
      all.insert(applications_[reader.index].begin(), applications_[reader.index].end());
      for (const egraph::EClassId operand : egraph.original_operands(r)) {
        if (operand == egraph.none() || egraph.find(operand) != own) continue;
        asked = true;
        if (operand != egraph::term(n)) add(operand);
      }
    }
    if (!asked) add(egraph::term(n));
  }

  const ExtractInput& in_;
  const std::vector<plan::TermId>& terms_;
  std::vector<std::pair<egraph::EClassId, ENodeId>> originals_;  // sorted
  std::vector<std::set<ApplicationId>> applications_;            ///< by node of the planned graph
  egraph::Provenance provenance_;
  egraph::Decoded match_;
};

/// Composite operators that nodes of the planned graph are equal to, whether the model has them or rules made them.
class Recognitions {
 public:
  explicit Recognitions(const egraph::EGraph& egraph) : egraph_(egraph) {
    std::map<egraph::EClassId, std::vector<const ops::OpInfo*>> packs;
    for (std::uint32_t i = 0; i < egraph.node_count(); ++i) {
      const ENodeId n(i);
      const egraph::ENode& node = egraph[n];
      if (node.dead || node.op.index >= egraph.table().size()) continue;
      const ops::OpInfo& info = egraph.table()[node.op];
      if (info.body == nullptr) continue;
      const egraph::EClassId c = egraph.find(egraph::term(n));
      if (info.results.size() > 1)
        packs[c].push_back(&info);
      else
        names_[c].insert(info.name);
    }
    if (packs.empty()) return;
    for (std::uint32_t i = 0; i < egraph.node_count(); ++i) {
      const ENodeId n(i);
      if (egraph[n].dead || egraph[n].op != egraph.result_op()) continue;
      const auto pack = packs.find(egraph.find(egraph.operands(n)[0]));
      if (pack == packs.end()) continue;
      const std::uint32_t k = egraph.result_number(n);
      for (const ops::OpInfo* info : pack->second)
        names_[egraph.find(egraph::term(n))].insert(k == 0 ? info->name : info->name + "." + info->results[k]);
    }
  }

  std::vector<plan::Recognition> of(const plan::Plan& plan, const plan::Group& group) const {
    std::vector<plan::Recognition> out;
    for (const graph::NodeId id : group.nodes) {
      const plan::TermId term = plan.terms[id.index];
      if (!term.valid()) continue;
      const auto at = names_.find(egraph_.find(egraph::EClassId(term.index)));
      if (at == names_.end()) continue;
      for (const std::string& op : at->second) out.push_back({op, plan.graph[id].name});
    }
    std::ranges::sort(out);
    return out;
  }

 private:
  const egraph::EGraph& egraph_;
  std::map<egraph::EClassId, std::set<std::string>> names_;
};

/// Which nodes of the model each group stands for, and what it owes its form to.
void add_reasons(const ExtractInput& input, plan::Plan& plan) {
  const plan::KernelSources sources(plan.graph, input.source);
  std::optional<RewriteUses> uses;
  std::optional<Recognitions> recognitions;
  if (input.imported.egraph.records()) {
    uses.emplace(input, plan);
    recognitions.emplace(input.imported.egraph);
  }
  for (plan::Group& group : plan.groups) {
    const graph::SourceSet own = sources.of(group.nodes);
    group.source_nodes = sources.names(own);
    if (!uses) continue;
    group.rewrites = uses->of(sources, group, own);
    group.recognised = recognitions->of(plan, group);
  }
}

bool is_composite(const ops::OpInfo& info) { return info.body != nullptr; }

Result<graph::Graph> primitive(graph::Graph graph) {
  const auto composite = [&](const graph::Node& node) { return is_composite((*graph.table)[node.op]); };
  if (std::ranges::none_of(graph.nodes, composite)) return graph;
  return graph::expand_composites(graph, is_composite);
}

/// What is known of the model without a plan.
struct WithoutPlan {
  double bound = 0;  // seconds
  Unfused unfused;
};
Result<WithoutPlan> find_without_plan(const ExtractInput& input) {
  WithoutPlan out;
  out.bound = lower_bound(input.imported, input.device);
  FW_TRY(graph::Graph source, primitive(input.source));
  FW_TRY(out.unfused, unfused(std::move(source), input.device));
  return out;
}

}  // namespace

Result<plan::Plan> plan_unfused(const graph::Graph& source, const cost::Device& device) {
  FW_TRY(const graph::Graph graph, primitive(source));
  FusionOptions options;
  options.fuse = false;
  FW_TRY(plan::Plan plan, plan_fusion(graph, {}, device, options));
  plan.unfused_kernels = static_cast<std::int64_t>(plan.groups.size());
  for (const plan::Group& group : plan.groups) {
    plan.unfused_bytes += group.bytes;
    plan.unfused_seconds_estimated += group.seconds_estimated;
  }
  return plan;
}

Result<plan::Plan> extract(const ExtractInput& input, const FusionOptions& options) {
  auto without_plan = beside([&] { return find_without_plan(input); });
  options.begin("choose nodes");
  const egraph::Selection selection = select_nodes(input.imported, input.device);
  std::map<std::string, ENodeId> chosen;
  FW_TRY(graph::Graph selected, egraph::to_graph(input.source, input.imported, selection, &chosen));
  FW_TRY(graph::Graph graph, primitive(std::move(selected)));
  plan::Plan plan;
  if (options.memory) {
    FW_TRY(plan, plan_kernels(graph, input.rules, input.device, options));
    FW_TRY(plan, fit_memory(std::move(plan), *options.memory, input.device, [&](const cost::Device& device) {
             return plan_kernels(graph, input.rules, device, options);
           }));
  } else {
    FW_TRY(plan, plan_kernels(std::move(graph), input.rules, input.device, options));
  }
  options.begin("reasons");
  for (const graph::Node& node : plan.graph.nodes) {
    const auto at = chosen.find(node.name);
    plan.terms.push_back(at != chosen.end() ? plan::TermId(at->second.index) : plan::TermId());
  }
  add_reasons(input, plan);
  options.begin("bound");
  FW_TRY(const WithoutPlan found, without_plan.get());
  set_bound(plan, found.bound);
  plan.unfused_kernels = found.unfused.kernels;
  plan.unfused_bytes = found.unfused.bytes;
  plan.unfused_seconds_estimated = found.unfused.seconds;
  return plan;
}

}  // namespace fusewright::extract
