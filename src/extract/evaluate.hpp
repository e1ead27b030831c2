#pragma once

#include <chrono>
#include <expected>
#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "fusewright/cost/device.hpp"
#include "fusewright/extract/admit.hpp"
#include "fusewright/extract/fusion.hpp"
#include "fusewright/plan/plan.hpp"
#include "fusewright/rule/rule.hpp"
#include "signature.hpp"

namespace fusewright::extract {

using graph::Graph;
using graph::NodeId;
using graph::Value;

/// The cheapest kernel that a set of nodes can become, and what it costs.
struct Priced {
  const rule::FuseRule* rule = nullptr;  ///< null: one operator alone
  schedule::Schedule schedule;
  cost::KernelCost cost;
  double arithmetic = 0;                 ///< seconds that no kernel with these nodes goes below
  std::vector<std::uint32_t> exclusive;  ///< places of those in `no_duplicate` segments: no other kernel computes them
};

struct Refused {
  plan::Cut::Why why = plan::Cut::Why::kRule;
  std::string reason;
};
using Evaluated = std::expected<Priced, Refused>;

/// A kernel of the plan in the making.
struct Kernel {
  std::vector<NodeId> nodes;           ///< in topological order
  std::vector<Value> inputs, outputs;  ///< tensors read and written
  const Priced* price = nullptr;       ///< the evaluator's; null where there is no such kernel
  std::string unsupported;             ///< then: why no template computes it, one operator that stays alone
  bool alive = true;                   ///< false: others have taken its nodes

  double seconds() const { return price != nullptr ? price->cost.seconds : 0; }
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

/// Prices sets of nodes as kernels: each once, and all that have its signature with it.
class Evaluator {
 public:
  /// With the rules that hold for this device and that the options allow; none without `options.fuse`.
  Evaluator(const Graph& graph, const Uses& uses, const rule::RuleSet& rules, const cost::Device& device,
            const NodeFacts& facts, const FusionOptions& options);

  /// Whether a node is also computed by a kernel other than the one that is priced.
  using ElsewhereToo = std::function<bool(NodeId)>;

  /// Nodes that are asked for with several ways of storing what they make.
  struct Set {
    std::vector<NodeId> nodes;  // in topological order
    std::vector<Value> inputs;
    Signature signature;                   // nothing stored
    std::optional<region::Region> region;  // once one is needed
    std::vector<region::ValueId> values;   // in it: of all results of the nodes, in order
  };
  Set set_of(std::vector<NodeId> nodes);

  /// The cheapest kernel that computes exactly these nodes and stores these values, or why there is none. Stays as long
  /// as the evaluator does.
  const Evaluated& evaluate(Set& set, const std::vector<Value>& outputs);
  const Evaluated& evaluate(const std::vector<NodeId>& nodes, const std::vector<Value>& outputs) {
    Set set = set_of(nodes);
    return evaluate(set, outputs);
  }
  /// The same, stored being what is read outside.
  const Evaluated& evaluate(const std::vector<NodeId>& nodes, const ElsewhereToo& elsewhere = {}) {
    return evaluate(nodes, outputs(nodes, elsewhere));
  }
  /// What `evaluate` said before of these or of others of their signature; null where it was not asked.
  const Evaluated* known(const std::vector<NodeId>& nodes, const std::vector<Value>& outputs);
  /// Whether rules take these nodes as one kernel, whatever is stored; templates are not asked.
  bool admits(const Set& set) { return !offers(set).list.empty(); }
  /// Of these nodes and what they read; sets with the same one are priced alike.
  Signature signature(const std::vector<NodeId>& nodes, const std::vector<Value>& outputs) {
    return signatures_.of(nodes, inputs(nodes), outputs);
  }
  /// Tensors that such a kernel reads and writes, in order of first use.
  std::vector<Value> inputs(const std::vector<NodeId>& nodes) const;
  std::vector<Value> outputs(const std::vector<NodeId>& nodes, const ElsewhereToo& elsewhere) const;
  /// Sets of nodes that rules were asked for, and operators in those that were priced: what planning costs, and the
  /// same on every machine. What is known already costs nothing.
  std::size_t effort() const { return effort_; }

  /// Of a node that is stored, the results that anybody reads.
  std::vector<Value> stored_values(NodeId node) const;
  bool is_scalar_constant(Value v) const { return scalar_constant_[v.node.index]; }
  /// Whether a kernel of the plan makes it, just before it is read.
  bool in_cache(Value v) const;

 private:
  /// A way to make one kernel of a set of nodes, if a template fits.
  struct Offer {
    const rule::FuseRule* rule;  // null: one operator alone
    std::vector<std::uint32_t> exclusive;
  };
  struct Offers {
    std::vector<Offer> list;
    Refused refused;  // what to say where no offer can be taken up
  };
  const Offers& offers(const Set& set);
  Offers ask_rules(const std::vector<NodeId>& nodes);
  Evaluated price(Set& set, const std::vector<Value>& outputs, const Offers& offers);

  const Graph& graph_;
  const Uses& uses_;
  const cost::Device& device_;
  const NodeFacts& facts_;
  std::vector<bool> scalar_constant_;  // by node
  struct Usable {
    const rule::FuseRule* rule;
    std::vector<std::uint64_t> most;  // by operator: how many of it the segments take together
  };
  struct Count {
    ops::OpId op;
    std::uint64_t times = 0;
  };
  std::vector<Count> counts(const std::vector<NodeId>& nodes) const;
  std::vector<Usable> rules_;
  mutable std::vector<std::uint32_t> place_of_op_;  // in the counts that are made
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
  Signatures signatures_;
  schedule::PartFits part_fits_;
  std::unordered_map<Signature, Offers, SignatureHash> offers_;
  std::unordered_map<Signature, Evaluated, SignatureHash> priced_;
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
