#pragma once

#include "dag_net.hpp"

namespace fusewright::extract::dag {

struct Ascent {
  double bound = 0;
  std::vector<double> reduced;  ///< of each node: what choosing it adds to the bound at least
};

/// A lower bound by raising the prices of cuts until the root can be made from nodes whose cost is used up.
/// @param seed  of the order in which cuts are taken; 0 takes the classes dear to make first.
Ascent dual_ascent(const Net& net, std::uint64_t seed, const Limit& limit);

/// The best of many ascents, each in an order a little changed from that of the best before it, until none has been
/// better for long or the bound is `enough`.
Ascent search_ascent(const Net& net, double enough, const Limit& limit);

/// The same bound where one class must be made (`made`), or must not be. It ends where it reaches `below`.
double probe(const Net& net, Id c, bool made, double below, const Limit& limit);

/// Nodes that may belong to a choice cheaper than `below`.
std::vector<bool> promising(const Net& net, const Ascent& ascent, double below);

}  // namespace fusewright::extract::dag
