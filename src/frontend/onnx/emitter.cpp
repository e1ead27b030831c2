#include "src/frontend/onnx/emitter.hpp"

#include <algorithm>
#include <numeric>

#include "fusewright/interpret/evaluate.hpp"

namespace fusewright::frontend_onnx {

using graph::NodeId;
using ops::OpClass;
using ops::OpId;

namespace {

constexpr std::int64_t kLargestFolded = 4096;      // bytes: what same_constant compares by content
constexpr std::int64_t kLargestKnown = 64 * 1024;  // bytes: shapes, axes, index lists

std::optional<std::int64_t> bytes_of(const Type& type) {
  if (!type.is_tensor() || !ops::is_static(type.shape)) return std::nullopt;
  if (!ops::element_count(type.shape)) return std::nullopt;
  return ops::byte_size(type);
}

bool small(const std::vector<Type>& types, std::int64_t limit) {
  std::int64_t sum = 0;
  for (const Type& type : types) {
    const auto bytes = bytes_of(type);
    if (!bytes || *bytes > limit) return false;
    sum += *bytes;
  }
  return sum <= limit;
}

bool computes(OpClass op_class) {
  return op_class != OpClass::kControl && op_class != OpClass::kEffect && op_class != OpClass::kUninterpreted;
}

bool is_op(const graph::Graph& graph, NodeId id, std::string_view name) { return graph.info(id).name == name; }

}  // namespace

bool Knowledge::evaluate(NodeId id) {
  const graph::Node& node = graph_[id];
  const ops::OpInfo& info = graph_.info(id);
  if (!computes(info.op_class) || !node.computations.empty() || info.name == "parameter") return false;
  if (!small(node.types, kLargestKnown)) return false;
  if (info.name == "constant") {
    facts_[{id, 0}] = *node.attrs.get<ops::TensorHandle>("value");
    return true;
  }
  std::vector<Tensor> operands(node.operands.size());
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (!node.operands[i].valid()) continue;
    const auto& fact = facts_[node.operands[i]];
    if (!fact) return false;
    operands[i] = *fact;
  }
  auto results = interpret::evaluate_node(*graph_.table, node.op, operands, node.attrs, node.types);
  if (!results) return false;
  for (std::uint32_t i = 0; i < results->size(); ++i) facts_[{id, i}] = std::move((*results)[i]);
  return true;
}

std::optional<Tensor> Knowledge::find(Value value) {
  if (!value.valid()) return std::nullopt;
  std::vector<NodeId> stack = {value.node};
  while (!stack.empty()) {
    const NodeId id = stack.back();
    const Value first{id, 0};
    if (facts_.contains(first)) {
      stack.pop_back();
      continue;
    }
    bool ready = true;
    const graph::Node& node = graph_[id];
    // Large operands (weights) cannot be part of shape arithmetic; stopping there keeps the walk short.
    const bool worth = small(node.types, kLargestKnown);
    for (const Value operand : node.operands) {
      if (!worth || !operand.valid() || facts_.contains({operand.node, 0})) continue;
      stack.push_back(operand.node);
      ready = false;
    }
    if (!ready) continue;
    stack.pop_back();
    if (!evaluate(id)) {
      for (std::uint32_t i = 0; i < node.types.size(); ++i) facts_[{id, i}] = std::nullopt;
    }
  }
  return facts_[value];
}

void Emitter::set_origin(graph::SourceSet sources, std::string stem) {
  sources_ = sources;
  stem_ = stem;
  builder_.set_origin(std::move(sources), std::move(stem));
}

std::optional<std::vector<Value>> Emitter::fold(OpId id, const std::vector<Value>& operands, const Attrs& attrs) {
  const ops::OpInfo& info = (*graph_.table)[id];
  // A broadcast literal stays one: `max(x, broadcast(0))` is what rules look for.
  if (operands.empty() || !computes(info.op_class) || info.name == "broadcast") return std::nullopt;
  std::vector<Type> types;
  for (const Value value : operands) {
    types.push_back(value.valid() ? graph_.type(value) : Type{});
    if (!value.valid()) continue;
    NodeId node = value.node;
    if (is_op(graph_, node, "broadcast")) node = graph_[node].operands[0].node;
    if (!is_op(graph_, node, "constant")) return std::nullopt;
    if (!small({types.back()}, kLargestKnown)) return std::nullopt;
  }
  auto completed = graph_.table->complete_attrs(id, attrs, types);
  if (!completed) return std::nullopt;
  auto result_types = graph_.table->infer(id, types, *completed);
  if (!result_types || !small(*result_types, kLargestFolded)) return std::nullopt;
  std::vector<Tensor> tensors(operands.size());
  graph::SourceSet sources = sources_;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i].valid()) continue;
    auto tensor = knowledge_.find(operands[i]);
    if (!tensor) return std::nullopt;
    tensors[i] = *std::move(tensor);
    sources = graph::merge(sources, graph_[operands[i].node].sources);
  }
  auto results = interpret::evaluate_node(*graph_.table, id, tensors, *completed, *result_types);
  if (!results) return std::nullopt;
  std::vector<Value> values;
  for (Tensor& tensor : *results) {
    values.push_back(builder_.constant(std::move(tensor)));
    graph_[values.back().node].sources = sources;
  }
  return values;
}

std::vector<Value> Emitter::op_results(std::string_view name, std::vector<Value> operands, const Attrs& attrs) {
  const OpId id = graph_.table->find(name);
  if (!id.valid()) {
    unsupported("operator '" + std::string(name) + "' is not declared; the rule files of rules/onnx declare it");
  }
  if (auto values = fold(id, operands, attrs)) return *std::move(values);
  return unwrap(builder_.add(id, std::move(operands), attrs));
}

Value Emitter::op(std::string_view name, std::vector<Value> operands, const Attrs& attrs) {
  return op_results(name, std::move(operands), attrs).front();
}

Ints Emitter::dims(Value value) const {
  const Type& type = graph_.type(value);
  if (!type.is_tensor()) unsupported("a value of type " + ops::to_string(type) + " stands where a tensor is needed");
  return ops::static_dims(type.shape);
}

const Tensor* Emitter::constant_of(Value value) const {
  if (!value.valid() || !is_op(graph_, value.node, "constant")) return nullptr;
  return graph_[value.node].attrs.get<ops::TensorHandle>("value").get();
}

Value Emitter::constant(Tensor tensor) { return builder_.constant(std::move(tensor)); }
Value Emitter::scalar(DType dtype, double value) { return constant(ops::scalar_tensor(dtype, value)); }
Value Emitter::scalar_int(DType dtype, std::int64_t value) { return constant(ops::scalar_tensor_int(dtype, value)); }
Value Emitter::fill(DType dtype, double value, const Ints& dims) { return align(scalar(dtype, value), dims); }

Value Emitter::vector(DType dtype, const std::vector<double>& values) {
  Tensor tensor = unwrap(ops::make_tensor(dtype, {static_cast<std::int64_t>(values.size())}));
  for (std::size_t i = 0; i < values.size(); ++i) ops::set_double(tensor, static_cast<std::int64_t>(i), values[i]);
  return constant(std::move(tensor));
}

Value Emitter::int_vector(DType dtype, const Ints& values) {
  Tensor tensor = unwrap(ops::make_tensor(dtype, {static_cast<std::int64_t>(values.size())}));
  for (std::size_t i = 0; i < values.size(); ++i) ops::set_int(tensor, static_cast<std::int64_t>(i), values[i]);
  return constant(std::move(tensor));
}

Value Emitter::iota(DType dtype, const Ints& dims, std::int64_t axis) {
  return op("iota", {}, {{"shape", dims}, {"dtype", dtype}, {"axis", axis}});
}

Value Emitter::reshape(Value x, const Ints& dims) {
  if (this->dims(x) == dims) return x;
  return op("reshape", {x}, {{"shape", dims}});
}

Value Emitter::transpose(Value x, const Ints& perm) {
  if (perm == count_up(rank(x))) return x;
  return op("transpose", {x}, {{"perm", perm}});
}

Value Emitter::align(Value x, const Ints& dims) {
  if (this->dims(x) == dims) return x;
  // A constant loses its unit axes at load, so that the broadcast reads the constant itself.
  if (constant_of(x) != nullptr) {
    const Ints own = this->dims(x);
    if (own.size() > dims.size()) refuse("cannot broadcast " + ops::to_string(type(x)) + " to a lower rank");
    Ints kept, axes;
    for (std::size_t i = 0; i < own.size(); ++i) {
      const std::size_t axis = dims.size() - own.size() + i;
      if (own[i] == 1 && dims[axis] != 1) continue;
      kept.push_back(own[i]);
      axes.push_back(static_cast<std::int64_t>(axis));
    }
    if (kept.size() != own.size()) return broadcast(reshape(x, kept), dims, axes);
  }
  return unwrap(builder_.align_to(x, ops::Shape(dims.begin(), dims.end())));
}

Value Emitter::broadcast(Value x, const Ints& dims, const Ints& axes) {
  if (this->dims(x) == dims) return x;
  return op("broadcast", {x}, {{"dims", axes}, {"shape", dims}});
}

Value Emitter::convert(Value x, DType dtype) {
  if (this->dtype(x) == dtype) return x;
  return op("convert", {x}, {{"dtype", dtype}});
}

Value Emitter::concat(std::vector<Value> parts, std::int64_t axis) {
  if (parts.size() == 1) return parts.front();
  return op("concat", std::move(parts), {{"axis", axis}});
}

Value Emitter::slice(Value x, std::int64_t axis, std::int64_t start, std::int64_t limit, std::int64_t stride) {
  Ints limits = dims(x);
  if (axis < 0 || axis >= static_cast<std::int64_t>(limits.size()))
    refuse(ops::to_string(type(x)) + " has no axis " + std::to_string(axis));
  Ints starts(limits.size(), 0), strides(limits.size(), 1);
  if (start == 0 && limit == limits[axis] && stride == 1) return x;
  starts[axis] = start;
  limits[axis] = limit;
  strides[axis] = stride;
  return op("slice", {x}, {{"starts", starts}, {"limits", limits}, {"strides", strides}});
}

namespace {

// How often each element of 0, 1, ..., extent - 1 is taken, where that is a whole number and the order is kept; else 0.
std::int64_t even_repeats(const Ints& indices, std::int64_t extent) {
  const auto count = static_cast<std::int64_t>(indices.size());
  if (extent < 1 || count < extent || count % extent != 0) return 0;
  const std::int64_t times = count / extent;
  for (std::int64_t i = 0; i < count; ++i)
    if (indices[i] != i / times) return 0;
  return times;
}

}  // namespace

// Repeating and slicing are movements that every kernel can read through; a table of indices is not.
Value Emitter::take(Value x, const Ints& indices, std::int64_t axis) {
  Ints shape = dims(x);
  const std::int64_t extent = shape[axis];
  if (const std::int64_t times = even_repeats(indices, extent); times > 0) {
    Ints wide = shape, axes;
    wide.insert(wide.begin() + axis + 1, times);
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(shape.size()); ++i) axes.push_back(i > axis ? i + 1 : i);
    shape[axis] = extent * times;
    return reshape(broadcast(x, wide, axes), shape);
  }
  const auto count = static_cast<std::int64_t>(indices.size());
  const std::int64_t step = count > 1 ? indices[1] - indices[0] : 1;
  bool even = count > 0 && step > 0 && indices.front() >= 0 && indices.back() < extent;
  for (std::int64_t i = 1; even && i < count; ++i) even = indices[i] - indices[i - 1] == step;
  if (even) return slice(x, axis, indices.front(), indices.back() + 1, step);
  return op("take", {x, int_vector(DType::kS64, indices)}, {{"axis", axis}});
}

Value Emitter::keep_axes(Value reduced, const Ints& full_dims, const Ints& axes) {
  Ints kept = full_dims;
  for (const std::int64_t axis : axes) kept[axis] = 1;
  return reshape(reduced, kept);
}

Value Emitter::reduce(std::string_view name, Value x, const Ints& axes, bool keep) {
  const Value reduced = op(name, {x}, {{"axes", axes}});
  return keep ? keep_axes(reduced, dims(x), axes) : reduced;
}

Value Emitter::binary(std::string_view name, Value a, Value b) {
  const Ints shape = broadcast_dims(dims(a), dims(b));
  a = align(a, shape);
  b = align(b, shape);
  return op(name, {a, b});
}

Value Emitter::select(Value pred, Value on_true, Value on_false) {
  const Ints shape = broadcast_dims(dims(pred), broadcast_dims(dims(on_true), dims(on_false)));
  pred = align(pred, shape);
  on_true = align(on_true, shape);
  on_false = align(on_false, shape);
  return op("select", {pred, on_true, on_false});
}

Value Emitter::to_pred(Value x) {
  if (dtype(x) == DType::kPred) return x;
  return binary("ne", x, 0.0);
}

Ints broadcast_dims(const Ints& a, const Ints& b) {
  const ops::Shape shape = unwrap(ops::broadcast_shapes({a.begin(), a.end()}, {b.begin(), b.end()}));
  return ops::static_dims(shape);
}

std::int64_t product(const Ints& values) {
  std::int64_t product = 1;
  for (const std::int64_t value : values) {
    if (__builtin_mul_overflow(product, value, &product)) refuse("a shape is too large");
  }
  return product;
}

Ints count_up(std::int64_t n) {
  Ints values(static_cast<std::size_t>(n));
  std::iota(values.begin(), values.end(), std::int64_t{0});
  return values;
}

}  // namespace fusewright::frontend_onnx
