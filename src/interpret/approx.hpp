#pragma once

#include <memory>

#include "src/interpret/ball.hpp"
#include "src/interpret/node.hpp"

// The operators once more, on tensors of balls: one function for each way an error travels.
namespace fusewright::interpret {

using Radii = std::shared_ptr<const std::vector<double>>;

/// A tensor of balls; without radii it is exact.
struct Approx {
  Tensor value;
  Radii radii;

  bool exact() const { return radii == nullptr; }
  double radius(std::int64_t index) const { return radii ? (*radii)[static_cast<std::size_t>(index)] : 0; }
  Ball ball(std::int64_t index) const { return {get_scalar(value, index), radius(index)}; }
};
using Approxes = std::vector<Approx>;

/// Without radii when all of them are zero.
Approx with_radii(Tensor value, std::vector<double> radii);

struct ApproxCall {
  NodeCall node;  ///< on the operands' values
  std::span<const Approx> operands;
  const BoundOptions& options;
  /// The nested computation on balls; null for a node without one, empty where it is no scalar program.
  const std::function<std::vector<Ball>(std::span<const Ball>)>* body = nullptr;
};
using ApproxFn = Result<Approxes> (*)(const ApproxCall&);

/// Null for the operators that have none: those are exact on exact operands and unknown on others.
ApproxFn find_approx_fn(const ops::OpInfo& info);

// approx_elementwise.cpp
Result<Approxes> approx_elementwise(const ApproxCall& call);
Result<Approxes> approx_reduce_precision(const ApproxCall& call);

// approx_movement.cpp: results are copies of elements of some operands; addresses come from the others
Result<Approxes> approx_movement(const ApproxCall& call);
Result<Approxes> approx_scatter(const ApproxCall& call);

// approx_fold.cpp
Result<Approxes> approx_reduction(const ApproxCall& call);
Result<Approxes> approx_reduce_window(const ApproxCall& call);
Result<Approxes> approx_cumulative(const ApproxCall& call);
Result<Approxes> approx_reduce(const ApproxCall& call);

// approx_contract.cpp
Result<Approxes> approx_dot(const ApproxCall& call);
Result<Approxes> approx_conv(const ApproxCall& call);

// approx_order.cpp
Result<Approxes> approx_arg_reduction(const ApproxCall& call);
Result<Approxes> approx_sort(const ApproxCall& call);
Result<Approxes> approx_top_k(const ApproxCall& call);

/// Shorthand: the oracle's own results.
Result<Tensors> centers(const ApproxCall& call);

}  // namespace fusewright::interpret
