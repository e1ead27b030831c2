#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "fusewright/egraph/egraph.hpp"

namespace fusewright::egraph {

/// The e-graph in Graphviz's language: a box for each class with its type, in it the operators of its live nodes, an
/// arrow from each node to the classes of its operands. Nodes that rules made have a broken line; results are drawn
/// with two. Classes come from the results down, breadth first, then those that no result needs. Of more than `most`
/// nodes the first are drawn, and the caption says how many nodes, classes and arrows are not.
std::string print_dot(const EGraph& egraph, std::span<const EClassId> results,
                      std::size_t most = static_cast<std::size_t>(-1));

}  // namespace fusewright::egraph
