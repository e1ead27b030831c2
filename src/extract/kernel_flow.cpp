#include "kernel_flow.hpp"

#include <algorithm>

#include "fusewright/graph/algorithms.hpp"

namespace fusewright::extract {

namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

}  // namespace

std::vector<std::pair<std::size_t, std::size_t>> kernel_edges(const Graph& graph, const Uses& uses,
                                                              const std::vector<Kernel>& kernels) {
  std::vector<std::size_t> writer(graph.nodes.size(), kNone);  // one kernel stores all results of a node
  std::vector<std::vector<std::size_t>> bodies(graph.nodes.size());
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    if (!kernels[k].alive) continue;
    for (const Value v : kernels[k].outputs) writer[v.node.index] = k;
    for (const NodeId n : kernels[k].nodes)
      if (!graph[n].computations.empty()) bodies[n.index].push_back(k);
  }
  std::vector<std::pair<std::size_t, std::size_t>> edges;
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    if (!kernels[k].alive) continue;
    for (const Value v : kernels[k].inputs)
      if (const std::size_t w = writer[v.node.index]; w != kNone && w != k) edges.emplace_back(w, k);
    for (const Value v : kernels[k].outputs)
      for (const NodeId r : uses.readers(v.node))
        for (const std::size_t reader : bodies[r.index])
          if (reader != k) edges.emplace_back(k, reader);
  }
  return edges;
}

std::optional<Levels> find_levels(const Graph& graph, const Uses& uses, const std::vector<Kernel>& kernels) {
  auto edges = kernel_edges(graph, uses, kernels);
  const auto order = graph::stable_order(kernels.size(), edges);
  if (!order) return std::nullopt;
  std::vector<std::size_t> place(kernels.size());
  for (std::size_t i = 0; i < order->size(); ++i) place[(*order)[i]] = i;
  std::ranges::sort(edges, {}, [&](const auto& edge) { return place[edge.first]; });
  Levels out{std::vector<std::uint32_t>(kernels.size(), 0), std::vector<std::uint32_t>(kernels.size(), 0)};
  for (const auto& [from, to] : edges) out.depth[to] = std::max(out.depth[to], out.depth[from] + 1);
  for (std::size_t i = edges.size(); i-- > 0;)
    out.height[edges[i].first] = std::max(out.height[edges[i].first], out.height[edges[i].second] + 1);
  return out;
}

}  // namespace fusewright::extract
