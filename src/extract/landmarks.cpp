#include "landmarks.hpp"

#include <algorithm>

namespace fusewright::extract {

using graph::NodeId;

// In each stretch of the model the node with the longest path through it: residual sums and the like, not what only one
// result is made of.
Landmarks::Landmarks(const graph::Graph& graph, const Uses& uses, const NodeFacts& facts)
    : number_(graph.nodes.size(), kNone), behind_(graph.nodes.size()), before_(graph.nodes.size()) {
  std::vector<NodeId> order;
  for (const NodeId id : graph.entry_computation().nodes)
    if (!facts.constant[id.index]) order.push_back(id);
  std::vector<std::uint32_t> above(graph.nodes.size(), 0), below(graph.nodes.size(), 0);  // nodes on the longest path
  for (const NodeId id : order)
    for (const NodeId reader : uses.readers(id))
      above[reader.index] = std::max(above[reader.index], above[id.index] + 1);
  for (std::size_t i = order.size(); i-- > 0;)
    for (const NodeId reader : uses.readers(order[i]))
      below[order[i].index] = std::max(below[order[i].index], below[reader.index] + 1);
  const std::size_t count = std::min(kMost, order.size());
  for (std::size_t i = 0; i < count; ++i) {
    const auto at = [&](std::size_t of) {
      return order.begin() + static_cast<std::ptrdiff_t>(of * order.size() / count);
    };
    const NodeId best = *std::max_element(at(i), at(i + 1), [&](NodeId a, NodeId b) {
      return above[a.index] + below[a.index] < above[b.index] + below[b.index];
    });
    number_[best.index] = static_cast<std::uint32_t>(i);
    behind_[best.index].set(i);
    before_[best.index].set(i);
  }
  for (const NodeId id : order)
    for (const NodeId reader : uses.readers(id)) before_[reader.index] |= before_[id.index];
  for (std::size_t i = order.size(); i-- > 0;)
    for (const NodeId reader : uses.readers(order[i])) behind_[order[i].index] |= behind_[reader.index];
}

}  // namespace fusewright::extract
