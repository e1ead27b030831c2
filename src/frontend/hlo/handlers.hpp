#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/frontend/hlo/importer.hpp"

namespace fusewright::frontend_hlo {

/// The function that imports an opcode that is not simply elementwise, or null.
Handler find_handler(std::string_view opcode);
std::vector<std::string> handled_opcodes();

Result<Leaves> import_elementwise(Site& site);

// One group for each source file.
Result<Leaves> import_select(Site& site);
Result<Leaves> import_clamp(Site& site);
Result<Leaves> import_compare(Site& site);
Result<Leaves> import_convert(Site& site);
Result<Leaves> import_bitcast_convert(Site& site);
Result<Leaves> import_reduce_precision(Site& site);
Result<Leaves> import_batch_norm_inference(Site& site);
Result<Leaves> import_rng(Site& site);
Result<Leaves> import_rng_bit_generator(Site& site);

Result<Leaves> import_parameter(Site& site);
Result<Leaves> import_constant(Site& site);
Result<Leaves> import_iota(Site& site);
Result<Leaves> import_tuple(Site& site);
Result<Leaves> import_get_tuple_element(Site& site);
Result<Leaves> import_identity(Site& site);
Result<Leaves> import_copy_start(Site& site);
Result<Leaves> import_copy_done(Site& site);
Result<Leaves> import_token(Site& site);
Result<Leaves> import_dimension_size(Site& site);

Result<Leaves> import_broadcast(Site& site);
Result<Leaves> import_reshape(Site& site);
Result<Leaves> import_bitcast(Site& site);
Result<Leaves> import_transpose(Site& site);
Result<Leaves> import_reverse(Site& site);
Result<Leaves> import_slice(Site& site);
Result<Leaves> import_pad(Site& site);
Result<Leaves> import_concatenate(Site& site);
Result<Leaves> import_dynamic_slice(Site& site);
Result<Leaves> import_dynamic_update_slice(Site& site);
Result<Leaves> import_gather(Site& site);
Result<Leaves> import_scatter(Site& site);

Result<Leaves> import_reduce(Site& site);
Result<Leaves> import_reduce_window(Site& site);
Result<Leaves> import_dot(Site& site);
Result<Leaves> import_convolution(Site& site);
Result<Leaves> import_sort(Site& site);
Result<Leaves> import_topk(Site& site);

Result<Leaves> import_select_and_scatter(Site& site);

Result<Leaves> import_call(Site& site);
Result<Leaves> import_fusion(Site& site);
Result<Leaves> import_map(Site& site);
Result<Leaves> import_while(Site& site);
Result<Leaves> import_conditional(Site& site);
Result<Leaves> import_custom_call(Site& site);

}  // namespace fusewright::frontend_hlo
