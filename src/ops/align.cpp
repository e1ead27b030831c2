#include "fusewright/ops/expr.hpp"

namespace fusewright::ops {
namespace {

Result<TermValue> apply_one(const OpTable& table, const char* op, TermValue operand, const Attrs& attrs,
                            TermBuilder& builder) {
  FW_TRY(const std::vector<TermValue> results, builder.apply(table.require(op), {operand}, attrs, {}));
  return results[0];
}

}  // namespace

Result<TermValue> align_to(const OpTable& table, TermValue value, const Shape& shape, TermBuilder& builder) {
  const Shape from = builder.type(value).shape;
  if (from == shape) return value;
  const std::string refused = "shape " + to_string(from) + " does not broadcast to " + to_string(shape);
  if (from.size() > shape.size()) return fail(refused);
  const std::size_t shift = shape.size() - from.size();
  Shape kept;
  std::vector<std::int64_t> dims;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from[i] == shape[i + shift]) {
      kept.push_back(from[i]);
      dims.push_back(static_cast<std::int64_t>(i + shift));
    } else if (from[i] != Dim(1)) {
      return fail(refused + ": axis " + std::to_string(i + shift) + " is " + from[i].to_string() + " and " +
                  shape[i + shift].to_string());
    }
  }
  if (kept.size() < from.size()) {
    FW_TRY(value, apply_one(table, "reshape", value, {{"shape", kept}}, builder));
  }
  return apply_one(table, "broadcast", value, {{"dims", dims}, {"shape", shape}}, builder);
}

}  // namespace fusewright::ops
