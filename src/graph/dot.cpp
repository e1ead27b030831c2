#include <fmt/format.h>

#include <algorithm>
#include <boost/graph/filtered_graph.hpp>
#include <boost/graph/graphviz.hpp>
#include <sstream>

#include "fusewright/graph/algorithms.hpp"
#include "src/graph/flow.hpp"

namespace fusewright::graph {

namespace {

constexpr std::size_t kNoBox = static_cast<std::size_t>(-1);

/// What is drawn of a computation, and in which box.
struct Drawing {
  const Graph& graph;
  Flow flow;
  std::size_t most;
  std::vector<bool> is_result;                  // by vertex
  std::vector<std::vector<std::size_t>> boxes;  // by vertex: those that it is in, the one it is drawn in first

  bool drawn(std::size_t vertex) const { return vertex < most; }
  const Node& node(std::size_t vertex) const { return graph[flow.node(vertex)]; }
  std::size_t box(std::size_t vertex) const { return boxes[vertex].empty() ? kNoBox : boxes[vertex].front(); }
};

Drawing arrange(const Graph& graph, ComputationId computation, const std::vector<DotBox>& boxes, std::size_t most) {
  Drawing d{graph, flow_of(graph, computation), most, {}, {}};
  const std::size_t size = d.flow.size();
  d.is_result.assign(size, false);
  d.boxes.resize(size);
  const auto vertex = [&](NodeId id) { return d.flow.position[id.index]; };
  for (const Value& result : d.flow.computation->results)
    if (vertex(result.node) != Flow::kNowhere) d.is_result[vertex(result.node)] = true;
  for (std::size_t b = 0; b < boxes.size(); ++b)
    for (const NodeId id : boxes[b].nodes)
      if (vertex(id) != Flow::kNowhere) d.boxes[vertex(id)].push_back(b);
  return d;
}

std::string vertex_attributes(const Drawing& d, std::size_t vertex) {
  const Node& node = d.node(vertex);
  const std::string& op = (*d.graph.table)[node.op].name;
  std::string label = op;
  for (const Type& type : node.types) label += "\n" + ops::to_string(type);
  std::string out =
      fmt::format("[label={}, tooltip={}", boost::escape_dot_string(label), boost::escape_dot_string(node.name));
  if (op == "parameter" || op == "constant") out += ", shape=ellipse";
  if (d.boxes[vertex].size() > 1) out += ", style=dashed";
  if (d.is_result[vertex]) out += ", peripheries=2";
  return out + "]";
}

// What a box hands over to another: not what it computes itself, nor what belongs to none.
std::string edge_attributes(const Drawing& d, std::size_t from, std::size_t to) {
  const auto& boxes = d.boxes[from];
  if (boxes.empty() || std::find(boxes.begin(), boxes.end(), d.box(to)) != boxes.end()) return "";
  std::int64_t bytes = 0;
  for (const Type& type : d.node(from).types)
    if (type.is_tensor() && ops::is_static(type.shape)) bytes += ops::byte_size(type);
  return fmt::format("[penwidth=2, label=\"{} B\"]", bytes);
}

std::string heading(const Drawing& d, const std::vector<DotBox>& boxes) {
  std::string out = "node [shape=box, fontname=\"sans-serif\"];\nedge [fontname=\"sans-serif\"];\n";
  if (d.flow.size() > d.most) out += fmt::format("label=\"the first {} of {} nodes\";\n", d.most, d.flow.size());
  std::vector<std::string> members(boxes.size());
  for (std::size_t v = 0; v < d.flow.size(); ++v)
    if (d.drawn(v) && d.box(v) != kNoBox) members[d.box(v)] += fmt::format(" {};", v);
  for (std::size_t b = 0; b < boxes.size(); ++b)
    if (!members[b].empty())
      out += fmt::format("subgraph cluster_{} {{ label={}; style=rounded;{} }}\n", b,
                         boost::escape_dot_string(boxes[b].label), members[b]);
  return out;
}

}  // namespace

std::string print_dot(const Graph& graph, ComputationId computation, const std::vector<DotBox>& boxes,
                      std::size_t most) {
  const Drawing d = arrange(graph, computation, boxes, most);
  const auto drawn = [&](std::size_t vertex) { return d.drawn(vertex); };
  const boost::filtered_graph<Flow::BoostGraph, boost::keep_all, std::function<bool(std::size_t)>> shown(
      d.flow.graph, boost::keep_all(), drawn);
  std::ostringstream out;
  boost::write_graphviz(
      out, shown, [&](std::ostream& o, std::size_t vertex) { o << vertex_attributes(d, vertex); },
      [&](std::ostream& o, const auto& edge) { o << edge_attributes(d, source(edge, shown), target(edge, shown)); },
      [&](std::ostream& o) { o << heading(d, boxes); });
  return out.str();
}

}  // namespace fusewright::graph
