#include "src/ops/infer.hpp"

namespace fusewright::ops {

template <Domain kDomain>
Result<Types> infer_reduction(const OpInfo& op, Operands operands, const Attrs& attrs) {
  FW_TRY_STATUS(check_domain(op, kDomain, operands[0].dtype));
  const Ints& axes = attrs.get<Ints>("axes");
  FW_TRY_STATUS(check_axes(op, axes, operands[0].rank(), "axes"));
  return Types{Type::tensor(operands[0].dtype, without_axes(operands[0].shape, axes))};
}

template Result<Types> infer_reduction<Domain::kNumber>(const OpInfo&, Operands, const Attrs&);
template Result<Types> infer_reduction<Domain::kLogical>(const OpInfo&, Operands, const Attrs&);
template Result<Types> infer_reduction<Domain::kReal>(const OpInfo&, Operands, const Attrs&);

Result<Types> infer_arg_reduction(const OpInfo& op, Operands operands, const Attrs& attrs) {
  FW_TRY_STATUS(check_domain(op, Domain::kReal, operands[0].dtype));
  const Ints axes = {attrs.get<std::int64_t>("axis")};
  const DType dtype = attrs.get<DType>("dtype");
  FW_TRY_STATUS(check_axes(op, axes, operands[0].rank(), "axis"));
  if (!is_integer(dtype)) return fail("dtype of " + op.name + " is " + std::string(name(dtype)) + ", not an integer");
  if (operands[0].shape[static_cast<std::size_t>(axes[0])] == Dim(0))
    return fail(op.name + " over an axis without elements: " + to_string(operands[0]));
  return Types{Type::tensor(dtype, without_axes(operands[0].shape, axes))};
}

Result<Types> infer_reduce(const OpInfo& op, Operands operands, const Attrs& attrs) {
  if (operands.empty() || operands.size() % 2 != 0)
    return fail("reduce has " + std::to_string(operands.size()) +
                " operands, not a tensor and an init for each result");
  const std::size_t count = operands.size() / 2;
  const Ints& axes = attrs.get<Ints>("axes");
  FW_TRY_STATUS(check_axes(op, axes, operands[0].rank(), "axes"));
  FW_TRY_STATUS(check_same_shape(op, operands.first(count)));
  Types types;
  for (std::size_t i = 0; i < count; ++i) {
    const Type& init = operands[count + i];
    FW_TRY_STATUS(check_scalar(op, init, "init"));
    if (init.dtype != operands[i].dtype)
      return fail("reduce of " + to_string(operands[i]) + " with an init of " + to_string(init));
    types.push_back(Type::tensor(init.dtype, without_axes(operands[0].shape, axes)));
  }
  return types;
}

Result<Types> infer_scan(const OpInfo& op, Operands operands, const Attrs& attrs) {
  FW_TRY_STATUS(check_domain(op, Domain::kNumber, operands[0].dtype));
  FW_TRY_STATUS(check_axes(op, {attrs.get<std::int64_t>("axis")}, operands[0].rank(), "axis"));
  return Types{operands[0]};
}

Result<Types> infer_sort(const OpInfo& op, Operands operands, const Attrs& attrs) {
  if (operands.empty()) return fail("sort of no operands");
  FW_TRY_STATUS(check_domain(op, Domain::kReal, operands[0].dtype));
  FW_TRY_STATUS(check_same_shape(op, operands));
  FW_TRY_STATUS(check_axes(op, {attrs.get<std::int64_t>("axis")}, operands[0].rank(), "axis"));
  return Types(operands.begin(), operands.end());
}

Result<Types> infer_top_k(const OpInfo& op, Operands operands, const Attrs& attrs) {
  FW_TRY_STATUS(check_domain(op, Domain::kReal, operands[0].dtype));
  const std::int64_t axis = attrs.get<std::int64_t>("axis");
  const std::int64_t k = attrs.get<std::int64_t>("k");
  const DType dtype = attrs.get<DType>("dtype");
  FW_TRY_STATUS(check_axes(op, {axis}, operands[0].rank(), "axis"));
  if (!is_integer(dtype)) return fail("dtype of top_k is " + std::string(name(dtype)) + ", not an integer");
  Shape shape = operands[0].shape;
  Dim& extent = shape[static_cast<std::size_t>(axis)];
  if (k < 0 || (extent.is_constant() && k > extent.value()))
    return fail("top_k of " + std::to_string(k) + " elements along axis " + std::to_string(axis) + " of " +
                to_string(operands[0].shape));
  extent = Dim(k);
  return Types{Type::tensor(operands[0].dtype, shape), Type::tensor(dtype, shape)};
}

}  // namespace fusewright::ops
