#include "fusewright/egraph/dot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "fusewright/egraph/index.hpp"

namespace fusewright::egraph {
namespace {

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

class Drawing {
 public:
  Drawing(const EGraph& egraph, std::span<const EClassId> results, std::size_t most)
      : egraph_(egraph), most_(most), seen_(egraph.node_count(), false), is_result_(egraph.node_count(), false) {
    index_.refresh(egraph);
    for (const EClassId c : results) is_result_[egraph.find(c).index] = true;
    arrange(results);
  }

  std::string print() {
    std::string boxes;
    for (const EClassId c : order_) boxes += box(c);
    // Arrows last: a box would swallow the nodes that an arrow within it names first.
    for (const ENodeId n : drawn_) boxes += arrows(n);
    std::string out =
        "digraph egraph {\ncompound=true;\nnode [shape=box, fontname=\"sans-serif\"];\n"
        "graph [fontname=\"sans-serif\"];\n";
    if (drawn_.size() < egraph_.live_nodes()) {
      out +=
          fmt::format("label=\"the first {} of {} nodes, in {} of {} classes; {} arrows lead to what is not drawn\";\n",
                      drawn_.size(), egraph_.live_nodes(), order_.size(), egraph_.class_count(), lost_arrows_);
    }
    return out + boxes + "}\n";
  }

 private:
  /// The classes that are drawn, in order.
  void arrange(std::span<const EClassId> results) {
    std::size_t nodes = 0, next = 0;
    const auto visit = [&](EClassId c) {
      c = egraph_.find(c);
      if (c == egraph_.none() || seen_[c.index] || nodes >= most_) return;
      seen_[c.index] = true;
      order_.push_back(c);
      nodes += index_.nodes(c).size();
    };
    const auto follow = [&] {
      for (; next < order_.size(); ++next)
        for (const auto& entry : index_.nodes(order_[next]))
          for (const EClassId operand : egraph_.operands(entry.node)) visit(operand);
    };
    for (const EClassId c : results) visit(c);
    follow();
    for (const EClassId c : index_.classes()) {
      visit(c);
      follow();
    }
  }

  std::string label(ENodeId n) const {
    if (egraph_[n].op == egraph_.result_op()) return fmt::format("result {}", egraph_.result_number(n));
    const std::string& name = egraph_.table()[egraph_[n].op].name;
    const Fact fact = egraph_.fact(term(n));
    if (name != "constant" || !fact.has_splat()) return name;
    return fmt::format("constant {}", egraph_.facts().splat_of(fact).as_double());
  }

  std::string box(EClassId c) {
    const auto nodes = index_.nodes(c);
    const std::size_t count = std::min(nodes.size(), most_ - drawn_.size());
    std::string caption = ops::to_string(egraph_.type(c));
    if (count < nodes.size()) caption += fmt::format("\n{} of {} nodes", count, nodes.size());
    std::string out = fmt::format("subgraph cluster_{} {{ label={}; style=rounded;{}\n", c.index, quoted(caption),
                                  is_result_[c.index] ? " peripheries=2;" : "");
    for (const auto& entry : nodes.first(count)) {
      const bool by_rule = egraph_.records() && egraph_.made_by(entry.node).valid();
      out += fmt::format("  n{} [label={}{}];\n", entry.node.index, quoted(label(entry.node)),
                         by_rule ? ", style=dashed" : "");
      drawn_.push_back(entry.node);
    }
    return out + "}\n";
  }

  /// To the first node of each operand's class, ending at its box.
  std::string arrows(ENodeId n) {
    std::string out;
    for (const EClassId operand : egraph_.operands(n)) {
      if (operand == egraph_.none()) continue;
      if (!seen_[operand.index]) {
        ++lost_arrows_;
        continue;
      }
      const ENodeId head = index_.nodes(operand)[0].node;
      const bool own = egraph_.find(term(n)) == operand;  // Graphviz ends no arrow at the box that it comes from
      out += fmt::format("n{} -> n{}{};\n", n.index, head.index,
                         own ? std::string() : fmt::format(" [lhead=cluster_{}]", operand.index));
    }
    return out;
  }

  const EGraph& egraph_;
  const std::size_t most_;
  Index index_;
  std::vector<bool> seen_, is_result_;  // by class
  std::vector<EClassId> order_;
  std::vector<ENodeId> drawn_;
  std::size_t lost_arrows_ = 0;
};

}  // namespace

std::string print_dot(const EGraph& egraph, std::span<const EClassId> results, std::size_t most) {
  return Drawing(egraph, results, most).print();
}

}  // namespace fusewright::egraph
