#include "src/prove/pointwise.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <string>
#include <string_view>

namespace fusewright::prove {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::Value;
using ops::Tensor;

namespace {

/// Only says which element is where.
bool only_moves(const ops::OpInfo& info) {
  constexpr std::array<std::string_view, 5> kMoves = {"broadcast", "reshape", "transpose", "reverse", "slice"};
  return std::ranges::find(kMoves, info.name) != kMoves.end();
}

/// `count` times the value of a constant that has one.
std::optional<Tensor> repeated(const Tensor& constant, std::int64_t count) {
  Result<Tensor> out = ops::make_tensor(constant.dtype, {count});
  if (!out || constant.elements() == 0) return std::nullopt;
  const auto width = static_cast<std::size_t>(constant.bytes() / static_cast<std::size_t>(constant.elements()));
  for (std::int64_t i = 1; i < constant.elements(); ++i)
    if (std::memcmp(constant.data(), constant.data() + static_cast<std::size_t>(i) * width, width) != 0)
      return std::nullopt;
  for (std::int64_t i = 0; i < count; ++i)
    std::memcpy(out->mutable_data() + static_cast<std::size_t>(i) * width, constant.data(), width);
  return *std::move(out);
}

/// By which moves each parameter of several elements comes to a value.
using Moves = std::map<NodeId, std::string>;

/// @returns false where one comes by two ways: an element may meet another of the same parameter then.
bool join(Moves& to, const Moves& from) {
  return std::ranges::all_of(from, [&](const auto& way) { return to.insert(way).first->second == way.second; });
}

class Widening {
 public:
  Widening(const Graph& graph, std::int64_t count)
      : graph_(graph), count_(count), out_(graph::make_graph(graph.table, graph.name)), builder_(out_, out_.entry) {}

  std::optional<Graph> widen() {
    const graph::Computation& entry = graph_.entry_computation();
    for (std::size_t i = 0; i < entry.parameters.size(); ++i) {
      const graph::Port& port = graph_.inputs[i];
      const NodeId id = entry.parameters[i];
      made_[{id, 0}] = builder_.parameter(ops::Type::tensor(port.type.dtype, {count_}), port.name);
      if (ops::element_count(port.type.shape) != 1) moves_[{id, 0}] = {{id, ""}};
    }
    for (const NodeId id : entry.nodes)
      if (!add(id)) return std::nullopt;
    std::vector<Value> results;
    Moves all;
    for (const Value v : entry.results) {
      if (!join(all, moves_[v])) return std::nullopt;
      results.push_back(made_.at(v));
    }
    builder_.set_results(std::move(results));
    return std::move(out_);
  }

 private:
  bool add(NodeId id) {
    const Node& node = graph_[id];
    const ops::OpInfo& info = graph_.info(id);
    const Value value{id, 0};
    if (info.name == "parameter") return true;
    if (info.name == "constant") {
      const auto constant = repeated(*node.attrs.get<ops::TensorHandle>("value"), count_);
      if (constant) made_[value] = builder_.constant(*constant);
      return constant.has_value();
    }
    if (only_moves(info)) {
      made_[value] = made_.at(node.operands[0]);
      moves_[value] = moves_[node.operands[0]];
      for (auto& [parameter, way] : moves_[value]) {
        way += info.name;
        for (const auto& [name, attr] : node.attrs.entries()) way += ops::to_string(attr);
      }
      return true;
    }
    if (!info.scalar) return false;
    std::vector<Value> operands;
    for (const Value v : node.operands) {
      if (!join(moves_[value], moves_[v])) return false;
      operands.push_back(made_.at(v));
    }
    const auto result = builder_.add(node.op, std::move(operands), node.attrs);
    if (result) made_[value] = (*result)[0];
    return result.has_value();
  }

  const Graph& graph_;
  std::int64_t count_;
  Graph out_;
  graph::Builder builder_;
  std::map<Value, Value> made_;
  std::map<Value, Moves> moves_;
};

}  // namespace

std::optional<Graph> widened(const Graph& graph, std::int64_t count) { return Widening(graph, count).widen(); }

}  // namespace fusewright::prove
