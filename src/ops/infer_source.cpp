#include "src/ops/infer.hpp"

namespace fusewright::ops {

Result<Types> infer_constant(const OpInfo& op, Operands, const Attrs& attrs) {
  const TensorHandle& value = attrs.get<TensorHandle>("value");
  if (!value || !value->storage) return fail(op.name + " has no value");
  return Types{value->type()};
}

Result<Types> infer_iota(const OpInfo& op, Operands, const Attrs& attrs) {
  const Shape& shape = attrs.get<Shape>("shape");
  const DType dtype = attrs.get<DType>("dtype");
  FW_TRY_STATUS(check_domain(op, Domain::kNumber, dtype));
  FW_TRY_STATUS(check_axes(op, {attrs.get<std::int64_t>("axis")}, static_cast<std::int64_t>(shape.size()), "axis"));
  return Types{Type::tensor(dtype, shape)};
}

Result<Types> infer_rng(const OpInfo& op, Operands operands, const Attrs& attrs) {
  const DType dtype = attrs.get<DType>("dtype");
  FW_TRY_STATUS(check_domain(op, Domain::kReal, dtype));
  for (const Type& operand : operands) {
    FW_TRY_STATUS(check_scalar(op, operand, "an operand"));
    if (operand.dtype != dtype)
      return fail("operand of " + op.name + " is " + to_string(operand) + " where the result is " +
                  std::string(name(dtype)));
  }
  return Types{Type::tensor(dtype, attrs.get<Shape>("shape"))};
}

Result<Types> infer_rng_bits(const OpInfo& op, Operands operands, const Attrs& attrs) {
  const DType dtype = attrs.get<DType>("dtype");
  FW_TRY_STATUS(check_domain(op, Domain::kInteger, dtype));
  FW_TRY_STATUS(check_integer(op, operands[0], "state"));
  return Types{operands[0], Type::tensor(dtype, attrs.get<Shape>("shape"))};
}

}  // namespace fusewright::ops
