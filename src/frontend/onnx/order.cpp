#include <queue>
#include <set>

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
  std::vector<std::vector<int>> readers(static_cast<std::size_t>(count));
  std::vector<int> waits(static_cast<std::size_t>(count), 0);
  for (int i = 0; i < count; ++i) {
    std::set<std::string> reads;
    add_reads(nodes[i], reads);
    for (const std::string& name : reads) {
      const auto it = producers.find(name);
      if (it == producers.end()) continue;
      readers[static_cast<std::size_t>(it->second)].push_back(i);
      ++waits[static_cast<std::size_t>(i)];
    }
  }
  // The smallest ready index first, so that a file that is in order stays as it is.
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (int i = 0; i < count; ++i) {
    if (waits[static_cast<std::size_t>(i)] == 0) ready.push(i);
  }
  std::vector<int> order;
  while (!ready.empty()) {
    const int node = ready.top();
    ready.pop();
    order.push_back(node);
    for (const int reader : readers[static_cast<std::size_t>(node)]) {
      if (--waits[static_cast<std::size_t>(reader)] == 0) ready.push(reader);
    }
  }
  for (int i = 0; i < count && order.size() < static_cast<std::size_t>(count); ++i) {
    if (waits[static_cast<std::size_t>(i)] > 0) {
      refuse(what + " has a cycle: node " + describe(nodes[i]) + " needs a value that follows from its own outputs");
    }
  }
  return order;
}

}  // namespace fusewright::frontend_onnx
