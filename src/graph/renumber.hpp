#pragma once

#include <vector>

#include "fusewright/graph/graph.hpp"

namespace fusewright::graph {

/// The graph with only these nodes and computations, numbered in the order of computations and their nodes. Whatever is
/// kept must use only what is kept.
Graph renumber(Graph graph, const std::vector<bool>& keep_node, const std::vector<bool>& keep_computation);

}  // namespace fusewright::graph
