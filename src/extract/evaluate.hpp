#pragma once

#include <chrono>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "fusewright/cost/device.hpp"
#include "fusewright/extract/admit.hpp"
#include "fusewright/extract/fusion.hpp"
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
  const region::Region* region = nullptr;  ///< the evaluator's
  std::vector<Value> inputs, outputs;
  std::vector<NodeId> exclusive;  ///< in `no_duplicate` segments: no other kernel may compute these
};

struct Refused {
  plan::Cut::Why why = plan::Cut::Why::kRule;
  std::string reason;
};
using Evaluated = std::expected<Evaluation, Refused>;

/// A kernel of the plan in the making.
struct Kernel {
  std::vector<NodeId> nodes;  ///< in topological order
  Evaluation eval;
  std::string unsupported;  ///< no template computes it: one operator that stays alone
  bool alive = true;        ///< false: others have taken its nodes
};

/// A value that stays materialised although a kernel that reads it might have computed it.
struct Declined {
  Value value;
  NodeId reader;
  plan::Cut::Why why = plan::Cut::Why::kCost;
  std::string reason;
  double fused = 0, cut = 0;  ///< seconds
};

/// Whether this is one reshape: no kernel, but another way of seeing what it reads.
bool is_view(const Graph& graph, const std::vector<NodeId>& nodes);

/// What the planner knows of each node before it starts.
struct NodeFacts {
  std::vector<bool> constant;  ///< depends on constants alone
  std::vector<bool>
      load_time;  ///< of those, what is computed when the model is loaded; the others are left to their readers
  std::vector<bool> duplicated;  ///< computed in every kernel that reads it, never stored
};

/// Prices sets of nodes as kernels. Remembers every set that it has priced, and the schedules of equal regions.
class Evaluator {
 public:
  /// With the rules that hold for this device and that the options allow; none without `options.fuse`.
  Evaluator(const Graph& graph, const Uses& uses, const rule::RuleSet& rules, const cost::Device& device,
            const NodeFacts& facts, const FusionOptions& options);

  /// Whether a node is also computed by a kernel other than the one that is priced.
  using ElsewhereToo = std::function<bool(NodeId)>;

  /// The cheapest kernel that computes exactly these nodes (in topological order) and stores these values, or why there
  /// is none.
  const Evaluated& evaluate(const std::vector<NodeId>& nodes, const std::vector<Value>& outputs);
  /// The same, stored being what is read outside.
  const Evaluated& evaluate(const std::vector<NodeId>& nodes, const ElsewhereToo& elsewhere = {}) {
    return evaluate(nodes, outputs(nodes, elsewhere));
  }
  /// Tensors that such a kernel reads and writes, in order of first use.
  std::vector<Value> inputs(const std::vector<NodeId>& nodes) const;
  std::vector<Value> outputs(const std::vector<NodeId>& nodes, const ElsewhereToo& elsewhere) const;
  /// Nodes priced so far, each as often as a kernel with it was: what planning costs, and the same on every machine.
  std::size_t effort() const { return effort_; }

  /// Of a node that is stored, the results that anybody reads.
  std::vector<Value> stored_values(NodeId node) const;
  bool is_scalar_constant(Value v) const;

 private:
  struct Fitted {
    region::Region region;
    std::vector<std::pair<schedule::Template, std::expected<schedule::Schedule, schedule::Refusal>>> fits;
  };
  const std::expected<schedule::Schedule, schedule::Refusal>& fit(Fitted& fitted, schedule::Template kind);
  Fitted& remembered(region::Region region);
  Evaluated price(const std::vector<NodeId>& nodes, const std::vector<Value>& outputs);

  const Graph& graph_;
  const Uses& uses_;
  const cost::Device& device_;
  const NodeFacts& facts_;
  struct Usable {
    const rule::FuseRule* rule;
    std::vector<bool> ops;  // by operator: some segment takes it
  };
  std::vector<Usable> rules_;
  std::size_t effort_ = 0;

  /// A set of nodes that is emptied in no time.
  class Marks {
   public:
    explicit Marks(std::size_t nodes) : mark_(nodes, 0) {}
    void clear() { ++now_; }
    bool add(NodeId node);  ///< false: it was there
    bool contains(NodeId node) const { return mark_[node.index] == now_; }

   private:
    std::vector<std::uint64_t> mark_;
    std::uint64_t now_ = 0;
  };
  mutable Marks inside_, seen_;
  std::map<std::pair<std::vector<NodeId>, std::vector<Value>>, Evaluated> priced_;
  std::unordered_map<std::uint64_t, std::vector<std::unique_ptr<Fitted>>> fitted_;
};

/// What one way of improving a plan may take.
class Budget {
 public:
  Budget(const Evaluator& evaluator, const FusionOptions& options)
      : evaluator_(evaluator), options_(options), before_(evaluator.effort()) {}

  /// Why it is used up, or nothing.
  std::string spent() const;

 private:
  static constexpr std::size_t kMostEffort = 1'000'000;  // a few seconds

  const Evaluator& evaluator_;
  const FusionOptions& options_;
  std::size_t before_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace fusewright::extract
