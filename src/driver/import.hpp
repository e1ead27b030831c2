#pragma once

#include "fusewright/driver/compile.hpp"

namespace fusewright::driver {

/// Reads a model with the frontend that its name or first bytes call for.
/// Errors: those of the frontend; a file that is neither; an HLO file of several modules.
Result<graph::Graph> import_model(const CompileOptions& options, std::shared_ptr<const ops::OpTable> table);

}  // namespace fusewright::driver
