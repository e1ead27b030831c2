#include <algorithm>

#include "src/frontend/onnx/call.hpp"

namespace fusewright::frontend_onnx {

namespace {

using Values = std::vector<Value>;

// The axes were an attribute until 13 (ReduceSum) or 18 (all others).
struct ReducedAxes {
  Ints axes;
  bool keep;
};
ReducedAxes reduced_axes(Call& c, std::int64_t since) {
  const std::int64_t rank = c.e.rank(c.in(0));
  auto given = c.axes_attr_or_input(1, since);
  const bool noop = c.int_attr("noop_with_empty_axes", 0) != 0;
  if (!given || (given->empty() && !noop)) given = noop && !given ? Ints{} : count_up(rank);
  return {c.axes(*given, rank), c.int_attr("keepdims", 1) != 0};
}

Values reduce(Call& c, std::int64_t since) {
  const auto [axes, keep] = reduced_axes(c, since);
  std::string_view target = c.target;
  if (c.e.dtype(c.in(0)) == DType::kPred) {
    if (target == "reduce_max") target = "reduce_or";
    if (target == "reduce_min") target = "reduce_and";
  }
  const DType dtype = c.e.dtype(c.in(0));
  const bool real = target == "reduce_l2" || target == "reduce_log_sum" || target == "reduce_log_sum_exp";
  if (real && !ops::is_float(dtype))  // of integers, without what stands behind the point
    return {c.e.convert(c.e.reduce(target, c.e.convert(c.in(0), DType::kF64), axes, keep), dtype)};
  return {c.e.reduce(target, c.in(0), axes, keep)};
}
Values reduce_sum(Call& c) { return reduce(c, 13); }
Values reduce_other(Call& c) { return reduce(c, 18); }

Values arg_reduction(Call& c) {
  const Value x = c.in(0);
  const std::int64_t axis = c.axis(c.int_attr("axis", 0), c.e.rank(x));
  const Value out = c.e.op(c.target, {x},
                           {{"axis", axis}, {"last", c.int_attr("select_last_index", 0) != 0}, {"dtype", DType::kS64}});
  return {c.int_attr("keepdims", 1) != 0 ? c.e.keep_axes(out, c.e.dims(x), {axis}) : out};
}

Values cumulative(Call& c) {
  const std::int64_t axis = c.axis(c.known_int(1, "axis"), c.e.rank(c.in(0)));
  return {c.e.op(
      c.target, {c.in(0)},
      {{"axis", axis}, {"exclusive", c.int_attr("exclusive", 0) != 0}, {"reverse", c.int_attr("reverse", 0) != 0}})};
}

// Before opset 13 the axes from `axis` on are one.
Values along_axis(Call& c) {
  const Value x = c.in(0);
  const Ints dims = c.e.dims(x);
  const auto rank = static_cast<std::int64_t>(dims.size());
  if (c.opset >= 13) {
    return {c.e.op(c.target, {x}, {{"axis", c.axis(c.int_attr("axis", -1), rank)}})};
  }
  std::int64_t axis = c.int_attr("axis", 1);
  if (axis < -rank || axis > rank) refuse("axis " + std::to_string(axis) + " is out of range");
  if (axis < 0) axis += rank;
  const Ints tail(dims.begin() + axis, dims.end());
  // Where all but one of the flattened axes are units there is nothing to flatten.
  for (std::int64_t i = axis; i < rank; ++i) {
    if (dims[i] == product(tail)) return {c.e.op(c.target, {x}, {{"axis", i}})};
  }
  const Value flat = c.e.reshape(x, {product({dims.begin(), dims.begin() + axis}), product(tail)});
  return {c.e.reshape(c.e.op(c.target, {flat}, {{"axis", std::int64_t{1}}}), dims)};
}

Values top_k(Call& c) {
  const Value x = c.in(0);
  const std::int64_t k = c.opset < 10 ? c.int_attr("k") : c.known_int(1, "k");
  const std::int64_t axis = c.axis(c.int_attr("axis", -1), c.e.rank(x));
  return c.e.op_results("top_k", {x},
                        {{"k", k}, {"axis", axis}, {"largest", c.int_attr("largest", 1) != 0}, {"dtype", DType::kS64}});
}

}  // namespace

std::vector<OperatorRow> reduction_operators() {
  return {
      {"ReduceSum", reduce_sum, "reduce_sum"},
      {"ReduceProd", reduce_other, "reduce_prod"},
      {"ReduceMax", reduce_other, "reduce_max"},
      {"ReduceMin", reduce_other, "reduce_min"},
      {"ReduceMean", reduce_other, "reduce_mean"},
      {"ReduceL1", reduce_other, "reduce_l1"},
      {"ReduceL2", reduce_other, "reduce_l2"},
      {"ReduceLogSum", reduce_other, "reduce_log_sum"},
      {"ReduceLogSumExp", reduce_other, "reduce_log_sum_exp"},
      {"ReduceSumSquare", reduce_other, "reduce_sum_square"},
      {"ArgMax", arg_reduction, "arg_max"},
      {"ArgMin", arg_reduction, "arg_min"},
      {"CumSum", cumulative, "cum_sum"},
      {"CumProd", cumulative, "cum_prod"},
      {"Softmax", along_axis, "softmax"},
      {"LogSoftmax", along_axis, "log_softmax"},
      {"Hardmax", along_axis, "hardmax"},
      {"TopK", top_k},
  };
}

}  // namespace fusewright::frontend_onnx
