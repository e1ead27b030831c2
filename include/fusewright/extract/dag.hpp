#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "fusewright/support/result.hpp"

namespace fusewright::extract {

/// One way to make a class: what it costs by itself, and the classes it reads.
struct DagNode {
  double cost = 0;
  std::vector<std::uint32_t> children;
  auto operator<=>(const DagNode&) const = default;
};

/// Classes with their nodes; every root must be made.
struct DagProblem {
  std::vector<std::vector<DagNode>> classes;
  std::vector<std::uint32_t> roots;
  auto operator<=>(const DagProblem&) const = default;
};

struct DagOptions {
  double seconds = 10;  ///< of wall time; the best found so far is the answer
  /// Where not 0, the limit in place of seconds: nodes that are looked at in each part that is searched. The answer is
  /// then the same on any machine. Linear programs are left out, for their steps cannot be counted.
  std::uint64_t work = 0;
  std::function<bool()> cancelled = {};  ///< asked often; true ends the search like the end of time
};

enum class DagStop {
  kProved,     ///< nothing is cheaper, by more than 1e-10 of the cost: sums in other orders differ by less
  kTime,       ///< the seconds were over
  kCancelled,  ///< the caller said so
};

struct DagSolution {
  std::vector<std::int32_t> choice;  ///< of each class: the number of its node, -1 where no root needs it
  double cost = 0;                   ///< sum over the chosen nodes, each paid once
  double bound = 0;                  ///< no acyclic choice costs less; the cost itself where that is proved
  DagStop stop = DagStop::kTime;
  double seconds = 0;
};

/// The first root that no choice without a cycle makes; children and roots are classes of the problem.
std::optional<std::uint32_t> underivable_root(const DagProblem& problem);

/// Least-cost choice of one node for every class that the roots need, without a cycle. What every choice makes divides
/// the problem into parts that have nothing to do with each other; parts that are alike are solved once.
/// @param problem  costs are finite and not negative; classes are named by their index.
/// @returns the best choice found in time, and a bound that holds in any case. Without a limit that is reached the same
///          problem gives the same answer.
/// Errors: a child or root that is no class, a cost that is negative or no number, costs that add up to more than a
/// double holds, no root, a root that has no acyclic derivation.
/// Source: dual ascent after Wong 1984, and cuts after Koch and Martin 1998, both for Steiner arborescences, with the
/// loop formulas of Lin and Zhao 2004 as cuts.
Result<DagSolution> solve_dag(const DagProblem& problem, const DagOptions& options = {});

}  // namespace fusewright::extract
