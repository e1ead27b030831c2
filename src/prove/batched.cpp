#include <array>
#include <map>
#include <string_view>

#include "src/prove/pointwise.hpp"

namespace fusewright::prove {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::Value;
using ops::OpClass;
using Ints = std::vector<std::int64_t>;

namespace {

/// What an attribute says of the new first axis.
struct AxisRow {
  std::string_view attr;
  std::int64_t first;  ///< the entry for it; axes that are named are all one further
  bool names_axes;
  bool has_first;
};
constexpr std::int64_t kCount = -1;  // as many as there are
constexpr std::array kAxisRows = {AxisRow{"axes", 0, true, false},          AxisRow{"lhs_contract", 0, true, false},
                                  AxisRow{"rhs_contract", 0, true, false},  AxisRow{"dims", 0, true, true},
                                  AxisRow{"perm", 0, true, true},           AxisRow{"lhs_batch", 0, true, true},
                                  AxisRow{"rhs_batch", 0, true, true},      AxisRow{"starts", 0, false, true},
                                  AxisRow{"limits", kCount, false, true},   AxisRow{"strides", 1, false, true},
                                  AxisRow{"low", 0, false, true},           AxisRow{"high", 0, false, true},
                                  AxisRow{"interior", 0, false, true},      AxisRow{"window", 1, false, true},
                                  AxisRow{"pad_low", 0, false, true},       AxisRow{"pad_high", 0, false, true},
                                  AxisRow{"base_dilation", 1, false, true}, AxisRow{"window_dilation", 1, false, true}};

bool has_form(const ops::OpInfo& info) {
  const OpClass c = info.op_class;
  return info.scalar || c == OpClass::kMovement || c == OpClass::kScan || c == OpClass::kWindow || info.name == "dot" ||
         c == OpClass::kReduction;
}

class Batching {
 public:
  Batching(const Graph& graph, std::int64_t count)
      : graph_(graph), count_(count), out_(graph::make_graph(graph.table, graph.name)), builder_(out_, out_.entry) {}

  std::optional<Graph> batch() {
    const graph::Computation& entry = graph_.entry_computation();
    for (std::size_t i = 0; i < entry.parameters.size(); ++i) {
      const ops::Type& type = graph_.inputs[i].type;
      made_[{entry.parameters[i], 0}] =
          builder_.parameter(ops::Type::tensor(type.dtype, longer(type.shape)), graph_.inputs[i].name);
    }
    for (const NodeId id : entry.nodes)
      if (!add(id)) return std::nullopt;
    std::vector<Value> results;
    for (const Value v : entry.results) {
      const std::optional<Value> result = batched(v);
      if (!result) return std::nullopt;
      results.push_back(*result);
    }
    builder_.set_results(std::move(results));
    return std::move(out_);
  }

 private:
  ops::Shape longer(const ops::Shape& shape) const {
    ops::Shape out = {Dim(count_)};
    out.insert(out.end(), shape.begin(), shape.end());
    return out;
  }

  bool add(NodeId id) {
    const Node& node = graph_[id];
    const ops::OpInfo& info = graph_.info(id);
    if (info.name == "parameter") return true;
    if (info.name == "constant") {
      constants_[{id, 0}] = builder_.constant(*node.attrs.get<ops::TensorHandle>("value"));
      return true;
    }
    if (!has_form(info) || !node.computations.empty()) return false;
    std::vector<Value> operands;
    for (const Value v : node.operands) {
      const bool stays = info.name == "pad" && operands.size() == 1;  // the value around is a scalar
      if (stays && !constants_.contains(v)) return false;
      const std::optional<Value> operand = stays ? constants_.at(v) : batched(v);
      if (!operand) return false;
      operands.push_back(*operand);
    }
    const auto results = builder_.add(node.op, std::move(operands), info.scalar ? node.attrs : moved(node.attrs));
    for (std::uint32_t r = 0; results && r < results->size(); ++r) made_[{id, r}] = (*results)[r];
    return results.has_value();
  }

  /// A constant is the same for all.
  std::optional<Value> batched(Value v) {
    if (!v.valid()) return std::nullopt;
    if (const auto at = made_.find(v); at != made_.end()) return at->second;
    const ops::Shape& shape = graph_.type(v).shape;
    Ints dims;
    for (std::size_t i = 0; i < shape.size(); ++i) dims.push_back(static_cast<std::int64_t>(i) + 1);
    const auto wide = builder_.add("broadcast", {constants_.at(v)}, {{"dims", dims}, {"shape", longer(shape)}});
    if (!wide) return std::nullopt;
    made_[v] = *wide;
    return *wide;
  }

  ops::Attrs moved(const ops::Attrs& attrs) const {
    ops::Attrs out = attrs;
    if (const auto* shape = attrs.find("shape")) out.set("shape", longer(std::get<ops::Shape>(*shape)));
    if (const auto* axis = attrs.find("axis")) out.set("axis", std::get<std::int64_t>(*axis) + 1);
    for (const AxisRow& row : kAxisRows) {
      if (!attrs.has(row.attr)) continue;
      Ints list;
      if (row.has_first) list.push_back(row.first == kCount ? count_ : row.first);
      for (const std::int64_t i : attrs.get<Ints>(row.attr)) list.push_back(row.names_axes ? i + 1 : i);
      out.set(row.attr, std::move(list));
    }
    return out;
  }

  const Graph& graph_;
  std::int64_t count_;
  Graph out_;
  graph::Builder builder_;
  std::map<Value, Value> made_, constants_;
};

}  // namespace

std::optional<Graph> batched(const Graph& graph, std::int64_t count) { return Batching(graph, count).batch(); }

}  // namespace fusewright::prove
