#pragma once

#include "fusewright/extract/fusion.hpp"

namespace fusewright::extract {

/// `plan_fusion` without what is found beside the kernels: groups do not name the model's nodes, and the bound is zero.
Result<plan::Plan> plan_kernels(graph::Graph graph, const rule::RuleSet& rules, const cost::Device& device,
                                const FusionOptions& options);

}  // namespace fusewright::extract
