#pragma once

#include <vector>

#include "fusewright/frontend/hlo/ast.hpp"
#include "fusewright/support/result.hpp"

namespace fusewright::frontend_hlo {

/// Reads HLO text: one module, or several separated by lines `// -----`. Syntax only: names are not looked up.
/// Every module has a computation and every computation an instruction.
/// Errors: the first thing that does not fit, with its place; a protobuf dump and an empty file are named as such.
Result<std::vector<Module>> parse_hlo(const SourcePtr& source);

}  // namespace fusewright::frontend_hlo
