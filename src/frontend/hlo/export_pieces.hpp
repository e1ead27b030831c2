#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/frontend/hlo/exporter.hpp"

namespace fusewright::frontend_hlo {

// Pieces of instructions that several operators are printed from.

inline const Ints& ints(const Node& node, std::string_view name) { return node.attrs.get<Ints>(name); }
inline Ints dims_of(const Type& type) { return ops::static_dims(type.shape); }
inline Type as(const Type& type, DType dtype) { return Type::tensor(dtype, type.shape); }

/// dimensions={0,1}
std::string list_attribute(std::string_view name, const Ints& numbers);
/// slice={[0:2], [1:4:2]}
std::string slice_attribute(const Ints& starts, const Ints& limits, const Ints& strides);

/// One instruction with the node's operands and type.
Status print_plain(Exporter& e, Body& body, NodeId id, std::string_view opcode, const std::string& attributes = {});
/// @param type of what is compared. @returns the name of the pred tensor.
std::string compare(Exporter& e, Body& body, const Type& type, const std::string& a, const std::string& b,
                    const char* direction);

/// Name of the computation that combines two scalars; `kind` as in operator names: sum, prod, max, min, and, or.
std::string combiner(Exporter& e, std::string_view kind, DType dtype);

// Printers of operators, by source file.
Status print_simple_reduce(Exporter& e, Body& body, NodeId id);
Status print_arg_reduction(Exporter& e, Body& body, NodeId id);
Status print_reduce_window(Exporter& e, Body& body, NodeId id);
Status print_scan(Exporter& e, Body& body, NodeId id);
Status print_dot(Exporter& e, Body& body, NodeId id);
Status print_conv(Exporter& e, Body& body, NodeId id);
Status print_top_k(Exporter& e, Body& body, NodeId id);
Status print_gather(Exporter& e, Body& body, NodeId id);
Status print_take(Exporter& e, Body& body, NodeId id);
Status print_take_along(Exporter& e, Body& body, NodeId id);
Status print_dynamic_slice(Exporter& e, Body& body, NodeId id);
Status print_dynamic_update_slice(Exporter& e, Body& body, NodeId id);
Status print_scatter(Exporter& e, Body& body, NodeId id);

}  // namespace fusewright::frontend_hlo
