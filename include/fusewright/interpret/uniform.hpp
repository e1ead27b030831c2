#pragma once

#include "fusewright/graph/graph.hpp"
#include "fusewright/support/result.hpp"

namespace fusewright::interpret {

/// Constants of the entry computation whose elements are all equal become one number, repeated, and so does what is
/// computed from such constants alone, element by element. Kernels then hold the number itself instead of reading it
/// from memory. Results of the entry stay as they are; weights (constants over 4 KiB) are not looked into.
Result<graph::Graph> fold_uniform(graph::Graph graph);

}  // namespace fusewright::interpret
