#pragma once

#include "fusewright/graph/graph.hpp"

namespace fusewright::prove {

/// Whether two graphs over the same parameters are one term: the same operators of the same operands (either way round
/// where they commute), so that they have the same values without being evaluated. False for nodes with bodies.
bool same_graph(const graph::Graph& left, const graph::Graph& right);

}  // namespace fusewright::prove
