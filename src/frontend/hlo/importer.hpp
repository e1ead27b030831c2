#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "fusewright/frontend/hlo/ast.hpp"
#include "fusewright/frontend/hlo/import.hpp"
#include "src/frontend/hlo/attributes.hpp"
#include "src/frontend/hlo/resolve.hpp"

namespace fusewright::frontend_hlo {

using graph::Value;
using ops::DType;
using ops::Type;

/// What an instruction gives: its tensors in order, tuples taken apart, tokens dropped.
using Leaves = std::vector<Value>;

/// Number of tensors in a shape.
std::size_t leaf_count(const ShapeTree& shape);
/// Those tensors, in order.
void append_arrays(const ShapeTree& shape, std::vector<const ShapeTree*>& arrays);

/// One computation while it is imported into one computation of the graph; calls open a scope of their own.
struct Scope {
  std::uint32_t computation = 0;
  graph::Builder& builder;
  std::vector<Leaves> arguments;              ///< of an inlined computation, one for each parameter
  std::string path;                           ///< names of the calls around it, each with a '/' behind
  std::optional<ops::Shape> map_shape;        ///< inside a `map`: its scalars stand for tensors of this shape
  std::vector<std::optional<Leaves>> values;  ///< of each instruction; none where it is dead or failed
};

class Importer;

/// One instruction at the moment it is imported.
struct Site {
  Importer& importer;
  Scope& scope;
  const Instruction& instruction;
  AttributeReader attributes;
  std::vector<Leaves> operands;

  graph::Builder& builder() { return scope.builder; }
  const graph::Graph& graph() { return scope.builder.graph(); }
  const Type& type(Value value) { return graph().type(value); }
  Span span() const;

  /// The operands as tensors, one each. Errors: another number than `count`, tuples among them.
  Result<std::vector<Value>> tensors(std::size_t count);
  Result<std::vector<Value>> tensors_at_least(std::size_t count);
  /// The type that is written before the opcode. Errors: none is written, a tuple, an element type or dimension that is
  /// not supported.
  Result<Type> declared();
  Result<std::vector<Type>> declared_leaves();
  /// One node of the table.
  Result<Value> add(std::string_view op, std::vector<Value> values, const ops::Attrs& attrs = {});
  Result<Leaves> leaf(Result<Value> value);
  std::unexpected<Error> unsupported(const std::string& why) const;
  std::unexpected<Error> wrong(const std::string& message) const;
};

using Handler = Result<Leaves> (*)(Site&);

/// Imports one module. Errors are collected; what depends on a failed instruction is skipped in silence.
class Importer {
 public:
  Importer(const Module& module, const Resolution& names, std::shared_ptr<const ops::OpTable> table,
           const ImportOptions& options)
      : module(module),
        names(names),
        graph_(graph::make_graph(std::move(table), std::string(module.name))),
        options_(options),
        active_(module.computations.size(), false) {}

  Result<graph::Graph> run();

  const Module& module;
  const Resolution& names;

  const Computation& computation(std::uint32_t index) const { return module.computations[index]; }
  Result<std::uint32_t> find_computation(std::string_view name) const;

  /// Imports a computation in place of a call.
  /// @param step  stands behind the call's name in those of the instructions: "[3]" of a loop's fourth iteration.
  Result<Leaves> inline_call(Site& site, std::string_view name, std::vector<Leaves> arguments,
                             std::optional<ops::Shape> map_shape = std::nullopt, std::string_view step = "");
  /// Imports a computation as a body of its own. Its parameters take the tensors of `parameters`, all in one list.
  /// @param offset, total  where the computation's own parameters stand in that list: conditional's branches each read
  /// a part.
  Result<graph::ComputationId> import_body(Site& site, std::string_view name, const std::vector<Type>& parameters,
                                           std::size_t offset, std::size_t count);

  /// Nodes that loops of known length may still become.
  std::size_t unroll_left = 100'000;

  Result<Type> to_type(const ShapeTree& shape) const;
  Status append_types(const ShapeTree& shape, std::vector<Type>& types) const;
  /// Type of an entry parameter's tensor, with the dims that the user gave.
  Result<Leaves> entry_parameter(Site& site);
  Result<Leaves> constant(Site& site, const Type& type);

 private:
  std::optional<Leaves> run_scope(Scope& scope);
  Result<Leaves> import_instruction(Scope& scope, std::uint32_t index);
  Status check_declared(Site& site, const Leaves& leaves) const;
  Status enter(Site& site, std::uint32_t computation);
  void report(Error error);
  /// Errors: an option that names no input of this module.
  Status check_options() const;
  bool is_frozen(const std::string& name) const;
  const ops::TensorHandle* given_input(const std::string& name, std::size_t position) const;
  Result<Type> bound_type(const ShapeTree& shape, const std::string& name, std::size_t position) const;
  Result<Value> frozen_value(Site& site, const std::string& name, std::size_t position, const Type& type);
  Result<Value> replaced(Site& site, const std::string& name, const Type& type);
  void name_outputs(const Leaves& results);

  graph::Graph graph_;
  const ImportOptions& options_;
  std::vector<bool> active_;  // computations that are being imported, to find those that call themselves
  std::size_t depth_ = 0;
  std::size_t instructions_ = 0;
  std::size_t parameter_leaves_ = 0;  // of the entry, seen so far
  Error error_;
};

}  // namespace fusewright::frontend_hlo
