#include "elements.hpp"

#include <fmt/format.h>

#include "fusewright/support/check.hpp"

namespace fusewright::kernel {

using region::AccessNode;
using region::IndexExpr;
using region::IndexMap;
using region::IndexNode;
using region::RegionValue;

RegionBuffers declare_buffers(KernelBuilder& builder, const region::Region& region) {
  RegionBuffers buffers;
  for (std::uint32_t c = 0; c < region.captures; ++c) {
    const RegionValue& v = region.values[c];
    buffers.captures.push_back(
        builder.buffer(fmt::format("in{}", c), v.dtype, v.elements(), Space::kGlobal, Buffer::Role::kInput));
  }
  for (std::size_t o = 0; o < region.outputs.size(); ++o) {
    const RegionValue& v = region[region.outputs[o]];
    buffers.outputs.push_back(
        builder.buffer(fmt::format("out{}", o), v.dtype, v.elements(), Space::kGlobal, Buffer::Role::kOutput));
  }
  return buffers;
}

ExprId Elements::index(const IndexExpr& e, const IndexMap& map, const std::vector<ExprId>& runtime) {
  using Kind = IndexNode::Kind;
  switch (e->kind) {
    case Kind::kConstant: return builder_.index(e->value);
    case Kind::kDim: return dims_[static_cast<std::size_t>(e->value)];
    case Kind::kRuntime: return runtime[static_cast<std::size_t>(e->value)];
    case Kind::kAdd: return builder_.add(index(e->a, map, runtime), index(e->b, map, runtime));
    case Kind::kMul: return builder_.mul(index(e->a, map, runtime), e->value);
    case Kind::kFloorDiv:
    case Kind::kMod: {
      // The IR divides what is not negative: shift by whole divisors, and take them off the quotient again.
      const region::Range range = range_of(e->a, map);
      const std::int64_t shift = range.low < 0 ? (-range.low + e->value - 1) / e->value : 0;
      const ExprId a = builder_.add(index(e->a, map, runtime), builder_.index(shift * e->value));
      if (e->kind == Kind::kMod) return builder_.mod(a, e->value);
      return builder_.sub(builder_.floor_div(a, e->value), builder_.index(shift));
    }
    case Kind::kClamp: {
      const ExprId low = builder_.op(ScalarOp::kMax, DType::kS64, {index(e->a, map, runtime), builder_.index(0)});
      return builder_.min(low, builder_.index(e->value));
    }
  }
  return builder_.index(0);
}

ExprId Elements::capture(const RegionValue& value, const IndexMap& map, const std::vector<ExprId>& runtime) {
  const IndexExpr offset = linearize(map, value.dims);
  ExprId at = index(offset, map, runtime);
  // Under a guard the offset can point outside; the element loaded instead is not used.
  const region::Range range = range_of(offset, map);
  const std::int64_t last = value.elements() - 1;
  if (range.low < 0) at = builder_.op(ScalarOp::kMax, DType::kS64, {at, builder_.index(0)});
  if (range.high > last) at = builder_.min(at, builder_.index(last));
  return builder_.load(captures_[value.capture], at);
}

ExprId Elements::guard(const std::vector<region::Constraint>& constraints, const IndexMap& map,
                       const std::vector<ExprId>& runtime) {
  ExprId all = builder_.integer(DType::kPred, 1);
  for (const region::Constraint& c : constraints) {
    const ExprId e = index(c.expr, map, runtime);
    const region::Range range = range_of(c.expr, map);
    if (range.high < c.low || range.low > c.high) return builder_.integer(DType::kPred, 0);
    if (range.low < c.low)
      all = builder_.both(all, builder_.op(ScalarOp::kGe, DType::kPred, {e, builder_.index(c.low)}));
    if (range.high > c.high)
      all = builder_.both(all, builder_.op(ScalarOp::kLe, DType::kPred, {e, builder_.index(c.high)}));
  }
  return all;
}

ExprId Elements::literal(const RegionValue& value) {
  if (ops::is_float(value.dtype)) return builder_.number(value.dtype, ops::get_double(*value.scalar, 0));
  return builder_.integer(value.dtype, ops::get_int(*value.scalar, 0));
}

ExprId Elements::node(const region::AccessGraph& graph, const AccessNode& n, const std::vector<ExprId>& made) {
  const RegionValue& value = region_[n.value];
  std::vector<ExprId> runtime;
  for (std::size_t r = 0; r < n.runtime.size(); ++r) {
    const region::RuntimeVariable& variable = n.map().runtime[r];
    ExprId v = builder_.convert(DType::kS64, made[n.runtime[r]]);
    if (variable.wrap != 0) {
      const ExprId negative = builder_.less(v, builder_.index(0));
      v = builder_.select(DType::kS64, negative, builder_.add(v, builder_.index(variable.wrap)), v);
    }
    v = builder_.op(ScalarOp::kMax, DType::kS64, {v, builder_.index(variable.range.low)});
    runtime.push_back(builder_.let("at", builder_.min(v, builder_.index(variable.range.high))));
  }
  if (lookup_) {
    if (const std::optional<ExprId> there = lookup_(n.value, n.map())) return *there;
  }
  if (value.kind == RegionValue::Kind::kCapture) return builder_.let("x", capture(value, n.map(), runtime));
  if (value.kind == RegionValue::Kind::kScalar) return literal(value);
  if (value.op_name == "iota") {
    const auto axis = static_cast<std::size_t>(value.attrs.get<std::int64_t>("axis"));
    return builder_.let("iota", builder_.convert(value.dtype, index(n.map().results[axis], n.map(), runtime)));
  }
  if (value.scalar_op) {
    std::vector<ExprId> args;
    for (const std::uint32_t operand : n.operands) args.push_back(made[operand]);
    return builder_.let(value.op_name, builder_.op(*value.scalar_op, value.dtype, std::move(args)));
  }
  if (n.guards.empty()) return made[n.operands[0]];
  // pad, concat, dynamic_update_slice: the operand whose guard holds, the first of them innermost.
  const bool update = value.op_name == "dynamic_update_slice";
  const bool pad = value.op_name == "pad";
  const auto guard_of = [&](std::size_t k) {
    // Guards are written over the operand's map, whose runtime variables are the operand node's.
    const AccessNode& operand = graph.nodes[n.operands[k]];
    std::vector<ExprId> at = runtime;
    for (std::size_t r = at.size(); r < operand.runtime.size(); ++r) {
      const region::RuntimeVariable& variable = operand.map().runtime[r];
      ExprId v = builder_.convert(DType::kS64, made[operand.runtime[r]]);
      v = builder_.op(ScalarOp::kMax, DType::kS64, {v, builder_.index(variable.range.low)});
      at.push_back(builder_.min(v, builder_.index(variable.range.high)));
    }
    return guard(n.guards[k], operand.map(), at);
  };
  if (pad)
    return builder_.let("pad", builder_.select(value.dtype, guard_of(0), made[n.operands[0]], made[n.operands[1]]));
  if (update)
    return builder_.let("update", builder_.select(value.dtype, guard_of(1), made[n.operands[1]], made[n.operands[0]]));
  ExprId chosen = made[n.operands.back()];
  for (std::size_t k = n.operands.size() - 1; k-- > 0;)
    chosen = builder_.select(value.dtype, guard_of(k), made[n.operands[k]], chosen);
  return builder_.let("concat", chosen);
}

Result<std::vector<ExprId>> Elements::emit(const std::vector<region::AccessRoot>& roots) {
  FW_TRY(const region::AccessGraph graph, trace_accesses(region_, roots, stop_));
  std::vector<ExprId> made;
  made.reserve(graph.nodes.size());
  for (const AccessNode& n : graph.nodes) made.push_back(node(graph, n, made));
  std::vector<ExprId> out;
  for (const std::uint32_t root : graph.roots) out.push_back(made[root]);
  return out;
}

}  // namespace fusewright::kernel
