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
      seen_(graph.nodes.size()),
      signatures_(graph, uses, facts),
      part_fits_(device.shape) {
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    scalar_constant_.push_back(graph.info(NodeId(i)).name == "constant" && graph.nodes[i].types[0].shape.empty());
  if (!options.fuse) return;
  const std::string target = device.target.substr(0, device.target.find(':'));
  for (const rule::FuseRule& rule : rules.fuses) {
    if (!rule.targets.empty() && std::ranges::find(rule.targets, target) == rule.targets.end()) continue;
    if (!rule.exactness.within(options.allowed)) continue;
    Usable usable{&rule, std::vector<std::uint64_t>(graph.table->size(), 0)};
    for (const rule::FuseRoot& root : rule.roots)
      for (const rule::Segment& segment : root.segments)
        for (const ops::OpId op : segment.ops.ops)
          usable.most[op.index] = std::min<std::uint64_t>(
              rule::Segment::kUnbounded, usable.most[op.index] + std::uint64_t(root.max) * segment.max);
    rules_.push_back(std::move(usable));
  }
}

bool Evaluator::in_cache(Value v) const {
  return !facts_.load_time[v.node.index] && graph_.info(v.node).name != "parameter";
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
          (seen_.add(operand.node) ||
           (graph_[operand.node].types.size() > 1 && std::ranges::find(in, operand) == in.end())))
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
  const auto add_if_read = [&](Value v) {
    const auto outside = [&](NodeId reader) {
      if (facts_.load_time[reader.index]) return false;  // made when the model is loaded, and what it reads with it
      if (inside_.contains(reader) && !(elsewhere && elsewhere(reader))) return false;
      return graph_[v.node].types.size() == 1 || !graph_[reader].computations.empty() ||
             std::ranges::find(graph_[reader].operands, v) != graph_[reader].operands.end();
    };
    if (uses_.is_result(v) || std::ranges::any_of(uses_.readers(v.node), outside)) out.push_back(v);
  };
  for (const NodeId id : nodes) {
    if (facts_.duplicated[id.index]) continue;
    if (graph_[id].types.size() == 1)
      add_if_read({id, 0});
    else
      std::ranges::for_each(stored_values(id), add_if_read);
  }
  return out;
}

bool is_view(const Graph& graph, const std::vector<NodeId>& nodes) {
  return nodes.size() == 1 && graph.info(nodes.front()).name == "reshape";
}

Evaluator::Set Evaluator::set_of(std::vector<NodeId> nodes) {
  Set set;
  set.nodes = std::move(nodes);
  set.inputs = inputs(set.nodes);
  set.signature = signatures_.of(set.nodes, set.inputs, {});
  return set;
}

const Evaluated& Evaluator::evaluate(Set& set, const std::vector<Value>& outputs) {
  const auto [at, fresh] =
      priced_.try_emplace(Signatures::with_outputs(set.signature, set.nodes, outputs), std::unexpected(Refused{}));
  if (fresh) at->second = price(set, outputs, offers(set));
  return at->second;
}

const Evaluated* Evaluator::known(const std::vector<NodeId>& nodes, const std::vector<Value>& outputs) {
  const auto at = priced_.find(signature(nodes, outputs));
  return at != priced_.end() ? &at->second : nullptr;
}

const Evaluator::Offers& Evaluator::offers(const Set& set) {
  const auto [at, fresh] = offers_.try_emplace(set.signature);
  if (fresh) at->second = ask_rules(set.nodes);
  return at->second;
}

std::vector<Evaluator::Count> Evaluator::counts(const std::vector<NodeId>& nodes) const {
  constexpr std::uint32_t kNone = ~0U;
  place_of_op_.resize(graph_.table->size(), kNone);
  std::vector<Count> out;
  for (const NodeId id : nodes) {
    std::uint32_t& place = place_of_op_[graph_[id].op.index];
    if (place == kNone) {
      place = static_cast<std::uint32_t>(out.size());
      out.push_back({graph_[id].op});
    }
    ++out[place].times;
  }
  for (const Count& count : out) place_of_op_[count.op.index] = kNone;
  return out;
}

namespace {

/// The cheapest kernel of a region among those that rules and templates offer.
class Cheapest {
 public:
  /// @param refused  what to say if no template that is offered fits for a reason of its own
  Cheapest(const region::Region& region, const cost::Device& device, schedule::PartFits& part_fits,
           std::vector<bool> hot, Refused refused)
      : fits_(region, device.shape, part_fits), device_(device), hot_(std::move(hot)), refused_(std::move(refused)) {}

  void consider(const rule::FuseRule* rule, const std::vector<std::uint32_t>& exclusive, schedule::Template kind) {
    const schedule::Fit& schedule = fits_.with(kind);
    if (!schedule) {
      if (rule != nullptr && rule->kernel)
        refused_ = {plan::Cut::Why::kTemplate,
                    fmt::format("rule {}: template {}: {}", rule->name, ops::name(kind), schedule.error().reason)};
      return;
    }
    // The first rule that offers a template has it.
    if (std::ranges::find(considered_, kind) != considered_.end()) return;
    considered_.push_back(kind);
    cost::KernelCost cost = cost::kernel_cost(fits_, *schedule, device_, hot_);
    // Between near equals the simpler loop structure stays.
    if (found_ && cost.seconds >= 0.99 * best_.cost.seconds) return;
    found_ = true;
    best_ = {rule, *schedule, std::move(cost), 0, exclusive};
  }
  Evaluated result() && {
    if (!found_) return std::unexpected(std::move(refused_));
    best_.arithmetic = cost::arithmetic_seconds(fits_.region(), device_);
    return std::move(best_);
  }

 private:
  schedule::Fits fits_;
  const cost::Device& device_;
  std::vector<bool> hot_;
  std::vector<schedule::Template> considered_;
  bool found_ = false;
  Priced best_;
  Refused refused_;
};

}  // namespace

// Most sets are refused by rules: a region is made only of the others.
Evaluator::Offers Evaluator::ask_rules(const std::vector<NodeId>& nodes) {
  ++effort_;
  Offers out;
  out.refused = {plan::Cut::Why::kRule, "no fuse rule takes these operators together"};
  const std::vector<Count> present = counts(nodes);
  std::optional<Inside> inside;
  for (const Usable& usable : rules_) {
    if (std::ranges::any_of(present, [&](const Count& c) { return usable.most[c.op.index] == 0; })) continue;
    const auto over = std::ranges::find_if(present, [&](const Count& c) { return c.times > usable.most[c.op.index]; });
    if (over != present.end()) {
      out.refused.reason = fmt::format("rule {}: it takes {} {}, and here are {}", usable.rule->name,
                                       usable.most[over->op.index], (*graph_.table)[over->op].name, over->times);
      continue;
    }
    if (!inside) inside.emplace(graph_, nodes);
    auto admitted = extract::admits(*usable.rule, graph_, uses_, *inside);
    if (admitted)
      out.list.push_back({usable.rule, *std::move(admitted)});
    else
      out.refused = {admitted.error().by_guard ? plan::Cut::Why::kGuard : plan::Cut::Why::kRule,
                     std::move(admitted.error().reason)};
  }
  if (nodes.size() == 1) out.list.push_back({nullptr, {}});
  return out;
}

Evaluated Evaluator::price(Set& set, const std::vector<Value>& outputs, const Offers& offers) {
  if (offers.list.empty()) return std::unexpected(offers.refused);
  effort_ += set.nodes.size();

  if (!set.region) {
    std::vector<Value> all;
    for (const NodeId id : set.nodes)
      for (std::uint32_t r = 0; r < graph_[id].types.size(); ++r) all.push_back({id, r});
    Result<region::Region> region = plan::make_region(graph_, set.nodes, set.inputs, all);
    if (!region) return std::unexpected(Refused{plan::Cut::Why::kTemplate, region.error().diagnostics.front().message});
    set.region = *std::move(region);
    set.values = set.region->outputs;
  }
  set.region->outputs.clear();
  for (const Value v : outputs) {
    std::size_t at = v.result;
    for (auto n = set.nodes.begin(); *n != v.node; ++n) at += graph_[*n].types.size();
    set.region->outputs.push_back(set.values[at]);
  }
  std::vector<bool> hot;
  for (const Value v : set.inputs) hot.push_back(in_cache(v));
  Cheapest cheapest(*set.region, device_, part_fits_, std::move(hot), offers.refused);
  for (const Offer& offer : offers.list) {
    if (offer.rule != nullptr && offer.rule->kernel) {
      cheapest.consider(offer.rule, offer.exclusive, *offer.rule->kernel);
      continue;
    }
    for (const auto& [kind, name] : ops::kTemplates) cheapest.consider(offer.rule, offer.exclusive, kind);
  }
  return std::move(cheapest).result();
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
