#pragma once

// Nodes of one computation, written as formulas. Everything throws Failure where the op table refuses.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fusewright/graph/graph.hpp"
#include "src/frontend/onnx/proto.hpp"

namespace fusewright::frontend_onnx {

using graph::Value;
using ops::Attrs;
using ops::DType;
using ops::Tensor;
using ops::Type;
using Ints = std::vector<std::int64_t>;

/// What is known of values at load, by evaluation on demand: constants, what follows from them, and the inputs the user
/// gave.
class Knowledge {
 public:
  explicit Knowledge(const graph::Graph& graph) : graph_(graph) {}
  void set(Value value, Tensor tensor) { facts_[value] = std::move(tensor); }
  /// The value's elements if they follow from what is known and take at most 64 KiB.
  std::optional<Tensor> find(Value value);

 private:
  bool evaluate(graph::NodeId id);

  const graph::Graph& graph_;
  std::map<Value, std::optional<Tensor>> facts_;  // an empty one: asked before, not known
};

class Emitter {
 public:
  Emitter(graph::Graph& graph, graph::ComputationId computation, Knowledge& knowledge)
      : graph_(graph), builder_(graph, computation), knowledge_(knowledge) {}

  graph::Builder& builder() { return builder_; }
  graph::Graph& graph() { return graph_; }
  void set_origin(graph::SourceSet sources, std::string stem);
  std::pair<graph::SourceSet, std::string> origin() const { return {sources_, stem_}; }

  /// One node with one result. Operators of small constants are evaluated instead.
  Value op(std::string_view name, std::vector<Value> operands, const Attrs& attrs = {});
  std::vector<Value> op_results(std::string_view name, std::vector<Value> operands, const Attrs& attrs = {});

  // Copies: adding a node moves the graph's own.
  Type type(Value value) const { return graph_.type(value); }
  DType dtype(Value value) const { return graph_.type(value).dtype; }
  Ints dims(Value value) const;
  std::int64_t rank(Value value) const { return graph_.type(value).rank(); }
  /// The elements of a constant node.
  const Tensor* constant_of(Value value) const;
  std::optional<Tensor> known(Value value) { return knowledge_.find(value); }

  Value constant(Tensor tensor);
  Value scalar(DType dtype, double value);
  Value scalar_int(DType dtype, std::int64_t value);
  Value fill(DType dtype, double value, const Ints& dims);
  Value vector(DType dtype, const std::vector<double>& values);
  Value int_vector(DType dtype, const Ints& values);
  Value iota(DType dtype, const Ints& dims, std::int64_t axis);

  // Movement; no node where nothing would change.
  Value reshape(Value x, const Ints& dims);
  Value transpose(Value x, const Ints& perm);
  Value align(Value x, const Ints& dims);  ///< NumPy's broadcast
  Value broadcast(Value x, const Ints& dims, const Ints& axes);
  Value convert(Value x, DType dtype);
  Value concat(std::vector<Value> parts, std::int64_t axis);
  Value slice(Value x, std::int64_t axis, std::int64_t start, std::int64_t limit, std::int64_t stride = 1);
  Value take(Value x, const Ints& indices, std::int64_t axis);
  /// Puts unit axes where a reduction over `axes` removed them.
  Value keep_axes(Value reduced, const Ints& full_dims, const Ints& axes);
  Value reduce(std::string_view name, Value x, const Ints& axes, bool keep);

  // Elementwise with NumPy's broadcast; numbers take the other side's dtype.
  Value unary(std::string_view name, Value x) { return op(name, {x}); }
  Value binary(std::string_view name, Value a, Value b);
  Value binary(std::string_view name, Value a, double b) { return binary(name, a, scalar(dtype(a), b)); }
  Value binary(std::string_view name, double a, Value b) { return binary(name, scalar(dtype(b), a), b); }
  Value select(Value pred, Value on_true, Value on_false);
  Value to_pred(Value x);  ///< x != 0

 private:
  std::optional<std::vector<Value>> fold(ops::OpId id, const std::vector<Value>& operands, const Attrs& attrs);

  graph::Graph& graph_;
  graph::Builder builder_;
  Knowledge& knowledge_;
  graph::SourceSet sources_;
  std::string stem_;
};

Ints broadcast_dims(const Ints& a, const Ints& b);
std::int64_t product(const Ints& values);
/// 0, 1, ..., n - 1
Ints count_up(std::int64_t n);

}  // namespace fusewright::frontend_onnx
