#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fusewright/ops/attrs.hpp"
#include "fusewright/ops/expr.hpp"
#include "fusewright/ops/op_table.hpp"
#include "fusewright/ops/type.hpp"
#include "fusewright/support/ids.hpp"
#include "fusewright/support/result.hpp"

namespace fusewright::graph {

using ops::Attrs;
using ops::OpId;
using ops::OpTable;
using ops::Type;

using NodeId = Id<struct NodeTag>;
using ComputationId = Id<struct ComputationTag>;
using SourceId = Id<struct SourceTag>;

/// One result of one node. A default-constructed one stands for an optional operand that is left out.
struct Value {
  NodeId node;
  std::uint32_t result = 0;

  bool valid() const { return node.valid(); }
  auto operator<=>(const Value&) const = default;
};

/// A node of the model file as its author knows it.
struct SourceNode {
  std::string name;  ///< "conv1", "%add.12"
  std::string op;    ///< the file's own word: "BatchNormalization", "multiply"
  Span span;         ///< its line, for text formats
};

/// Sorted, without repeats.
using SourceSet = std::vector<SourceId>;

struct Node {
  OpId op;
  std::vector<Value> operands;
  Attrs attrs;
  std::vector<Type> types;                  ///< one for each result
  std::vector<ComputationId> computations;  ///< bodies: comparator of a sort, body and condition of a while, branches
  ComputationId parent;
  std::string name;   ///< unique within the graph, for people
  SourceSet sources;  ///< every source node it came from, through inlining, folding and merging
};

/// A body: parameters, nodes in topological order, results. The entry is one too. Nested bodies may use values of the
/// bodies around them (captures), as ONNX's do.
struct Computation {
  std::string name;
  std::vector<NodeId> nodes;       ///< topological; parameters included
  std::vector<NodeId> parameters;  ///< nodes of operator `parameter`, in order
  std::vector<Value> results;
  ComputationId parent;  ///< invalid for the entry and for bodies without captures
};

/// How the entry's parameters and results look from outside.
struct Port {
  std::string name;
  Type type;
  std::optional<ops::TensorHandle> fallback;  ///< ONNX initialiser that is also an input (IR version 4 on)
  std::int64_t number = -1;  ///< of an input: its position in the file, where the graph has left some out; else -1
};

/// A tensor graph: nodes, computations and the table of operators they index. A plain value; passes return a new one.
struct Graph {
  std::shared_ptr<const OpTable> table;
  std::vector<Node> nodes;
  std::vector<Computation> computations;
  ComputationId entry;
  std::vector<SourceNode> sources;
  std::vector<Port> inputs;                  ///< one for each entry parameter
  std::vector<Port> outputs;                 ///< one for each entry result
  std::vector<std::int64_t> skipped_inputs;  ///< of ONNX: positions in the file's input list that have an initialiser
  std::string name;
  std::string format;            ///< "onnx", "hlo"
  bool exact_rounding = true;    ///< every node rounds to its dtype
  std::uint32_t names_made = 0;  ///< keeps node names unique; passes that copy nodes copy it too

  const Node& operator[](NodeId id) const { return nodes[id.index]; }
  Node& operator[](NodeId id) { return nodes[id.index]; }
  const Computation& operator[](ComputationId id) const { return computations[id.index]; }
  Computation& operator[](ComputationId id) { return computations[id.index]; }
  const Type& type(Value v) const { return nodes[v.node.index].types[v.result]; }
  const ops::OpInfo& info(NodeId id) const { return (*table)[nodes[id.index].op]; }
  const Computation& entry_computation() const { return computations[entry.index]; }
};

/// Adds nodes to one computation of a graph, with types by the op table. It is also a TermBuilder, so that composite
/// bodies and rule right-hand sides elaborate straight into a graph. TermValue packs (node, result).
class Builder final : public ops::TermBuilder {
 public:
  Builder(Graph& graph, ComputationId computation) : graph_(graph), computation_(computation) {}

  /// Source nodes that nodes made from now on come from, and their name stem: nodes are named "<stem>.<number>", by
  /// their operator where the stem is empty.
  void set_origin(SourceSet sources, std::string name_stem);

  /// The next parameter of the computation; of the entry's, an input port as well.
  Value parameter(const Type& type, std::string name);
  Value constant(ops::Tensor tensor);
  Result<std::vector<Value>> add(OpId op, std::vector<Value> operands, const Attrs& attrs = {}, const Span& span = {});
  /// One result; the operator by name.
  Result<Value> add(std::string_view op, std::vector<Value> operands, const Attrs& attrs = {}, const Span& span = {});
  /// Types as stated, for control flow, effects and operators with nested bodies.
  std::vector<Value> add_typed(OpId op, std::vector<Value> operands, const Attrs& attrs, std::vector<Type> types,
                               std::vector<ComputationId> computations = {});
  /// Canonical NumPy-style broadcast (see ops::align_to).
  Result<Value> align_to(Value value, const ops::Shape& shape);
  /// Of the entry's, also the output ports: those that exist keep their names, new ones are "output_<number>".
  void set_results(std::vector<Value> results);

  Graph& graph() { return graph_; }
  ComputationId computation() const { return computation_; }

  Result<std::vector<ops::TermValue>> apply(OpId op, const std::vector<std::optional<ops::TermValue>>& operands,
                                            const Attrs& attrs, const Span& span) override;
  const Type& type(ops::TermValue value) override;
  static ops::TermValue pack(Value v) { return {(std::uint64_t{v.node.index} << 32) | v.result}; }
  static Value unpack(ops::TermValue t) {
    return {NodeId(static_cast<std::size_t>(t.id >> 32)), static_cast<std::uint32_t>(t.id)};
  }

 private:
  Graph& graph_;
  ComputationId computation_;
  SourceSet sources_;
  std::string stem_;
};

/// An empty graph with an entry computation.
Graph make_graph(std::shared_ptr<const OpTable> table, std::string name);
ComputationId add_computation(Graph& graph, std::string name, ComputationId parent = {});

/// What only we can get wrong: operand order, types that the table infers, ports, unique names. An error is our bug.
Status verify(const Graph& graph);

/// One line a node: "%name = op(%a, %b) {attrs} : type", nested bodies indented. Stable; for people and golden tests.
std::string print(const Graph& graph);

/// Unions two sorted sets.
SourceSet merge(const SourceSet& a, const SourceSet& b);

/// Nodes of the entry that reach a result, in topological order; everything else removed, ids renumbered.
Graph remove_dead(Graph graph);

/// Replaces composite nodes for which `expand` says yes by their bodies, in every computation, until none is left.
Result<Graph> expand_composites(const Graph& graph, bool (*expand)(const ops::OpInfo&));

}  // namespace fusewright::graph
