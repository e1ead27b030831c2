#pragma once

#include <string>

#include "fusewright/support/result.hpp"

namespace fusewright::cli {

/// What Graphviz's program `dot` makes of a drawing in its language: SVG.
/// Errors: `dot` is not in PATH, or refuses (kInput); no room for what it reads and writes (kResource).
Result<std::string> draw_svg(const std::string& dot);

}  // namespace fusewright::cli
