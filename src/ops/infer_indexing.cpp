#include <algorithm>

#include "src/ops/infer.hpp"

namespace fusewright::ops {
namespace {

const Dim& extent(const Type& type, std::int64_t axis) { return type.shape[static_cast<std::size_t>(axis)]; }

bool contains(const Ints& values, std::int64_t value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

Ints joined(const Ints& a, const Ints& b) {
  Ints out = a;
  out.insert(out.end(), b.begin(), b.end());
  return out;
}

bool known_above(const Dim& a, const Dim& b) { return a.is_constant() && b.is_constant() && a.value() > b.value(); }

Status check_starts(const OpInfo& op, Operands starts, std::int64_t rank) {
  if (static_cast<std::int64_t>(starts.size()) != rank)
    return fail(op.name + " has " + std::to_string(starts.size()) + " starts where the rank is " +
                std::to_string(rank));
  for (const Type& start : starts) {
    FW_TRY_STATUS(check_scalar(op, start, "a start"));
    FW_TRY_STATUS(check_integer(op, start, "a start"));
  }
  return {};
}

// Names of the attributes that gather and scatter have under different names.
struct IndexAttrs {
  Ints window;     // axes of the result (updates) that walk through a slice
  Ints collapsed;  // axes of x of which a slice takes one element and drops them
  Ints batching;   // axes of x that go with axes of the indices
  Ints index_map;  // axis of x of each component of an index
  Ints indices_batching;
  std::int64_t vector_axis;
};

// What gather and scatter share: each axis of x in one role, each axis of the indices too.
Status check_index_attrs(const OpInfo& op, const Type& x, const Type& indices, const IndexAttrs& a) {
  FW_TRY_STATUS(check_integer(op, indices, "indices"));
  FW_TRY_STATUS(check_axes(op, joined(a.collapsed, a.batching), x.rank(), "dropped dims"));
  FW_TRY_STATUS(check_axes(op, joined(a.index_map, a.batching), x.rank(), "index map"));
  FW_TRY_STATUS(check_axes(op, a.indices_batching, indices.rank(), "indices_batching_dims"));
  FW_TRY_STATUS(check_sorted(op, a.collapsed, "collapsed dims"));
  FW_TRY_STATUS(check_sorted(op, a.batching, "batching dims"));
  FW_TRY_STATUS(check_sorted(op, a.window, "window dims"));
  if (a.vector_axis < 0 || a.vector_axis > indices.rank())
    return fail("index_vector_dim of " + op.name + " is " + std::to_string(a.vector_axis) + " where indices are " +
                to_string(indices));
  if (contains(a.indices_batching, a.vector_axis))
    return fail("indices_batching_dims of " + op.name + " names the index vector");
  const Dim components = a.vector_axis == indices.rank() ? Dim(1) : extent(indices, a.vector_axis);
  if (components != Dim(static_cast<std::int64_t>(a.index_map.size())))
    return fail(op.name + " maps " + std::to_string(a.index_map.size()) + " index components where indices are " +
                to_string(indices));
  if (a.batching.size() != a.indices_batching.size())
    return fail(op.name + " has " + std::to_string(a.batching.size()) + " batching dims of x and " +
                std::to_string(a.indices_batching.size()) + " of the indices");
  for (std::size_t i = 0; i < a.batching.size(); ++i)
    if (extent(x, a.batching[i]) != extent(indices, a.indices_batching[i]))
      return fail(op.name + " of " + to_string(x) + " by " + to_string(indices) + ": batching dims differ");
  return {};
}

// Extents of the indices without the index vector.
Shape batch_shape(const Type& indices, std::int64_t vector_axis) { return without_axes(indices.shape, {vector_axis}); }

}  // namespace

Result<Types> infer_take(const OpInfo& op, Operands operands, const Attrs& attrs) {
  const std::int64_t axis = attrs.get<std::int64_t>("axis");
  FW_TRY_STATUS(check_axes(op, {axis}, operands[0].rank(), "axis"));
  FW_TRY_STATUS(check_integer(op, operands[1], "indices"));
  const Shape& from = operands[0].shape;
  Shape shape(from.begin(), from.begin() + axis);
  shape.insert(shape.end(), operands[1].shape.begin(), operands[1].shape.end());
  shape.insert(shape.end(), from.begin() + axis + 1, from.end());
  return Types{Type::tensor(operands[0].dtype, std::move(shape))};
}

Result<Types> infer_take_along(const OpInfo& op, Operands operands, const Attrs& attrs) {
  const std::int64_t axis = attrs.get<std::int64_t>("axis");
  FW_TRY_STATUS(check_axes(op, {axis}, operands[0].rank(), "axis"));
  FW_TRY_STATUS(check_integer(op, operands[1], "indices"));
  if (operands[1].rank() != operands[0].rank()) return fail(describe_shapes(op, operands));
  for (std::int64_t i = 0; i < operands[0].rank(); ++i)
    if (i != axis && known_above(extent(operands[1], i), extent(operands[0], i)))
      return fail(describe_shapes(op, operands) + ": axis " + std::to_string(i) + " of the indices is the longer one");
  return Types{Type::tensor(operands[0].dtype, operands[1].shape)};
}

Result<Types> infer_gather(const OpInfo& op, Operands operands, const Attrs& attrs) {
  const Type& x = operands[0];
  const Type& indices = operands[1];
  const IndexAttrs a = {attrs.get<Ints>("offset_dims"),           attrs.get<Ints>("collapsed_slice_dims"),
                        attrs.get<Ints>("operand_batching_dims"), attrs.get<Ints>("start_index_map"),
                        attrs.get<Ints>("indices_batching_dims"), attrs.get<std::int64_t>("index_vector_dim")};
  const Ints& sizes = attrs.get<Ints>("slice_sizes");
  FW_TRY_STATUS(check_index_attrs(op, x, indices, a));
  FW_TRY_STATUS(check_per_axis(op, sizes, x.rank(), 0, "slice_sizes"));
  const Ints dropped = joined(a.collapsed, a.batching);
  Shape window;
  for (std::int64_t i = 0; i < x.rank(); ++i) {
    const std::int64_t size = sizes[static_cast<std::size_t>(i)];
    if (known_above(Dim(size), extent(x, i)))
      return fail("slice_sizes of gather is " + to_string(AttrValue(sizes)) + " where x is " + to_string(x));
    if (!contains(dropped, i)) {
      window.push_back(Dim(size));
    } else if (size > 1) {
      return fail("gather drops axis " + std::to_string(i) + " of a slice of size " + std::to_string(size));
    }
  }
  const Shape batch = batch_shape(indices, a.vector_axis);
  FW_TRY_STATUS(check_axes(op, a.window, static_cast<std::int64_t>(batch.size() + a.window.size()), "offset_dims"));
  if (window.size() != a.window.size())
    return fail("gather has " + std::to_string(a.window.size()) + " offset_dims where a slice keeps " +
                std::to_string(window.size()) + " axes");
  Shape shape;
  std::size_t next_batch = 0, next_window = 0;
  for (std::size_t i = 0; i < batch.size() + window.size(); ++i)
    shape.push_back(contains(a.window, static_cast<std::int64_t>(i)) ? window[next_window++] : batch[next_batch++]);
  return Types{Type::tensor(x.dtype, std::move(shape))};
}

Result<Types> infer_scatter(const OpInfo& op, Operands operands, const Attrs& attrs) {
  const Type& x = operands[0];
  const Type& indices = operands[1];
  const Type& updates = operands[2];
  const IndexAttrs a = {attrs.get<Ints>("update_window_dims"),    attrs.get<Ints>("inserted_window_dims"),
                        attrs.get<Ints>("input_batching_dims"),   attrs.get<Ints>("scatter_dims_to_operand_dims"),
                        attrs.get<Ints>("indices_batching_dims"), attrs.get<std::int64_t>("index_vector_dim")};
  FW_TRY_STATUS(check_index_attrs(op, x, indices, a));
  FW_TRY_STATUS(check_axes(op, a.window, updates.rank(), "update_window_dims"));
  const std::string& combiner = attrs.get<std::string>("combiner");
  const std::vector<std::string> combiners = {"assign", "add", "mul", "max", "min"};
  if (std::find(combiners.begin(), combiners.end(), combiner) == combiners.end())
    return fail("combiner of scatter is \"" + combiner + "\", not assign, add, mul, max or min");
  if (x.dtype != updates.dtype) return fail("scatter of " + to_string(updates) + " into " + to_string(x));
  if (combiner != "assign") FW_TRY_STATUS(check_domain(op, Domain::kNumber, x.dtype));
  const Shape kept = without_axes(x.shape, joined(a.collapsed, a.batching));
  const Shape batch = batch_shape(indices, a.vector_axis);
  const std::string refused =
      "scatter of " + to_string(updates) + " into " + to_string(x) + " at " + to_string(indices);
  if (a.window.size() != kept.size() || updates.shape.size() != kept.size() + batch.size()) return fail(refused);
  std::size_t next_batch = 0, next_window = 0;
  for (std::int64_t i = 0; i < updates.rank(); ++i) {
    const bool in_window = contains(a.window, i);
    const Dim& dim = extent(updates, i);
    if (in_window ? known_above(dim, kept[next_window++]) : dim != batch[next_batch++])
      return fail(refused + ": axis " + std::to_string(i) + " of the updates does not fit");
  }
  return Types{x};
}

Result<Types> infer_dynamic_slice(const OpInfo& op, Operands operands, const Attrs& attrs) {
  const Type& x = operands[0];
  const Ints& sizes = attrs.get<Ints>("sizes");
  FW_TRY_STATUS(check_starts(op, operands.subspan(1), x.rank()));
  FW_TRY_STATUS(check_per_axis(op, sizes, x.rank(), 0, "sizes"));
  for (std::size_t i = 0; i < sizes.size(); ++i)
    if (known_above(Dim(sizes[i]), x.shape[i]))
      return fail("dynamic_slice of " + to_string(AttrValue(sizes)) + " from " + to_string(x));
  return Types{Type::tensor(x.dtype, Shape(sizes.begin(), sizes.end()))};
}

Result<Types> infer_dynamic_update_slice(const OpInfo& op, Operands operands, const Attrs&) {
  const Type& x = operands[0];
  const Type& update = operands[1];
  FW_TRY_STATUS(check_same_dtype(op, operands.first(2)));
  FW_TRY_STATUS(check_starts(op, operands.subspan(2), x.rank()));
  bool fits = update.rank() == x.rank();
  for (std::size_t i = 0; fits && i < x.shape.size(); ++i) fits = !known_above(update.shape[i], x.shape[i]);
  if (!fits) return fail("dynamic_update_slice of " + to_string(update) + " into " + to_string(x));
  return Types{x};
}

}  // namespace fusewright::ops
