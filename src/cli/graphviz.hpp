#pragma once

#include <optional>
#include <string>

#include "fusewright/support/result.hpp"

namespace fusewright::cli {

/// What Graphviz's program `dot` makes of a drawing in its language: SVG. Nothing where it takes more than so many
/// seconds; it is ended then, and also when this program ends.
/// Errors: `dot` is not in PATH, or refuses (kInput); no room for it, or for what it reads and writes (kResource).
Result<std::optional<std::string>> draw_svg(const std::string& dot, double seconds);

}  // namespace fusewright::cli
