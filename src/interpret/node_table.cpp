#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "src/interpret/node.hpp"

namespace fusewright::interpret {
namespace {

struct Row {
  std::string_view op;
  NodeFn function;
};

constexpr Row kRows[] = {
    {"reduce_precision", eval_reduce_precision},
    {"broadcast", eval_broadcast},
    {"reshape", eval_reshape},
    {"transpose", eval_transpose},
    {"reverse", eval_reverse},
    {"slice", eval_slice},
    {"pad", eval_pad},
    {"concat", eval_concat},
    {"reduce_sum", eval_reduction},
    {"reduce_prod", eval_reduction},
    {"reduce_max", eval_reduction},
    {"reduce_min", eval_reduction},
    {"reduce_and", eval_reduction},
    {"reduce_or", eval_reduction},
    {"arg_max", eval_arg_reduction},
    {"arg_min", eval_arg_reduction},
    {"reduce", eval_reduce},
    {"dot", eval_dot},
    {"conv", eval_conv},
    {"reduce_window_sum", eval_reduce_window},
    {"reduce_window_prod", eval_reduce_window},
    {"reduce_window_max", eval_reduce_window},
    {"reduce_window_min", eval_reduce_window},
    {"sort", eval_sort},
    {"top_k", eval_top_k},
    {"cum_sum", eval_cumulative},
    {"cum_prod", eval_cumulative},
    {"cum_max", eval_cumulative},
    {"cum_min", eval_cumulative},
    {"take", eval_take},
    {"take_along", eval_take_along},
    {"gather", eval_gather},
    {"dynamic_slice", eval_dynamic_slice},
    {"dynamic_update_slice", eval_dynamic_update_slice},
    {"scatter", eval_scatter},
    {"constant", eval_constant},
    {"iota", eval_iota},
    {"rng_uniform", eval_rng_uniform},
    {"rng_normal", eval_rng_normal},
    {"rng_bit_generator", eval_rng_bit_generator},
};

}  // namespace

NodeFn find_node_fn(const ops::OpInfo& info) {
  if (info.scalar) return eval_elementwise;
  const auto* row = std::ranges::find(kRows, std::string_view(info.name), &Row::op);
  return row == std::end(kRows) ? nullptr : row->function;
}

}  // namespace fusewright::interpret
