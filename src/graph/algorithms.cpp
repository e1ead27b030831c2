#include "fusewright/graph/algorithms.hpp"

#include <algorithm>
#include <boost/graph/breadth_first_search.hpp>
#include <boost/graph/depth_first_search.hpp>
#include <boost/graph/reverse_graph.hpp>
#include <boost/pending/disjoint_sets.hpp>
#include <boost/range/iterator_range.hpp>

#include "src/graph/flow.hpp"

namespace fusewright::graph {
namespace {

template <class BoostGraph>
std::vector<bool> reach(const Graph& graph, const Flow& flow, const BoostGraph& edges, std::span<const NodeId> from) {
  std::vector<boost::default_color_type> color(flow.size(), boost::white_color);
  auto color_map = boost::make_iterator_property_map(color.begin(), get(boost::vertex_index, edges));
  boost::queue<std::size_t> queue;
  for (const NodeId id : from) {
    const std::size_t start = flow.position[id.index];
    if (start != Flow::kNowhere && color[start] == boost::white_color)
      boost::breadth_first_visit(edges, start, queue, boost::default_bfs_visitor(), color_map);
  }
  std::vector<bool> out(graph.nodes.size(), false);
  for (std::size_t i = 0; i < flow.size(); ++i) out[flow.node(i).index] = color[i] != boost::white_color;
  return out;
}

// What a depth-first search against the edges finishes first comes first: before a vertex stands only what it needs and
// what has a smaller number.
std::expected<std::vector<std::size_t>, std::size_t> stable_order(const Flow::BoostGraph& graph) {
  using Against = boost::reverse_graph<Flow::BoostGraph>;
  using Edge = boost::graph_traits<Against>::edge_descriptor;
  struct Visitor : boost::default_dfs_visitor {
    explicit Visitor(std::vector<std::size_t>& to) : order(to) {}
    void finish_vertex(std::size_t vertex, const Against&) { order.push_back(vertex); }
    void back_edge(Edge edge, const Against& against) { throw target(edge, against); }
    std::vector<std::size_t>& order;
  };
  std::vector<std::size_t> order;
  order.reserve(num_vertices(graph));
  try {
    boost::depth_first_search(boost::make_reverse_graph(graph), boost::visitor(Visitor(order)));
  } catch (const std::size_t on_cycle) {
    return std::unexpected(on_cycle);
  }
  return order;
}

// A tree that grows by leaves, with nearest common ancestors in logarithmic time: each vertex keeps its parent and one
// jump to a farther ancestor, of a length that follows the digits of its depth in the skew-binary system.
// Boost's Lengauer-Tarjan recurses as deep as the graph is long, so dominators are found with this instead.
class AncestorTree {
 public:
  explicit AncestorTree(std::size_t size) : parent_(size, 0), jump_(size, 0), depth_(size, 0) {}

  void add(std::size_t vertex, std::size_t parent) {
    parent_[vertex] = parent;
    depth_[vertex] = depth_[parent] + 1;
    const std::size_t near = jump_[parent], far = jump_[near];
    jump_[vertex] = depth_[parent] - depth_[near] == depth_[near] - depth_[far] ? far : parent;
  }

  std::size_t common(std::size_t a, std::size_t b) const {
    if (depth_[a] < depth_[b]) std::swap(a, b);
    while (depth_[a] > depth_[b]) a = depth_[jump_[a]] >= depth_[b] ? jump_[a] : parent_[a];
    while (a != b) {
      const bool far = jump_[a] != jump_[b];
      a = far ? jump_[a] : parent_[a];
      b = far ? jump_[b] : parent_[b];
    }
    return a;
  }

  std::size_t parent(std::size_t vertex) const { return parent_[vertex]; }

 private:
  std::vector<std::size_t> parent_;
  std::vector<std::size_t> jump_;
  std::vector<std::size_t> depth_;
};

// Immediate dominators of a DAG: the common ancestor of all predecessors, in an order in which they come first.
// Vertex `size` is the root that stands in front of all sources. `predecessors(v, visit)` visits what is right before
// v.
template <class Predecessors>
std::vector<NodeId> dominator_tree(const Graph& graph, const Flow& flow, bool forward, Predecessors predecessors) {
  const std::size_t root = flow.size();
  AncestorTree tree(root + 1);
  tree.add(root, root);
  std::vector<NodeId> out(graph.nodes.size());
  for (std::size_t step = 0; step < flow.size(); ++step) {
    const std::size_t vertex = forward ? step : flow.size() - 1 - step;
    std::size_t nearest = Flow::kNowhere;
    predecessors(vertex, [&](std::size_t before) {
      nearest = nearest == Flow::kNowhere ? before : tree.common(nearest, before);
    });
    if (nearest == Flow::kNowhere) nearest = root;
    tree.add(vertex, nearest);
    if (nearest != root) out[flow.node(vertex).index] = flow.node(nearest);
  }
  return out;
}

}  // namespace

std::expected<std::vector<std::size_t>, std::size_t> stable_order(
    std::size_t size, std::vector<std::pair<std::size_t, std::size_t>> edges) {
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  const Flow::BoostGraph flow(boost::edges_are_unsorted_multi_pass, edges.begin(), edges.end(), size);
  return stable_order(flow);
}

Result<std::vector<NodeId>> topological_order(const Graph& graph, ComputationId computation) {
  const Flow flow = flow_of(graph, computation);
  const auto order = stable_order(flow.graph);
  if (!order) return fail("the graph has a cycle that '" + graph[flow.node(order.error())].name + "' is on");
  std::vector<NodeId> out;
  out.reserve(order->size());
  for (const std::size_t vertex : *order) out.push_back(flow.node(vertex));
  return out;
}

std::vector<bool> reachable_from(const Graph& graph, std::span<const NodeId> from, ComputationId computation) {
  const Flow flow = flow_of(graph, computation);
  return reach(graph, flow, flow.graph, from);
}

std::vector<bool> reaching(const Graph& graph, std::span<const NodeId> to, ComputationId computation) {
  const Flow flow = flow_of(graph, computation);
  return reach(graph, flow, boost::make_reverse_graph(flow.graph), to);
}

std::vector<NodeId> dominators(const Graph& graph, ComputationId computation) {
  const Flow flow = flow_of(graph, computation);
  return dominator_tree(graph, flow, true, [&](std::size_t vertex, auto visit) {
    for (const auto edge : boost::make_iterator_range(in_edges(vertex, flow.graph))) visit(source(edge, flow.graph));
  });
}

std::vector<NodeId> post_dominators(const Graph& graph, ComputationId computation) {
  const Flow flow = flow_of(graph, computation);
  std::vector<bool> is_result(flow.size(), false);
  for (const Value& result : flow.computation->results)
    if (flow.position[result.node.index] != Flow::kNowhere) is_result[flow.position[result.node.index]] = true;
  return dominator_tree(graph, flow, false, [&](std::size_t vertex, auto visit) {
    if (is_result[vertex]) visit(flow.size());
    for (const auto edge : boost::make_iterator_range(out_edges(vertex, flow.graph))) visit(target(edge, flow.graph));
  });
}

std::vector<std::uint32_t> connected_components(const Graph& graph, ComputationId computation) {
  const Flow flow = flow_of(graph, computation);
  std::vector<std::size_t> rank(flow.size(), 0), parent(flow.size());
  const boost::identity_property_map index;
  boost::disjoint_sets sets(boost::make_iterator_property_map(rank.begin(), index),
                            boost::make_iterator_property_map(parent.begin(), index));
  for (std::size_t i = 0; i < flow.size(); ++i) sets.make_set(i);
  for (const auto edge : boost::make_iterator_range(edges(flow.graph)))
    sets.union_set(source(edge, flow.graph), target(edge, flow.graph));
  std::vector<std::uint32_t> number(flow.size(), kNoComponent), out(graph.nodes.size(), kNoComponent);
  std::uint32_t count = 0;
  for (std::size_t i = 0; i < flow.size(); ++i) {
    std::uint32_t& component = number[sets.find_set(i)];
    if (component == kNoComponent) component = count++;
    out[flow.node(i).index] = component;
  }
  return out;
}

}  // namespace fusewright::graph
