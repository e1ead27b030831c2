#include <algorithm>
#include <cmath>
#include <limits>

#include "src/interpret/approx.hpp"
#include "src/interpret/parallel.hpp"

namespace fusewright::interpret {

Approx with_radii(Tensor value, std::vector<double> radii) {
  for (double& radius : radii)
    if (std::isnan(radius)) radius = std::numeric_limits<double>::infinity();  // an end of which nothing is known
  const bool zero = std::ranges::all_of(radii, [](double radius) { return radius == 0; });
  return {std::move(value), zero ? nullptr : std::make_shared<const std::vector<double>>(std::move(radii))};
}

Result<Tensors> centers(const ApproxCall& call) { return find_node_fn(call.node.info)(call.node); }

Result<Approxes> approx_elementwise(const ApproxCall& call) {
  const ScalarOp op = *call.node.info.scalar;
  const bool exact = std::ranges::all_of(call.operands, &Approx::exact);
  const DType from = call.operands.back().value.dtype;  // of select: the values'
  const DType to = call.node.dtype();
  if (op == ScalarOp::kBitcast || !ops::is_float(to) ? exact : op == ScalarOp::kSelect && exact) {
    FW_TRY(Tensors values, centers(call));
    return Approxes{{std::move(values[0]), nullptr}};
  }
  if (op == ScalarOp::kBitcast) {
    FW_TRY(Tensors values, centers(call));
    std::vector<double> radii(static_cast<std::size_t>(values[0].elements()));
    for (std::size_t i = 0; i < radii.size(); ++i)
      radii[i] =
          call.operands[0].radius(static_cast<std::int64_t>(i)) > 0 ? std::numeric_limits<double>::infinity() : 0;
    return Approxes{with_radii(std::move(values[0]), std::move(radii))};
  }
  if (op != ScalarOp::kSelect && !has_meaning(op, from))
    return fail(ErrorKind::kUnsupported,
                call.node.info.name + " of " + std::string(ops::name(from)) + " cannot be evaluated");
  FW_TRY(Tensor value, ops::make_tensor(to, call.node.dims()));
  std::vector<double> radii(static_cast<std::size_t>(value.elements()));
  parallel_for(value.elements(), grain_for(40), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      Ball x[3];
      for (std::size_t k = 0; k < call.operands.size(); ++k) x[k] = call.operands[k].ball(i);
      const Ball result = ball_op(op, from, to, x, call.options);
      set_scalar(value, i, result.value);
      radii[static_cast<std::size_t>(i)] = result.radius;
    }
  });
  return Approxes{with_radii(std::move(value), std::move(radii))};
}

// Monotone, and a kernel rounds as the oracle does: the ends of each interval, rounded.
Result<Approxes> approx_reduce_precision(const ApproxCall& call) {
  FW_TRY(Tensors values, centers(call));
  const Approx& x = call.operands[0];
  if (x.exact()) return Approxes{{std::move(values[0]), nullptr}};
  std::vector<double> radii(static_cast<std::size_t>(x.value.elements()), 0);
  const std::vector<double> inputs = floats_of(x.value);
  for (const double sign : {-1.0, 1.0}) {
    std::vector<double> ends = inputs;
    for (std::size_t i = 0; i < ends.size(); ++i) ends[i] += sign * x.radius(static_cast<std::int64_t>(i));
    FW_TRY(const Tensor moved, tensor_of(x.value.dtype, x.value.dims, ends));
    NodeCall node = call.node;
    node.operands = {&moved, 1};
    FW_TRY(const Tensors reduced, eval_reduce_precision(node));
    for (std::size_t i = 0; i < radii.size(); ++i) {
      const double distance = std::fabs(ops::get_double(reduced[0], static_cast<std::int64_t>(i)) -
                                        ops::get_double(values[0], static_cast<std::int64_t>(i)));
      const bool unknown = std::isnan(distance) && x.radius(static_cast<std::int64_t>(i)) > 0;
      radii[i] = unknown                ? std::numeric_limits<double>::infinity()
                 : std::isnan(distance) ? radii[i]
                                        : std::max(radii[i], distance);
    }
  }
  return Approxes{with_radii(std::move(values[0]), std::move(radii))};
}

}  // namespace fusewright::interpret
