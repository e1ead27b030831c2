#include <set>

#include "fusewright/graph/algorithms.hpp"
#include "src/frontend/onnx/importer.hpp"

namespace fusewright::frontend_onnx {

namespace {

using Nodes = google::protobuf::RepeatedPtrField<::onnx::NodeProto>;

// Names that a nested graph reads from outside. Nesting is bounded by the depth that protobuf parses.
void add_captures(const ::onnx::GraphProto& graph, std::set<std::string>& out);

void add_reads(const ::onnx::NodeProto& node, std::set<std::string>& out) {
  for (const std::string& name : node.input()) {
    if (!name.empty()) out.insert(name);
  }
  for (const auto& attribute : node.attribute()) {
    if (attribute.has_g()) add_captures(attribute.g(), out);
    for (const auto& graph : attribute.graphs()) add_captures(graph, out);
  }
}

void add_captures(const ::onnx::GraphProto& graph, std::set<std::string>& out) {
  std::set<std::string> reads;
  for (const auto& node : graph.node()) add_reads(node, reads);
  for (const auto& output : graph.output()) reads.insert(output.name());
  for (const auto& node : graph.node()) {
    for (const std::string& name : node.output()) reads.erase(name);
  }
  for (const auto& input : graph.input()) reads.erase(input.name());
  for (const auto& tensor : graph.initializer()) reads.erase(tensor.name());
  out.merge(reads);
}

std::string describe(const ::onnx::NodeProto& node) {
  const std::string& name = node.name().empty() && node.output_size() > 0 ? node.output(0) : node.name();
  return "'" + name + "' (" + node.op_type() + ")";
}

}  // namespace

std::vector<int> topological_order(const Nodes& nodes, const std::string& what) {
  const int count = nodes.size();
  std::unordered_map<std::string, int> producers;
  for (int i = 0; i < count; ++i) {
    for (const std::string& name : nodes[i].output()) {
      if (name.empty()) continue;
      const auto [it, fresh] = producers.emplace(name, i);
      if (!fresh) {
        refuse("value '" + name + "' is made twice in " + what + ": by node " + describe(nodes[it->second]) +
               " and by node " + describe(nodes[i]));
      }
    }
  }
  std::vector<std::pair<std::size_t, std::size_t>> edges;
  for (int i = 0; i < count; ++i) {
    std::set<std::string> reads;
    add_reads(nodes[i], reads);
    for (const std::string& name : reads) {
      const auto it = producers.find(name);
      if (it != producers.end()) edges.emplace_back(it->second, i);
    }
  }
  const auto order = graph::stable_order(static_cast<std::size_t>(count), std::move(edges));
  if (!order) {
    refuse(what + " has a cycle: node " + describe(nodes[static_cast<int>(order.error())]) +
           " needs a value that follows from its own outputs");
  }
  return {order->begin(), order->end()};
}

}  // namespace fusewright::frontend_onnx
