#include <algorithm>
#include <numeric>

#include "src/frontend/hlo/combiner.hpp"
#include "src/frontend/hlo/foresee.hpp"
#include "src/frontend/hlo/handlers.hpp"

namespace fusewright::frontend_hlo {

namespace {

using Ints = std::vector<std::int64_t>;

Ints count_up(std::size_t size) {
  Ints numbers(size);
  std::iota(numbers.begin(), numbers.end(), std::int64_t{0});
  return numbers;
}

bool is_permutation(const Ints& axes, std::size_t rank) {
  Ints sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  return sorted == count_up(rank);
}

Result<Value> transposed(Site& site, Value value, const Ints& perm) {
  if (perm == count_up(perm.size())) return value;
  return site.add("transpose", {value}, {{"perm", perm}});
}

// Axes from the one that varies slowest in memory to the one that varies fastest; as they stand where no layout is
// written.
Result<Ints> memory_order(Site& site, const ShapeTree& shape, std::size_t rank) {
  if (shape.minor_to_major.empty()) return count_up(rank);
  const Ints order(shape.minor_to_major.rbegin(), shape.minor_to_major.rend());
  if (!is_permutation(order, rank))
    return fail("the layout does not name each axis once", site.importer.module.span(shape.text));
  return order;
}

const ShapeTree& shape_of_operand(Site& site, std::size_t operand) {
  const Computation& computation = site.importer.computation(site.scope.computation);
  const auto self = static_cast<std::size_t>(&site.instruction - computation.instructions.data());
  const std::uint32_t at = site.importer.names.computations[site.scope.computation].operands[self][operand];
  const Instruction& made = computation.instructions[at];
  const std::optional<ShapeTree>& written = site.instruction.operands[operand].shape;
  return made.has_shape || !written ? made.shape : *written;
}

// Starts as scalars, one for each axis; older texts have them in one vector.
Result<std::vector<Value>> starts(Site& site, const std::vector<Value>& values, std::size_t first, std::size_t rank) {
  std::vector<Value> found(values.begin() + static_cast<std::ptrdiff_t>(first), values.end());
  if (found.size() != 1 || site.type(found[0]).rank() != 1) return found;
  const Value vector = found[0];
  if (site.type(vector).shape[0] != Dim(static_cast<std::int64_t>(rank)))
    return site.wrong("the start indices are " + ops::to_string(site.type(vector)) + " where the rank is " +
                      std::to_string(rank));
  found.clear();
  for (std::size_t i = 0; i < rank; ++i) {
    const auto at = static_cast<std::int64_t>(i);
    FW_TRY(const Value one,
           site.add("slice", {vector}, {{"starts", Ints{at}}, {"limits", Ints{at + 1}}, {"strides", Ints{1}}}));
    FW_TRY(const Value scalar, site.add("reshape", {one}, {{"shape", ops::Shape()}}));
    found.push_back(scalar);
  }
  return found;
}

// Where the piece begins, when the import can tell: inside of the tensor, as dynamic slices are moved there.
std::optional<Ints> known_starts(Site& site, Value whole, const std::vector<Value>& starts, const Ints& sizes) {
  const Type& type = site.type(whole);
  if (!type.is_tensor() || !ops::is_static(type.shape) || type.shape.size() != sizes.size() ||
      starts.size() != sizes.size())
    return std::nullopt;
  const Ints dims = ops::static_dims(type.shape);
  const Known known = foresee(site.graph(), site.builder().computation(), starts);
  Ints out;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (!known[i] || known[i]->elements() != 1 || !ops::is_integer(known[i]->dtype)) return std::nullopt;
    if (sizes[i] < 0 || sizes[i] > dims[i]) return std::nullopt;
    out.push_back(std::clamp<std::int64_t>(ops::get_int(*known[i], 0), 0, dims[i] - sizes[i]));
  }
  return out;
}

}  // namespace

Result<Leaves> import_broadcast(Site& site) {
  FW_TRY(std::vector<Value> values, site.tensors(1));
  FW_TRY(const Type type, site.declared());
  FW_TRY(Ints dims, site.attributes.integers_or_empty("dimensions"));
  if (!std::is_sorted(dims.begin(), dims.end()) &&
      static_cast<std::int64_t>(dims.size()) == site.type(values[0]).rank()) {
    Ints order = count_up(dims.size());
    std::sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
      return dims[static_cast<std::size_t>(a)] < dims[static_cast<std::size_t>(b)];
    });
    FW_TRY(values[0], transposed(site, values[0], order));
    std::sort(dims.begin(), dims.end());
  }
  return site.leaf(site.add("broadcast", values, {{"dims", dims}, {"shape", type.shape}}));
}

Result<Leaves> import_reshape(Site& site) {
  FW_TRY(const std::vector<Value> values, site.tensors(1));
  FW_TRY(const Type type, site.declared());
  return site.leaf(site.add("reshape", values, {{"shape", type.shape}}));
}

// The bytes stay as they are and are seen with another shape: with layouts other than row-major that is a transposition
// into memory order, a reshape there, and a transposition back.
Result<Leaves> import_bitcast(Site& site) {
  FW_TRY(const std::vector<Value> values, site.tensors(1));
  FW_TRY(const Type type, site.declared());
  Value value = values[0];
  const Type from = site.type(value);
  if (from.dtype != type.dtype) {
    if (ops::bit_width(from.dtype) != ops::bit_width(type.dtype))
      return site.unsupported("from " + ops::to_string(from) + " to " + ops::to_string(type) + ", the widths differ");
    FW_TRY(value, site.add("bitcast", {value}, {{"dtype", type.dtype}}));
  }
  FW_TRY(const Ints order_before, memory_order(site, shape_of_operand(site, 0), from.shape.size()));
  FW_TRY(const Ints order_after, memory_order(site, site.instruction.shape, type.shape.size()));
  ops::Shape in_memory;
  Ints back(order_after.size());
  for (std::size_t i = 0; i < order_after.size(); ++i) {
    in_memory.push_back(type.shape[static_cast<std::size_t>(order_after[i])]);
    back[static_cast<std::size_t>(order_after[i])] = static_cast<std::int64_t>(i);
  }
  FW_TRY(value, transposed(site, value, order_before));
  if (site.type(value).shape != in_memory) {
    FW_TRY(value, site.add("reshape", {value}, {{"shape", in_memory}}));
  }
  return site.leaf(transposed(site, value, back));
}

Result<Leaves> import_transpose(Site& site) {
  FW_TRY(const std::vector<Value> values, site.tensors(1));
  FW_TRY(const Ints perm, site.attributes.integers("dimensions"));
  return site.leaf(site.add("transpose", values, {{"perm", perm}}));
}

Result<Leaves> import_reverse(Site& site) {
  FW_TRY(const std::vector<Value> values, site.tensors(1));
  FW_TRY(const Ints axes, site.attributes.integers("dimensions"));
  return site.leaf(site.add("reverse", values, {{"axes", axes}}));
}

Result<Leaves> import_slice(Site& site) {
  FW_TRY(const std::vector<Value> values, site.tensors(1));
  FW_TRY(const std::vector<SliceAxis> axes, site.attributes.slices("slice"));
  Ints first, limit, stride;
  for (const SliceAxis& axis : axes) {
    first.push_back(axis.start);
    limit.push_back(axis.limit);
    stride.push_back(axis.stride);
  }
  return site.leaf(site.add("slice", values, {{"starts", first}, {"limits", limit}, {"strides", stride}}));
}

Result<Leaves> import_pad(Site& site) {
  FW_TRY(const std::vector<Value> values, site.tensors(2));
  std::vector<PadAxis> axes;
  if (site.type(values[0]).rank() > 0 || site.attributes.has("padding")) {
    FW_TRY(axes, site.attributes.padding("padding"));
  }
  Ints low, high, interior;
  for (const PadAxis& axis : axes) {
    low.push_back(axis.low);
    high.push_back(axis.high);
    interior.push_back(axis.interior);
  }
  return site.leaf(site.add("pad", values, {{"low", low}, {"high", high}, {"interior", interior}}));
}

Result<Leaves> import_concatenate(Site& site) {
  FW_TRY(const std::vector<Value> values, site.tensors_at_least(1));
  FW_TRY(const Ints axes, site.attributes.integers("dimensions"));
  if (axes.size() != 1) return site.wrong("it concatenates along one dimension, not " + std::to_string(axes.size()));
  return site.leaf(site.add("concat", values, {{"axis", axes[0]}}));
}

Result<Leaves> import_dynamic_slice(Site& site) {
  FW_TRY(std::vector<Value> values, site.tensors_at_least(1));
  FW_TRY(const Ints sizes, site.attributes.integers("dynamic_slice_sizes"));
  FW_TRY(const std::vector<Value> from, starts(site, values, 1, sizes.size()));
  values.resize(1);
  if (const std::optional<Ints> first = known_starts(site, values[0], from, sizes)) {
    Ints limit = *first;
    for (std::size_t i = 0; i < sizes.size(); ++i) limit[i] += sizes[i];
    return site.leaf(
        site.add("slice", values, {{"starts", *first}, {"limits", limit}, {"strides", Ints(sizes.size(), 1)}}));
  }
  values.insert(values.end(), from.begin(), from.end());
  return site.leaf(site.add("dynamic_slice", values, {{"sizes", sizes}}));
}

Result<Leaves> import_dynamic_update_slice(Site& site) {
  FW_TRY(std::vector<Value> values, site.tensors_at_least(2));
  FW_TRY(const std::vector<Value> from, starts(site, values, 2, site.type(values[0]).shape.size()));
  values.resize(2);
  values.insert(values.end(), from.begin(), from.end());
  return site.leaf(site.add("dynamic_update_slice", values));
}

Result<Leaves> import_gather(Site& site) {
  FW_TRY(const std::vector<Value> values, site.tensors(2));
  const AttributeReader& a = site.attributes;
  FW_TRY(const Ints offset, a.integers_or_empty("offset_dims"));
  FW_TRY(const Ints collapsed, a.integers_or_empty("collapsed_slice_dims"));
  FW_TRY(const Ints index_map, a.integers_or_empty("start_index_map"));
  FW_TRY(const Ints batching, a.integers_or_empty("operand_batching_dims"));
  FW_TRY(const Ints indices_batching, a.integers_or_empty("start_indices_batching_dims"));
  FW_TRY(const std::int64_t vector_axis, a.integer("index_vector_dim"));
  FW_TRY(const Ints sizes, a.integers("slice_sizes"));
  const ops::Attrs attrs = {{"offset_dims", offset},
                            {"collapsed_slice_dims", collapsed},
                            {"start_index_map", index_map},
                            {"operand_batching_dims", batching},
                            {"indices_batching_dims", indices_batching},
                            {"index_vector_dim", vector_axis},
                            {"slice_sizes", sizes}};
  return site.leaf(site.add("gather", values, attrs));
}

Result<Leaves> import_scatter(Site& site) {
  if (site.operands.size() != 3) return site.unsupported("a scatter of several tensors");
  FW_TRY(const std::vector<Value> values, site.tensors(3));
  const AttributeReader& a = site.attributes;
  FW_TRY(const std::vector<std::string_view> names, a.names("to_apply"));
  if (names.size() != 1) return site.wrong("'to_apply' names one computation");
  FW_TRY(const std::uint32_t index, site.importer.find_computation(names[0]));
  const Combiner combiner(site.importer.module, site.importer.names, index);
  std::string kind = combiner.is_second_parameter() ? "assign" : "";
  const auto steps = combiner.steps(1);
  if (steps && !steps->front().rounded) {
    const std::string_view opcode = steps->front().opcode;
    kind = opcode == "add"        ? "add"
           : opcode == "multiply" ? "mul"
           : opcode == "maximum"  ? "max"
           : opcode == "minimum"  ? "min"
                                  : "";
  }
  if (kind.empty())
    return site.unsupported("the combiner '" + std::string(names[0]) +
                            "' is not assign, add, multiply, maximum or minimum");
  FW_TRY(const Ints window, a.integers_or_empty("update_window_dims"));
  FW_TRY(const Ints inserted, a.integers_or_empty("inserted_window_dims"));
  FW_TRY(const Ints index_map, a.integers_or_empty("scatter_dims_to_operand_dims"));
  FW_TRY(const Ints batching, a.integers_or_empty("input_batching_dims"));
  FW_TRY(const Ints indices_batching, a.integers_or_empty("scatter_indices_batching_dims"));
  FW_TRY(const std::int64_t vector_axis, a.integer("index_vector_dim"));
  const ops::Attrs attrs = {{"update_window_dims", window},
                            {"inserted_window_dims", inserted},
                            {"scatter_dims_to_operand_dims", index_map},
                            {"input_batching_dims", batching},
                            {"indices_batching_dims", indices_batching},
                            {"index_vector_dim", vector_axis},
                            {"combiner", kind}};
  return site.leaf(site.add("scatter", values, attrs));
}

}  // namespace fusewright::frontend_hlo
