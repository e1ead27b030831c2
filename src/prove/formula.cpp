#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "src/prove/pointwise.hpp"

namespace fusewright::prove {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::Value;
using ops::ScalarOp;
using ops::Tensor;

namespace {

constexpr double kMostFactors = 8;

/// A power that is a product of a few factors, or its inverse.
bool is_product(const Graph& graph, const Node& node) {
  Value by = node.operands[1];
  while (graph.info(by.node).name == "broadcast" || graph.info(by.node).name == "reshape")
    by = graph[by.node].operands[0];
  if (graph.info(by.node).name != "constant") return false;
  const Tensor& exponents = *graph[by.node].attrs.get<ops::TensorHandle>("value");
  for (std::int64_t i = 0; i < exponents.elements(); ++i) {
    const double e = ops::get_double(exponents, i);
    if (e != std::floor(e) || std::fabs(e) > kMostFactors) return false;
  }
  return true;
}

/// Neither arithmetic nor exact.
bool is_function(const Graph& graph, const Node& node, const ops::OpInfo& info) {
  using enum ScalarOp;
  constexpr std::array kFunctions = {kExp,   kExpm1, kLog,   kLog1p, kSqrt,  kRsqrt, kCbrt,    kSin,
                                     kCos,   kTan,   kAsin,  kAcos,  kAtan,  kSinh,  kCosh,    kTanh,
                                     kAsinh, kAcosh, kAtanh, kErf,   kAtan2, kPow,   kLogistic};
  if (!info.scalar || !ops::is_float(node.types[0].dtype)) return false;
  if (*info.scalar == kPow && is_product(graph, node)) return false;
  return std::ranges::find(kFunctions, *info.scalar) != kFunctions.end();
}

/// cos(a x + b), or of two operands cos(a x + cos(c y + d) + b), with numbers that are each function's own.
Result<Value> other_function(graph::Builder& builder, ScalarOp op, const std::vector<Value>& operands) {
  const ops::Type type = builder.graph().type(operands[0]);
  const double own = static_cast<double>(op);
  const auto wave = [&](Value x, double factor, double shift, std::optional<Value> more) -> Result<Value> {
    const auto number = [&](double value) {
      return builder.align_to(builder.constant(ops::scalar_tensor(type.dtype, value)), type.shape);
    };
    FW_TRY(const Value by, number(factor));
    FW_TRY(const Value to, number(shift));
    FW_TRY(Value sum, builder.add("mul", {x, by}));
    FW_TRY(sum, builder.add("add", {sum, to}));
    if (more) {
      FW_TRY(sum, builder.add("add", {sum, *more}));
    }
    return builder.add("cos", {sum});
  };
  std::optional<Value> second;
  if (operands.size() > 1) {
    FW_TRY(second, wave(operands[1], 1.3 + 0.03 * own, 0.7, std::nullopt));
  }
  return wave(operands[0], 0.9 + 0.07 * own, 0.4 + 0.11 * own, second);
}

}  // namespace

std::optional<Graph> with_other_functions(const Graph& graph) {
  bool any = false;
  Graph out = graph::make_graph(graph.table, graph.name);
  graph::Builder builder(out, out.entry);
  std::map<Value, Value> made;
  const graph::Computation& entry = graph.entry_computation();
  for (std::size_t i = 0; i < entry.parameters.size(); ++i)
    made[{entry.parameters[i], 0}] = builder.parameter(graph.inputs[i].type, graph.inputs[i].name);
  for (const NodeId id : entry.nodes) {
    const Node& node = graph[id];
    if (!node.computations.empty()) return std::nullopt;
    if (graph.info(id).name == "parameter") continue;
    std::vector<Value> operands;
    for (const Value v : node.operands) operands.push_back(v.valid() ? made.at(v) : Value());
    if (is_function(graph, node, graph.info(id))) {
      const Result<Value> other = other_function(builder, *graph.info(id).scalar, operands);
      if (!other) return std::nullopt;
      made[{id, 0}] = *other;
      any = true;
      continue;
    }
    const std::vector<Value> results = builder.add_typed(node.op, std::move(operands), node.attrs, node.types);
    for (std::uint32_t r = 0; r < results.size(); ++r) made[{id, r}] = results[r];
  }
  if (!any) return std::nullopt;
  std::vector<Value> results;
  for (const Value v : entry.results) results.push_back(made.at(v));
  builder.set_results(std::move(results));
  return out;
}

}  // namespace fusewright::prove
