#include <algorithm>
#include <numeric>

#include "src/frontend/hlo/export_pieces.hpp"

namespace fusewright::frontend_hlo {

namespace {

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

// "reduce_sum", "cum_max", "reduce_window_prod": what stands behind the last '_'.
std::string_view kind_of_reduction(std::string_view op) { return op.substr(op.rfind('_') + 1); }

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
  for (const std::string& line :
       {std::string("%equal = pred[] compare(%a, %b), direction=EQ"),
        "%before = pred[] compare(%i, %j), direction=" + std::string(last ? "GT" : "LT"),
        std::string("%tie = pred[] and(%equal, %before)"), "%takes = pred[] or(" + wins + ", %tie)",
        "%value = " + v + "[] select(" + wins + ", %a, %b)", "%index = " + i + "[] select(%takes, %i, %j)",
        "ROOT %pair = (" + v + "[], " + i + "[]) tuple(%value, %index)"})
    lines.push_back(line);
  return e.shared(std::string(is_max ? "arg_max" : "arg_min") + (last ? "_last_" : "_") + v + "_" + i, lines);
}

// [batch, feature, spatial...] as one letter for each axis.
std::string labels(const Ints& spec, const char* first) {
  std::string out(spec.size(), '?');
  for (std::size_t role = 0; role < spec.size(); ++role)
    out[static_cast<std::size_t>(spec[role])] = role < 2 ? first[role] : static_cast<char>('0' + role - 2);
  return out;
}

}  // namespace

std::string combiner(Exporter& e, std::string_view kind, DType dtype) {
  const std::string_view opcode = kind == "sum"    ? "add"
                                  : kind == "prod" ? "multiply"
                                  : kind == "max"  ? "maximum"
                                  : kind == "min"  ? "minimum"
                                                   : kind;
  return e.binary(opcode, dtype);
}

Status print_simple_reduce(Exporter& e, Body& body, NodeId id) {
  const Node& node = e.graph[id];
  const DType dtype = node.types[0].dtype;
  const std::string_view kind = kind_of_reduction(e.graph.info(id).name);
  const std::string init = e.constant(body, dtype, Exporter::identity(kind, dtype));
  Exporter::bind(body, id,
                 e.emit(body, node.name, print_type(node.types[0]), "reduce", {e.operand(body, node, 0), init},
                        list_attribute("dimensions", ints(node, "axes")) + ", to_apply=" + combiner(e, kind, dtype)));
  return {};
}

Status print_arg_reduction(Exporter& e, Body& body, NodeId id) {
  const Node& node = e.graph[id];
  const Type& type = e.type(node.operands[0]);
  const DType index = node.attrs.get<DType>("dtype");
  const std::int64_t axis = node.attrs.get<std::int64_t>("axis");
  const bool is_max = e.graph.info(id).name == "arg_max";
  const std::string places =
      e.emit(body, "iota", print_type(as(type, index)), "iota", {}, "iota_dimension=" + std::to_string(axis));
  const std::string worst = e.constant(body, type.dtype, Exporter::identity(is_max ? "max" : "min", type.dtype));
  const std::string zero = e.constant(body, index, "0");
  const std::string pair = e.emit(body, node.name, print_tuple_type({as(node.types[0], type.dtype), node.types[0]}),
                                  "reduce", {e.operand(body, node, 0), places, worst, zero},
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
  const WindowText window = {size,
                             ints(node, "strides"),
                             ints(node, "pad_low"),
                             ints(node, "pad_high"),
                             ints(node, "base_dilation"),
                             ints(node, "window_dilation"),
                             Ints(size.size(), 0)};
  Exporter::bind(body, id,
                 e.emit(body, node.name, print_type(node.types[0]), "reduce-window", {e.operand(body, node, 0), init},
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
  WindowText window = {Ints(rank, 1), Ints(rank, 1), Ints(rank, 0), Ints(rank, 0),
                       Ints(rank, 1), Ints(rank, 1), Ints(rank, 0)};
  window.size[axis] = extent;
  const std::int64_t skipped = node.attrs.get<bool>("exclusive") ? 1 : 0;
  const bool reverse = node.attrs.get<bool>("reverse");
  (reverse ? window.high : window.low)[axis] = extent - 1 + skipped;
  (reverse ? window.low : window.high)[axis] = -skipped;
  const std::string_view kind = kind_of_reduction(e.graph.info(id).name);
  const std::string init = e.constant(body, type.dtype, Exporter::identity(kind, type.dtype));
  Exporter::bind(body, id,
                 e.emit(body, node.name, print_type(type), "reduce-window", {e.operand(body, node, 0), init},
                        print_window(window) + ", to_apply=" + combiner(e, kind, type.dtype)));
  return {};
}

Status print_dot(Exporter& e, Body& body, NodeId id) {
  const Node& node = e.graph[id];
  std::string attributes;
  if (!ints(node, "lhs_batch").empty())
    attributes = list_attribute("lhs_batch_dims", ints(node, "lhs_batch")) + ", " +
                 list_attribute("rhs_batch_dims", ints(node, "rhs_batch")) + ", ";
  attributes += list_attribute("lhs_contracting_dims", ints(node, "lhs_contract")) + ", " +
                list_attribute("rhs_contracting_dims", ints(node, "rhs_contract"));
  return print_plain(e, body, id, "dot", attributes);
}

Status print_conv(Exporter& e, Body& body, NodeId id) {
  const Node& node = e.graph[id];
  const Ints& rhs_spec = ints(node, "rhs_spec");
  if (rhs_spec.size() > 12) return e.unsupported(node, "a convolution of more than 10 spatial axes has no form in HLO");
  const Ints kernel = dims_of(e.type(node.operands[1]));
  Ints size;
  for (std::size_t i = 2; i < rhs_spec.size(); ++i) size.push_back(kernel[static_cast<std::size_t>(rhs_spec[i])]);
  const WindowText window = {size,
                             ints(node, "strides"),
                             ints(node, "pad_low"),
                             ints(node, "pad_high"),
                             ints(node, "lhs_dilation"),
                             ints(node, "rhs_dilation"),
                             ints(node, "reversal")};
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
    return axis == last
               ? name
               : e.emit(body, node.name, print_type(to), "transpose", {name}, list_attribute("dimensions", swap));
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

}  // namespace fusewright::frontend_hlo
