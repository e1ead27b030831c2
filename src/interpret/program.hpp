#pragma once

#include <functional>
#include <optional>

#include "fusewright/graph/graph.hpp"
#include "src/interpret/node.hpp"

namespace fusewright::interpret {

/// A nested computation that consists of scalar operations only, as combiners and comparators mostly do: run directly
/// on elements, because such bodies run once for every element of a tensor.
struct ScalarProgram {
  struct Step {
    ops::ScalarOp op;
    DType from, to;                     ///< of the operands (of select: the values) and the result
    std::vector<std::size_t> operands;  ///< slots
  };
  struct Constant {
    std::size_t slot;
    Scalar value;
  };
  std::size_t parameters = 0;  ///< slots 0 .. parameters hold the arguments
  std::vector<Constant> constants;
  std::vector<Step> steps;  ///< step i fills slot first_step + i
  std::size_t first_step = 0;
  std::vector<std::size_t> results;
  std::vector<DType> parameter_dtypes;

  /// `apply(step, operand values)` gives a step's value, `exact(scalar)` a constant's.
  template <class T, class Apply, class Exact>
  std::vector<T> run(std::span<const T> args, Apply apply, Exact exact) const {
    std::vector<T> slots(args.begin(), args.end());
    slots.resize(first_step + steps.size());
    for (const Constant& constant : constants) slots[constant.slot] = exact(constant.value);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      T operands[3] = {};
      for (std::size_t k = 0; k < steps[i].operands.size(); ++k) operands[k] = slots[steps[i].operands[k]];
      slots[first_step + i] = apply(steps[i], operands);
    }
    std::vector<T> out;
    for (const std::size_t slot : results) out.push_back(slots[slot]);
    return out;
  }
};

/// Nothing when the computation has other nodes than parameters, constants and scalar operations on rank 0, or captures
/// values.
std::optional<ScalarProgram> compile_scalar_program(const graph::Graph& graph, graph::ComputationId id);

}  // namespace fusewright::interpret
