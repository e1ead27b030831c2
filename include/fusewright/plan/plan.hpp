#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fusewright/graph/graph.hpp"
#include "fusewright/region/region.hpp"
#include "fusewright/schedule/schedule.hpp"

namespace fusewright::plan {

using graph::NodeId;
using graph::Value;
using GroupId = Id<struct GroupTag>;
using TermId = Id<struct PlanTermTag>;

/// One application of a rewrite that a group's nodes owe their form to.
struct RewriteUse {
  std::string rule;
  std::string exactness;
  std::vector<std::string> source_nodes;
};

/// A composite operator of the model, or one that rules have found in it: `value` is a result of it.
struct Recognition {
  std::string op;     ///< "layer_norm"; with ".square" behind it for a further result of that name
  std::string value;  ///< node of the plan's graph

  auto operator<=>(const Recognition&) const = default;
};

/// What becomes one kernel: nodes of the plan's graph (a node may be in several groups: recomputed in each).
struct Group {
  std::string name;            ///< "conv_bias_relu_17"
  std::string fuse_rule;       ///< the `fuse` rule that admits it; "single" for one operator alone
  std::vector<NodeId> nodes;   ///< topological
  std::vector<Value> inputs;   ///< tensors read: parameters, load-time constants, outputs of earlier groups
  std::vector<Value> outputs;  ///< tensors written
  region::Region region;       ///< of these nodes; captures are `inputs`
  schedule::Schedule schedule;
  std::string unsupported;  ///< why there is no kernel for it (control flow, effects, dtypes); empty where there is one
  std::vector<RewriteUse> rewrites;
  std::vector<Recognition> recognised;    ///< among its nodes, by name
  std::vector<std::string> source_nodes;  ///< names in the model file, sorted
  std::int64_t bytes = 0;                 ///< planned: region::planned_bytes
  double flops = 0;
  double seconds_estimated = 0;
  std::string cost_explanation;  ///< what bounds it: "dram 12.0 MB / 65 GB/s", "launch", "compute"
};

/// A tensor that is another one seen with other extents (reshape, and a graph output that is a parameter or constant).
struct View {
  Value value;
  Value of;
};

/// Why an edge between two groups was not fused.
struct Cut {
  enum class Why : std::uint8_t { kRule, kGuard, kTemplate, kCycle, kCost, kOutput };
  Value value;           ///< the tensor that is materialised
  std::string consumer;  ///< group that reads it ("" for a graph output)
  Why why = Why::kCost;
  std::string reason;        ///< with the numbers: "recomputing exp 4096 times: fused 1.2 ms, cut 0.3 ms"
  double seconds_fused = 0;  ///< where cost decided
  double seconds_cut = 0;
};

struct Extraction {
  double cost = 0;   ///< seconds, by the cost model
  double bound = 0;  ///< no plan costs less
  double gap = 0;    ///< (cost - bound) / cost
  std::vector<std::string> stop_reasons;
};

/// The whole decision: a graph of primitive operators and how its nodes are grouped. Groups are in execution order.
struct Plan {
  graph::Graph graph;
  std::vector<TermId> terms;  ///< by node of `graph`: the e-node that it was chosen as, by number; invalid for others
  std::vector<NodeId>
      load_time;  ///< nodes computed once when the model is loaded (folded weights), topological; constants not listed
  std::vector<Group> groups;
  std::vector<View> views;
  std::vector<Cut> cuts;
  Extraction extraction;
  std::int64_t unfused_kernels = 0;  ///< the same model with every operator alone, as imported
  std::int64_t unfused_bytes = 0;
  double unfused_seconds_estimated = 0;
};

/// Our own invariants: every needed value is written by exactly one group before it is read, outputs included. An error
/// is a bug.
Status verify(const Plan& plan);

/// By input of the group: whether its value is known when the model is loaded.
std::vector<bool> known_at_load(const Plan& plan, const Group& group);

/// Where every materialised tensor lives: one arena, lifetimes that do not overlap share bytes.
struct BufferPlan {
  struct Slot {
    Value value;
    std::int64_t offset = 0;  ///< in the arena, 64-byte aligned
    std::int64_t bytes = 0;
  };
  std::vector<Slot> slots;  ///< intermediates only; parameters, constants and outputs have memory of their own
  std::int64_t arena_bytes = 0;
};
BufferPlan plan_buffers(const Plan& plan);

/// Builds the closed region of some nodes of a graph: `inputs` become captures in order, scalar constants become
/// scalars.
Result<region::Region> make_region(const graph::Graph& graph, const std::vector<NodeId>& nodes,
                                   const std::vector<Value>& inputs, const std::vector<Value>& outputs);

/// "conv_bias_relu": what the nodes are, in order, for kernel names; letters, digits and '_' and at most 48 characters.
std::string group_name(const graph::Graph& graph, const std::vector<NodeId>& nodes, std::size_t number);

}  // namespace fusewright::plan
