#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "fusewright/extract/dag.hpp"

namespace fusewright::extract::dag {

using Id = std::uint32_t;
constexpr Id kNone = std::numeric_limits<Id>::max();
constexpr double kInfinite = std::numeric_limits<double>::infinity();

/// A problem as flat lists, with one root: class 0, whose only node reads the roots.
struct Net {
  struct Range {
    Id first = 0, last = 0;
    Id size() const { return last - first; }
  };
  std::vector<Id> node_begin{0};   ///< of each class, and the end
  std::vector<Id> child_begin{0};  ///< of each node, and the end
  std::vector<Id> child;           ///< classes, ascending, none twice
  std::vector<Id> node_class;
  std::vector<double> cost;
  std::vector<Id> origin_class, origin_node;  ///< in the problem; kNone of the root
  std::vector<Id> user_begin, user;           ///< of each class: the nodes that read it

  Id classes() const { return static_cast<Id>(node_begin.size() - 1); }
  Id nodes() const { return static_cast<Id>(cost.size()); }
  Range nodes_of(Id c) const { return {node_begin[c], node_begin[c + 1]}; }
  std::span<const Id> children(Id n) const {
    return {child.data() + child_begin[n], child.data() + child_begin[n + 1]};
  }
  std::span<const Id> users(Id c) const { return {user.data() + user_begin[c], user.data() + user_begin[c + 1]}; }
};

/// A node for each class, kNone where the root does not need it.
using Choice = std::vector<Id>;

/// What is left to choose, and what is chosen already.
struct Reduced {
  Net net;
  std::vector<std::int32_t> fixed;  ///< of each class of the problem; -1 where `net` decides
};

/// Sorts by rising key; equal ones stay in the order of their numbers.
template <class Key>
void sort_by(std::vector<Id>& ids, Key key) {
  std::sort(ids.begin(), ids.end(), [&](Id a, Id b) { return std::pair(key(a), a) < std::pair(key(b), b); });
}

/// Time, or work, and cancellation as one question.
class Limit {
 public:
  /// @param nodes  of the net: what is looked at between two questions, about.
  explicit Limit(const DagOptions& options, Id nodes = 1);
  bool reached() const {
    if (work_) *work_ += nodes_;
    return cancelled() || elapsed() >= end_;
  }
  bool cancelled() const { return options_->cancelled && options_->cancelled(); }
  bool counts_work() const { return work_ != nullptr; }
  double elapsed() const;  ///< seconds, or nodes
  double left() const { return end_ - elapsed(); }
  /// The same, with only this part of what is left.
  Limit part(double share) const {
    Limit out = *this;
    out.end_ = elapsed() + share * std::max(0.0, left());
    return out;
  }

 private:
  const DagOptions* options_;
  Id nodes_;
  std::shared_ptr<std::uint64_t> work_;  // of all parts of the limit together; null where time is what counts
  double end_;
  std::chrono::steady_clock::time_point start_;
};

Reduced make_net(const DagProblem& problem);
/// Classes that some of the kept nodes make without a cycle.
std::vector<bool> derivable(const Net& net, const std::vector<bool>& keep);
/// Drops nodes that are not kept, that no derivation uses or that another one replaces, and classes made for nothing.
/// At least one cheapest choice among the kept ones stays.
/// @param needed  a class that the root reads from now on.
void simplify(Reduced& reduced, std::vector<bool> keep, Id needed = 0);
/// Strongly connected components of the classes: a number for each class, children before their readers.
std::vector<Id> components(const Net& net);

/// Classes the root needs, each after those it reads; empty where the choice has a cycle or a gap.
std::vector<Id> order_of(const Net& net, const Choice& choice);
double cost_of(const Net& net, const Choice& choice);
/// A part of a net that shares no class with the rest but the root.
struct Piece {
  DagProblem problem;       ///< its nodes stand in the order of the net
  std::vector<Id> classes;  ///< of the net, by class of the problem
};
/// In the order of their first classes.
std::vector<Piece> pieces_of(const Net& net);
/// The choice as one of the problem.
std::vector<std::int32_t> to_problem(const Reduced& reduced, const Choice& choice);
/// The other way round, in the net that was made of the problem.
Choice of_problem(const Net& net, const std::vector<std::int32_t>& nodes);

}  // namespace fusewright::extract::dag
