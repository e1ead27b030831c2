#include "src/frontend/hlo/export_pieces.hpp"
#include "src/frontend/hlo/literal.hpp"
#include "src/frontend/hlo/opcodes.hpp"

namespace fusewright::frontend_hlo {

std::string list_attribute(std::string_view name, const Ints& numbers) {
  return std::string(name) + "=" + print_list(numbers);
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

Status print_plain(Exporter& e, Body& body, NodeId id, std::string_view opcode, const std::string& attributes) {
  const Node& node = e.graph[id];
  Exporter::bind(body, id,
                 e.emit(body, node.name, print_type(node.types[0]), opcode, e.operands(body, node), attributes));
  return {};
}

std::string compare(Exporter& e, Body& body, const Type& type, const std::string& a, const std::string& b,
                    const char* direction) {
  return e.emit(body, "compare", print_type(as(type, DType::kPred)), "compare", {a, b},
                std::string("direction=") + direction);
}

namespace {

using ops::Attrs;

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

Status print_atan(Exporter& e, Body& body, NodeId id) {
  const Node& node = e.graph[id];
  const Type& type = node.types[0];
  Exporter::bind(
      body, id,
      e.emit(body, node.name, print_type(type), "atan2", {e.operand(body, node, 0), e.splat(body, type, "1")}));
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
  const std::string signs = e.emit(body, "signs", pred, "xor",
                                   {compare(e, body, type, rest, zero, "LT"), compare(e, body, type, b, zero, "LT")});
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
  return print_plain(e, body, id, "concatenate",
                     list_attribute("dimensions", {e.graph[id].attrs.get<std::int64_t>("axis")}));
}

Status print_slice(Exporter& e, Body& body, NodeId id) {
  const Node& node = e.graph[id];
  return print_plain(e, body, id, "slice",
                     slice_attribute(ints(node, "starts"), ints(node, "limits"), ints(node, "strides")));
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
  return print_plain(e, body, id, "iota",
                     "iota_dimension=" + std::to_string(e.graph[id].attrs.get<std::int64_t>("axis")));
}

Status print_constant(Exporter& e, Body& body, NodeId id) {
  const Node& node = e.graph[id];
  const ops::Tensor& tensor = *node.attrs.get<ops::TensorHandle>("value");
  if (tensor.dtype == DType::kC64 || tensor.dtype == DType::kC128)
    return e.unsupported(node, "complex constants have no form here");
  Exporter::bind(body, id,
                 e.emit(body, node.name, print_type(node.types[0]), "constant",
                        {print_literal(tensor, e.options.most_literal_elements)}));
  return {};
}

// --- Effects -------------------------------------------------------------------------------------------------------

Status print_rng(Exporter& e, Body& body, NodeId id) {
  return print_plain(e, body, id, "rng", "distribution=" + e.graph.info(id).name);
}

Status print_rng_bits(Exporter& e, Body& body, NodeId id) {
  const Node& node = e.graph[id];
  e.bind_tuple(body, id,
               e.emit(body, node.name, print_tuple_type(node.types), "rng-bit-generator", e.operands(body, node),
                      "algorithm=rng_" + node.attrs.get<std::string>("algorithm")));
  return {};
}

Status print_custom_call(Exporter& e, Body& body, NodeId id) {
  const Node& node = e.graph[id];
  const std::string target = "custom_call_target=\"" + node.attrs.get<std::string>("target") + "\"";
  if (node.types.size() == 1) return print_plain(e, body, id, "custom-call", target);
  e.bind_tuple(body, id,
               e.emit(body, node.name, print_tuple_type(node.types), "custom-call", e.operands(body, node), target));
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
    {"atan", print_atan},
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
