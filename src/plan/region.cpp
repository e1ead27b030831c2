#include <fmt/format.h>

#include <algorithm>
#include <boost/container/flat_map.hpp>
#include <cctype>

#include "fusewright/plan/plan.hpp"
#include "fusewright/support/check.hpp"

namespace fusewright::plan {

using graph::Graph;
using graph::Node;
using region::Region;
using region::RegionValue;

namespace {

RegionValue tensor_value(const ops::Type& type) {
  RegionValue value;
  value.dtype = type.dtype;
  value.dims = ops::static_dims(type.shape);
  return value;
}

bool is_scalar_constant(const Graph& graph, Value v) {
  const Node& node = graph[v.node];
  const ops::AttrValue* value = node.attrs.find("value");
  return graph.info(v.node).name == "constant" && value != nullptr &&
         std::get<ops::TensorHandle>(*value)->elements() == 1 && std::get<ops::TensorHandle>(*value)->dims.empty();
}

/// The value that is spread over this one's extents, or itself.
Value unspread(const Graph& graph, Value v) {
  while (graph.info(v.node).name == "broadcast" || graph.info(v.node).name == "reshape") v = graph[v.node].operands[0];
  return v;
}

bool is_zero(const Graph& graph, Value v) {
  v = unspread(graph, v);
  return is_scalar_constant(graph, v) && ops::get_double(*graph[v.node].attrs.get<ops::TensorHandle>("value"), 0) == 0;
}

bool is_vector(const Graph& graph, Value v) {
  return graph.info(v.node).name == "broadcast" && graph.type(unspread(graph, v)).shape.size() == 1;
}

/// What people call the operator: with these operands, often by another name.
std::string word_for(const Graph& graph, NodeId id) {
  const std::string& op = graph.info(id).name;
  const auto& operands = graph[id].operands;
  if (op == "max" && (is_zero(graph, operands[0]) || is_zero(graph, operands[1]))) return "relu";
  if (op == "add" && (is_vector(graph, operands[0]) || is_vector(graph, operands[1]))) return "bias";
  return op;
}

}  // namespace

Result<Region> make_region(const Graph& graph, const std::vector<NodeId>& nodes, const std::vector<Value>& inputs,
                           const std::vector<Value>& outputs) {
  Region region;
  region.values.reserve(inputs.size() + nodes.size() + nodes.size() / 2);
  boost::container::flat_map<Value, region::ValueId> made;
  made.reserve(region.values.capacity());
  const auto add = [&](Value v, RegionValue value) {
    made.emplace(v, region::ValueId(region.values.size()));
    region.values.push_back(std::move(value));
  };
  for (const Value input : inputs) {
    RegionValue value = tensor_value(graph.type(input));
    value.kind = RegionValue::Kind::kCapture;
    value.capture = region.captures++;
    add(input, std::move(value));
  }
  for (const NodeId id : nodes) {
    const Node& node = graph[id];
    const ops::OpInfo& info = graph.info(id);
    if (!node.computations.empty())
      return fail(
          ErrorKind::kUnsupported,
          fmt::format("node '{}' ({}) has a body of its own, for which there are no kernels", node.name, info.name));
    std::vector<region::ValueId> operands;
    for (const Value operand : node.operands) {
      if (!operand.valid()) continue;  // optional operands stand last
      if (!made.contains(operand)) {
        FW_CHECK(is_scalar_constant(graph, operand))
            << graph[operand.node].name << " is not an input of the group with " << node.name;
        RegionValue scalar = tensor_value(graph.type(operand));
        scalar.kind = RegionValue::Kind::kScalar;
        scalar.scalar = graph[operand.node].attrs.get<ops::TensorHandle>("value");
        add(operand, std::move(scalar));
      }
      operands.push_back(made.at(operand));
    }
    for (std::uint32_t result = 0; result < node.types.size(); ++result) {
      const ops::Type& type = node.types[result];
      if (!type.is_tensor() || !ops::is_static(type.shape))
        return fail(ErrorKind::kUnsupported, fmt::format("node '{}' ({}) has type {}, for which there are no kernels",
                                                         node.name, info.name, ops::to_string(type)));
      RegionValue value = tensor_value(type);
      value.op = node.op;
      value.op_class = info.op_class;
      value.scalar_op = info.scalar;
      value.op_name = info.name;
      value.attrs = node.attrs;
      value.result = result;
      value.operands = operands;
      add({id, result}, std::move(value));
    }
  }
  for (const Value output : outputs) region.outputs.push_back(made.at(output));
  return region;
}

std::string group_name(const Graph& graph, const std::vector<NodeId>& nodes, std::size_t number) {
  constexpr std::size_t kLongest = 40;
  std::string out;
  std::string previous;
  for (const NodeId id : nodes) {
    const ops::OpInfo& info = graph.info(id);
    if (info.op_class == ops::OpClass::kSource || info.name == "broadcast" || info.name == "reshape") {
      if (nodes.size() > 1) continue;
    }
    const std::string word = word_for(graph, id);
    if (word == previous) continue;
    previous = word;
    if (out.size() + 1 + word.size() > kLongest) break;
    if (!out.empty()) out += '_';
    for (const char c : word) out += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  }
  if (out.empty()) out = nodes.empty() ? "copy" : graph.info(nodes.front()).name;
  return fmt::format("{}_{}", out, number);
}

}  // namespace fusewright::plan
