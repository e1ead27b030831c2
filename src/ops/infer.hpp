#pragma once

#include <span>
#include <string>
#include <vector>

#include "fusewright/ops/op_table.hpp"

// Shape rules of the built-in operators: each is an InferFn. They see complete attributes and the right number of
// operands, tensors unless said otherwise, and refuse whatever a model can get wrong.
namespace fusewright::ops {

using Types = std::vector<Type>;
using Operands = std::span<const Type>;
using Ints = std::vector<std::int64_t>;

// The dtypes an operator computes on.
enum class Domain : std::uint8_t {
  kFloating,
  kInteger,
  kNumber,
  kLogical,
  kReal
};  // Logical: integers and pred; Real: all but complex

// What the shape rules share (infer_common.cpp). `what` is for people: "starts of slice".
bool computes_on(Domain domain, DType dtype);
Status check_domain(const OpInfo& op, Domain domain, DType dtype);
Status check_same_dtype(const OpInfo& op, Operands operands);
Status check_same_shape(const OpInfo& op, Operands operands);
Status check_scalar(const OpInfo& op, const Type& type, const std::string& what);
Status check_integer(const OpInfo& op, const Type& type, const std::string& what);
/// One number for each of `rank` axes, each at least `least`.
Status check_per_axis(const OpInfo& op, const Ints& values, std::int64_t rank, std::int64_t least,
                      const std::string& what);
/// In [0, rank), without repeats.
Status check_axes(const OpInfo& op, const Ints& axes, std::int64_t rank, const std::string& what);
Status check_sorted(const OpInfo& op, const Ints& axes, const std::string& what);
/// "operands of add have shapes [2] and [3]"
std::string describe_shapes(const OpInfo& op, Operands operands);
/// 1 + (n - 1) * dilation, and 0 of 0.
Dim dilated(const Dim& extent, std::int64_t dilation);
/// How often a window fits: floor((extent - window) / stride) + 1, at least 0.
Dim window_count(const Dim& extent, const Dim& window, std::int64_t stride);
/// The shape without these axes.
Shape without_axes(const Shape& shape, const Ints& axes);

// infer_elementwise.cpp; pred results and dtypes by the row
template <Domain kDomain>
Result<Types> infer_elementwise(const OpInfo& op, Operands operands, const Attrs& attrs);
template <Domain kDomain>
Result<Types> infer_predicate(const OpInfo& op, Operands operands, const Attrs& attrs);
Result<Types> infer_convert(const OpInfo& op, Operands operands, const Attrs& attrs);
Result<Types> infer_bitcast(const OpInfo& op, Operands operands, const Attrs& attrs);
Result<Types> infer_reduce_precision(const OpInfo& op, Operands operands, const Attrs& attrs);
Result<Types> infer_select(const OpInfo& op, Operands operands, const Attrs& attrs);

// infer_movement.cpp
Result<Types> infer_broadcast(const OpInfo& op, Operands operands, const Attrs& attrs);
Result<Types> infer_reshape(const OpInfo& op, Operands operands, const Attrs& attrs);
Result<Types> infer_transpose(const OpInfo& op, Operands operands, const Attrs& attrs);
Result<Types> infer_reverse(const OpInfo& op, Operands operands, const Attrs& attrs);
Result<Types> infer_slice(const OpInfo& op, Operands operands, const Attrs& attrs);
Result<Types> infer_pad(const OpInfo& op, Operands operands, const Attrs& attrs);
Result<Types> infer_concat(const OpInfo& op, Operands operands, const Attrs& attrs);
Status complete_slice(Attrs& attrs, Operands operands);
Status complete_pad(Attrs& attrs, Operands operands);

// infer_reduction.cpp: reductions, scans, sorts
template <Domain kDomain>
Result<Types> infer_reduction(const OpInfo& op, Operands operands, const Attrs& attrs);
Result<Types> infer_arg_reduction(const OpInfo& op, Operands operands, const Attrs& attrs);
Result<Types> infer_reduce(const OpInfo& op, Operands operands, const Attrs& attrs);
Result<Types> infer_scan(const OpInfo& op, Operands operands, const Attrs& attrs);
Result<Types> infer_sort(const OpInfo& op, Operands operands, const Attrs& attrs);
Result<Types> infer_top_k(const OpInfo& op, Operands operands, const Attrs& attrs);

// infer_contraction.cpp: dot, conv, windows
Result<Types> infer_dot(const OpInfo& op, Operands operands, const Attrs& attrs);
Result<Types> infer_conv(const OpInfo& op, Operands operands, const Attrs& attrs);
Result<Types> infer_reduce_window(const OpInfo& op, Operands operands, const Attrs& attrs);
Status complete_dot(Attrs& attrs, Operands operands);
Status complete_conv(Attrs& attrs, Operands operands);
Status complete_reduce_window(Attrs& attrs, Operands operands);

// infer_indexing.cpp
Result<Types> infer_take(const OpInfo& op, Operands operands, const Attrs& attrs);
Result<Types> infer_take_along(const OpInfo& op, Operands operands, const Attrs& attrs);
Result<Types> infer_gather(const OpInfo& op, Operands operands, const Attrs& attrs);
Result<Types> infer_scatter(const OpInfo& op, Operands operands, const Attrs& attrs);
Result<Types> infer_dynamic_slice(const OpInfo& op, Operands operands, const Attrs& attrs);
Result<Types> infer_dynamic_update_slice(const OpInfo& op, Operands operands, const Attrs& attrs);

// infer_source.cpp
Result<Types> infer_constant(const OpInfo& op, Operands operands, const Attrs& attrs);
Result<Types> infer_iota(const OpInfo& op, Operands operands, const Attrs& attrs);
Result<Types> infer_rng(const OpInfo& op, Operands operands, const Attrs& attrs);
Result<Types> infer_rng_bits(const OpInfo& op, Operands operands, const Attrs& attrs);

}  // namespace fusewright::ops
