#pragma once

#include "fusewright/driver/compile.hpp"

namespace fusewright::driver {

/// What is left to do of reading a model once the operators are known. The options it was made with must outlive it.
using Import = std::function<Result<graph::Graph>(std::shared_ptr<const ops::OpTable>)>;

/// Reads a model file with the frontend that its name calls for, as far as that needs no operators.
/// Errors, also of what is left to do: those of the frontend; a file that is neither; an HLO file of several modules.
Result<Import> read_model(const CompileOptions& options);

}  // namespace fusewright::driver
