#include <algorithm>
#include <numeric>

#include "src/frontend/hlo/exporter.hpp"
#include "src/frontend/hlo/literal.hpp"
#include "src/frontend/hlo/opcodes.hpp"

namespace fusewright::frontend_hlo {

namespace {

using ops::Attrs;

const Ints& ints(const Node& node, std::string_view name) {
  return node.attrs.get<Ints>(name);
}

Ints dims_of(const Type& type) {
  return ops::static_dims(type.shape);
}

Type with_dims(const Type& type, const Ints& dims) {
  return Type::tensor(type.dtype, ops::Shape(dims.begin(), dims.end()));
}

Type as(const Type& type, DType dtype) {
  return Type::tensor(dtype, type.shape);
}

std::string list_attribute(std::string_view name, const Ints& numbers) {
  return std::string(name) + "=" + print_list(numbers);
}

// 1x2x3
std::string crossed(const Ints& numbers) {
  std::string out;
  for (std::size_t i = 0; i < numbers.size(); ++i) out += (i == 0 ? "" : "x") + std::to_string(numbers[i]);
  return out;
}

std::string crossed_pads(const Ints& low, const Ints& high) {
  std::string out;
  for (std::size_t i = 0; i < low.size(); ++i)
    out += (i == 0 ? "" : "x") + std::to_string(low[i]) + "_" + std::to_string(high[i]);
  return out;
}

bool all_are(const Ints& numbers, std::int64_t value) {
  return std::all_of(numbers.begin(), numbers.end(), [&](std::int64_t n) { return n == value; });
}

struct WindowText {
  Ints size, stride, low, high, lhs_dilate, rhs_dilate, reversal;
};

std::string print_window(const WindowText& w) {
  if (w.size.empty()) return "window={}";
  std::string out = "window={size=" + crossed(w.size);
  if (!all_are(w.stride, 1)) out += " stride=" + crossed(w.stride);
  if (!all_are(w.low, 0) || !all_are(w.high, 0)) out += " pad=" + crossed_pads(w.low, w.high);
  if (!all_are(w.lhs_dilate, 1)) out += " lhs_dilate=" + crossed(w.lhs_dilate);
  if (!all_are(w.rhs_dilate, 1)) out += " rhs_dilate=" + crossed(w.rhs_dilate);
  if (!all_are(w.reversal, 0)) out += " rhs_reversal=" + crossed(w.reversal);
  return out + "}";
}

// One instruction with the node's operands and type.
Status print_plain(Exporter& e, Body& body, NodeId id, std::string_view opcode, const std::string& attributes = {}) {
  const Node& node = e.graph[id];
  Exporter::bind(body, id, e.emit(body, node.name, print_type(node.types[0]), opcode, e.operands(body, node), attributes));
  return {};
}

std::string compare(Exporter& e, Body& body, const Type& type, const std::string& a, const std::string& b, const char* direction) {
  return e.emit(body, "compare", print_type(as(type, DType::kPred)), "compare", {a, b}, std::string("direction=") + direction);
}

// --- Elementwise without an opcode of its own ------------------------------------------------------------

Status print_comparison(Exporter& e, Body& body, NodeId id) {
  std::string direction = e.graph.info(id).name;
  for (char& c : direction) c = static_cast<char>(c - 'a' + 'A');
  return print_plain(e, body, id, "compare", "direction=" + direction);
}

Status print_convert(Exporter& e, Body& body, NodeId id) { return print_plain(e, body, id, "convert"); }
Status print_bitcast(Exporter& e, Body& body, NodeId id) { return print_plain(e, body, id, "bitcast-convert"); }
Status print_select(Exporter& e, Body& body, NodeId id) { return print_plain(e, body, id, "select"); }
Status print_clamp(Exporter& e, Body& body, NodeId id) { return print_plain(e, body, id, "clamp"); }

Status print_reduce_precision(Exporter& e, Body& body, NodeId id) {
  const Attrs& attrs = e.graph[id].attrs;
  return print_plain(e, body, id, "reduce-precision",
                     "exponent_bits=" + std::to_string(attrs.get<std::int64_t>("exponent_bits")) +
                         ", mantissa_bits=" + std::to_string(attrs.get<std::int64_t>("mantissa_bits")));
}

Status print_is_nan(Exporter& e, Body& body, NodeId id) {
  const Node& node = e.graph[id];
  const std::string x = e.operand(body, node, 0);
  Exporter::bind(body, id, compare(e, body, node.types[0], x, x, "NE"));
  return {};
}

Status print_is_inf(Exporter& e, Body& body, NodeId id) {
  const Node& node = e.graph[id];
  const Type& type = e.type(node.operands[0]);
  const std::string magnitude = e.emit(body, node.name, print_type(type), "abs", {e.operand(body, node, 0)});
  Exporter::bind(body, id, compare(e, body, type, magnitude, e.splat(body, type, "inf"), "EQ"));
  return {};
}

Status print_trunc(Exporter& e, Body& body, NodeId id) {
  const Node& node = e.graph[id];
  const Type& type = node.types[0];
  const std::string x = e.operand(body, node, 0);
  const std::string up = e.emit(body, node.name, print_type(type), "ceil", {x});
  const std::string down = e.emit(body, node.name, print_type(type), "floor", {x});
  const std::string below = compare(e, body, type, x, e.splat(body, type, "0"), "LT");
  Exporter::bind(body, id, e.emit(body, node.name, print_type(type), "select", {below, up, down}));
  return {};
}

// HLO's remainder has the sign of the dividend; where that is not the divisor's, one divisor is added.
Status print_mod(Exporter& e, Body& body, NodeId id) {
  const Node& node = e.graph[id];
  const Type& type = node.types[0];
  const std::string shape = print_type(type);
  const std::string b = e.operand(body, node, 1);
  const std::string rest = e.emit(body, node.name, shape, "remainder", e.operands(body, node));
  Exporter::bind(body, id, rest);
  if (ops::is_unsigned_integer(type.dtype)) return {};
  const std::string zero = e.splat(body, type, "0");
  const std::string pred = print_type(as(type, DType::kPred));
  const std::string is_rest = compare(e, body, type, rest, zero, "NE");
  const std::string signs = e.emit(body, "signs", pred, "xor", {compare(e, body, type, rest, zero, "LT"), compare(e, body, type, b, zero, "LT")});
  const std::string wrong = e.emit(body, "wrong", pred, "and", {is_rest, signs});
  const std::string moved = e.emit(body, "moved", shape, "add", {rest, b});
  Exporter::bind(body, id, e.emit(body, node.name, shape, "select", {wrong, moved, rest}));
  return {};
}

// --- Movement and sources ----------------------------------------------------------------------------------

Status print_broadcast(Exporter& e, Body& body, NodeId id) {
  return print_plain(e, body, id, "broadcast", list_attribute("dimensions", ints(e.graph[id], "dims")));
}
Status print_reshape(Exporter& e, Body& body, NodeId id) { return print_plain(e, body, id, "reshape"); }
Status print_transpose(Exporter& e, Body& body, NodeId id) {
  return print_plain(e, body, id, "transpose", list_attribute("dimensions", ints(e.graph[id], "perm")));
}
Status print_reverse(Exporter& e, Body& body, NodeId id) {
  return print_plain(e, body, id, "reverse", list_attribute("dimensions", ints(e.graph[id], "axes")));
}
Status print_concat(Exporter& e, Body& body, NodeId id) {
  return print_plain(e, body, id, "concatenate", list_attribute("dimensions", {e.graph[id].attrs.get<std::int64_t>("axis")}));
}

std::string slice_attribute(const Ints& starts, const Ints& limits, const Ints& strides) {
  std::string out = "slice={";
  for (std::size_t i = 0; i < starts.size(); ++i) {
    out += (i == 0 ? "[" : ", [") + std::to_string(starts[i]) + ":" + std::to_string(limits[i]);
    if (strides[i] != 1) out += ":" + std::to_string(strides[i]);
    out += "]";
  }
  return out + "}";
}

Status print_slice(Exporter& e, Body& body, NodeId id) {
  const Node& node = e.graph[id];
  return print_plain(e, body, id, "slice", slice_attribute(ints(node, "starts"), ints(node, "limits"), ints(node, "strides")));
}

Status print_pad(Exporter& e, Body& body, NodeId id) {
  const Node& node = e.graph[id];
  const Ints &low = ints(node, "low"), &high = ints(node, "high"), &interior = ints(node, "interior");
  if (low.empty()) {
    Exporter::bind(body, id, e.operand(body, node, 0));
    return {};
  }
  std::string padding = "padding=";
  for (std::size_t i = 0; i < low.size(); ++i) {
    padding += (i == 0 ? "" : "x") + std::to_string(low[i]) + "_" + std::to_string(high[i]);
    if (interior[i] != 0) padding += "_" + std::to_string(interior[i]);
  }
  return print_plain(e, body, id, "pad", padding);
}

Status print_iota(Exporter& e, Body& body, NodeId id) {
  return print_plain(e, body, id, "iota", "iota_dimension=" + std::to_string(e.graph[id].attrs.get<std::int64_t>("axis")));
}

Status print_constant(Exporter& e, Body& body, NodeId id) {
  const Node& node = e.graph[id];
  const ops::Tensor& tensor = *node.attrs.get<ops::TensorHandle>("value");
  if (tensor.dtype == DType::kC64 || tensor.dtype == DType::kC128) return e.unsupported(node, "complex constants have no form here");
  Exporter::bind(body, id, e.emit(body, node.name, print_type(node.types[0]), "constant",
                                  {print_literal(tensor, e.options.most_literal_elements)}));
  return {};
}

// --- Reductions, windows, scans ------------------------------------------------------------------------------

// "reduce_sum", "cum_max", "reduce_window_prod": what stands behind the last '_'.
std::string_view kind_of_reduction(std::string_view op) {
  return op.substr(op.rfind('_') + 1);
}

std::string combiner(Exporter& e, std::string_view kind, DType dtype) {
  const std::string_view opcode = kind == "sum" ? "add" : kind == "prod" ? "multiply" : kind == "max" ? "maximum" : kind == "min" ? "minimum" : kind;
  return e.binary(opcode, dtype);
}

Status print_simple_reduce(Exporter& e, Body& body, NodeId id) {
  const Node& node = e.graph[id];
  const DType dtype = node.types[0].dtype;
  const std::string_view kind = kind_of_reduction(e.graph.info(id).name);
  const std::string init = e.constant(body, dtype, Exporter::identity(kind, dtype));
  Exporter::bind(body, id, e.emit(body, node.name, print_type(node.types[0]), "reduce", {e.operand(body, node, 0), init},
                                  list_attribute("dimensions", ints(node, "axes")) + ", to_apply=" + combiner(e, kind, dtype)));
  return {};
}

// Pairs (value, index): NaN wins, then the larger (or smaller) value, then the first (or last) index.
std::string arg_combiner(Exporter& e, bool is_max, bool last, DType value, DType index) {
  const std::string v(ops::name(value)), i(ops::name(index));
  const std::string better = is_max ? "GT" : "LT";
  std::vector<std::string> lines = {
      "%a = " + v + "[] parameter(0)",
      "%i = " + i + "[] parameter(1)",
      "%b = " + v + "[] parameter(2)",
      "%j = " + i + "[] parameter(3)",
      "%better = pred[] compare(%a, %b), direction=" + better,
  };
  std::string wins = "%better";
  if (ops::is_float(value)) {
    lines.push_back("%nan = pred[] compare(%a, %a), direction=NE");
    lines.push_back("%wins = pred[] or(%better, %nan)");
    wins = "%wins";
  }
  for (const std::string& line : {std::string("%equal = pred[] compare(%a, %b), direction=EQ"),
                                  "%before = pred[] compare(%i, %j), direction=" + std::string(last ? "GT" : "LT"),
                                  std::string("%tie = pred[] and(%equal, %before)"),
                                  "%takes = pred[] or(" + wins + ", %tie)",
                                  "%value = " + v + "[] select(" + wins + ", %a, %b)",
                                  "%index = " + i + "[] select(%takes, %i, %j)",
                                  "ROOT %pair = (" + v + "[], " + i + "[]) tuple(%value, %index)"})
    lines.push_back(line);
  return e.shared(std::string(is_max ? "arg_max" : "arg_min") + (last ? "_last_" : "_") + v + "_" + i, lines);
}

Status print_arg_reduction(Exporter& e, Body& body, NodeId id) {
  const Node& node = e.graph[id];
  const Type& type = e.type(node.operands[0]);
  const DType index = node.attrs.get<DType>("dtype");
  const std::int64_t axis = node.attrs.get<std::int64_t>("axis");
  const bool is_max = e.graph.info(id).name == "arg_max";
  const std::string places = e.emit(body, "iota", print_type(as(type, index)), "iota", {}, "iota_dimension=" + std::to_string(axis));
  const std::string worst = e.constant(body, type.dtype, Exporter::identity(is_max ? "max" : "min", type.dtype));
  const std::string zero = e.constant(body, index, "0");
  const std::string pair = e.emit(body, node.name, print_tuple_type({as(node.types[0], type.dtype), node.types[0]}), "reduce",
                                  {e.operand(body, node, 0), places, worst, zero},
                                  list_attribute("dimensions", {axis}) + ", to_apply=" +
                                      arg_combiner(e, is_max, node.attrs.get<bool>("last"), type.dtype, index));
  Exporter::bind(body, id, e.emit(body, node.name, print_type(node.types[0]), "get-tuple-element", {pair}, "index=1"));
  return {};
}

Status print_reduce_window(Exporter& e, Body& body, NodeId id) {
  const Node& node = e.graph[id];
  const DType dtype = node.types[0].dtype;
  const std::string_view kind = kind_of_reduction(e.graph.info(id).name);
  const std::string init = e.constant(body, dtype, Exporter::identity(kind, dtype));
  const Ints& size = ints(node, "window");
  const WindowText window = {size, ints(node, "strides"), ints(node, "pad_low"), ints(node, "pad_high"), ints(node, "base_dilation"),
                             ints(node, "window_dilation"), Ints(size.size(), 0)};
  Exporter::bind(body, id, e.emit(body, node.name, print_type(node.types[0]), "reduce-window", {e.operand(body, node, 0), init},
                                  print_window(window) + ", to_apply=" + combiner(e, kind, dtype)));
  return {};
}

// A window as long as the axis that ends (or begins) at the current element.
Status print_scan(Exporter& e, Body& body, NodeId id) {
  const Node& node = e.graph[id];
  const Type& type = node.types[0];
  const std::size_t rank = type.shape.size();
  const auto axis = static_cast<std::size_t>(node.attrs.get<std::int64_t>("axis"));
  const std::int64_t extent = dims_of(type)[axis];
  if (extent == 0) {
    Exporter::bind(body, id, e.operand(body, node, 0));
    return {};
  }
  WindowText window = {Ints(rank, 1), Ints(rank, 1), Ints(rank, 0), Ints(rank, 0), Ints(rank, 1), Ints(rank, 1), Ints(rank, 0)};
  window.size[axis] = extent;
  const std::int64_t skipped = node.attrs.get<bool>("exclusive") ? 1 : 0;
  const bool reverse = node.attrs.get<bool>("reverse");
  (reverse ? window.high : window.low)[axis] = extent - 1 + skipped;
  (reverse ? window.low : window.high)[axis] = -skipped;
  const std::string_view kind = kind_of_reduction(e.graph.info(id).name);
  const std::string init = e.constant(body, type.dtype, Exporter::identity(kind, type.dtype));
  Exporter::bind(body, id, e.emit(body, node.name, print_type(type), "reduce-window", {e.operand(body, node, 0), init},
                                  print_window(window) + ", to_apply=" + combiner(e, kind, type.dtype)));
  return {};
}

// --- Contractions ----------------------------------------------------------------------------------------------

Status print_dot(Exporter& e, Body& body, NodeId id) {
  const Node& node = e.graph[id];
  std::string attributes;
  if (!ints(node, "lhs_batch").empty())
    attributes = list_attribute("lhs_batch_dims", ints(node, "lhs_batch")) + ", " + list_attribute("rhs_batch_dims", ints(node, "rhs_batch")) + ", ";
  attributes += list_attribute("lhs_contracting_dims", ints(node, "lhs_contract")) + ", " +
                list_attribute("rhs_contracting_dims", ints(node, "rhs_contract"));
  return print_plain(e, body, id, "dot", attributes);
}

// [batch, feature, spatial...] as one letter for each axis.
std::string labels(const Ints& spec, const char* first) {
  std::string out(spec.size(), '?');
  for (std::size_t role = 0; role < spec.size(); ++role)
    out[static_cast<std::size_t>(spec[role])] = role < 2 ? first[role] : static_cast<char>('0' + role - 2);
  return out;
}

Status print_conv(Exporter& e, Body& body, NodeId id) {
  const Node& node = e.graph[id];
  const Ints& rhs_spec = ints(node, "rhs_spec");
  if (rhs_spec.size() > 12) return e.unsupported(node, "a convolution of more than 10 spatial axes has no form in HLO");
  const Ints kernel = dims_of(e.type(node.operands[1]));
  Ints size;
  for (std::size_t i = 2; i < rhs_spec.size(); ++i) size.push_back(kernel[static_cast<std::size_t>(rhs_spec[i])]);
  const WindowText window = {size, ints(node, "strides"), ints(node, "pad_low"), ints(node, "pad_high"), ints(node, "lhs_dilation"),
                             ints(node, "rhs_dilation"), ints(node, "reversal")};
  std::string attributes = print_window(window) + ", dim_labels=" + labels(ints(node, "lhs_spec"), "bf") + "_" +
                           labels(rhs_spec, "oi") + "->" + labels(ints(node, "out_spec"), "bf");
  if (const std::int64_t groups = node.attrs.get<std::int64_t>("groups"); groups != 1)
    attributes += ", feature_group_count=" + std::to_string(groups);
  if (const std::int64_t groups = node.attrs.get<std::int64_t>("batch_groups"); groups != 1)
    attributes += ", batch_group_count=" + std::to_string(groups);
  return print_plain(e, body, id, "convolution", attributes);
}

// HLO's topk works along the last axis and counts in s32.
Status print_top_k(Exporter& e, Body& body, NodeId id) {
  const Node& node = e.graph[id];
  const Type& type = e.type(node.operands[0]);
  const auto axis = static_cast<std::size_t>(node.attrs.get<std::int64_t>("axis"));
  const std::size_t last = type.shape.size() - 1;
  Ints swap(type.shape.size());
  std::iota(swap.begin(), swap.end(), std::int64_t{0});
  std::swap(swap[axis], swap[last]);
  const auto moved = [&](Type t) {
    std::swap(t.shape[axis], t.shape[last]);
    return t;
  };
  const auto move = [&](const std::string& name, const Type& to) {
    return axis == last ? name : e.emit(body, node.name, print_type(to), "transpose", {name}, list_attribute("dimensions", swap));
  };
  const std::string x = move(e.operand(body, node, 0), moved(type));
  const std::vector<Type> types = {moved(node.types[0]), as(moved(node.types[1]), DType::kS32)};
  const std::string pair = e.emit(body, node.name, print_tuple_type(types), "topk", {x},
                                  "k=" + std::to_string(node.attrs.get<std::int64_t>("k")) +
                                      ", largest=" + (node.attrs.get<bool>("largest") ? "true" : "false"));
  const std::string values = e.emit(body, node.name, print_type(types[0]), "get-tuple-element", {pair}, "index=0");
  std::string indices = e.emit(body, node.name, print_type(types[1]), "get-tuple-element", {pair}, "index=1");
  const DType dtype = node.types[1].dtype;
  if (dtype != DType::kS32) indices = e.emit(body, node.name, print_type(as(types[1], dtype)), "convert", {indices});
  body.values[{id, 0}] = move(values, node.types[0]);
  body.values[{id, 1}] = move(indices, node.types[1]);
  return {};
}

// --- Indexing ----------------------------------------------------------------------------------------------------

std::string gather_attributes(const Ints& offset, const Ints& collapsed, const Ints& index_map, const Ints& batching,
                              const Ints& indices_batching, std::int64_t vector_axis, const Ints& sizes) {
  std::string out = list_attribute("offset_dims", offset) + ", " + list_attribute("collapsed_slice_dims", collapsed) + ", " +
                    list_attribute("start_index_map", index_map);
  if (!batching.empty())
    out += ", " + list_attribute("operand_batching_dims", batching) + ", " + list_attribute("start_indices_batching_dims", indices_batching);
  return out + ", index_vector_dim=" + std::to_string(vector_axis) + ", " + list_attribute("slice_sizes", sizes);
}

Status print_gather(Exporter& e, Body& body, NodeId id) {
  const Node& n = e.graph[id];
  return print_plain(e, body, id, "gather",
                     gather_attributes(ints(n, "offset_dims"), ints(n, "collapsed_slice_dims"), ints(n, "start_index_map"),
                                       ints(n, "operand_batching_dims"), ints(n, "indices_batching_dims"),
                                       n.attrs.get<std::int64_t>("index_vector_dim"), ints(n, "slice_sizes")));
}

// Indices below zero count from the end.
std::string from_the_end(Exporter& e, Body& body, const std::string& indices, const Type& type, std::int64_t extent) {
  if (ops::is_unsigned_integer(type.dtype)) return indices;
  const std::string below = compare(e, body, type, indices, e.splat(body, type, "0"), "LT");
  const std::string moved = e.emit(body, "indices", print_type(type), "add", {indices, e.splat(body, type, std::to_string(extent))});
  return e.emit(body, "indices", print_type(type), "select", {below, moved, indices});
}

// A narrow index type cannot hold the extent that is added to negative ones.
std::string widened(Exporter& e, Body& body, const std::string& indices, Type& type) {
  if (!ops::is_signed_integer(type.dtype) || ops::bit_width(type.dtype) >= 32) return indices;
  type = as(type, DType::kS32);
  return e.emit(body, "indices", print_type(type), "convert", {indices});
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
  Exporter::bind(body, id, e.emit(body, node.name, print_type(node.types[0]), "gather", {e.operand(body, node, 0), indices},
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
  Exporter::bind(body, id, e.emit(body, node.name, print_type(node.types[0]), "gather", {x, indices},
                                  gather_attributes({}, {axis}, {axis}, others, others, type.rank(), Ints(kept.size(), 1))));
  return {};
}

Status print_dynamic_slice(Exporter& e, Body& body, NodeId id) {
  return print_plain(e, body, id, "dynamic-slice", list_attribute("dynamic_slice_sizes", ints(e.graph[id], "sizes")));
}
Status print_dynamic_update_slice(Exporter& e, Body& body, NodeId id) { return print_plain(e, body, id, "dynamic-update-slice"); }

Status print_scatter(Exporter& e, Body& body, NodeId id) {
  const Node& n = e.graph[id];
  const DType dtype = n.types[0].dtype;
  const std::string& kind = n.attrs.get<std::string>("combiner");
  const std::string scalar = std::string(ops::name(dtype)) + "[]";
  const std::string combine =
      kind == "assign" ? e.shared("assign_" + std::string(ops::name(dtype)),
                                  {"%a = " + scalar + " parameter(0)", "ROOT %b = " + scalar + " parameter(1)"})
                       : combiner(e, kind == "add" ? "sum" : kind == "mul" ? "prod" : kind, dtype);
  std::string attributes = list_attribute("update_window_dims", ints(n, "update_window_dims")) + ", " +
                           list_attribute("inserted_window_dims", ints(n, "inserted_window_dims")) + ", " +
                           list_attribute("scatter_dims_to_operand_dims", ints(n, "scatter_dims_to_operand_dims"));
  if (!ints(n, "input_batching_dims").empty())
    attributes += ", " + list_attribute("input_batching_dims", ints(n, "input_batching_dims")) + ", " +
                  list_attribute("scatter_indices_batching_dims", ints(n, "indices_batching_dims"));
  attributes += ", index_vector_dim=" + std::to_string(n.attrs.get<std::int64_t>("index_vector_dim")) + ", to_apply=" + combine;
  return print_plain(e, body, id, "scatter", attributes);
}

// --- Effects -------------------------------------------------------------------------------------------------------

Status print_rng(Exporter& e, Body& body, NodeId id) {
  return print_plain(e, body, id, "rng", "distribution=" + e.graph.info(id).name);
}

Status print_rng_bits(Exporter& e, Body& body, NodeId id) {
  const Node& node = e.graph[id];
  e.bind_tuple(body, id, e.emit(body, node.name, print_tuple_type(node.types), "rng-bit-generator", e.operands(body, node),
                                "algorithm=rng_" + node.attrs.get<std::string>("algorithm")));
  return {};
}

Status print_custom_call(Exporter& e, Body& body, NodeId id) {
  const Node& node = e.graph[id];
  const std::string target = "custom_call_target=\"" + node.attrs.get<std::string>("target") + "\"";
  if (node.types.size() == 1) return print_plain(e, body, id, "custom-call", target);
  e.bind_tuple(body, id, e.emit(body, node.name, print_tuple_type(node.types), "custom-call", e.operands(body, node), target));
  return {};
}

struct Row {
  std::string_view op;
  OpPrinter printer;
};

constexpr Row kRows[] = {
    {"eq", print_comparison},
    {"ne", print_comparison},
    {"lt", print_comparison},
    {"le", print_comparison},
    {"gt", print_comparison},
    {"ge", print_comparison},
    {"convert", print_convert},
    {"bitcast", print_bitcast},
    {"reduce_precision", print_reduce_precision},
    {"select", print_select},
    {"clamp", print_clamp},
    {"is_nan", print_is_nan},
    {"is_inf", print_is_inf},
    {"trunc", print_trunc},
    {"mod", print_mod},
    {"broadcast", print_broadcast},
    {"reshape", print_reshape},
    {"transpose", print_transpose},
    {"reverse", print_reverse},
    {"slice", print_slice},
    {"pad", print_pad},
    {"concat", print_concat},
    {"iota", print_iota},
    {"constant", print_constant},
    {"reduce_sum", print_simple_reduce},
    {"reduce_prod", print_simple_reduce},
    {"reduce_max", print_simple_reduce},
    {"reduce_min", print_simple_reduce},
    {"reduce_and", print_simple_reduce},
    {"reduce_or", print_simple_reduce},
    {"arg_max", print_arg_reduction},
    {"arg_min", print_arg_reduction},
    {"reduce", print_reduce},
    {"reduce_window_sum", print_reduce_window},
    {"reduce_window_prod", print_reduce_window},
    {"reduce_window_max", print_reduce_window},
    {"reduce_window_min", print_reduce_window},
    {"cum_sum", print_scan},
    {"cum_prod", print_scan},
    {"cum_max", print_scan},
    {"cum_min", print_scan},
    {"dot", print_dot},
    {"conv", print_conv},
    {"sort", print_sort},
    {"top_k", print_top_k},
    {"take", print_take},
    {"take_along", print_take_along},
    {"gather", print_gather},
    {"dynamic_slice", print_dynamic_slice},
    {"dynamic_update_slice", print_dynamic_update_slice},
    {"scatter", print_scatter},
    {"rng_uniform", print_rng},
    {"rng_normal", print_rng},
    {"rng_bit_generator", print_rng_bits},
    {"custom_call", print_custom_call},
    {"while", print_while},
    {"conditional", print_conditional},
    {"call", print_call},
};

}  // namespace

OpPrinter find_printer(std::string_view op) {
  for (const Row& row : kRows)
    if (row.op == op) return row.printer;
  return nullptr;
}

}  // namespace fusewright::frontend_hlo
