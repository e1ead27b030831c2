#pragma once

#include <expected>
#include <functional>
#include <unordered_map>
#include <vector>

#include "fusewright/cost/device.hpp"
#include "fusewright/extract/admit.hpp"
#include "fusewright/plan/plan.hpp"
#include "fusewright/rule/rule.hpp"

namespace fusewright::extract {

using graph::Graph;
using graph::NodeId;
using graph::Value;

/// One kernel that a set of nodes can become, and what it costs.
struct Evaluation {
  const rule::FuseRule* rule = nullptr;  ///< null: one operator alone
  schedule::Schedule schedule;
  cost::KernelCost cost;
  region::Region region;
  std::vector<Value> inputs, outputs;
};

struct Refused {
  plan::Cut::Why why = plan::Cut::Why::kRule;
  std::string reason;
};
using Evaluated = std::expected<Evaluation, Refused>;

/// What the planner knows of each node before it starts.
struct NodeFacts {
  std::vector<bool> constant;  ///< depends on constants alone
  std::vector<bool>
      load_time;  ///< of those, what is computed when the model is loaded; the others are left to their readers
  std::vector<bool> duplicated;  ///< computed in every kernel that reads it, never stored
};

/// Prices sets of nodes as kernels. Remembers the schedules of equal regions.
class Evaluator {
 public:
  Evaluator(const Graph& graph, const Uses& uses, const rule::RuleSet& rules, const cost::Device& device,
            const NodeFacts& facts);

  /// Whether a node is also computed by a kernel other than the one that is priced.
  using ElsewhereToo = std::function<bool(NodeId)>;

  /// The cheapest kernel for exactly these nodes (in topological order), or why there is none.
  Evaluated evaluate(const std::vector<NodeId>& nodes, const ElsewhereToo& elsewhere = {});
  /// Tensors that such a kernel reads and writes, in order of first use.
  std::vector<Value> inputs(const std::vector<NodeId>& nodes) const;
  std::vector<Value> outputs(const std::vector<NodeId>& nodes, const ElsewhereToo& elsewhere) const;
  bool is_scalar_constant(Value v) const;

 private:
  struct Fitted {
    region::Region region;
    std::vector<std::pair<schedule::Template, std::expected<schedule::Schedule, schedule::Refusal>>> fits;
  };
  const std::expected<schedule::Schedule, schedule::Refusal>& fit(Fitted& fitted, schedule::Template kind);
  Fitted& remembered(region::Region region);

  const Graph& graph_;
  const Uses& uses_;
  const rule::RuleSet& rules_;
  const cost::Device& device_;
  const NodeFacts& facts_;
  std::vector<std::vector<bool>> rule_ops_;  // by rule, operator: some segment takes it
  std::unordered_map<std::uint64_t, std::vector<std::unique_ptr<Fitted>>> fitted_;
};

}  // namespace fusewright::extract
