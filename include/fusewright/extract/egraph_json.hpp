#pragma once

#include <string>
#include <vector>

#include "fusewright/extract/dag.hpp"

namespace fusewright::extract {

/// An extraction problem with the names it has in its file.
struct NamedProblem {
  DagProblem problem;
  std::vector<std::string> classes;             ///< the name of each class
  std::vector<std::vector<std::string>> nodes;  ///< the name of each node of each class
};

/// Reads an e-graph as JSON: `nodes`, an object of `{"op", "cost", "children": [nodes], "eclass"}` by name, where a
/// child stands for its class, and `root_eclasses`. Other members are left alone.
/// @param name  of the file, for messages.
/// Errors: no JSON, missing or mistyped members, unknown children and roots, costs that are negative or no number, no
/// root; each with its place.
Result<NamedProblem> read_egraph_json(const std::string& name, std::string text);

}  // namespace fusewright::extract
