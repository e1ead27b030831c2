#include "fusewright/ops/op_table.hpp"

#include <algorithm>

#include "fusewright/ops/axis_sets.hpp"
#include "fusewright/ops/expr.hpp"
#include "src/ops/builtin_ops.hpp"
#include "src/ops/elaborate.hpp"

namespace fusewright::ops {
namespace {

std::string operand_count(const OpInfo& op) {
  std::size_t needed = 0;
  bool open = false;
  for (const OperandSpec& operand : op.operands) {
    if (operand.variadic || operand.optional)
      open = true;
    else
      ++needed;
  }
  return (open ? "at least " : "") + std::to_string(needed) + (needed == 1 ? " operand" : " operands");
}

Status check_operands(const OpInfo& op, std::span<const Type> operands) {
  const bool variadic = !op.operands.empty() && op.operands.back().variadic;
  const std::size_t fixed = op.operands.size() - (variadic ? 1 : 0);
  if (!variadic && operands.size() > fixed)
    return fail(op.name + " takes " + operand_count(op) + ", not " + std::to_string(operands.size()));
  for (std::size_t i = 0; i < fixed; ++i) {
    if (i >= operands.size() && !op.operands[i].optional)
      return fail(op.name + " takes " + operand_count(op) + ", not " + std::to_string(operands.size()));
    if (i < operands.size() && operands[i].kind == Type::Kind::kNone && !op.operands[i].optional)
      return fail("operand '" + op.operands[i].name + "' of " + op.name + " is left out");
  }
  if (op.op_class == OpClass::kControl || op.op_class == OpClass::kEffect) return {};
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const Type& type = operands[i];
    if (type.is_tensor() || (type.kind == Type::Kind::kNone && i < fixed)) continue;
    return fail("operand " + std::to_string(i) + " of " + op.name + " is " + to_string(type) + ", not a tensor");
  }
  return {};
}

// The value in the row's kind: a whole number stands for a float, a list of ints for a shape or floats; an empty list
// has whatever kind is wanted.
Result<AttrValue> convert_attr(const OpInfo& op, const AttrSpec& spec, const AttrValue& value) {
  if (kind_of(value) == spec.kind) return value;
  const auto* integer = std::get_if<std::int64_t>(&value);
  const auto* list = std::get_if<std::vector<std::int64_t>>(&value);
  if (spec.kind == AttrKind::kFloat && integer != nullptr) return AttrValue(static_cast<double>(*integer));
  if (spec.kind == AttrKind::kBool && integer != nullptr && (*integer == 0 || *integer == 1))
    return AttrValue(*integer == 1);
  if (spec.kind == AttrKind::kShape && list != nullptr) return AttrValue(Shape(list->begin(), list->end()));
  if (spec.kind == AttrKind::kFloats && list != nullptr)
    return AttrValue(std::vector<double>(list->begin(), list->end()));
  if (spec.kind == AttrKind::kStrings && list != nullptr && list->empty()) return AttrValue(std::vector<std::string>());
  if (const auto* shape = std::get_if<Shape>(&value);
      shape != nullptr && spec.kind == AttrKind::kInts && is_static(*shape))
    return AttrValue(static_dims(*shape));
  return fail("attribute '" + spec.name + "' of " + op.name + " is " + to_string(value) + ", not of kind " +
              std::string(name(spec.kind)));
}

// Negative axes count from the end of the operand they belong to.
Status normalise_axes(const OpInfo& op, const AttrSpec& spec, std::int64_t rank, AttrValue& value) {
  const auto normalise = [&](std::int64_t& axis) -> Status {
    if (axis < -rank || axis >= rank)
      return fail("attribute '" + spec.name + "' of " + op.name + " names axis " + std::to_string(axis) +
                  " where the rank is " + std::to_string(rank));
    if (axis < 0) axis += rank;
    return {};
  };
  if (auto* axis = std::get_if<std::int64_t>(&value)) return normalise(*axis);
  if (auto* axes = std::get_if<std::vector<std::int64_t>>(&value))
    for (std::int64_t& axis : *axes) FW_TRY_STATUS(normalise(axis));
  return {};
}

const AttrSpec* find_spec(const OpInfo& op, std::string_view name) {
  const auto at =
      std::find_if(op.attrs.begin(), op.attrs.end(), [&](const AttrSpec& spec) { return spec.name == name; });
  return at == op.attrs.end() ? nullptr : &*at;
}

std::unexpected<Error> unknown_attr(const OpInfo& op, const std::string& name) {
  std::vector<std::string> known;
  for (const AttrSpec& spec : op.attrs) known.push_back(spec.name);
  auto failure = fail(op.name + " has no attribute '" + name + "'");
  if (const std::string near = nearest(name, known); !near.empty())
    failure.error().diagnostics[0].suggestion = "did you mean '" + near + "'?";
  return failure;
}

}  // namespace

std::string_view name(OpClass op_class) {
  switch (op_class) {
    case OpClass::kElementwise: return "elementwise";
    case OpClass::kMovement: return "movement";
    case OpClass::kReduction: return "reduction";
    case OpClass::kContraction: return "contraction";
    case OpClass::kConvolution: return "convolution";
    case OpClass::kWindow: return "window";
    case OpClass::kSort: return "sort";
    case OpClass::kScan: return "scan";
    case OpClass::kIndexing: return "indexing";
    case OpClass::kSource: return "source";
    case OpClass::kControl: return "control";
    case OpClass::kEffect: return "effect";
    case OpClass::kComposite: return "composite";
    case OpClass::kUninterpreted: return "uninterpreted";
  }
  return "";
}

OpTable OpTable::builtin() {
  OpTable table;
  for (OpInfo& info : builtin_ops()) {
    const std::string op = info.name;
    FW_CHECK(table.add(std::move(info)).has_value()) << op << " has two rows";
  }
  return table;
}

OpId OpTable::find(std::string_view name) const {
  const auto at = by_name_.find(std::string(name));
  return at == by_name_.end() ? OpId() : at->second;
}

OpId OpTable::require(std::string_view name) const {
  const OpId op = find(name);
  FW_CHECK(op.valid()) << "no built-in operator " << name;
  return op;
}

std::vector<std::string> OpTable::names() const {
  std::vector<std::string> names;
  for (const OpInfo& op : ops_) names.push_back(op.name);
  return names;
}

Result<OpId> OpTable::add(OpInfo info) {
  if (const OpId other = find(info.name); other.valid()) {
    auto failure = fail("operator '" + info.name + "' exists already", info.span);
    const Span& place = ops_[other.index].span;
    failure.error().diagnostics[0].notes.push_back({place, place.valid() ? "declared here" : "it is built in"});
    return failure;
  }
  const OpId op(ops_.size());
  by_name_.emplace(info.name, op);
  ops_.push_back(std::move(info));
  return op;
}

Result<Attrs> OpTable::complete_attrs(OpId id, const Attrs& attrs, std::span<const Type> operands) const {
  const OpInfo& op = ops_[id.index];
  FW_TRY_STATUS(check_operands(op, operands));
  Attrs complete;
  for (const auto& [name, value] : attrs.entries()) {
    const AttrSpec* spec = find_spec(op, name);
    if (spec == nullptr) return unknown_attr(op, name);
    FW_TRY(AttrValue converted, convert_attr(op, *spec, value));
    complete.set(name, std::move(converted));
  }
  for (const AttrSpec& spec : op.attrs)
    if (spec.fallback && !complete.has(spec.name)) complete.set(spec.name, *spec.fallback);
  if (op.complete != nullptr && !operands.empty()) FW_TRY_STATUS(op.complete(complete, operands));
  for (const AttrSpec& spec : op.attrs) {
    const AttrValue* value = complete.find(spec.name);
    if (value == nullptr) {
      if (spec.optional) continue;
      return fail(op.name + " needs attribute '" + spec.name + "'");
    }
    if (!spec.axis_of || *spec.axis_of >= operands.size() || !operands[*spec.axis_of].is_tensor()) continue;
    AttrValue normalised = *value;
    FW_TRY_STATUS(normalise_axes(op, spec, operands[*spec.axis_of].rank(), normalised));
    if (axes_are_a_set(op, spec.name)) std::ranges::sort(std::get<std::vector<std::int64_t>>(normalised));
    complete.set(spec.name, std::move(normalised));
  }
  return complete;
}

Result<std::vector<Type>> OpTable::infer(OpId id, std::span<const Type> operands, const Attrs& attrs) const {
  const OpInfo& op = ops_[id.index];
  FW_TRY_STATUS(check_operands(op, operands));
  if (op.body) return infer_composite(*this, id, operands, attrs);
  if (op.infer == nullptr) return fail("the types of " + op.name + " cannot be inferred");
  FW_TRY(std::vector<Type> types, op.infer(op, operands, attrs));
  for (const Type& type : types) {
    if (!is_static(type.shape)) continue;
    Result<std::int64_t> count = element_count(type.shape);
    if (!count) return std::unexpected(with_context(std::move(count).error(), "the result of " + op.name));
  }
  return types;
}

}  // namespace fusewright::ops
