#pragma once

#include <optional>

#include "fusewright/graph/graph.hpp"

namespace fusewright::prove {

/// The graph on tensors of `count` elements, without its movement: every element is what the graph makes of one of each
/// parameter. Only of graphs that compute each element by itself, from one place in each parameter.
std::optional<graph::Graph> widened(const graph::Graph& graph, std::int64_t count);

/// The graph for `count` rounds of values at once, along a new first axis of all its parameters and results. Nothing
/// where it has operators other than elementwise ones, moves, reductions, scans, windows and matrix products.
std::optional<graph::Graph> batched(const graph::Graph& graph, std::int64_t count);

/// The graph with some other function in place of each that is not one of arithmetic: `exp`, `sqrt`, `tanh`, ... What
/// equals still, equals whatever they compute. Nothing where the graph has none of them.
std::optional<graph::Graph> with_other_functions(const graph::Graph& graph);

}  // namespace fusewright::prove
