#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "fusewright/ops/op_table.hpp"
#include "src/interpret/elements.hpp"

// The operators, one function each, by name: each computes the results of one node from its operands' tensors.
namespace fusewright::interpret {

/// A nested computation on scalars: the combiner of a `reduce`, the comparator of a `sort`.
using ScalarBody = std::function<Result<std::vector<Scalar>>(std::span<const Scalar>)>;

struct NodeCall {
  const ops::OpInfo& info;
  std::span<const Tensor> operands;  ///< without storage where left out
  const ops::Attrs& attrs;           ///< complete
  std::span<const ops::Type> types;  ///< of the results, static
  std::uint64_t seed = 0;            ///< of the random operators
  const ScalarBody* body = nullptr;  ///< null for a node without nested computations

  const Tensor& operand(std::size_t i) const { return operands[i]; }
  DType dtype(std::size_t result = 0) const { return types[result].dtype; }
  Dims dims(std::size_t result = 0) const { return ops::static_dims(types[result].shape); }
  const Dims& ints(std::string_view name) const { return attrs.get<Dims>(name); }
  std::int64_t integer(std::string_view name) const { return attrs.get<std::int64_t>(name); }
};

using Tensors = std::vector<Tensor>;
using NodeFn = Result<Tensors> (*)(const NodeCall&);

/// Null for operators that are not computed from tensors alone: control flow, parameters, custom calls, composites.
NodeFn find_node_fn(const ops::OpInfo& info);

// elementwise.cpp
Result<Tensors> eval_elementwise(const NodeCall& call);  ///< every row with a scalar operation
Result<Tensors> eval_bitcast(const NodeCall& call);
Result<Tensors> eval_reduce_precision(const NodeCall& call);

// movement.cpp
Result<Tensors> eval_broadcast(const NodeCall& call);
Result<Tensors> eval_reshape(const NodeCall& call);
Result<Tensors> eval_transpose(const NodeCall& call);
Result<Tensors> eval_reverse(const NodeCall& call);
Result<Tensors> eval_slice(const NodeCall& call);
Result<Tensors> eval_pad(const NodeCall& call);
Result<Tensors> eval_concat(const NodeCall& call);
Result<Tensors> eval_dynamic_slice(const NodeCall& call);
Result<Tensors> eval_dynamic_update_slice(const NodeCall& call);
Result<Tensors> eval_constant(const NodeCall& call);
Result<Tensors> eval_iota(const NodeCall& call);

// reduce.cpp
Result<Tensors> eval_reduction(const NodeCall& call);
Result<Tensors> eval_arg_reduction(const NodeCall& call);
Result<Tensors> eval_reduce(const NodeCall& call);
Result<Tensors> eval_reduce_window(const NodeCall& call);
Result<Tensors> eval_cumulative(const NodeCall& call);

// contract.cpp
Result<Tensors> eval_dot(const NodeCall& call);
Result<Tensors> eval_conv(const NodeCall& call);

// sort.cpp
Result<Tensors> eval_sort(const NodeCall& call);
Result<Tensors> eval_top_k(const NodeCall& call);

// indexing.cpp
Result<Tensors> eval_take(const NodeCall& call);
Result<Tensors> eval_take_along(const NodeCall& call);
Result<Tensors> eval_gather(const NodeCall& call);
Result<Tensors> eval_scatter(const NodeCall& call);

// random.cpp
Result<Tensors> eval_rng_uniform(const NodeCall& call);
Result<Tensors> eval_rng_normal(const NodeCall& call);
Result<Tensors> eval_rng_bit_generator(const NodeCall& call);

}  // namespace fusewright::interpret
