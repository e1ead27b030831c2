#include <algorithm>
#include <limits>
#include <numeric>

#include "src/ops/infer.hpp"

namespace fusewright::ops {
namespace {

// Floats give floats and integers give integers, so that a sum is never truncated on the way.
Status check_result_dtype(const OpInfo& op, Operands operands, const Attrs& attrs) {
  FW_TRY_STATUS(check_same_dtype(op, operands));
  FW_TRY_STATUS(check_domain(op, Domain::kNumber, operands[0].dtype));
  const DType dtype = attrs.get<DType>("dtype");
  if (computes_on(Domain::kNumber, dtype) && is_float(dtype) == is_float(operands[0].dtype)) return {};
  return fail(op.name + " of " + std::string(name(operands[0].dtype)) + " cannot give " + std::string(name(dtype)));
}

void set_default(Attrs& attrs, const char* name, const AttrValue& value) {
  if (!attrs.has(name)) attrs.set(name, value);
}

Ints count_up(std::size_t size) {
  Ints out(size);
  std::iota(out.begin(), out.end(), std::int64_t{0});
  return out;
}

Ints joined(const Ints& a, const Ints& b) {
  Ints out = a;
  out.insert(out.end(), b.begin(), b.end());
  return out;
}

const Dim& extent(const Type& type, std::int64_t axis) { return type.shape[static_cast<std::size_t>(axis)]; }

Status check_pairs(const OpInfo& op, Operands operands, const Ints& left, const Ints& right, const std::string& what) {
  if (left.size() != right.size())
    return fail(op.name + " has " + std::to_string(left.size()) + " " + what + " axes on its left and " +
                std::to_string(right.size()) + " on its right");
  for (std::size_t i = 0; i < left.size(); ++i)
    if (extent(operands[0], left[i]) != extent(operands[1], right[i]))
      return fail(describe_shapes(op, operands) + ": " + what + " axis " + std::to_string(left[i]) + " is " +
                  extent(operands[0], left[i]).to_string() + ", axis " + std::to_string(right[i]) + " is " +
                  extent(operands[1], right[i]).to_string());
  return {};
}

}  // namespace

// Without contracting axes: the last of `a` with the first of `b` that is not a batch axis, as in a matrix product.
Status complete_dot(Attrs& attrs, Operands operands) {
  set_default(attrs, "dtype", operands[0].dtype);
  if (attrs.has("lhs_contract") || attrs.has("rhs_contract")) {
    set_default(attrs, "lhs_contract", Ints{});
    set_default(attrs, "rhs_contract", Ints{});
    return {};
  }
  const Ints& batch = attrs.get<Ints>("rhs_batch");
  std::int64_t free = 0;
  while (std::find(batch.begin(), batch.end(), free) != batch.end()) ++free;
  attrs.set("lhs_contract", Ints{operands[0].rank() - 1});
  attrs.set("rhs_contract", Ints{free});
  return {};
}

Result<Types> infer_dot(const OpInfo& op, Operands operands, const Attrs& attrs) {
  const Ints& lhs_batch = attrs.get<Ints>("lhs_batch");
  const Ints& rhs_batch = attrs.get<Ints>("rhs_batch");
  const Ints lhs = joined(lhs_batch, attrs.get<Ints>("lhs_contract"));
  const Ints rhs = joined(rhs_batch, attrs.get<Ints>("rhs_contract"));
  FW_TRY_STATUS(check_result_dtype(op, operands, attrs));
  FW_TRY_STATUS(check_axes(op, lhs, operands[0].rank(), "the left side"));
  FW_TRY_STATUS(check_axes(op, rhs, operands[1].rank(), "the right side"));
  FW_TRY_STATUS(check_pairs(op, operands, lhs_batch, rhs_batch, "batch"));
  FW_TRY_STATUS(
      check_pairs(op, operands, attrs.get<Ints>("lhs_contract"), attrs.get<Ints>("rhs_contract"), "contracted"));
  Shape shape;
  for (const std::int64_t axis : lhs_batch) shape.push_back(extent(operands[0], axis));
  for (const Dim& dim : without_axes(operands[0].shape, lhs)) shape.push_back(dim);
  for (const Dim& dim : without_axes(operands[1].shape, rhs)) shape.push_back(dim);
  return Types{Type::tensor(attrs.get<DType>("dtype"), std::move(shape))};
}

Status complete_conv(Attrs& attrs, Operands operands) {
  const std::size_t rank = operands[0].shape.size();
  const std::size_t spatial = rank < 2 ? 0 : rank - 2;
  for (const char* name : {"strides", "lhs_dilation", "rhs_dilation"}) set_default(attrs, name, Ints(spatial, 1));
  for (const char* name : {"pad_low", "pad_high", "reversal"}) set_default(attrs, name, Ints(spatial, 0));
  for (const char* name : {"lhs_spec", "rhs_spec", "out_spec"}) set_default(attrs, name, count_up(rank));
  set_default(attrs, "dtype", operands[0].dtype);
  return {};
}

namespace {

Status check_conv_attrs(const OpInfo& op, Operands operands, const Attrs& attrs) {
  const std::int64_t rank = operands[0].rank();
  if (rank < 2 || operands[1].rank() != rank) return fail(describe_shapes(op, operands));
  constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::min();
  for (const char* name : {"strides", "lhs_dilation", "rhs_dilation"})
    FW_TRY_STATUS(check_per_axis(op, attrs.get<Ints>(name), rank - 2, 1, name));
  for (const char* name : {"pad_low", "pad_high"})
    FW_TRY_STATUS(check_per_axis(op, attrs.get<Ints>(name), rank - 2, kAny, name));
  FW_TRY_STATUS(check_per_axis(op, attrs.get<Ints>("reversal"), rank - 2, 0, "reversal"));
  for (const std::int64_t flag : attrs.get<Ints>("reversal"))
    if (flag > 1) return fail("reversal of conv holds " + std::to_string(flag) + ", not 0 or 1");
  for (const char* name : {"lhs_spec", "rhs_spec", "out_spec"}) {
    FW_TRY_STATUS(check_per_axis(op, attrs.get<Ints>(name), rank, 0, name));
    FW_TRY_STATUS(check_axes(op, attrs.get<Ints>(name), rank, name));
  }
  for (const char* name : {"groups", "batch_groups"})
    if (attrs.get<std::int64_t>(name) < 1)
      return fail(std::string(name) + " of conv is " + std::to_string(attrs.get<std::int64_t>(name)));
  return {};
}

bool divides(std::int64_t divisor, const Dim& dim) { return !dim.is_constant() || dim.value() % divisor == 0; }

Status check_conv_features(Operands operands, const Attrs& attrs) {
  const Ints& lhs_spec = attrs.get<Ints>("lhs_spec");
  const Ints& rhs_spec = attrs.get<Ints>("rhs_spec");
  const std::int64_t groups = attrs.get<std::int64_t>("groups");
  const std::int64_t batch_groups = attrs.get<std::int64_t>("batch_groups");
  const Dim& batch = extent(operands[0], lhs_spec[0]);
  const Dim& features = extent(operands[0], lhs_spec[1]);
  const Dim& out_features = extent(operands[1], rhs_spec[0]);
  const Dim& in_features = extent(operands[1], rhs_spec[1]);
  const std::string shapes =
      "conv of " + to_string(operands[0].shape) + " with weights " + to_string(operands[1].shape);
  if (groups > 1 && batch_groups > 1) return fail("conv with both groups and batch_groups");
  if (in_features * Dim(groups) != features)
    return fail(shapes + ": " + features.to_string() + " input features where the weights want " +
                in_features.to_string() + " for each of " + std::to_string(groups) + " groups");
  if (!divides(groups, out_features) || !divides(batch_groups, out_features))
    return fail(shapes + ": " + out_features.to_string() + " output features in " +
                std::to_string(std::max(groups, batch_groups)) + " groups");
  if (!divides(batch_groups, batch))
    return fail(shapes + ": a batch of " + batch.to_string() + " in " + std::to_string(batch_groups) + " groups");
  return {};
}

}  // namespace

Result<Types> infer_conv(const OpInfo& op, Operands operands, const Attrs& attrs) {
  FW_TRY_STATUS(check_result_dtype(op, operands, attrs));
  FW_TRY_STATUS(check_conv_attrs(op, operands, attrs));
  FW_TRY_STATUS(check_conv_features(operands, attrs));
  const Ints& lhs_spec = attrs.get<Ints>("lhs_spec");
  const Ints& rhs_spec = attrs.get<Ints>("rhs_spec");
  const Ints& out_spec = attrs.get<Ints>("out_spec");
  Shape shape(out_spec.size());
  const auto result = [&](std::size_t role) -> Dim& { return shape[static_cast<std::size_t>(out_spec[role])]; };
  result(0) = floor_div(extent(operands[0], lhs_spec[0]), Dim(attrs.get<std::int64_t>("batch_groups")));
  result(1) = extent(operands[1], rhs_spec[0]);
  for (std::size_t i = 0; i + 2 < out_spec.size(); ++i) {
    const Dim padded = dilated(extent(operands[0], lhs_spec[i + 2]), attrs.get<Ints>("lhs_dilation")[i]) +
                       Dim(attrs.get<Ints>("pad_low")[i]) + Dim(attrs.get<Ints>("pad_high")[i]);
    const Dim window = dilated(extent(operands[1], rhs_spec[i + 2]), attrs.get<Ints>("rhs_dilation")[i]);
    result(i + 2) = window_count(padded, window, attrs.get<Ints>("strides")[i]);
  }
  return Types{Type::tensor(attrs.get<DType>("dtype"), std::move(shape))};
}

Status complete_reduce_window(Attrs& attrs, Operands operands) {
  const std::size_t rank = operands[0].shape.size();
  for (const char* name : {"strides", "base_dilation", "window_dilation"}) set_default(attrs, name, Ints(rank, 1));
  for (const char* name : {"pad_low", "pad_high"}) set_default(attrs, name, Ints(rank, 0));
  return {};
}

Result<Types> infer_reduce_window(const OpInfo& op, Operands operands, const Attrs& attrs) {
  FW_TRY_STATUS(check_domain(op, Domain::kNumber, operands[0].dtype));
  const std::int64_t rank = operands[0].rank();
  constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::min();
  for (const char* name : {"window", "strides", "base_dilation", "window_dilation"})
    FW_TRY_STATUS(check_per_axis(op, attrs.get<Ints>(name), rank, 1, name));
  for (const char* name : {"pad_low", "pad_high"})
    FW_TRY_STATUS(check_per_axis(op, attrs.get<Ints>(name), rank, kAny, name));
  Shape shape;
  for (std::size_t i = 0; i < operands[0].shape.size(); ++i) {
    const Dim padded = dilated(operands[0].shape[i], attrs.get<Ints>("base_dilation")[i]) +
                       Dim(attrs.get<Ints>("pad_low")[i]) + Dim(attrs.get<Ints>("pad_high")[i]);
    const Dim window = dilated(Dim(attrs.get<Ints>("window")[i]), attrs.get<Ints>("window_dilation")[i]);
    shape.push_back(window_count(padded, window, attrs.get<Ints>("strides")[i]));
  }
  return Types{Type::tensor(operands[0].dtype, std::move(shape))};
}

}  // namespace fusewright::ops
