#include <limits>

#include "src/ops/infer.hpp"

namespace fusewright::ops {
namespace {

Dim product(const Shape& shape) {
  Dim out(1);
  for (const Dim& dim : shape) out = out * dim;
  return out;
}

Status check_extents(const OpInfo& op, const Shape& shape) {
  for (const Dim& dim : shape)
    if (dim.is_constant() && dim.value() < 0)
      return fail("shape of " + op.name + " has a negative dim: " + to_string(shape));
  return {};
}

}  // namespace

Result<Types> infer_broadcast(const OpInfo& op, Operands operands, const Attrs& attrs) {
  const Shape& shape = attrs.get<Shape>("shape");
  const Ints& dims = attrs.get<Ints>("dims");
  FW_TRY_STATUS(check_extents(op, shape));
  if (dims.size() != operands[0].shape.size())
    return fail("dims of broadcast has " + std::to_string(dims.size()) + " numbers where the operand is " +
                to_string(operands[0]));
  FW_TRY_STATUS(check_axes(op, dims, static_cast<std::int64_t>(shape.size()), "dims"));
  FW_TRY_STATUS(check_sorted(op, dims, "dims"));
  for (std::size_t i = 0; i < dims.size(); ++i)
    if (operands[0].shape[i] != shape[static_cast<std::size_t>(dims[i])])
      return fail("broadcast of " + to_string(operands[0].shape) + " to " + to_string(shape) + ": axis " +
                  std::to_string(i) + " is " + operands[0].shape[i].to_string() + ", axis " + std::to_string(dims[i]) +
                  " of the result is " + shape[static_cast<std::size_t>(dims[i])].to_string());
  return Types{Type::tensor(operands[0].dtype, shape)};
}

Result<Types> infer_reshape(const OpInfo& op, Operands operands, const Attrs& attrs) {
  const Shape& shape = attrs.get<Shape>("shape");
  FW_TRY_STATUS(check_extents(op, shape));
  if (shape != operands[0].shape && product(shape) != product(operands[0].shape))
    return fail("reshape of " + to_string(operands[0].shape) + " to " + to_string(shape) +
                " changes the number of elements");
  return Types{Type::tensor(operands[0].dtype, shape)};
}

Result<Types> infer_transpose(const OpInfo& op, Operands operands, const Attrs& attrs) {
  const Ints& perm = attrs.get<Ints>("perm");
  const std::int64_t rank = operands[0].rank();
  FW_TRY_STATUS(check_per_axis(op, perm, rank, 0, "perm"));
  FW_TRY_STATUS(check_axes(op, perm, rank, "perm"));
  Shape shape;
  for (const std::int64_t axis : perm) shape.push_back(operands[0].shape[static_cast<std::size_t>(axis)]);
  return Types{Type::tensor(operands[0].dtype, std::move(shape))};
}

Result<Types> infer_reverse(const OpInfo& op, Operands operands, const Attrs& attrs) {
  FW_TRY_STATUS(check_axes(op, attrs.get<Ints>("axes"), operands[0].rank(), "axes"));
  return Types{operands[0]};
}

Status complete_slice(Attrs& attrs, Operands operands) {
  if (!attrs.has("strides")) attrs.set("strides", Ints(operands[0].shape.size(), 1));
  return {};
}

Result<Types> infer_slice(const OpInfo& op, Operands operands, const Attrs& attrs) {
  const Ints& starts = attrs.get<Ints>("starts");
  const Ints& limits = attrs.get<Ints>("limits");
  const Ints& strides = attrs.get<Ints>("strides");
  const std::int64_t rank = operands[0].rank();
  FW_TRY_STATUS(check_per_axis(op, starts, rank, 0, "starts"));
  FW_TRY_STATUS(check_per_axis(op, limits, rank, 0, "limits"));
  FW_TRY_STATUS(check_per_axis(op, strides, rank, 1, "strides"));
  Shape shape;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const Dim& extent = operands[0].shape[i];
    // An extent that is not bound is taken at the model's word.
    if (starts[i] > limits[i] || (extent.is_constant() && limits[i] > extent.value()))
      return fail("slice [" + std::to_string(starts[i]) + ":" + std::to_string(limits[i]) + "] of axis " +
                  std::to_string(i) + " of " + to_string(operands[0].shape));
    const std::int64_t span = limits[i] - starts[i];
    shape.push_back(Dim(span / strides[i] + (span % strides[i] != 0 ? 1 : 0)));
  }
  return Types{Type::tensor(operands[0].dtype, std::move(shape))};
}

Status complete_pad(Attrs& attrs, Operands operands) {
  for (const char* name : {"low", "high", "interior"})
    if (!attrs.has(name)) attrs.set(name, Ints(operands[0].shape.size(), 0));
  return {};
}

Result<Types> infer_pad(const OpInfo& op, Operands operands, const Attrs& attrs) {
  const Ints& low = attrs.get<Ints>("low");
  const Ints& high = attrs.get<Ints>("high");
  const Ints& interior = attrs.get<Ints>("interior");
  const std::int64_t rank = operands[0].rank();
  constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::min();
  FW_TRY_STATUS(check_same_dtype(op, operands));
  FW_TRY_STATUS(check_scalar(op, operands[1], "value"));
  FW_TRY_STATUS(check_per_axis(op, low, rank, kAny, "low"));
  FW_TRY_STATUS(check_per_axis(op, high, rank, kAny, "high"));
  FW_TRY_STATUS(check_per_axis(op, interior, rank, 0, "interior"));
  Shape shape;
  for (std::size_t i = 0; i < low.size(); ++i) {
    const Dim extent =
        dilated(operands[0].shape[i],
                interior[i] == std::numeric_limits<std::int64_t>::max() ? interior[i] : interior[i] + 1) +
        Dim(low[i]) + Dim(high[i]);
    if (extent.is_constant() && extent.value() < 0)
      return fail("pad of axis " + std::to_string(i) + " of " + to_string(operands[0].shape) + " by " +
                  std::to_string(low[i]) + " and " + std::to_string(high[i]) + " leaves less than nothing");
    shape.push_back(extent);
  }
  return Types{Type::tensor(operands[0].dtype, std::move(shape))};
}

Result<Types> infer_concat(const OpInfo& op, Operands operands, const Attrs& attrs) {
  if (operands.empty()) return fail("concat of no operands");
  FW_TRY_STATUS(check_same_dtype(op, operands));
  FW_TRY_STATUS(check_axes(op, {attrs.get<std::int64_t>("axis")}, operands[0].rank(), "axis"));
  const auto axis = static_cast<std::size_t>(attrs.get<std::int64_t>("axis"));
  Shape shape = operands[0].shape;
  for (const Type& operand : operands.subspan(1)) {
    if (operand.rank() != operands[0].rank()) return fail(describe_shapes(op, operands));
    for (std::size_t i = 0; i < shape.size(); ++i) {
      if (i == axis) {
        shape[i] = shape[i] + operand.shape[i];
      } else if (shape[i] != operand.shape[i]) {
        return fail(describe_shapes(op, operands) + ", which differ in axis " + std::to_string(i));
      }
    }
  }
  return Types{Type::tensor(operands[0].dtype, std::move(shape))};
}

}  // namespace fusewright::ops
