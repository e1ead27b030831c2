#pragma once

#include <string>
#include <vector>

#include "fusewright/graph/graph.hpp"

namespace fusewright::prove {

/// A graph all of whose operators make one region.
struct WholeRegion {
  std::vector<graph::NodeId> nodes;
  std::vector<graph::Value> inputs;  ///< parameters, and constants of more than one element
};
WholeRegion whole_region(const graph::Graph& graph);

/// Reads the closed body of the graph's region element by element through its index maps, as a kernel does, on random
/// values. @returns how it differs from the graph's nodes, bit for bit, or nothing.
/// Errors: the graph has no values or is no region, so nothing can be said.
Result<std::string> region_difference(const graph::Graph& graph, const WholeRegion& region);

}  // namespace fusewright::prove
