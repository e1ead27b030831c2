#include <boost/graph/graphviz.hpp>
#include <sstream>

#include "fusewright/graph/algorithms.hpp"
#include "src/graph/flow.hpp"

namespace fusewright::graph {

std::string print_dot(const Graph& graph, ComputationId computation) {
  const Flow flow = flow_of(graph, computation);
  std::vector<bool> is_result(flow.size(), false);
  for (const Value& result : flow.computation->results)
    if (flow.position[result.node.index] != Flow::kNowhere) is_result[flow.position[result.node.index]] = true;
  const auto print_vertex = [&](std::ostream& out, std::size_t vertex) {
    const Node& node = graph[flow.node(vertex)];
    std::string label = (*graph.table)[node.op].name;
    for (const Type& type : node.types) label += "\n" + ops::to_string(type);
    out << "[label=" << boost::escape_dot_string(label) << ", tooltip=" << boost::escape_dot_string(node.name)
        << (is_result[vertex] ? ", peripheries=2]" : "]");
  };
  const auto print_graph = [](std::ostream& out) { out << "node [shape=box];\n"; };
  std::ostringstream out;
  boost::write_graphviz(out, flow.graph, print_vertex, boost::default_writer(), print_graph);
  return out.str();
}

}  // namespace fusewright::graph
