#pragma once

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "fusewright/graph/graph.hpp"

namespace fusewright::frontend_hlo {

/// Tensors that the import knows; none where only the run tells.
using Known = std::vector<std::optional<ops::Tensor>>;

/// What follows for small tensors, such as the counters of loops, from constants and from what is known of the
/// parameters: one entry for each wanted value, all of one computation.
/// @param parameters  by position; those not listed are unknown.
Known foresee(const graph::Graph& graph, graph::ComputationId computation, std::span<const graph::Value> wanted,
              std::span<const std::optional<ops::Tensor>> parameters = {});

/// Of a loop that ends after a number of iterations that is known: its state before each of them.
struct Foreseen {
  std::vector<Known> states;
};
/// None where only the run tells how often the loop is repeated, and beyond `most` iterations.
std::optional<Foreseen> foresee_loop(const graph::Graph& graph, graph::ComputationId condition,
                                     graph::ComputationId body, Known state, std::size_t most);

}  // namespace fusewright::frontend_hlo
