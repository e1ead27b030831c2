#include <algorithm>

#include "src/ops/infer.hpp"

namespace fusewright::ops {
namespace {

std::string number(std::int64_t value) { return std::to_string(value); }

}  // namespace

bool computes_on(Domain domain, DType dtype) {
  if (dtype == DType::kC64 || dtype == DType::kC128) return false;
  switch (domain) {
    case Domain::kFloating: return is_float(dtype);
    case Domain::kInteger: return is_integer(dtype);
    case Domain::kNumber: return dtype != DType::kPred;
    case Domain::kLogical: return is_integer(dtype) || dtype == DType::kPred;
    case Domain::kReal: return true;
  }
  return false;
}

Status check_domain(const OpInfo& op, Domain domain, DType dtype) {
  if (computes_on(domain, dtype)) return {};
  return fail(op.name + " does not compute on " + std::string(name(dtype)));
}

Status check_same_dtype(const OpInfo& op, Operands operands) {
  for (const Type& operand : operands)
    if (operand.dtype != operands[0].dtype)
      return fail("operands of " + op.name + " have dtypes " + std::string(name(operands[0].dtype)) + " and " +
                  std::string(name(operand.dtype)));
  return {};
}

std::string describe_shapes(const OpInfo& op, Operands operands) {
  std::string out = "operands of " + op.name + " have shapes ";
  for (std::size_t i = 0; i < operands.size(); ++i)
    out += (i == 0 ? "" : i + 1 < operands.size() ? ", " : " and ") + to_string(operands[i].shape);
  return out;
}

Status check_same_shape(const OpInfo& op, Operands operands) {
  for (const Type& operand : operands)
    if (operand.shape != operands[0].shape) return fail(describe_shapes(op, operands));
  return {};
}

Status check_scalar(const OpInfo& op, const Type& type, const std::string& what) {
  if (type.shape.empty()) return {};
  return fail(what + " of " + op.name + " is " + to_string(type) + ", not a scalar");
}

Status check_integer(const OpInfo& op, const Type& type, const std::string& what) {
  if (is_integer(type.dtype)) return {};
  return fail(what + " of " + op.name + " is " + to_string(type) + ", not integers");
}

Status check_per_axis(const OpInfo& op, const Ints& values, std::int64_t rank, std::int64_t least,
                      const std::string& what) {
  if (static_cast<std::int64_t>(values.size()) != rank)
    return fail(what + " of " + op.name + " has " + number(static_cast<std::int64_t>(values.size())) +
                " numbers where the rank is " + number(rank));
  for (const std::int64_t value : values)
    if (value < least)
      return fail(what + " of " + op.name + " holds " + number(value) + ", which is below " + number(least));
  return {};
}

Status check_axes(const OpInfo& op, const Ints& axes, std::int64_t rank, const std::string& what) {
  Ints sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (sorted[i] < 0 || sorted[i] >= rank)
      return fail(what + " of " + op.name + " names axis " + number(sorted[i]) + " where the rank is " + number(rank));
    if (i > 0 && sorted[i] == sorted[i - 1])
      return fail(what + " of " + op.name + " names axis " + number(sorted[i]) + " twice");
  }
  return {};
}

Status check_sorted(const OpInfo& op, const Ints& axes, const std::string& what) {
  if (std::is_sorted(axes.begin(), axes.end())) return {};
  return fail(what + " of " + op.name + " is not in increasing order: " + to_string(AttrValue(axes)));
}

Dim dilated(const Dim& extent, std::int64_t dilation) {
  if (dilation == 1 || extent == Dim(0)) return extent;
  return (extent - Dim(1)) * Dim(dilation) + Dim(1);
}

Dim window_count(const Dim& extent, const Dim& window, std::int64_t stride) {
  const Dim room = extent - window;
  if (room.is_constant() && room.value() < 0) return Dim(0);
  return floor_div(room, Dim(stride)) + Dim(1);
}

Shape without_axes(const Shape& shape, const Ints& axes) {
  Shape out;
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(i)) == axes.end()) out.push_back(shape[i]);
  return out;
}

}  // namespace fusewright::ops
