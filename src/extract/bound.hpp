#pragma once

#include "fusewright/cost/device.hpp"
#include "fusewright/egraph/convert.hpp"
#include "fusewright/graph/graph.hpp"
#include "fusewright/plan/plan.hpp"

namespace fusewright::extract {

/// Seconds that no plan of this graph of primitive operators can go below, by the cost model: one launch, and the
/// larger of the arithmetic that every plan does and the bytes that every plan moves.
double lower_bound(const graph::Graph& graph, const cost::Device& device);

/// The same over every equal form of the model that the e-graph holds.
double lower_bound(const egraph::Imported& imported, const cost::Device& device);

/// Notes it, and how far the plan's cost may be from the least.
void set_bound(plan::Plan& plan, double seconds);

}  // namespace fusewright::extract
