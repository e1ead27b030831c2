#include "fusewright/prove/instance.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

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

}  // namespace

Result<graph::Graph> graph_of(std::shared_ptr<const ops::OpTable> table, const Instance& instance) {
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

std::string print_reject(const ops::OpTable& table, const Instance& instance) {
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
        const ops::OpInfo& info = table[node.op];
        std::string text;
        for (const std::uint32_t o : node.operands)
          if (o != kNone) text += (text.empty() ? "" : ", ") + terms[o];
        for (const auto& [attr, value] : node.attrs.entries())
          text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", attr, attr_text(value));
        terms.push_back(fmt::format("{}({})", info.name, text));
        if (info.results.size() > 1) terms.back() += "." + info.results[node.result];
        break;
      }
    }
  }
  std::string roots = terms[instance.root];
  for (const std::uint32_t other : instance.others) roots += ", " + terms[other];
  return fmt::format("reject {{ {}match {} }}", inputs, roots);
}

}  // namespace fusewright::prove
