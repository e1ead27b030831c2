#include "src/frontend/hlo/export_pieces.hpp"

namespace fusewright::frontend_hlo {

namespace {

Type with_dims(const Type& type, const Ints& dims) {
  return Type::tensor(type.dtype, ops::Shape(dims.begin(), dims.end()));
}

std::string gather_attributes(const Ints& offset, const Ints& collapsed, const Ints& index_map, const Ints& batching,
                              const Ints& indices_batching, std::int64_t vector_axis, const Ints& sizes) {
  std::string out = list_attribute("offset_dims", offset) + ", " + list_attribute("collapsed_slice_dims", collapsed) +
                    ", " + list_attribute("start_index_map", index_map);
  if (!batching.empty())
    out += ", " + list_attribute("operand_batching_dims", batching) + ", " +
           list_attribute("start_indices_batching_dims", indices_batching);
  return out + ", index_vector_dim=" + std::to_string(vector_axis) + ", " + list_attribute("slice_sizes", sizes);
}

// Indices below zero count from the end.
std::string from_the_end(Exporter& e, Body& body, const std::string& indices, const Type& type, std::int64_t extent) {
  if (ops::is_unsigned_integer(type.dtype)) return indices;
  const std::string below = compare(e, body, type, indices, e.splat(body, type, "0"), "LT");
  const std::string moved =
      e.emit(body, "indices", print_type(type), "add", {indices, e.splat(body, type, std::to_string(extent))});
  return e.emit(body, "indices", print_type(type), "select", {below, moved, indices});
}

// A narrow index type cannot hold the extent that is added to negative ones.
std::string widened(Exporter& e, Body& body, const std::string& indices, Type& type) {
  if (!ops::is_signed_integer(type.dtype) || ops::bit_width(type.dtype) >= 32) return indices;
  type = as(type, DType::kS32);
  return e.emit(body, "indices", print_type(type), "convert", {indices});
}

}  // namespace

Status print_gather(Exporter& e, Body& body, NodeId id) {
  const Node& n = e.graph[id];
  return print_plain(
      e, body, id, "gather",
      gather_attributes(ints(n, "offset_dims"), ints(n, "collapsed_slice_dims"), ints(n, "start_index_map"),
                        ints(n, "operand_batching_dims"), ints(n, "indices_batching_dims"),
                        n.attrs.get<std::int64_t>("index_vector_dim"), ints(n, "slice_sizes")));
}

Status print_take(Exporter& e, Body& body, NodeId id) {
  const Node& node = e.graph[id];
  const Ints from = dims_of(e.type(node.operands[0]));
  const std::int64_t axis = node.attrs.get<std::int64_t>("axis");
  Type index_type = e.type(node.operands[1]);
  const std::string wide = widened(e, body, e.operand(body, node, 1), index_type);
  const std::string indices = from_the_end(e, body, wide, index_type, from[static_cast<std::size_t>(axis)]);
  Ints offset, sizes = from;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(from.size()); ++i)
    if (i != axis) offset.push_back(i < axis ? i : i - 1 + index_type.rank());
  sizes[static_cast<std::size_t>(axis)] = 1;
  Exporter::bind(body, id,
                 e.emit(body, node.name, print_type(node.types[0]), "gather", {e.operand(body, node, 0), indices},
                        gather_attributes(offset, {axis}, {axis}, {}, {}, index_type.rank(), sizes)));
  return {};
}

Status print_take_along(Exporter& e, Body& body, NodeId id) {
  const Node& node = e.graph[id];
  const Type& type = e.type(node.operands[0]);
  Ints from = dims_of(type);
  const std::int64_t axis = node.attrs.get<std::int64_t>("axis");
  Type index_type = e.type(node.operands[1]);
  const std::string wide = widened(e, body, e.operand(body, node, 1), index_type);
  const std::string indices = from_the_end(e, body, wide, index_type, from[static_cast<std::size_t>(axis)]);
  Ints kept = dims_of(index_type), others;
  kept[static_cast<std::size_t>(axis)] = from[static_cast<std::size_t>(axis)];
  for (std::int64_t i = 0; i < type.rank(); ++i)
    if (i != axis) others.push_back(i);
  std::string x = e.operand(body, node, 0);
  if (kept != from)
    x = e.emit(body, node.name, print_type(with_dims(type, kept)), "slice", {x},
               slice_attribute(Ints(kept.size(), 0), kept, Ints(kept.size(), 1)));
  Exporter::bind(body, id,
                 e.emit(body, node.name, print_type(node.types[0]), "gather", {x, indices},
                        gather_attributes({}, {axis}, {axis}, others, others, type.rank(), Ints(kept.size(), 1))));
  return {};
}

Status print_dynamic_slice(Exporter& e, Body& body, NodeId id) {
  return print_plain(e, body, id, "dynamic-slice", list_attribute("dynamic_slice_sizes", ints(e.graph[id], "sizes")));
}
Status print_dynamic_update_slice(Exporter& e, Body& body, NodeId id) {
  return print_plain(e, body, id, "dynamic-update-slice");
}

Status print_scatter(Exporter& e, Body& body, NodeId id) {
  const Node& n = e.graph[id];
  const DType dtype = n.types[0].dtype;
  const std::string& kind = n.attrs.get<std::string>("combiner");
  const std::string scalar = std::string(ops::name(dtype)) + "[]";
  const std::string combine =
      kind == "assign" ? e.shared("assign_" + std::string(ops::name(dtype)),
                                  {"%a = " + scalar + " parameter(0)", "ROOT %b = " + scalar + " parameter(1)"})
                       : combiner(e,
                                  kind == "add"   ? "sum"
                                  : kind == "mul" ? "prod"
                                                  : kind,
                                  dtype);
  std::string attributes = list_attribute("update_window_dims", ints(n, "update_window_dims")) + ", " +
                           list_attribute("inserted_window_dims", ints(n, "inserted_window_dims")) + ", " +
                           list_attribute("scatter_dims_to_operand_dims", ints(n, "scatter_dims_to_operand_dims"));
  if (!ints(n, "input_batching_dims").empty())
    attributes += ", " + list_attribute("input_batching_dims", ints(n, "input_batching_dims")) + ", " +
                  list_attribute("scatter_indices_batching_dims", ints(n, "indices_batching_dims"));
  attributes +=
      ", index_vector_dim=" + std::to_string(n.attrs.get<std::int64_t>("index_vector_dim")) + ", to_apply=" + combine;
  return print_plain(e, body, id, "scatter", attributes);
}

}  // namespace fusewright::frontend_hlo
