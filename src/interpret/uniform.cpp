#include "fusewright/interpret/uniform.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "fusewright/interpret/evaluate.hpp"

namespace fusewright::interpret {
namespace {

using graph::NodeId;
using graph::Value;
using ops::OpClass;
using ops::Tensor;

constexpr std::size_t kMostBytes = 4096;
constexpr std::array<std::string_view, 5> kMoves = {"broadcast", "reshape", "transpose", "reverse", "slice"};

// The one element that the tensor repeats.
Result<std::optional<Tensor>> element_of(const Tensor& tensor) {
  const auto width = static_cast<std::size_t>(ops::byte_width(tensor.dtype));
  if (tensor.elements() == 0 || tensor.bytes() > kMostBytes) return std::nullopt;
  const std::byte* data = tensor.data();
  if (std::memcmp(data, data + width, tensor.bytes() - width) != 0) return std::nullopt;
  FW_TRY(Tensor element, ops::make_tensor(tensor.dtype, {}));
  std::memcpy(element.mutable_data(), data, width);
  return element;
}

class Folder {
 public:
  explicit Folder(graph::Graph graph) : graph_(std::move(graph)), builder_(graph_, graph_.entry) {
    numbers_.resize(graph_.nodes.size());
    for (const Value result : graph_.entry_computation().results) results_.insert(result.node);
  }

  Result<graph::Graph> run() {
    const std::vector<NodeId> order = std::exchange(graph_[graph_.entry].nodes, {});
    for (const NodeId id : order) {
      FW_TRY(numbers_[id.index], number(id));
      if (numbers_[id.index] && !results_.contains(id)) FW_TRY_STATUS(replace(id));
      graph_[graph_.entry].nodes.push_back(id);
    }
    return graph::remove_dead(std::move(graph_));
  }

 private:
  // What every element of the node's result is, where that is known.
  Result<std::optional<Tensor>> number(NodeId id) {
    const graph::Node& node = graph_[id];
    const ops::OpInfo& info = graph_.info(id);
    if (info.name == "constant") return element_of(*node.attrs.get<ops::TensorHandle>("value"));
    const bool moves = std::ranges::find(kMoves, info.name) != kMoves.end();
    if ((!moves && info.op_class != OpClass::kElementwise) || info.body != nullptr || node.types.size() != 1 ||
        !ops::is_static(node.types[0].shape) || *ops::element_count(node.types[0].shape) == 0)
      return std::nullopt;
    std::vector<Tensor> operands;
    for (const Value operand : node.operands) {
      if (!operand.valid() || !numbers_[operand.node.index]) return std::nullopt;
      operands.push_back(*numbers_[operand.node.index]);
    }
    if (moves) return operands[0];
    const std::array types = {ops::Type::tensor(node.types[0].dtype, {})};
    FW_TRY(std::vector<Tensor> made, evaluate_node(*graph_.table, node.op, operands, node.attrs, types));
    return std::move(made[0]);
  }

  Status replace(NodeId id) {
    const ops::OpInfo& info = graph_.info(id);
    const ops::Type type = graph_[id].types[0];
    const Tensor& number = *numbers_[id.index];
    if (type.shape.empty()) {
      if (info.name == "constant") return {};
      graph_[id].op = graph_.table->require("constant");
      graph_[id].operands.clear();
      graph_[id].attrs = ops::Attrs{{"value", std::make_shared<const Tensor>(number)}};
      return {};
    }
    if (info.name == "broadcast" && graph_.info(graph_[id].operands[0].node).name == "constant" &&
        graph_.type(graph_[id].operands[0]).shape.empty())
      return {};
    builder_.set_origin(graph_[id].sources, {});
    const Value scalar = builder_.constant(number);
    numbers_.resize(graph_.nodes.size());
    const ops::OpId broadcast = graph_.table->require("broadcast");
    FW_TRY(ops::Attrs attrs,
           graph_.table->complete_attrs(broadcast, {{"dims", std::vector<std::int64_t>{}}, {"shape", type.shape}},
                                        std::array{ops::Type::tensor(type.dtype, {})}));
    graph_[id].op = broadcast;
    graph_[id].operands = {scalar};
    graph_[id].attrs = std::move(attrs);
    return {};
  }

  graph::Graph graph_;
  graph::Builder builder_;
  std::vector<std::optional<Tensor>> numbers_;  // by node
  std::set<NodeId> results_;
};

}  // namespace

Result<graph::Graph> fold_uniform(graph::Graph graph) { return Folder(std::move(graph)).run(); }

}  // namespace fusewright::interpret
