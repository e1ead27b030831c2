#pragma once

#include "dag_net.hpp"

namespace fusewright::extract::dag {

/// What linear programming says of a net.
struct Relaxation {
  double bound = 0;
  std::vector<double> value;    ///< of each node, 0..1; empty where the program was not solved
  std::vector<double> reduced;  ///< what choosing the node adds to the bound at least
};

/// Bound by linear programming with violated cuts added until none is found or `below` is reached. Nothing without Clp.
Relaxation relax(const Net& net, double below, const Limit& limit);

}  // namespace fusewright::extract::dag
