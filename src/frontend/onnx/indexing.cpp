#include <algorithm>
#include <cmath>

#include "src/frontend/onnx/call.hpp"

namespace fusewright::frontend_onnx {

namespace {

using Values = std::vector<Value>;

Value wide_index(Call& c, Value indices) {
  const DType dtype = c.e.dtype(indices);
  if (!ops::is_integer(dtype)) refuse("its indices are " + std::string(ops::name(dtype)) + ", not integers");
  return indices;
}

Values gather(Call& c) {
  const std::int64_t axis = c.axis(c.int_attr("axis", 0), c.e.rank(c.in(0)));
  return {c.e.op("take", {c.in(0), wide_index(c, c.in(1))}, {{"axis", axis}})};
}

Values gather_elements(Call& c) {
  const std::int64_t axis = c.axis(c.int_attr("axis", 0), c.e.rank(c.in(0)));
  return {c.e.op("take_along", {c.in(0), wide_index(c, c.in(1))}, {{"axis", axis}})};
}

// Negative indices count from the end; `extents` has one for each component along the last axis.
Value normalise_vectors(Call& c, Value indices, const Ints& extents) {
  const DType dtype = c.e.dtype(indices);
  const Value size = c.e.align(c.e.int_vector(dtype, extents), c.e.dims(indices));
  return c.e.select(c.e.binary("lt", indices, 0.0), c.e.op("add", {indices, size}), indices);
}

Values gather_nd(Call& c) {
  const Value x = c.in(0);
  const Value indices = wide_index(c, c.in(1));
  const Ints dims = c.e.dims(x), index_dims = c.e.dims(indices);
  const auto rank = static_cast<std::int64_t>(dims.size());
  const auto index_rank = static_cast<std::int64_t>(index_dims.size());
  const std::int64_t batch = c.int_attr("batch_dims", 0);
  if (batch < 0 || batch >= index_rank || batch > rank) refuse("attribute 'batch_dims' is " + std::to_string(batch));
  const std::int64_t depth = index_dims.back();
  if (depth < 1 || batch + depth > rank)
    refuse("its indices " + ops::to_string(c.e.type(indices)) + " do not fit " + ops::to_string(c.e.type(x)));
  Ints collapsed, sizes = dims, batches = count_up(batch), offsets;
  for (std::int64_t i = 0; i < batch; ++i) sizes[i] = 1;
  for (std::int64_t i = batch; i < batch + depth; ++i) {
    collapsed.push_back(i);
    sizes[i] = 1;
  }
  for (std::int64_t i = batch + depth; i < rank; ++i) offsets.push_back(index_rank - 1 + i - batch - depth);
  const Value safe = normalise_vectors(c, indices, Ints(dims.begin() + batch, dims.begin() + batch + depth));
  return {c.e.op("gather", {x, safe},
                 {{"offset_dims", offsets},
                  {"collapsed_slice_dims", collapsed},
                  {"start_index_map", collapsed},
                  {"operand_batching_dims", batches},
                  {"indices_batching_dims", batches},
                  {"index_vector_dim", index_rank - 1},
                  {"slice_sizes", sizes}})};
}

std::string combiner(Call& c) {
  const std::string reduction = c.string_attr("reduction", "none");
  if (reduction == "none") return "assign";
  for (const char* known : {"add", "mul", "max", "min"}) {
    if (reduction == known) return reduction;
  }
  refuse("attribute 'reduction' is '" + reduction + "'");
}

Values scatter_nd(Call& c) {
  const Value x = c.in(0), updates = c.in(2);
  const Value indices = wide_index(c, c.in(1));
  const Ints dims = c.e.dims(x), index_dims = c.e.dims(indices);
  if (index_dims.empty()) refuse("its indices are a scalar");
  const auto rank = static_cast<std::int64_t>(dims.size());
  const auto index_rank = static_cast<std::int64_t>(index_dims.size());
  const std::int64_t depth = index_dims.back();
  if (depth > rank) refuse("its indices have more components than the data has axes");
  Ints window;
  for (std::int64_t i = depth; i < rank; ++i) window.push_back(index_rank - 1 + i - depth);
  const Value safe = normalise_vectors(c, indices, Ints(dims.begin(), dims.begin() + depth));
  return {c.e.op("scatter", {x, safe, updates},
                 {{"update_window_dims", window},
                  {"inserted_window_dims", count_up(depth)},
                  {"scatter_dims_to_operand_dims", count_up(depth)},
                  {"index_vector_dim", index_rank - 1},
                  {"combiner", combiner(c)}})};
}

// Every update gets its full position: its own along all axes but one, and the index along that one.
Values scatter_elements(Call& c) {
  const Value x = c.in(0), updates = c.in(2);
  const Value indices = wide_index(c, c.in(1));
  const std::int64_t rank = c.e.rank(x);
  const std::int64_t axis = c.axis(c.int_attr("axis", 0), rank);
  const Ints dims = c.e.dims(indices);
  if (static_cast<std::int64_t>(dims.size()) != rank) refuse("its indices have another rank than its data");
  const DType dtype = c.e.dtype(indices);
  Ints column = dims;
  column.push_back(1);
  Values parts;
  for (std::int64_t i = 0; i < rank; ++i) {
    parts.push_back(c.e.reshape(i == axis ? indices : c.e.iota(dtype, dims, i), column));
  }
  const Value positions = normalise_vectors(c, c.e.concat(parts, rank), c.e.dims(x));
  return {c.e.op("scatter", {x, positions, updates},
                 {{"update_window_dims", Ints{}},
                  {"inserted_window_dims", count_up(rank)},
                  {"scatter_dims_to_operand_dims", count_up(rank)},
                  {"index_vector_dim", rank},
                  {"combiner", combiner(c)}})};
}

Values one_hot(Call& c) {
  const double stated = c.known_double(1, "depth");
  if (!(stated >= 1 && stated < static_cast<double>(std::int64_t{1} << 40)))
    refuse("its depth is " + std::to_string(stated));
  const auto depth = static_cast<std::int64_t>(stated);
  const Value indices = c.e.convert(c.in(0), DType::kS64);
  Ints dims = c.e.dims(indices);
  const std::int64_t axis = c.axis(c.int_attr("axis", -1), static_cast<std::int64_t>(dims.size()) + 1);
  Ints column = dims;
  column.insert(column.begin() + axis, 1);
  dims.insert(dims.begin() + axis, depth);
  const Value wrapped =
      c.e.select(c.e.binary("lt", indices, 0.0), c.e.binary("add", indices, static_cast<double>(depth)), indices);
  const Value hit = c.e.op("eq", {c.e.iota(DType::kS64, dims, axis), c.e.align(c.e.reshape(wrapped, column), dims)});
  const Value off = c.e.reshape(c.e.slice(c.in(2), 0, 0, 1), {}), on = c.e.reshape(c.e.slice(c.in(2), 0, 1, 2), {});
  return {c.e.select(hit, on, off)};
}

// Which elements are kept depends on the condition, which must therefore be known.
Values compress(Call& c) {
  Value x = c.in(0);
  std::int64_t axis = 0;
  if (c.has_attr("axis"))
    axis = c.axis(c.int_attr("axis"), c.e.rank(x));
  else
    x = c.e.reshape(x, {product(c.e.dims(x))});
  const Ints condition = c.known_ints(1, "condition");
  if (static_cast<std::int64_t>(condition.size()) > c.e.dims(x)[axis]) refuse("its condition is longer than the axis");
  Ints kept;
  for (std::size_t i = 0; i < condition.size(); ++i) {
    if (condition[i] != 0) kept.push_back(static_cast<std::int64_t>(i));
  }
  return {c.e.take(x, kept, axis)};
}

Values non_zero(Call& c) {
  const Tensor x = c.known(0, "operand");
  std::vector<Ints> positions(x.dims.size());
  for (std::int64_t i = 0; i < x.elements(); ++i) {
    if (ops::get_double(x, i) == 0) continue;
    std::int64_t rest = i;
    for (std::size_t axis = x.dims.size(); axis-- > 0;) {
      positions[axis].push_back(rest % x.dims[axis]);
      rest /= x.dims[axis];
    }
  }
  Ints flat;
  for (const Ints& row : positions) flat.insert(flat.end(), row.begin(), row.end());
  const auto rank = static_cast<std::int64_t>(positions.size());
  return {c.e.reshape(c.e.int_vector(DType::kS64, flat),
                      {rank, rank == 0 ? 0 : static_cast<std::int64_t>(positions[0].size())})};
}

// Row i of each batch is reversed up to its length: a gather along time by computed indices.
Values reverse_sequence(Call& c) {
  const Value x = c.in(0);
  const std::int64_t rank = c.e.rank(x);
  const std::int64_t time = c.axis(c.int_attr("time_axis", 0), rank), batch = c.axis(c.int_attr("batch_axis", 1), rank);
  const Ints dims = c.e.dims(x);
  const Value lengths = c.e.broadcast(c.e.convert(c.in(1), DType::kS64), dims, {batch});
  const Value step = c.e.iota(DType::kS64, dims, time);
  const Value mirrored = c.e.binary("sub", c.e.op("sub", {lengths, step}), 1.0);
  const Value indices = c.e.select(c.e.op("lt", {step, lengths}), mirrored, step);
  return {c.e.op("take_along", {x, indices}, {{"axis", time}})};
}

}  // namespace

std::vector<OperatorRow> indexing_operators() {
  return {
      {"Gather", gather},
      {"GatherElements", gather_elements},
      {"GatherND", gather_nd},
      {"ScatterND", scatter_nd},
      {"ScatterElements", scatter_elements},
      {"Scatter", scatter_elements},
      {"OneHot", one_hot},
      {"Compress", compress},
      {"NonZero", non_zero},
      {"ReverseSequence", reverse_sequence},
  };
}

}  // namespace fusewright::frontend_onnx
