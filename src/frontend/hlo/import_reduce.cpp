#include <algorithm>
#include <cmath>
#include <limits>

#include "src/frontend/hlo/combiner.hpp"
#include "src/frontend/hlo/handlers.hpp"
#include "src/frontend/hlo/opcodes.hpp"

namespace fusewright::frontend_hlo {

namespace {

using Ints = std::vector<std::int64_t>;

// The tensor of a constant node, or null.
const ops::Tensor* constant_of(Site& site, Value value) {
  const graph::Node& node = site.graph()[value.node];
  if (site.graph().info(value.node).name != "constant") return nullptr;
  return node.attrs.get<ops::TensorHandle>("value").get();
}

// Whether a scalar constant leaves every value as it is under the opcode.
bool is_identity(Site& site, Value value, std::string_view opcode) {
  const ops::Tensor* tensor = constant_of(site, value);
  if (tensor == nullptr || tensor->elements() != 1) return false;
  const DType dtype = tensor->dtype;
  if (ops::is_float(dtype)) {
    const double number = ops::get_double(*tensor, 0);
    if (opcode == "add") return number == 0;
    if (opcode == "multiply") return number == 1;
    if (opcode == "maximum") return number == -std::numeric_limits<double>::infinity();
    return opcode == "minimum" && number == std::numeric_limits<double>::infinity();
  }
  const std::int64_t number = ops::get_int(*tensor, 0);
  const int bits = dtype == DType::kPred ? 1 : ops::bit_width(dtype);
  const bool is_signed = ops::is_signed_integer(dtype);
  const std::int64_t ones = is_signed || bits == 64 ? -1 : (std::int64_t{1} << bits) - 1;
  const std::int64_t lowest = !is_signed   ? 0
                              : bits == 64 ? std::numeric_limits<std::int64_t>::min()
                                           : -(std::int64_t{1} << (bits - 1));
  const std::int64_t highest = is_signed ? ~lowest : ones;
  if (opcode == "add" || opcode == "or") return number == 0;
  if (opcode == "multiply") return number == 1;
  if (opcode == "and") return number == ones;
  if (opcode == "maximum") return number == lowest;
  return opcode == "minimum" && number == highest;
}

// Combines what a reduction gave with an initial value that is not the identity.
Result<Value> with_init(Site& site, Value reduced, Value init, std::string_view opcode) {
  if (is_identity(site, init, opcode)) return reduced;
  FW_TRY(const Value spread, site.builder().align_to(init, site.type(reduced).shape));
  return site.add(find_elementwise(opcode)->op, {spread, reduced});
}

Result<std::uint32_t> combiner_index(Site& site) {
  FW_TRY(const std::vector<std::string_view> names, site.attributes.names("to_apply"));
  if (names.size() != 1) return site.wrong("'to_apply' names one computation");
  return site.importer.find_computation(names[0]);
}

std::string_view opcode_on(Site& site, std::string_view opcode, Value value) {
  return site.type(value).dtype == DType::kPred ? logical_opcode(opcode) : opcode;
}

// The axis of `from` that this one of `to` is, where a reshape between them only adds and takes away axes of extent
// one.
std::optional<std::int64_t> before_unit_axes(Site& site, Value from, Value to, std::int64_t axis) {
  const auto wide_axes = [&](Value v) {
    Ints axes;
    for (std::size_t d = 0; d < site.type(v).shape.size(); ++d)
      if (site.type(v).shape[d] != Dim(1)) axes.push_back(static_cast<std::int64_t>(d));
    return axes;
  };
  const Ints before = wide_axes(from), after = wide_axes(to);
  const auto extent = [&](Value v, std::int64_t d) { return site.type(v).shape[static_cast<std::size_t>(d)]; };
  const bool same = std::equal(before.begin(), before.end(), after.begin(), after.end(),
                               [&](std::int64_t b, std::int64_t a) { return extent(from, b) == extent(to, a); });
  const auto at = std::find(after.begin(), after.end(), axis);
  if (!same || at == after.end()) return std::nullopt;
  return before[static_cast<std::size_t>(at - after.begin())];
}

// Whether the value counts 0, 1, 2, ... along the axis and is the same along all others. (Along an axis of extent one
// JAX writes zeros for it.)
bool counts_along(Site& site, Value value, std::int64_t axis) {
  const graph::Node* node = &site.graph()[value.node];
  if (site.type(value).shape[static_cast<std::size_t>(axis)] == Dim(1) &&
      site.graph().info(value.node).name == "broadcast")
    if (const ops::Tensor* number = constant_of(site, node->operands[0]); number != nullptr && number->dims.empty())
      return ops::get_int(*number, 0) == 0;
  for (;;) {
    const std::string& op = site.graph().info(value.node).name;
    if (op == "broadcast") {
      const Ints& dims = node->attrs.get<Ints>("dims");
      const auto at = std::find(dims.begin(), dims.end(), axis);
      if (at == dims.end()) return false;
      axis = at - dims.begin();
    } else if (op == "reshape") {
      const std::optional<std::int64_t> from = before_unit_axes(site, node->operands[0], value, axis);
      if (!from) return false;
      axis = *from;
    } else {
      break;
    }
    value = node->operands[0];
    node = &site.graph()[value.node];
  }
  return site.graph().info(value.node).name == "iota" && node->attrs.get<std::int64_t>("axis") == axis;
}

// (value, index) pairs reduced to the largest or smallest value and where it first (or last) stands.
Result<std::optional<Leaves>> as_arg_reduction(Site& site, const Combiner& combiner, const std::vector<Value>& values,
                                               const Ints& axes) {
  if (values.size() != 4 || axes.size() != 1 || !counts_along(site, values[1], axes[0])) return std::nullopt;
  const DType dtype = site.type(values[0]).dtype;
  const DType index_dtype = site.type(values[1]).dtype;
  const auto kind = combiner.arg_reduction(dtype);
  const Dim extent = site.type(values[0]).shape[static_cast<std::size_t>(axes[0])];
  if (!kind || !ops::is_integer(index_dtype) || extent == Dim(0)) return std::nullopt;
  // A start that can win against an element would be an answer of its own.
  if (!is_identity(site, values[2], kind->is_max ? "maximum" : "minimum")) return std::nullopt;
  FW_TRY(const Value value, site.add(kind->is_max ? "reduce_max" : "reduce_min", {values[0]}, {{"axes", axes}}));
  FW_TRY(const Value index, site.add(kind->is_max ? "arg_max" : "arg_min", {values[0]},
                                     {{"axis", axes[0]}, {"last", kind->last}, {"dtype", index_dtype}}));
  return Leaves{value, index};
}

// A window that reaches from the first element to the current one, or to the one before it, is a cumulative operation.
std::optional<ops::Attrs> as_scan(const Window& w, const ops::Shape& shape) {
  std::optional<std::size_t> axis;
  bool exclusive = false, reverse = false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (w.stride[i] != 1 || w.lhs_dilate[i] != 1 || w.rhs_dilate[i] != 1) return std::nullopt;
    if (w.size[i] == 1 && w.pad_low[i] == 0 && w.pad_high[i] == 0) continue;
    if (axis || Dim(w.size[i]) != shape[i]) return std::nullopt;
    exclusive = w.pad_low[i] < 0 || w.pad_high[i] < 0;
    reverse = w.pad_low[i] < w.pad_high[i];
    const std::int64_t skipped = exclusive ? 1 : 0;
    const std::int64_t near = reverse ? w.pad_low[i] : w.pad_high[i], far = reverse ? w.pad_high[i] : w.pad_low[i];
    if (near != -skipped || far != w.size[i] - 1 + skipped) return std::nullopt;
    axis = i;
  }
  if (!axis) return std::nullopt;
  return ops::Attrs{{"axis", static_cast<std::int64_t>(*axis)}, {"exclusive", exclusive}, {"reverse", reverse}};
}

}  // namespace

Result<Leaves> import_reduce(Site& site) {
  FW_TRY(const std::vector<Value> values, site.tensors_at_least(2));
  if (values.size() % 2 != 0) return site.wrong("reduce takes a tensor and a start for each result");
  const std::size_t count = values.size() / 2;
  FW_TRY(const Ints axes, site.attributes.integers("dimensions"));
  FW_TRY(const std::uint32_t index, combiner_index(site));
  const Combiner combiner(site.importer.module, site.importer.names, index);
  if (const auto steps = combiner.steps(count)) {
    Leaves results;
    for (std::size_t k = 0; k < count; ++k) {
      const std::string_view opcode = opcode_on(site, (*steps)[k].opcode, values[k]);
      const std::string_view suffix = reduction_suffix(opcode);
      if (suffix.empty()) break;
      FW_TRY(const Value reduced, site.add("reduce_" + std::string(suffix), {values[k]}, {{"axes", axes}}));
      FW_TRY(Value result, with_init(site, reduced, values[count + k], opcode));
      if (const auto narrow = (*steps)[k].rounded) {
        FW_TRY(const Value rounded, site.add("convert", {result}, {{"dtype", *narrow}}));
        FW_TRY(result, site.add("convert", {rounded}, {{"dtype", site.type(values[k]).dtype}}));
      }
      results.push_back(result);
    }
    if (results.size() == count) return results;
  }
  FW_TRY(std::optional<Leaves> arg, as_arg_reduction(site, combiner, values, axes));
  if (arg) return *std::move(arg);
  const ops::OpId op = site.graph().table->require("reduce");
  std::vector<Type> scalars, operands;
  for (int round = 0; round < 2; ++round)
    for (std::size_t k = 0; k < count; ++k) scalars.push_back(Type::tensor(site.type(values[k]).dtype, {}));
  for (const Value value : values) operands.push_back(site.type(value));
  FW_TRY(const std::vector<std::string_view> names, site.attributes.names("to_apply"));
  FW_TRY(const ops::Attrs attrs, site.graph().table->complete_attrs(op, {{"axes", axes}}, operands));
  Result<std::vector<Type>> types = site.graph().table->infer(op, operands, attrs);
  if (!types) return site.wrong(types.error().diagnostics[0].message);
  FW_TRY(const graph::ComputationId body, site.importer.import_body(site, names[0], scalars, 0, scalars.size()));
  return site.builder().add_typed(op, values, attrs, *std::move(types), {body});
}

Result<Leaves> import_reduce_window(Site& site) {
  if (site.operands.size() != 2) return site.unsupported("a window over several tensors");
  FW_TRY(const std::vector<Value> values, site.tensors(2));
  const ops::Shape shape = site.type(values[0]).shape;
  FW_TRY(const Window w, site.attributes.window(shape.size()));
  FW_TRY(const std::uint32_t index, combiner_index(site));
  const Combiner combiner(site.importer.module, site.importer.names, index);
  const auto steps = combiner.steps(1);
  const bool exact = steps && !steps->front().rounded;
  const std::string_view opcode = exact ? opcode_on(site, steps->front().opcode, values[0]) : "";
  const std::string suffix(reduction_suffix(opcode));
  if (suffix.empty() || suffix == "and" || suffix == "or")
    return site.unsupported("its combiner is not add, multiply, maximum or minimum");
  // Padding counts as the start, which is of no account only for an identity, and for max and min.
  bool is_padded = false;
  for (std::size_t i = 0; i < shape.size(); ++i)
    is_padded |= w.pad_low[i] > 0 || w.pad_high[i] > 0 || w.lhs_dilate[i] > 1;
  const bool idempotent = opcode == "maximum" || opcode == "minimum";
  if (is_padded && !idempotent && !is_identity(site, values[1], opcode))
    return site.unsupported("a padded window with a start that is not the identity of '" + std::string(opcode) + "'");
  if (const auto scan = as_scan(w, shape)) {
    FW_TRY(const Value scanned, site.add("cum_" + suffix, {values[0]}, *scan));
    return site.leaf(with_init(site, scanned, values[1], opcode));
  }
  const ops::Attrs attrs = {
      {"window", w.size},       {"strides", w.stride},           {"pad_low", w.pad_low},
      {"pad_high", w.pad_high}, {"base_dilation", w.lhs_dilate}, {"window_dilation", w.rhs_dilate}};
  FW_TRY(const Value reduced, site.add("reduce_window_" + suffix, {values[0]}, attrs));
  return site.leaf(with_init(site, reduced, values[1], opcode));
}

Result<Leaves> import_dot(Site& site) {
  if (site.operands.size() != 2) return site.unsupported("a sparse dot");
  FW_TRY(const std::vector<Value> values, site.tensors(2));
  const AttributeReader& a = site.attributes;
  FW_TRY(const Ints lhs_batch, a.integers_or_empty("lhs_batch_dims"));
  FW_TRY(const Ints rhs_batch, a.integers_or_empty("rhs_batch_dims"));
  FW_TRY(const Ints lhs_contract, a.integers_or_empty("lhs_contracting_dims"));
  FW_TRY(const Ints rhs_contract, a.integers_or_empty("rhs_contracting_dims"));
  DType dtype = site.type(values[0]).dtype;
  if (site.instruction.has_shape) {
    FW_TRY(const Type type, site.declared());
    dtype = type.dtype;
  }
  return site.leaf(site.add("dot", values,
                            {{"lhs_batch", lhs_batch},
                             {"rhs_batch", rhs_batch},
                             {"lhs_contract", lhs_contract},
                             {"rhs_contract", rhs_contract},
                             {"dtype", dtype}}));
}

Result<Leaves> import_convolution(Site& site) {
  FW_TRY(const std::vector<Value> values, site.tensors(2));
  FW_TRY(const Type type, site.declared());
  const std::int64_t rank = site.type(values[0]).rank();
  if (rank < 2) return site.wrong("its input is " + ops::to_string(site.type(values[0])));
  const auto spatial = static_cast<std::size_t>(rank - 2);
  FW_TRY(const Window w, site.attributes.window(spatial));
  FW_TRY(const DimLabels labels, site.attributes.dim_labels(spatial));
  FW_TRY(const std::int64_t groups, site.attributes.integer_or("feature_group_count", 1));
  FW_TRY(const std::int64_t batch_groups, site.attributes.integer_or("batch_group_count", 1));
  const ops::Attrs attrs = {{"strides", w.stride},
                            {"pad_low", w.pad_low},
                            {"pad_high", w.pad_high},
                            {"lhs_dilation", w.lhs_dilate},
                            {"rhs_dilation", w.rhs_dilate},
                            {"reversal", w.reversal},
                            {"groups", groups},
                            {"batch_groups", batch_groups},
                            {"lhs_spec", labels.input},
                            {"rhs_spec", labels.kernel},
                            {"out_spec", labels.output},
                            {"dtype", type.dtype}};
  for (std::size_t i = 0; i < spatial; ++i) {
    const Dim& extent = site.type(values[1]).shape[static_cast<std::size_t>(labels.kernel[i + 2])];
    if (extent != Dim(w.size[i]))
      return site.wrong("the window is " + std::to_string(w.size[i]) + " along spatial axis " + std::to_string(i) +
                        ", the kernel " + extent.to_string());
  }
  return site.leaf(site.add("conv", values, attrs));
}

Result<Leaves> import_sort(Site& site) {
  FW_TRY(std::vector<Value> values, site.tensors_at_least(1));
  FW_TRY(const Ints axes, site.attributes.integers("dimensions"));
  if (axes.size() != 1) return site.wrong("it sorts along one dimension, not " + std::to_string(axes.size()));
  FW_TRY(const bool stable, site.attributes.flag_or("is_stable", false));
  FW_TRY(const std::uint32_t index, combiner_index(site));
  const Combiner combiner(site.importer.module, site.importer.names, index);
  const ops::OpId op = site.graph().table->require("sort");
  ops::Attrs attrs = {{"axis", axes[0]}, {"descending", false}, {"stable", stable}};
  std::optional<Combiner::SortOrder> order;
  for (std::size_t key = 0; key < values.size(); ++key) {
    const auto found = combiner.sort_order(site.type(values[key]).dtype);
    if (found && found->operand == key) order = found;
  }
  if (order) {
    // The operand that decides goes first, and back to its place among the results.
    std::swap(values[0], values[order->operand]);
    attrs.set("descending", order->descending);
    FW_TRY(Leaves results, site.builder().add(op, values, attrs, site.span()));
    std::swap(results[0], results[order->operand]);
    return results;
  }
  std::vector<Type> scalars, types;
  for (const Value value : values) {
    types.push_back(site.type(value));
    scalars.insert(scalars.end(), 2, Type::tensor(site.type(value).dtype, {}));
  }
  FW_TRY(attrs, site.graph().table->complete_attrs(op, attrs, types));
  FW_TRY(const std::vector<std::string_view> names, site.attributes.names("to_apply"));
  FW_TRY(const graph::ComputationId body, site.importer.import_body(site, names[0], scalars, 0, scalars.size()));
  Result<std::vector<Type>> inferred = site.graph().table->infer(op, types, attrs);
  if (!inferred) return site.wrong(inferred.error().diagnostics[0].message);
  return site.builder().add_typed(op, values, attrs, types, {body});
}

Result<Leaves> import_topk(Site& site) {
  FW_TRY(const std::vector<Value> values, site.tensors(1));
  FW_TRY(const std::int64_t k, site.attributes.integer("k"));
  FW_TRY(const bool largest, site.attributes.flag_or("largest", true));
  FW_TRY(const std::vector<Type> types, site.declared_leaves());
  const DType dtype = types.size() == 2 ? types[1].dtype : DType::kS32;
  const ops::Attrs attrs = {
      {"k", k}, {"axis", site.type(values[0]).rank() - 1}, {"largest", largest}, {"dtype", dtype}};
  return site.builder().add(site.graph().table->require("top_k"), values, attrs, site.span());
}

}  // namespace fusewright::frontend_hlo
