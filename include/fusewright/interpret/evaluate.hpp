#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "fusewright/graph/graph.hpp"
#include "fusewright/ops/op_table.hpp"
#include "fusewright/ops/tensor.hpp"

namespace fusewright::interpret {

/// The reference evaluator: the meaning of every operator, against which everything else is tested.
/// Floats are computed in f64 (f64 itself in 113-bit arithmetic) and rounded to the declared dtype after every
/// operator; sums, products of sums and convolutions accumulate wide and round once; integers are exact and wrap.
/// Results do not depend on the number of threads.
struct EvaluateOptions {
  std::uint64_t seed = 0;                 ///< of the random operators
  std::int64_t max_iterations = 1 << 20;  ///< of one loop; reaching it is an error of kind kResource
};

/// Results of the entry computation, in order. Intermediates are freed after their last use.
/// @param inputs one tensor for each entry parameter, with its dtype and shape.
/// Errors: inputs that do not fit (kInput), operators that cannot be evaluated such as custom_call (kUnsupported),
/// a loop without end or no memory (kResource); each names the node.
Result<std::vector<ops::Tensor>> evaluate(const graph::Graph& graph, std::span<const ops::Tensor> inputs,
                                          const EvaluateOptions& options = {});

/// Called with each value of the entry computation as it is computed, parameters and constants included.
using Observer = std::function<void(graph::Value, const ops::Tensor&)>;
/// The same, and shows every value of the entry on the way.
Result<std::vector<ops::Tensor>> evaluate_observed(const graph::Graph& graph, std::span<const ops::Tensor> inputs,
                                                   const Observer& observer, const EvaluateOptions& options = {});

/// The wanted values of the entry computation, in the order asked for; nodes they do not need are not evaluated.
Result<std::vector<ops::Tensor>> evaluate_values(const graph::Graph& graph, std::span<const ops::Tensor> inputs,
                                                 std::span<const graph::Value> wanted,
                                                 const EvaluateOptions& options = {});

/// One node without nested computations: for folding constants, shapes and weights. Composites are evaluated by their
/// bodies.
/// @param operands those left out have no storage (`ops::Tensor{}`).
/// @param attrs    complete (see OpTable::complete_attrs).
/// @param types    of the results, static; empty: inferred.
/// Errors: control flow, parameters and operators without a meaning (kUnsupported), types that do not infer.
Result<std::vector<ops::Tensor>> evaluate_node(const ops::OpTable& table, ops::OpId op,
                                               std::span<const ops::Tensor> operands, const ops::Attrs& attrs,
                                               std::span<const ops::Type> types = {},
                                               const EvaluateOptions& options = {});

}  // namespace fusewright::interpret
