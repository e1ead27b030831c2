#pragma once

#include "dag_net.hpp"

namespace fusewright::extract::dag {

/// A set of classes, one of them the target, that cannot make each other alone: where the target is made, one of the
/// nodes is chosen that makes a class of the set from classes outside.
struct Cut {
  Id target = 0;
  std::vector<Id> nodes;  ///< ascending
};

/// Cuts that fractional values of the nodes violate, at most `most`.
std::vector<Cut> violated_cuts(const Net& net, std::span<const double> value, std::size_t most, const Limit& limit);

}  // namespace fusewright::extract::dag
