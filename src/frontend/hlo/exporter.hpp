#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "fusewright/frontend/hlo/export.hpp"

namespace fusewright::frontend_hlo {

using graph::ComputationId;
using graph::Node;
using graph::NodeId;
using graph::Value;
using ops::DType;
using ops::Type;
using Ints = std::vector<std::int64_t>;

std::string print_type(const Type& type);                      ///< f32[2,3]
std::string print_tuple_type(const std::vector<Type>& types);  ///< (f32[2,3], s32[])
std::string print_list(const Ints& numbers);                   ///< {0,1}

/// One computation while it is printed.
struct Body {
  std::string name;
  std::vector<std::string> lines;            ///< "name = shape opcode(...)", without indentation
  std::map<std::string, std::size_t> names;  ///< that are taken
  std::map<std::string, std::size_t> line_of;
  std::map<Value, std::string> values;  ///< how each value is called
  std::string metadata;                 ///< of the node that is printed: ", metadata={...}" or nothing
};

/// Prints the operators of a graph as instructions and collects the computations they call.
class Exporter {
 public:
  Exporter(const graph::Graph& graph, const ExportOptions& options) : graph(graph), options(options) {}

  const graph::Graph& graph;
  const ExportOptions& options;
  std::string computations;  ///< text of all that are called, each before its first use

  /// One instruction. @returns its name: `stem`, with a number behind where that is taken.
  std::string emit(Body& body, std::string_view stem, const std::string& shape, std::string_view opcode,
                   const std::vector<std::string>& operands, const std::string& attributes = {}) const;
  /// A scalar constant by its text, and the same for every element of a tensor.
  std::string constant(Body& body, DType dtype, const std::string& literal) const;
  std::string splat(Body& body, const Type& type, const std::string& literal) const;
  /// The number that changes nothing under a reduction ("sum", "max", ...), as HLO writes it.
  static std::string identity(std::string_view reduction, DType dtype);
  /// Name of a computation of two scalars, printed on first use; `opcode` is an elementwise one.
  std::string binary(std::string_view opcode, DType dtype);
  /// A computation with a name of its own, printed from its lines.
  std::string computation(std::string_view stem, const std::vector<std::string>& lines);
  /// The same, printed once for each stem.
  std::string shared(const std::string& stem, const std::vector<std::string>& lines);

  Status print_node(Body& body, NodeId id);
  std::unexpected<Error> unsupported(const Node& node, const std::string& why) const;
  const Type& type(Value value) const { return graph.type(value); }
  std::string operand(const Body& body, const Node& node, std::size_t index) const {
    return body.values.at(node.operands[index]);
  }
  std::vector<std::string> operands(const Body& body, const Node& node) const;
  /// Names what one result is called.
  static void bind(Body& body, NodeId id, std::string name) { body.values[{id, 0}] = std::move(name); }
  /// Takes the results of a node from the tuple that an instruction gave.
  void bind_tuple(Body& body, NodeId id, const std::string& tuple) const;

  /// How a nested computation is called: with its parameters apart or in one tuple; with its results as they are (one
  /// alone is no tuple), always in a tuple, or in a tuple that ends with the captured values, as a loop's state must.
  enum class Parameters { kSeparate, kTuple };
  enum class Results { kPlain, kTuple, kTupleWithCaptures };
  /// A nested computation of the graph. Captured values come behind its own parameters.
  Result<std::string> nested(ComputationId id, Parameters parameters, Results results,
                             const std::vector<Value>& captures);
  /// Values from outside that a computation and those inside it read, in order of first use.
  std::vector<Value> captures(ComputationId id) const;
  std::string finish(Body& body, const std::vector<std::string>& results, const std::vector<Type>& types,
                     bool as_tuple) const;
  void begin_node(Body& body, const Node& node) const;
  std::string unique_computation(std::string_view stem);

 private:
  std::map<std::string, std::size_t> computation_names_;
  std::map<std::string, std::string> shared_;
};

using OpPrinter = Status (*)(Exporter& exporter, Body& body, NodeId id);
/// How an operator that has no elementwise opcode is printed, or null.
OpPrinter find_printer(std::string_view op);

// Those that call computations of the graph.
Status print_reduce(Exporter& e, Body& body, NodeId id);
Status print_sort(Exporter& e, Body& body, NodeId id);
Status print_while(Exporter& e, Body& body, NodeId id);
Status print_conditional(Exporter& e, Body& body, NodeId id);
Status print_call(Exporter& e, Body& body, NodeId id);

/// A name that XLA's lexer takes: letters, digits, '_', '.', '-'.
std::string clean_name(std::string_view name);

}  // namespace fusewright::frontend_hlo
