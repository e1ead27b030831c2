#include "src/prove/same_graph.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace fusewright::prove {

using graph::Graph;
using graph::NodeId;
using graph::Value;

namespace {

using Number = std::pair<std::size_t, std::uint32_t>;  // of a value: its node's, and which result

/// Numbers nodes so that equal ones have the same.
class Numbering {
 public:
  /// Of the graph's results. Nothing where a node has a body.
  std::optional<std::vector<Number>> results(const Graph& graph) {
    std::map<NodeId, std::size_t> numbers;
    std::size_t parameters = 0;
    for (const NodeId id : graph.entry_computation().nodes) {
      if (!graph[id].computations.empty()) return std::nullopt;
      Known node{graph[id].op, graph[id].attrs, {}, 0};
      if (graph.info(id).name == "parameter") node.parameter = ++parameters;
      for (const Value v : graph[id].operands)
        node.operands.push_back(v.valid() ? Number(numbers.at(v.node), v.result) : Number(~std::size_t{0}, 0));
      if (graph.info(id).commutative && node.operands[1] < node.operands[0])
        std::swap(node.operands[0], node.operands[1]);
      numbers[id] = number(std::move(node));
    }
    std::vector<Number> out;
    for (const Value v : graph.entry_computation().results) out.emplace_back(numbers.at(v.node), v.result);
    return out;
  }

 private:
  struct Known {
    ops::OpId op;
    ops::Attrs attrs;
    std::vector<Number> operands;
    std::size_t parameter = 0;  // from one; they have no operands to be told by
    bool operator==(const Known&) const = default;
  };

  std::size_t number(Known node) {
    const auto at = std::ranges::find(known_, node);
    const auto found = static_cast<std::size_t>(at - known_.begin());
    if (at == known_.end()) known_.push_back(std::move(node));
    return found;
  }

  std::vector<Known> known_;
};

}  // namespace

bool same_graph(const Graph& left, const Graph& right) {
  Numbering numbering;
  const auto l = numbering.results(left), r = numbering.results(right);
  return l && r && *l == *r;
}

}  // namespace fusewright::prove
