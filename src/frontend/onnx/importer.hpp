#pragma once

// The walk over graphs, functions and nested graphs of a model file.

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "fusewright/frontend/onnx/import.hpp"
#include "src/frontend/onnx/call.hpp"
#include "src/frontend/onnx/narrow.hpp"

namespace fusewright::frontend_onnx {

/// Names of one graph or function of the file. Names that are not in it are looked up outwards.
struct Scope {
  Scope* outer = nullptr;
  Emitter* emitter = nullptr;  ///< where its nodes go; a branch that is inlined shares that of the graph around it
  std::unordered_map<std::string, Value> values;
  std::unordered_map<std::string, ::onnx::TensorProto*> initializers;  ///< those that nobody has read yet
  const std::map<std::string, std::int64_t>* opsets = nullptr;
  std::string prefix;  ///< of source names, inside functions: "call."
  int depth = 0;
};

/// One input of the file and what the options say of it.
struct InputOption {
  const ::onnx::ValueInfoProto* proto = nullptr;
  std::int64_t position = 0;    ///< in the file's list
  std::string number;           ///< its name as a number; empty where it has an initialiser or the number is a name
  ops::TensorHandle given;      ///< its value, or null
  const Ints* shape = nullptr;  ///< its extents, or null
  bool initialized = false;
};

class Importer {
 public:
  Importer(ModelFile& file, const ImportOptions& options, graph::Graph& graph);

  /// The whole model: ports, nodes, results.
  void import_model();
  /// Imports a nested graph's initialisers and nodes into a scope whose inputs are bound; returns its outputs.
  std::vector<Value> import_graph(::onnx::GraphProto& graph, Scope& scope);
  /// A constant of a tensor in the file; `weight`: may be replaced by ImportOptions::replace_weight.
  Value constant_of(::onnx::TensorProto& proto, Emitter& emitter, bool weight);
  /// The element type of a value that is carried in a wider one, or null.
  const NarrowType* narrow(Value value) const;
  void set_narrow(Value value, const NarrowType* type);
  const ImportOptions& options() const { return options_; }
  Knowledge& knowledge() { return knowledge_; }
  graph::Graph& graph() { return graph_; }

 private:
  /// Nothing for a name that is not there; an invalid value for an input that a caller left out.
  std::optional<Value> lookup(const std::string& name, Scope& scope);
  Value made(const std::string& name, Scope& scope, const std::string& what);
  void declare_initializers(::onnx::GraphProto& graph, Scope& scope);
  void import_nodes(google::protobuf::RepeatedPtrField<::onnx::NodeProto>& nodes, Scope& scope,
                    const std::string& what);
  void import_node(::onnx::NodeProto& node, Scope& scope);
  std::vector<Value> dispatch(::onnx::NodeProto& node, Scope& scope, std::vector<Value> inputs);
  std::vector<Value> call_function(::onnx::FunctionProto& function, ::onnx::NodeProto& node, Scope& scope,
                                   std::vector<Value> inputs);
  graph::SourceId add_source(std::string name, std::string op);
  void import_inputs(Scope& scope);
  /// How the options name each input of the file, and what they give for it.
  std::vector<InputOption> input_options(const Scope& scope) const;
  void add_input(const InputOption& input, Type type, Scope& scope);
  void fix_input(const InputOption& input, Scope& scope);
  bool frozen(const InputOption& input) const;
  void check_freeze() const;
  void import_outputs(Scope& scope);
  void read_opsets();
  void read_functions();

  ModelFile& file_;
  const ImportOptions& options_;
  graph::Graph& graph_;
  Knowledge knowledge_;
  Emitter entry_;
  std::map<std::string, std::int64_t> opsets_;
  std::unordered_map<std::string, ::onnx::FunctionProto*> functions_;  ///< by "domain:name"
  std::map<::onnx::FunctionProto*, std::map<std::string, std::int64_t>> function_opsets_;
  std::map<Value, const NarrowType*> narrow_;
  std::int64_t node_count_ = 0;
};

/// Extents of the model's inputs, from the file and the options. Throws Failure for what nothing binds.
class DimBinder {
 public:
  explicit DimBinder(const ImportOptions& options);
  Type bind(const InputOption& input);
  /// Options that name no input and no open dim of one. Throw Failure.
  void check_inputs(const std::vector<InputOption>& inputs) const;
  void check_dims(const std::vector<InputOption>& inputs) const;

 private:
  std::int64_t extent(const std::string& input, std::size_t axis, const ::onnx::TensorShapeProto::Dimension& dim);
  void bind_given(const std::string& input, std::size_t axis, const ::onnx::TensorShapeProto::Dimension& dim,
                  std::int64_t value);

  const ImportOptions& options_;
  std::map<std::string, std::int64_t> bound_;
  std::map<std::string, std::string> bound_by_;
};

/// Nodes in an order in which every name is made before it is read: the file's own where that is one.
std::vector<int> topological_order(const google::protobuf::RepeatedPtrField<::onnx::NodeProto>& nodes,
                                   const std::string& what);

}  // namespace fusewright::frontend_onnx
