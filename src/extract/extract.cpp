#include "fusewright/extract/extract.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "bound.hpp"
#include "fusewright/egraph/explain.hpp"
#include "fusewright/plan/sources.hpp"
#include "memory.hpp"

namespace fusewright::extract {

namespace {

using egraph::ApplicationId;
using egraph::ENodeId;

/// For each node of the planned graph the rewrites that it owes its form to: those that lead to it from the nodes of
/// the model that it stands for, else from what its readers were made to read.
class RewriteUses {
 public:
  RewriteUses(const ExtractInput& input, const std::map<std::string, ENodeId>& chosen, const plan::Plan& plan)
      : in_(input), chosen_(chosen), applications_(plan.graph.nodes.size()) {
    const egraph::EGraph& egraph = in_.imported.egraph;
    for (std::uint32_t i = 0; i < in_.imported.origins.size(); ++i) {
      const ENodeId n(i);
      if (in_.imported.origin(n).valid()) originals_[egraph.find(egraph::term(n))].push_back(n);
    }
    const auto& order = plan.graph.entry_computation().nodes;
    std::vector<std::vector<graph::NodeId>> readers(plan.graph.nodes.size());
    for (const graph::NodeId id : order)
      for (const graph::Value operand : plan.graph[id].operands)
        if (operand.valid()) readers[operand.node.index].push_back(id);
    for (auto id = order.rbegin(); id != order.rend(); ++id) collect(plan.graph, *id, readers[id->index]);
  }

  std::vector<plan::RewriteUse> of(const plan::Sources& sources, const plan::Group& group) {
    std::set<ApplicationId> applications;
    // Shared constants owe their form to whichever node of the model was first to use them.
    const bool only_constants =
        std::all_of(group.nodes.begin(), group.nodes.end(), [&](graph::NodeId id) { return sources.is_constant(id); });
    for (const graph::NodeId id : group.nodes)
      if (only_constants || !sources.is_constant(id))
        applications.insert(applications_[id.index].begin(), applications_[id.index].end());
    std::map<std::pair<std::string, std::string>, std::set<std::string>> uses;
    egraph::Provenance provenance(in_.imported.egraph);
    for (const ApplicationId id : applications) {
      const auto pattern = in_.imported.egraph[id].pattern;
      const rule::RewriteRule& rule = in_.rewrites[in_.program.patterns[pattern.index].rule.index];
      auto& names = uses[{rule.name, rule::to_string(rule.exactness)}];
      egraph::Decoded match;
      egraph::decode(in_.imported.egraph, in_.program, pattern, in_.imported.egraph.matched(id), false, match);
      for (const ENodeId n : match.nodes)
        if (n.valid() && !in_.imported.egraph.fact(egraph::term(n)).constant())
          for (const graph::SourceId s : provenance.sources(n)) names.insert(in_.source.sources[s.index].name);
    }
    // What was applied to other groups' nodes alone made something shared: a constant, mostly.
    const std::set<std::string> own(group.source_nodes.begin(), group.source_nodes.end());
    std::vector<plan::RewriteUse> out;
    for (const auto& [key, names] : uses) {
      std::vector<std::string> here;
      std::ranges::set_intersection(names, own, std::back_inserter(here));
      if (names.empty() || !here.empty()) out.push_back({key.first, key.second, std::move(here)});
    }
    return out;
  }

 private:
  std::optional<ENodeId> chosen(const graph::Node& node) const {
    const auto at = chosen_.find(node.name);
    return at == chosen_.end() ? std::nullopt : std::optional(at->second);
  }

  /// Precondition: those of its readers are known.
  void collect(const graph::Graph& graph, graph::NodeId id, const std::vector<graph::NodeId>& readers) {
    const std::optional<ENodeId> n = chosen(graph[id]);
    if (!n) return;
    const egraph::EGraph& egraph = in_.imported.egraph;
    const egraph::EClassId own = egraph.find(egraph::term(*n));
    std::set<ApplicationId>& all = applications_[id.index];
    const auto add = [&](egraph::EClassId from) {
      const auto some = egraph::applications_between(egraph, in_.program, from, egraph::term(*n));
      all.insert(some.begin(), some.end());
    };
    if (const auto originals = originals_.find(own); originals != originals_.end()) {
      for (const ENodeId original : originals->second)
        if (original != *n) add(egraph::term(original));
      return;
    }
    bool asked = false;
    for (const graph::NodeId reader : readers) {
      const std::optional<ENodeId> r = chosen(graph[reader]);
      if (!r || egraph.fact(own).constant()) continue;
      all.insert(applications_[reader.index].begin(), applications_[reader.index].end());
      for (const egraph::EClassId operand : egraph.original_operands(*r)) {
        if (operand == egraph.none() || egraph.find(operand) != own) continue;
        asked = true;
        if (operand != egraph::term(*n)) add(operand);
      }
    }
    if (!asked) add(egraph::term(*n));
  }

  const ExtractInput& in_;
  const std::map<std::string, ENodeId>& chosen_;
  std::map<egraph::EClassId, std::vector<ENodeId>> originals_;
  std::vector<std::set<ApplicationId>> applications_;  ///< by node of the planned graph
};

/// Composite operators that rules made equal to nodes of the planned graph.
class Recognitions {
 public:
  explicit Recognitions(const egraph::EGraph& egraph) : egraph_(egraph) {
    std::map<egraph::EClassId, std::vector<const ops::OpInfo*>> packs;
    for (std::uint32_t i = 0; i < egraph.node_count(); ++i) {
      const ENodeId n(i);
      const egraph::ENode& node = egraph[n];
      if (node.dead || node.op == egraph.result_op() || !egraph.made_by(n).valid()) continue;
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

Result<graph::Graph> primitive(const graph::Graph& graph) {
  return graph::expand_composites(graph, [](const ops::OpInfo& info) { return info.body != nullptr; });
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
  options.begin("choose nodes");
  const egraph::Selection selection = select_nodes(input.imported, input.device);
  std::map<std::string, ENodeId> chosen;
  FW_TRY(const graph::Graph selected, egraph::to_graph(input.source, input.imported, selection, &chosen));
  FW_TRY(const graph::Graph graph, primitive(selected));
  FW_TRY(plan::Plan plan, plan_fusion(graph, input.rules, input.device, options));
  if (options.memory) {
    FW_TRY(plan, fit_memory(std::move(plan), *options.memory, input.device, [&](const cost::Device& device) {
             return plan_fusion(graph, input.rules, device, options);
           }));
  }
  options.begin("bound of the e-graph");
  set_bound(plan, lower_bound(input.imported, input.device));
  options.begin("reasons");
  for (const graph::Node& node : plan.graph.nodes) {
    const auto at = chosen.find(node.name);
    plan.terms.push_back(at != chosen.end() ? plan::TermId(at->second.index) : plan::TermId());
  }
  if (input.imported.egraph.records()) {
    RewriteUses uses(input, chosen, plan);
    const Recognitions recognitions(input.imported.egraph);
    const plan::Sources sources(plan.graph);
    for (plan::Group& group : plan.groups) {
      group.rewrites = uses.of(sources, group);
      group.recognised = recognitions.of(plan, group);
    }
  }
  options.begin("plan unfused");
  FW_TRY(graph::Graph source, primitive(input.source));
  FW_TRY(const Unfused alone, unfused(std::move(source), input.device));
  plan.unfused_kernels = alone.kernels;
  plan.unfused_bytes = alone.bytes;
  plan.unfused_seconds_estimated = alone.seconds;
  return plan;
}

}  // namespace fusewright::extract
