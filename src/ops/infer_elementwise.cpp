#include "src/ops/infer.hpp"

namespace fusewright::ops {

template <Domain kDomain>
Result<Types> infer_elementwise(const OpInfo& op, Operands operands, const Attrs&) {
  FW_TRY_STATUS(check_same_dtype(op, operands));
  FW_TRY_STATUS(check_domain(op, kDomain, operands[0].dtype));
  FW_TRY_STATUS(check_same_shape(op, operands));
  return Types{operands[0]};
}

template <Domain kDomain>
Result<Types> infer_predicate(const OpInfo& op, Operands operands, const Attrs& attrs) {
  FW_TRY(Types types, infer_elementwise<kDomain>(op, operands, attrs));
  types[0].dtype = DType::kPred;
  return types;
}

template Result<Types> infer_elementwise<Domain::kFloating>(const OpInfo&, Operands, const Attrs&);
template Result<Types> infer_elementwise<Domain::kInteger>(const OpInfo&, Operands, const Attrs&);
template Result<Types> infer_elementwise<Domain::kNumber>(const OpInfo&, Operands, const Attrs&);
template Result<Types> infer_elementwise<Domain::kLogical>(const OpInfo&, Operands, const Attrs&);
template Result<Types> infer_elementwise<Domain::kReal>(const OpInfo&, Operands, const Attrs&);
template Result<Types> infer_predicate<Domain::kFloating>(const OpInfo&, Operands, const Attrs&);
template Result<Types> infer_predicate<Domain::kReal>(const OpInfo&, Operands, const Attrs&);

Result<Types> infer_convert(const OpInfo& op, Operands operands, const Attrs& attrs) {
  const DType target = attrs.get<DType>("dtype");
  FW_TRY_STATUS(check_domain(op, Domain::kReal, operands[0].dtype));
  FW_TRY_STATUS(check_domain(op, Domain::kReal, target));
  return Types{Type::tensor(target, operands[0].shape)};
}

Result<Types> infer_bitcast(const OpInfo& op, Operands operands, const Attrs& attrs) {
  const DType target = attrs.get<DType>("dtype");
  const DType source = operands[0].dtype;
  // A pred is one byte but only one bit of it counts, so its bits are nobody else's.
  const bool pred = source == DType::kPred || target == DType::kPred;
  if (source != target && (pred || bit_width(source) != bit_width(target)))
    return fail(op.name + " from " + std::string(name(source)) + " to " + std::string(name(target)) +
                ": the widths differ");
  return Types{Type::tensor(target, operands[0].shape)};
}

Result<Types> infer_reduce_precision(const OpInfo& op, Operands operands, const Attrs& attrs) {
  FW_TRY_STATUS(check_domain(op, Domain::kFloating, operands[0].dtype));
  const std::int64_t exponent = attrs.get<std::int64_t>("exponent_bits");
  const std::int64_t mantissa = attrs.get<std::int64_t>("mantissa_bits");
  if (exponent < 1 || exponent > 11 || mantissa < 0 || mantissa > 52)
    return fail(op.name + " to " + std::to_string(exponent) + " exponent bits and " + std::to_string(mantissa) +
                " mantissa bits");
  return Types{operands[0]};
}

Result<Types> infer_select(const OpInfo& op, Operands operands, const Attrs&) {
  if (operands[0].dtype != DType::kPred)
    return fail("the first operand of " + op.name + " is " + to_string(operands[0]) + ", not pred");
  FW_TRY_STATUS(check_same_dtype(op, operands.subspan(1)));
  FW_TRY_STATUS(check_same_shape(op, operands));
  return Types{operands[1]};
}

}  // namespace fusewright::ops
