#include "dag_branch.hpp"

#include <algorithm>
#include <queue>

#include "dag_ascent.hpp"
#include "dag_search.hpp"

namespace fusewright::extract::dag {

namespace {

/// A part of the space of choices, with the bound of what it came from.
struct Part {
  double bound = 0;
  std::uint64_t number = 0;  // the older one first, between equals
  Reduced reduced;
};
struct Later {
  bool operator()(const Part& a, const Part& b) const {
    return std::pair(a.bound, a.number) > std::pair(b.bound, b.number);
  }
};

class Brancher {
 public:
  Brancher(double below, const Limit& limit, const std::function<double(const Reduced&, const Choice&)>& found)
      : below_(below), limit_(limit), found_(found) {}

  Searched run(const Reduced& reduced, double bound) {
    open({bound, 0, reduced});
    while (!parts_.empty() && !limit_.reached()) {
      std::pop_heap(parts_.begin(), parts_.end(), Later());
      Part part = std::move(parts_.back());
      parts_.pop_back();
      if (part.bound >= below_) return {below_, true};  // and all others with it
      least_ = part.bound;
      if (bounded(part)) split(std::move(part));
    }
    return {parts_.empty() && !limit_.reached() ? below_ : least_, parts_.empty() && !limit_.reached()};
  }

 private:
  void open(Part part) {
    if (part.bound >= below_) return;
    part.number = ++count_;
    parts_.push_back(std::move(part));
    std::push_heap(parts_.begin(), parts_.end(), Later());
  }

  /// Bounds and shrinks the part until that stops; false where nothing of it is left.
  bool bounded(Part& part) {
    Net& net = part.reduced.net;
    constexpr std::uint64_t kRounds = 4;
    for (std::uint64_t round = 0; round < kRounds; ++round) {
      if (net.children(0).empty()) {
        below_ = found_(part.reduced, {0});
        return false;
      }
      const Ascent ascent = dual_ascent(net, 2 + round * 3, limit_);
      part.bound = std::max(part.bound, ascent.bound);
      if (part.bound >= below_) return false;
      if (round == 0) {
        primal_ = tree_costs(net, ascent.reduced).choice;
        below_ = found_(part.reduced, primal_);
      }
      const std::vector<bool> keep = promising(net, ascent, below_);
      if (!derivable(net, keep)[0]) return false;
      const Id before = net.nodes();
      if (std::ranges::count(keep, false) > 0) simplify(part.reduced, keep);
      if (net.nodes() > before * 9 / 10 && round > 0) break;
    }
    if (!net.children(0).empty()) return true;
    below_ = found_(part.reduced, {0});
    return false;
  }

  /// The class whose two sides both raise the bound the most, among those that a good choice makes.
  void split(Part part) {
    const Net& net = part.reduced.net;
    std::vector<bool> needed(net.classes(), false);
    needed[0] = true;
    for (const Id c : net.children(0)) needed[c] = true;
    std::vector<Id> candidates;
    for (const Id c : order_of(net, tree_costs(net, net.cost).choice))
      if (!needed[c]) candidates.push_back(c);
    if (candidates.empty())
      for (Id c = 1; c < net.classes(); ++c)
        if (!needed[c]) candidates.push_back(c);
    if (candidates.empty()) return split_nodes(std::move(part));
    sort_by(candidates, [&](Id c) { return -static_cast<double>(net.users(c).size() + net.nodes_of(c).size()); });
    constexpr std::size_t kMost = 10;
    candidates.resize(std::min(kMost, candidates.size()));
    Id best = candidates[0];
    double best_score = -1, best_without = part.bound, best_with = part.bound;
    for (const Id c : candidates) {
      const double without = std::max(part.bound, probe(net, c, false, below_, limit_));
      const double with = std::max(part.bound, probe(net, c, true, below_, limit_));
      const double tiny = 1e-6 * below_;
      const double score =
          (std::min(without, below_) - part.bound + tiny) * (std::min(with, below_) - part.bound + tiny);
      if (score <= best_score) continue;
      best = c, best_score = score, best_without = without, best_with = with;
    }
    std::vector<bool> keep(net.nodes(), true);
    if (best_with < below_) {
      Part with{best_with, 0, part.reduced};
      simplify(with.reduced, keep, best);
      open(std::move(with));
    }
    if (best_without < below_) {
      for (Id n = net.node_begin[best]; n < net.node_begin[best + 1]; ++n) keep[n] = false;
      open_kept(std::move(part), best_without, keep);
    }
  }

  /// Every class is made: one with several nodes has its first node or one of the others.
  void split_nodes(Part part) {
    const Net& net = part.reduced.net;
    Id most = 0;
    for (Id c = 1; c < net.classes(); ++c)
      if (net.nodes_of(c).size() > net.nodes_of(most).size()) most = c;
    std::vector<bool> first(net.nodes(), true), others(net.nodes(), true);
    for (Id n = net.node_begin[most]; n < net.node_begin[most + 1]; ++n)
      (n == net.node_begin[most] ? others : first)[n] = false;
    if (net.nodes_of(most).size() < 2) {
      below_ = found_(part.reduced, tree_costs(net, net.cost).choice);
      return;
    }
    open_kept(part, part.bound, first);
    open_kept(std::move(part), part.bound, others);
  }
  void open_kept(Part part, double bound, const std::vector<bool>& keep) {
    if (!derivable(part.reduced.net, keep)[0]) return;
    simplify(part.reduced, keep);
    part.bound = bound;
    open(std::move(part));
  }

  double below_;
  const Limit& limit_;
  const std::function<double(const Reduced&, const Choice&)>& found_;
  std::vector<Part> parts_;
  std::uint64_t count_ = 0;
  double least_ = 0;
  Choice primal_;
};

}  // namespace

Searched branch_by_ascent(const Reduced& reduced, double bound, double below, const Limit& limit,
                          const std::function<double(const Reduced&, const Choice&)>& found) {
  return Brancher(below, limit, found).run(reduced, bound);
}

}  // namespace fusewright::extract::dag
