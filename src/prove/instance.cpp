#include "fusewright/prove/instance.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "fusewright/interpret/inputs.hpp"

namespace fusewright::prove {

using graph::Value;
using Kind = InstanceNode::Kind;

namespace {

constexpr std::uint32_t kNone = InstanceNode::kNone;

/// Made-up weights that no number of a rule is mistaken for.
Result<ops::Tensor> weight(const ops::Type& type, std::uint64_t index) {
  FW_TRY(ops::Tensor out, interpret::random_weight(type, 17, index));
  if (ops::is_integer(type.dtype) && ops::bit_width(type.dtype) >= 8)
    for (std::int64_t i = 0; i < out.elements(); ++i)
      ops::set_int(out, i, 50 + ops::get_int(out, i) + 8 * static_cast<std::int64_t>(index % 8));
  return out;
}

constexpr std::int64_t kFirstUnknown = 1000;  // beyond all numbers of rules; each unknown weight has its own

/// Counting from a number of its own, which makes it a constant that is like no other and whose numbers nobody looks
/// at.
Result<Value> unknown_weight(graph::Builder& builder, const ops::OpTable& table, const ops::Type& type,
                             std::size_t number) {
  const ops::Shape shape = type.shape.empty() ? ops::Shape{1} : type.shape;
  FW_TRY(const auto iota, builder.add(table.require("iota"), {}, {{"shape", shape}, {"dtype", type.dtype}}));
  const double first = static_cast<double>(kFirstUnknown) + static_cast<double>(number);
  FW_TRY(const Value all, builder.align_to(builder.constant(ops::scalar_tensor(type.dtype, first)), shape));
  FW_TRY(const auto sum, builder.add(table.require("add"), {iota[0], all}));
  if (!type.shape.empty()) return sum[0];
  FW_TRY(const auto scalar, builder.add(table.require("reshape"), {sum[0]}, {{"shape", ops::Shape{}}}));
  return scalar[0];
}

/// The number of the unknown weight that a node counts for.
std::optional<std::size_t> unknown_number(const graph::Graph& graph, graph::NodeId id) {
  if (graph.info(id).name != "add" || graph.info(graph[id].operands[0].node).name != "iota") return std::nullopt;
  graph::NodeId from = graph[id].operands[1].node;
  if (graph.info(from).name == "broadcast") from = graph[from].operands[0].node;
  if (graph.info(from).name != "constant") return std::nullopt;
  const double number = ops::get_double(*graph[from].attrs.get<ops::TensorHandle>("value"), 0);
  if (number < static_cast<double>(kFirstUnknown)) return std::nullopt;
  return static_cast<std::size_t>(number) - kFirstUnknown;
}

std::string number_text(double value) {
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  if (std::isnan(value)) return "nan";
  return fmt::format("{}", value);
}

std::string attr_text(const ops::AttrValue& value) {
  if (const auto* shape = std::get_if<ops::Shape>(&value)) return ops::to_string(*shape);
  if (const auto* dtype = std::get_if<ops::DType>(&value)) return std::string(ops::name(*dtype));
  if (const auto* number = std::get_if<double>(&value)) return number_text(*number);
  return ops::to_string(value);
}

std::string print_applied(const ops::OpInfo& info, const InstanceNode& node, const std::vector<std::string>& terms) {
  std::string text;
  for (const std::uint32_t o : node.operands)
    if (o != kNone) text += (text.empty() ? "" : ", ") + terms[o];
  for (const auto& [attr, value] : node.attrs.entries())
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", attr, attr_text(value));
  return fmt::format("{}({}){}", info.name, text, info.results.size() > 1 ? "." + info.results[node.result] : "");
}

}  // namespace

Result<graph::Graph> graph_of(std::shared_ptr<const ops::OpTable> table, const Instance& instance, Weights weights) {
  graph::Graph graph = graph::make_graph(std::move(table), "instance");
  graph::Builder builder(graph, graph.entry);
  std::vector<Value> values;
  for (std::size_t i = 0; i < instance.nodes.size(); ++i) {
    const InstanceNode& node = instance.nodes[i];
    switch (node.kind) {
      case Kind::kParameter:
        values.push_back(builder.parameter(node.type, node.name.empty() ? fmt::format("v{}", i) : node.name));
        break;
      case Kind::kWeight: {
        if (weights == Weights::kUnknown) {
          FW_TRY(const Value unknown, unknown_weight(builder, *graph.table, node.type, i));
          values.push_back(unknown);
          break;
        }
        FW_TRY(ops::Tensor tensor, weight(node.type, i));
        values.push_back(builder.constant(std::move(tensor)));
        break;
      }
      case Kind::kNumber: {
        const Value scalar = builder.constant(ops::scalar_tensor(node.type.dtype, node.number));
        FW_TRY(const Value all, builder.align_to(scalar, node.type.shape));
        values.push_back(all);
        break;
      }
      case Kind::kAlign: {
        FW_TRY(const Value aligned, builder.align_to(values[node.operands[0]], node.type.shape));
        values.push_back(aligned);
        break;
      }
      case Kind::kApply: {
        std::vector<Value> operands;
        for (const std::uint32_t o : node.operands) operands.push_back(o == kNone ? Value() : values[o]);
        while (!operands.empty() && !operands.back().valid()) operands.pop_back();
        FW_TRY(const std::vector<Value> results, builder.add(node.op, std::move(operands), node.attrs));
        values.push_back(results[node.result]);
        break;
      }
    }
  }
  std::vector<Value> results = {values[instance.root]};
  for (const std::uint32_t other : instance.others) results.push_back(values[other]);
  builder.set_results(std::move(results));
  return graph;
}

graph::Graph weights_as_parameters(const graph::Graph& graph, const Instance& instance) {
  graph::Graph out = graph;
  graph::Builder builder(out, out.entry);
  std::map<std::size_t, Value> made;
  for (std::size_t i = 0; i < instance.nodes.size(); ++i) {
    const ops::Type& type = instance.nodes[i].type;
    if (instance.nodes[i].kind == Kind::kWeight)
      made[i] =
          builder.parameter(type.shape.empty() ? ops::Type::tensor(type.dtype, {1}) : type, fmt::format("w{}", i));
  }
  if (made.empty()) return out;
  std::vector<graph::NodeId>& order = out[out.entry].nodes;
  std::ranges::rotate(order, order.end() - static_cast<std::ptrdiff_t>(made.size()));
  std::map<Value, Value> stands_for;
  for (const graph::NodeId id : order)
    if (const auto number = unknown_number(out, id)) stands_for[{id, 0}] = made.at(*number);
  const auto replace = [&](Value& v) {
    if (const auto at = stands_for.find(v); at != stands_for.end()) v = at->second;
  };
  for (const graph::NodeId id : order)
    for (Value& v : out[id].operands) replace(v);
  for (Value& v : out[out.entry].results) replace(v);
  return out;
}

std::string print_reject(const ops::OpTable& table, const Instance& instance) {
  std::vector<int> uses(instance.nodes.size(), 0);
  for (const InstanceNode& node : instance.nodes)
    for (const std::uint32_t o : node.operands)
      if (o != kNone) ++uses[o];
  std::vector<std::string> terms;
  std::string inputs;
  for (std::size_t i = 0; i < instance.nodes.size(); ++i) {
    const InstanceNode& node = instance.nodes[i];
    const std::string name = node.name.empty() ? fmt::format("v{}", i) : node.name;
    switch (node.kind) {
      case Kind::kParameter:
        inputs += fmt::format("{}: {}  ", name, ops::to_string(node.type));
        terms.push_back(name);
        break;
      case Kind::kWeight:
        inputs += fmt::format("{}: const {}  ", name, ops::to_string(node.type));
        terms.push_back(name);
        break;
      case Kind::kNumber:
        terms.push_back(fmt::format("literal({}, {}, {})", number_text(node.number), ops::name(node.type.dtype),
                                    ops::to_string(node.type.shape)));
        break;
      case Kind::kAlign:
        terms.push_back(fmt::format("broadcast_to({}, {})", terms[node.operands[0]], ops::to_string(node.type.shape)));
        break;
      case Kind::kApply: {
        terms.push_back(print_applied(table[node.op], node, terms));
        // What is used twice is written once, or a long chain of it would be written in exponential length.
        if (uses[i] < 2) break;
        inputs += fmt::format("let v{} = {}  ", i, terms.back());
        terms.back() = fmt::format("v{}", i);
        break;
      }
    }
  }
  std::string roots = terms[instance.root];
  for (const std::uint32_t other : instance.others) roots += ", " + terms[other];
  return fmt::format("reject {{ {}match {} }}", inputs, roots);
}

}  // namespace fusewright::prove
