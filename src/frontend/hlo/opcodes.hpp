#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fusewright::frontend_hlo {

/// An elementwise opcode and the operator of the table that means the same on operands of one shape.
struct ElementwiseOpcode {
  std::string_view opcode;
  std::string_view op;
  int operands;
};
const std::vector<ElementwiseOpcode>& elementwise_opcodes();
const ElementwiseOpcode* find_elementwise(std::string_view opcode);
/// The opcode of an elementwise operator, or null where HLO has none.
const ElementwiseOpcode* find_elementwise_op(std::string_view op);

/// Opcodes that HLO has and we do not import, with what to say about them ("a collective").
std::string_view unsupported_opcode(std::string_view opcode);

/// On pred, HLO's arithmetic is logic: `add` is or, `multiply` is and.
std::string_view logical_opcode(std::string_view opcode);

/// What a reduction by one elementwise opcode is called in the table ("add": sum), or empty.
std::string_view reduction_suffix(std::string_view opcode);

/// All opcodes that are known, supported or not, for suggestions.
std::vector<std::string> known_opcodes();

}  // namespace fusewright::frontend_hlo
