#include "evaluate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "assign.hpp"

namespace fusewright::extract {

Evaluator::Evaluator(const Graph& graph, const Uses& uses, const rule::RuleSet& rules, const cost::Device& device,
                     const NodeFacts& facts, const FusionOptions& options)
    : graph_(graph),
      uses_(uses),
      device_(device),
      facts_(facts),
      inside_(graph.nodes.size()),
      seen_(graph.nodes.size()) {
  if (!options.fuse) return;
  const std::string target = device.target.substr(0, device.target.find(':'));
  for (const rule::FuseRule& rule : rules.fuses) {
    if (!rule.targets.empty() && std::ranges::find(rule.targets, target) == rule.targets.end()) continue;
    if (!rule.exactness.within(options.allowed)) continue;
    Usable usable{&rule, std::vector<bool>(graph.table->size(), false)};
    for (const rule::FuseRoot& root : rule.roots)
      for (const rule::Segment& segment : root.segments)
        for (const ops::OpId op : segment.ops.ops) usable.ops[op.index] = true;
    rules_.push_back(std::move(usable));
  }
}

bool Evaluator::is_scalar_constant(Value v) const {
  return graph_.info(v.node).name == "constant" && graph_.type(v).shape.empty();
}

bool Evaluator::Marks::add(NodeId node) {
  if (mark_[node.index] == now_) return false;
  mark_[node.index] = now_;
  return true;
}

std::vector<Value> Evaluator::inputs(const std::vector<NodeId>& nodes) const {
  inside_.clear();
  for (const NodeId id : nodes) inside_.add(id);
  seen_.clear();
  std::vector<Value> in;
  for (const NodeId id : nodes)
    for (const Value operand : graph_[id].operands)
      if (operand.valid() && !inside_.contains(operand.node) && !is_scalar_constant(operand) &&
          (seen_.add(operand.node) || std::find(in.begin(), in.end(), operand) == in.end()))
        in.push_back(operand);
  return in;
}

std::vector<Value> Evaluator::stored_values(NodeId node) const {
  std::vector<Value> out;
  const std::uint32_t results = static_cast<std::uint32_t>(graph_[node].types.size());
  for (std::uint32_t r = 0; r < results; ++r) {
    const Value v{node, r};
    const auto reads = [&](NodeId reader) {
      const auto& operands = graph_[reader].operands;
      return !graph_[reader].computations.empty() || std::find(operands.begin(), operands.end(), v) != operands.end();
    };
    const auto& readers = uses_.readers(node);
    if (results == 1 || uses_.is_result(v) || std::any_of(readers.begin(), readers.end(), reads)) out.push_back(v);
  }
  return out;
}

// A reader inside that another kernel computes as well reads the value there, from memory.
std::vector<Value> Evaluator::outputs(const std::vector<NodeId>& nodes, const ElsewhereToo& elsewhere) const {
  inside_.clear();
  for (const NodeId id : nodes) inside_.add(id);
  std::vector<Value> out;
  for (const NodeId id : nodes) {
    if (facts_.duplicated[id.index]) continue;
    for (const Value v : stored_values(id)) {
      const auto outside = [&](NodeId reader) {
        if (facts_.load_time[reader.index]) return false;  // made when the model is loaded, and what it reads with it
        if (inside_.contains(reader) && !(elsewhere && elsewhere(reader))) return false;
        const auto& operands = graph_[reader].operands;
        return graph_[id].types.size() == 1 || !graph_[reader].computations.empty() ||
               std::find(operands.begin(), operands.end(), v) != operands.end();
      };
      const auto& readers = uses_.readers(id);
      if (uses_.is_result(v) || std::any_of(readers.begin(), readers.end(), outside)) out.push_back(v);
    }
  }
  return out;
}

bool is_view(const Graph& graph, const std::vector<NodeId>& nodes) {
  return nodes.size() == 1 && graph.info(nodes.front()).name == "reshape";
}

Evaluator::Fitted& Evaluator::remembered(region::Region region) {
  auto& same_hash = fitted_[region::hash(region)];
  for (const auto& fitted : same_hash)
    if (fitted->region == region) return *fitted;
  same_hash.push_back(std::make_unique<Fitted>(Fitted{std::move(region), {}}));
  return *same_hash.back();
}

const std::expected<schedule::Schedule, schedule::Refusal>& Evaluator::fit(Fitted& fitted, schedule::Template kind) {
  for (const auto& [known, schedule] : fitted.fits)
    if (known == kind) return schedule;
  fitted.fits.emplace_back(kind, schedule::fit(fitted.region, kind, device_.shape));
  return fitted.fits.back().second;
}

const Evaluated& Evaluator::evaluate(const std::vector<NodeId>& nodes, const std::vector<Value>& outputs) {
  const auto [at, fresh] = priced_.try_emplace({nodes, outputs}, std::unexpected(Refused{}));
  if (fresh) at->second = price(nodes, outputs);
  return at->second;
}

Evaluated Evaluator::price(const std::vector<NodeId>& nodes, const std::vector<Value>& outputs) {
  effort_ += nodes.size();
  Evaluation best;
  best.inputs = inputs(nodes);
  best.outputs = outputs;
  Result<region::Region> made = plan::make_region(graph_, nodes, best.inputs, best.outputs);
  if (!made) return std::unexpected(Refused{plan::Cut::Why::kTemplate, made.error().diagnostics.front().message});
  Fitted& fitted = remembered(*std::move(made));
  std::vector<bool> hot;
  for (const Value v : best.inputs)
    hot.push_back(!facts_.load_time[v.node.index] && graph_.info(v.node).name != "parameter");

  bool found = false;
  Refused refused{plan::Cut::Why::kRule, "no fuse rule takes these operators together"};
  const auto consider = [&](const rule::FuseRule* rule, const std::vector<NodeId>& exclusive, schedule::Template kind) {
    const auto& schedule = fit(fitted, kind);
    if (!schedule) {
      if (rule != nullptr && rule->kernel)
        refused = {plan::Cut::Why::kTemplate,
                   fmt::format("rule {}: template {}: {}", rule->name, ops::name(kind), schedule.error().reason)};
      return;
    }
    cost::KernelCost cost = cost::kernel_cost(fitted.region, *schedule, device_, hot);
    // Between near equals the simpler loop structure stays.
    if (found && cost.seconds >= 0.99 * best.cost.seconds) return;
    found = true;
    best.rule = rule;
    best.exclusive = exclusive;
    best.schedule = *schedule;
    best.cost = std::move(cost);
  };
  std::optional<Inside> inside;
  for (const Usable& usable : rules_) {
    const bool possible = std::all_of(nodes.begin(), nodes.end(), [&](NodeId id) {
      const std::uint32_t op = graph_[id].op.index;
      return op < usable.ops.size() && usable.ops[op];
    });
    if (!possible) continue;
    const rule::FuseRule& rule = *usable.rule;
    if (!inside) inside.emplace(graph_, nodes);
    const auto admitted = admits(rule, graph_, uses_, *inside);
    if (!admitted) {
      if (!found && refused.why != plan::Cut::Why::kTemplate)
        refused = {admitted.error().by_guard ? plan::Cut::Why::kGuard : plan::Cut::Why::kRule, admitted.error().reason};
      continue;
    }
    if (rule.kernel) {
      consider(&rule, *admitted, *rule.kernel);
      continue;
    }
    for (const auto& [kind, name] : ops::kTemplates) consider(&rule, *admitted, kind);
  }
  if (nodes.size() == 1)
    for (const auto& [kind, name] : ops::kTemplates) consider(nullptr, {}, kind);
  if (!found) return std::unexpected(std::move(refused));
  best.region = &fitted.region;
  return best;
}

std::string Budget::spent() const {
  if (options_.cancelled != nullptr && *options_.cancelled) return "extraction was cancelled";
  if (std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count() > options_.seconds)
    return fmt::format("extraction stopped after {} s with the best plan so far", options_.seconds);
  if (evaluator_.effort() > before_ + kMostEffort)
    return fmt::format("extraction stopped after pricing {} operators with the best plan so far", kMostEffort);
  return {};
}

}  // namespace fusewright::extract
