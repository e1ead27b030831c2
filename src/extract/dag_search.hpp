#pragma once

#include "dag_net.hpp"

namespace fusewright::extract::dag {

/// For each class its cheapest node when shared classes are paid by every reader, and what that comes to.
struct Trees {
  Choice choice;             ///< acyclic; kNone where nothing makes the class
  std::vector<double> cost;  ///< kInfinite there
};

/// Bottom-up.
Trees tree_costs(const Net& net, std::span<const double> cost);
/// The same where a node costs its own cost and its dearest child only.
std::vector<double> chain_costs(const Net& net, std::span<const double> cost);
/// Greedy-DAG: each class remembers the set of classes below its choice, so that what they share is paid once.
Choice greedy_dag(const Net& net, std::span<const double> cost, const Limit& limit);
/// Replaces what single classes stand on by something cheaper until no such exchange is left.
Choice improve(const Net& net, Choice choice, std::span<const double> cost, const Limit& limit);

}  // namespace fusewright::extract::dag
