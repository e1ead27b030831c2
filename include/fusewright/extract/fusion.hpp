#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "fusewright/cost/device.hpp"
#include "fusewright/graph/graph.hpp"
#include "fusewright/plan/plan.hpp"
#include "fusewright/rule/rule.hpp"

namespace fusewright::extract {

struct FusionOptions {
  double seconds = 300;  ///< for improving the plan; reaching it keeps the best one and is a stop reason. The count of
                         ///< operators priced ends it long before: time differs from run to run, and with it the plan
  bool fuse = true;      ///< false: every operator alone
  double worthwhile = 0.03;  ///< share of what neighbouring kernels cost that is worth a change of them, and that a
                             ///< further kernel or an operator computed again must save
  std::optional<std::int64_t> memory;  ///< of `extract`: bytes that a run may hold at once (plan::memory)
  rule::Exactness allowed;             ///< classes that `fuse` rules may have; bit-exact ones always may
  const std::atomic<bool>* cancelled = nullptr;
  std::function<void(const std::string& part)> progress;  ///< told as each part of the work begins

  void begin(const char* part) const {
    if (progress) progress(part);
  }
};

/// Groups the nodes of a graph of primitive operators into kernels that the `fuse` rules admit and the schedule
/// templates fit, at least estimated time. Decides what is materialised, computed again in several kernels, written as
/// a side output, merged sideways. Deterministic.
/// @returns the plan without `rewrites` (they come from the e-graph) and with the unfused figures of `graph` left at
/// zero.
Result<plan::Plan> plan_fusion(const graph::Graph& graph, const rule::RuleSet& rules, const cost::Device& device,
                               const FusionOptions& options = {});

/// What a graph of primitive operators takes with every operator alone.
struct Unfused {
  std::int64_t kernels = 0, bytes = 0;
  double seconds = 0;
};
Result<Unfused> unfused(graph::Graph graph, const cost::Device& device);

}  // namespace fusewright::extract
