#pragma once

#include <string_view>
#include <unordered_map>
#include <vector>

#include "fusewright/frontend/hlo/ast.hpp"
#include "fusewright/support/result.hpp"

namespace fusewright::frontend_hlo {

struct ResolvedComputation {
  std::vector<std::vector<std::uint32_t>> operands;  ///< of each instruction: positions of earlier instructions
  std::vector<std::uint32_t> parameters;             ///< position of each parameter, by number
  std::vector<bool> live;                            ///< whether the root needs the instruction
};

/// What the names of a module stand for.
struct Resolution {
  std::vector<ResolvedComputation> computations;
  std::unordered_map<std::string_view, std::uint32_t> by_name;
};

/// Looks up every name. Errors (up to twenty): names that are unknown, there twice or used before their definition,
/// unknown opcodes, parameter numbers that are missing or there twice, two roots.
Result<Resolution> resolve_names(const Module& module);

}  // namespace fusewright::frontend_hlo
