#include <fmt/format.h>

#include <iterator>

#include "fusewright/graph/graph.hpp"

namespace fusewright::graph {
namespace {

class Printer {
 public:
  explicit Printer(const Graph& graph) : graph_(graph), printed_(graph.computations.size(), false) {}

  std::string run() {
    fmt::format_to(out(), "graph \"{}\"\n", graph_.name);
    open(graph_.entry);
    while (!frames_.empty()) step();
    return std::move(text_);
  }

 private:
  // A computation that is being printed, and where it stands.
  struct Frame {
    ComputationId computation;
    std::size_t next_node = 0;
    std::size_t next_body = 0;  // of the node before next_node
  };

  std::back_insert_iterator<std::string> out() { return std::back_inserter(text_); }

  std::string indent(std::size_t depth) const { return std::string(2 * depth, ' '); }

  void open(ComputationId id) {
    text_ += indent(2 * frames_.size()) + "computation " + graph_[id].name;
    if (printed_[id.index]) {
      text_ += "\n";
      return;
    }
    printed_[id.index] = true;
    text_ += " {\n";
    frames_.push_back({id});
  }

  void step() {
    Frame& frame = frames_.back();
    const Computation& computation = graph_[frame.computation];
    if (frame.next_node > 0) {
      const Node& owner = graph_[computation.nodes[frame.next_node - 1]];
      if (frame.next_body < owner.computations.size()) {
        open(owner.computations[frame.next_body++]);
        return;
      }
    }
    if (frame.next_node < computation.nodes.size()) {
      print_node(graph_[computation.nodes[frame.next_node++]]);
      frame.next_body = 0;
      return;
    }
    close(computation);
  }

  void close(const Computation& computation) {
    const std::size_t depth = 2 * frames_.size() - 1;
    text_ += indent(depth) + "return ";
    const bool entry = frames_.size() == 1;
    for (std::size_t i = 0; i < computation.results.size(); ++i) {
      if (i > 0) text_ += ", ";
      print_value(computation.results[i]);
      if (entry && i < graph_.outputs.size()) text_ += " as \"" + graph_.outputs[i].name + '"';
    }
    text_ += '\n' + indent(depth - 1) + "}\n";
    frames_.pop_back();
  }

  void print_value(Value value) {
    if (!value.valid()) {
      text_ += "none";
      return;
    }
    text_ += '%' + graph_[value.node].name;
    if (value.result > 0) text_ += '#' + std::to_string(value.result);
  }

  void print_node(const Node& node) {
    text_ += indent(2 * frames_.size() - 1);
    fmt::format_to(out(), "%{} = {}(", node.name, (*graph_.table)[node.op].name);
    for (std::size_t i = 0; i < node.operands.size(); ++i) {
      if (i > 0) text_ += ", ";
      print_value(node.operands[i]);
    }
    text_ += ')';
    const char* before = " {";
    for (const auto& [name, value] : node.attrs.entries()) {
      fmt::format_to(out(), "{}{}={}", before, name, ops::to_string(value));
      before = ", ";
    }
    text_ += node.attrs.empty() ? " : " : "} : ";
    for (std::size_t i = 0; i < node.types.size(); ++i) text_ += (i > 0 ? ", " : "") + ops::to_string(node.types[i]);
    text_ += '\n';
  }

  const Graph& graph_;
  std::vector<bool> printed_;
  std::vector<Frame> frames_;
  std::string text_;
};

}  // namespace

std::string print(const Graph& graph) { return Printer(graph).run(); }

}  // namespace fusewright::graph
