#include "src/prove/zeros.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace fusewright::prove {

using graph::Graph;
using graph::Node;
using graph::Value;
using ops::OpClass;
using ops::OpInfo;
using ops::ScalarOp;

namespace {

/// Takes one of two equal values, and does not say which.
bool chooses(const OpInfo& info, const Node& node) {
  using enum ScalarOp;
  if (info.scalar) return *info.scalar == kMax || *info.scalar == kMin || *info.scalar == kClamp;
  if (info.op_class == OpClass::kSort) {
    const auto* stable = node.attrs.find("stable");
    return stable == nullptr || !std::get<bool>(*stable);
  }
  constexpr std::array<std::string_view, 6> kFolds = {"reduce_max",        "reduce_min", "reduce_window_max",
                                                      "reduce_window_min", "cum_max",    "cum_min"};
  return std::ranges::find(kFolds, info.name) != kFolds.end();
}

/// Whether the operator gives equal numbers for both zeros in this operand.
bool hides_zero(const OpInfo& info, std::size_t operand) {
  using enum ScalarOp;
  constexpr std::array kHiding = {kAbs, kExp, kCos, kCosh, kLog, kAcos, kAcosh, kLogistic, kIsFinite, kIsNan, kIsInf};
  if (!info.scalar) return false;
  if (*info.scalar == kSelect) return operand == 0;
  return ops::is_comparison(*info.scalar) || std::ranges::find(kHiding, *info.scalar) != kHiding.end();
}

bool is_open(const Graph& graph, const Node& node, const OpInfo& info, const std::vector<bool>& open) {
  if (chooses(info, node) || !node.computations.empty()) return true;
  for (std::size_t k = 0; k < node.operands.size(); ++k) {
    const Value v = node.operands[k];
    if (v.valid() && open[v.node.index] && ops::is_float(graph.type(v).dtype) && !hides_zero(info, k)) return true;
  }
  return false;
}

}  // namespace

std::vector<bool> open_zeros(const Graph& graph) {
  std::vector<bool> open(graph.nodes.size(), false);
  for (const graph::NodeId id : graph.entry_computation().nodes)
    open[id.index] = is_open(graph, graph[id], graph.info(id), open);
  std::vector<bool> out;
  for (const Value v : graph.entry_computation().results) out.push_back(open[v.node.index]);
  return out;
}

}  // namespace fusewright::prove
