#include "src/frontend/hlo/handlers.hpp"

#include <algorithm>
#include <iterator>

namespace fusewright::frontend_hlo {

namespace {

struct Row {
  std::string_view opcode;
  Handler handler;
};

constexpr Row kRows[] = {
    {"select", import_select},
    {"clamp", import_clamp},
    {"compare", import_compare},
    {"convert", import_convert},
    {"bitcast-convert", import_bitcast_convert},
    {"reduce-precision", import_reduce_precision},
    {"batch-norm-inference", import_batch_norm_inference},
    {"rng", import_rng},
    {"rng-bit-generator", import_rng_bit_generator},

    {"parameter", import_parameter},
    {"constant", import_constant},
    {"iota", import_iota},
    {"tuple", import_tuple},
    {"get-tuple-element", import_get_tuple_element},
    {"copy", import_identity},
    {"opt-barrier", import_identity},
    {"optimization-barrier", import_identity},
    {"domain", import_identity},
    {"add-dependency", import_identity},
    {"copy-start", import_copy_start},
    {"copy-done", import_copy_done},
    {"after-all", import_token},
    {"get-dimension-size", import_dimension_size},

    {"broadcast", import_broadcast},
    {"reshape", import_reshape},
    {"bitcast", import_bitcast},
    {"transpose", import_transpose},
    {"reverse", import_reverse},
    {"slice", import_slice},
    {"pad", import_pad},
    {"concatenate", import_concatenate},
    {"dynamic-slice", import_dynamic_slice},
    {"dynamic-update-slice", import_dynamic_update_slice},
    {"gather", import_gather},
    {"scatter", import_scatter},

    {"reduce", import_reduce},
    {"reduce-window", import_reduce_window},
    {"select-and-scatter", import_select_and_scatter},
    {"dot", import_dot},
    {"convolution", import_convolution},
    {"sort", import_sort},
    {"topk", import_topk},

    {"call", import_call},
    {"fusion", import_fusion},
    {"map", import_map},
    {"while", import_while},
    {"conditional", import_conditional},
    {"custom-call", import_custom_call},
};

}  // namespace

Handler find_handler(std::string_view opcode) {
  const auto at =
      std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& row) { return row.opcode == opcode; });
  return at == std::end(kRows) ? nullptr : at->handler;
}

std::vector<std::string> handled_opcodes() {
  std::vector<std::string> names;
  for (const Row& row : kRows) names.emplace_back(row.opcode);
  return names;
}

}  // namespace fusewright::frontend_hlo
