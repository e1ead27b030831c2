#pragma once

#include <functional>

#include "dag_net.hpp"

namespace fusewright::extract::dag {

struct Searched {
  double bound = 0;       ///< of choices cheaper than `below`
  bool finished = false;  ///< there is none cheaper than the last one found
};

/// Branch and bound by dual ascent: a class is made or not, and what is left shrinks by its bound.
/// @param found  takes each acyclic choice of a net; gives what the next one must cost less than.
Searched branch_by_ascent(const Reduced& reduced, double bound, double below, const Limit& limit,
                          const std::function<double(const Reduced&, const Choice&)>& found);

}  // namespace fusewright::extract::dag
