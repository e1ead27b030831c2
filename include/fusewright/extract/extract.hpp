#pragma once

#include "fusewright/cost/device.hpp"
#include "fusewright/egraph/convert.hpp"
#include "fusewright/extract/fusion.hpp"
#include "fusewright/match/program.hpp"
#include "fusewright/plan/plan.hpp"
#include "fusewright/rule/rule.hpp"

namespace fusewright::extract {

/// One executable node for each class that the results need, at least cost of computing every chosen node once: own
/// work and traffic as if its neighbours were fused, constants for nothing. Acyclic by construction. Composite
/// operators, which have no kernels, are chosen only where a class has nothing else.
egraph::Selection select_nodes(const egraph::Imported& imported, const cost::Device& device);

struct ExtractInput {
  const graph::Graph& source;        ///< as imported: what is planned unfused
  const egraph::Imported& imported;  ///< saturated
  const match::Program& program;     ///< that saturated it
  const std::vector<rule::RewriteRule>& rewrites;
  const rule::RuleSet& rules;  ///< its `fuse` rules
  const cost::Device& device;
};

/// The plan of least cost found: which equal form of the model, and how its nodes are grouped into kernels.
/// Errors: kCheckFailed when the chosen nodes make no graph (our fault).
Result<plan::Plan> extract(const ExtractInput& input, const FusionOptions& options);

/// Every operator of the model alone, composites expanded, with the figures of the plan set to its own.
Result<plan::Plan> plan_unfused(const graph::Graph& source, const cost::Device& device);

}  // namespace fusewright::extract
