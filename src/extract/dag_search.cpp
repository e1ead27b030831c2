#include "dag_search.hpp"

#include <algorithm>
#include <deque>
#include <queue>

namespace fusewright::extract::dag {

namespace {

using Entry = std::pair<double, Id>;
using Queue = std::priority_queue<Entry, std::vector<Entry>, std::greater<>>;

/// Knuth's generalisation of Dijkstra's algorithm: nodes are settled by rising cost, so that choices form no cycle.
/// `join` is what a node costs by its own and one more child's cost.
template <class Join>
Trees settle(const Net& net, std::span<const double> cost, Join join) {
  Trees trees{Choice(net.classes(), kNone), std::vector<double>(net.classes(), kInfinite)};
  std::vector<double> sum(cost.begin(), cost.end());
  std::vector<Id> missing(net.nodes());
  Queue queue;
  for (Id n = 0; n < net.nodes(); ++n)
    if ((missing[n] = static_cast<Id>(net.children(n).size())) == 0) queue.emplace(sum[n], n);
  while (!queue.empty()) {
    const auto [at, n] = queue.top();
    queue.pop();
    const Id c = net.node_class[n];
    if (trees.choice[c] != kNone) continue;
    trees.choice[c] = n;
    trees.cost[c] = at;
    for (const Id m : net.users(c)) {
      sum[m] = join(m, sum[m], at);
      if (--missing[m] == 0) queue.emplace(sum[m], m);
    }
  }
  return trees;
}

}  // namespace

Trees tree_costs(const Net& net, std::span<const double> cost) {
  return settle(net, cost, [](Id, double sum, double child) { return sum + child; });
}

std::vector<double> chain_costs(const Net& net, std::span<const double> cost) {
  return settle(net, cost, [&](Id n, double sum, double child) { return std::max(sum, cost[n] + child); }).cost;
}

Choice greedy_dag(const Net& net, std::span<const double> cost, const Limit& limit) {
  // The set below a class holds the choices it was priced with: those stay a consistent choice of their own.
  struct Below {
    double cost = kInfinite;
    Id node = kNone;
    std::vector<Id> classes;
  };
  std::vector<Below> best(net.classes());
  std::vector<Id> missing(net.nodes());
  std::vector<bool> waits(net.classes(), false);
  std::deque<Id> queue;
  const auto push = [&](Id c) {
    if (!waits[c]) waits[c] = true, queue.push_back(c);
  };
  for (Id n = 0; n < net.nodes(); ++n)
    if ((missing[n] = static_cast<Id>(net.children(n).size())) == 0) push(net.node_class[n]);
  std::vector<Id> stamp(net.classes(), 0), set;
  Id round = 0, steps = 0;
  constexpr std::size_t kMost = std::size_t{1} << 27;  // numbers in all sets: half a GiB
  std::size_t held = 0;
  while (!queue.empty() && held < kMost && !(++steps % 64 == 0 && limit.reached())) {
    const Id c = queue.front();
    queue.pop_front();
    waits[c] = false;
    bool changed = false;
    for (Id n = net.node_begin[c]; n < net.node_begin[c + 1]; ++n) {
      const auto children = net.children(n);
      if (std::ranges::any_of(children, [&](Id d) { return best[d].node == kNone; })) continue;
      ++round;
      set.assign(1, c);
      stamp[c] = round;
      double sum = cost[n];
      bool usable = true;
      for (const Id d : children) {
        for (const Id e : best[d].classes) {
          if (e == c) usable = false;
          if (stamp[e] == round) continue;
          stamp[e] = round;
          set.push_back(e);
          sum += cost[best[e].node];
        }
        if (!usable || sum >= best[c].cost) break;
      }
      if (!usable || sum >= best[c].cost * (1 - 1e-12)) continue;
      held += set.size() - best[c].classes.size();
      best[c] = {sum, n, set};
      changed = true;
    }
    if (changed)
      for (const Id n : net.users(c)) push(net.node_class[n]);
  }
  Choice choice(net.classes(), kNone);
  for (Id c = 0; c < net.classes(); ++c) choice[c] = best[c].node;
  return choice;
}

namespace {

/// One choice and what it makes, with exchanges of what one class stands on.
class Improver {
 public:
  Improver(const Net& net, Choice choice, std::span<const double> cost)
      : net_(net),
        cost_(cost),
        choice_(std::move(choice)),
        readers_(net.classes(), 0),
        sum_(net.nodes()),
        missing_(net.nodes()),
        found_(net.classes(), kNone),
        free_(net.classes(), false) {
    take();
  }

  Choice run(const Limit& limit) {
    bool changed = true;
    while (changed && !limit.reached()) {
      changed = false;
      for (const Id c : std::vector<Id>(order_.rbegin(), order_.rend())) {
        if (c == 0 || choice_[c] == kNone || readers_[c] == 0) continue;
        if (limit.reached()) break;
        changed |= exchange(c);
      }
    }
    return choice_;
  }

 private:
  void take() {
    order_ = order_of(net_, choice_);
    std::fill(readers_.begin(), readers_.end(), 0);
    readers_[0] = 1;
    total_ = 0;
    for (const Id c : order_) {
      total_ += cost_[choice_[c]];
      for (const Id d : net_.children(choice_[c])) ++readers_[d];
    }
  }

  // What only `c` needs, itself included.
  std::vector<Id> lost(Id c, double& saved) {
    std::vector<Id> list{c};
    for (std::size_t i = 0; i < list.size(); ++i) {
      saved += cost_[choice_[list[i]]];
      for (const Id d : net_.children(choice_[list[i]]))
        if (--readers_[d] == 0) list.push_back(d);
    }
    for (const Id at : list)
      for (const Id d : net_.children(choice_[at])) ++readers_[d];
    return list;
  }

  bool exchange(Id c) {
    double saved = 0;
    const std::vector<Id> list = lost(c, saved);
    if (saved <= 0) return false;
    for (const Id d : order_) free_[d] = true;
    for (const Id d : list) free_[d] = false;
    // Classes above `c` cannot feed it.
    std::vector<bool> above(net_.classes(), false);
    above[c] = true;
    for (const Id d : order_)
      if (!above[d] && std::ranges::any_of(net_.children(choice_[d]), [&](Id e) { return above[e]; })) above[d] = true;
    for (const Id d : order_)
      if (above[d]) free_[d] = false;

    const bool better = derive(c, saved);
    for (const Id d : order_) free_[d] = false;
    if (!better) return false;
    Choice trial = choice_;
    std::vector<Id> stack{c};
    while (!stack.empty()) {
      const Id d = stack.back();
      stack.pop_back();
      if (found_[d] == kNone) continue;
      trial[d] = found_[d];
      found_[d] = kNone;
      for (const Id e : net_.children(trial[d])) stack.push_back(e);
    }
    std::swap(trial, choice_);
    const double before = total_;
    take();
    if (!order_.empty() && total_ < before * (1 - 1e-12)) return true;
    std::swap(trial, choice_);
    take();
    return false;
  }

  // The cheapest tree for `c` on top of the free classes, if it costs less than `below`; its nodes are in `found_`.
  bool derive(Id c, double below) {
    std::fill(found_.begin(), found_.end(), kNone);
    Queue queue;
    for (Id n = 0; n < net_.nodes(); ++n) {
      missing_[n] = 0;
      for (const Id d : net_.children(n)) missing_[n] += !free_[d];
      sum_[n] = cost_[n];
      if (missing_[n] == 0 && !free_[net_.node_class[n]] && sum_[n] < below) queue.emplace(sum_[n], n);
    }
    while (!queue.empty()) {
      const auto [at, n] = queue.top();
      queue.pop();
      const Id d = net_.node_class[n];
      if (found_[d] != kNone) continue;
      found_[d] = n;
      if (d == c) return true;
      for (const Id m : net_.users(d)) {
        sum_[m] += at;
        if (--missing_[m] == 0 && !free_[net_.node_class[m]] && sum_[m] < below) queue.emplace(sum_[m], m);
      }
    }
    return false;
  }

  const Net& net_;
  std::span<const double> cost_;
  Choice choice_;
  std::vector<Id> order_, readers_;
  double total_ = 0;
  std::vector<double> sum_;
  std::vector<Id> missing_, found_;
  std::vector<bool> free_;
};

}  // namespace

Choice improve(const Net& net, Choice choice, std::span<const double> cost, const Limit& limit) {
  if (order_of(net, choice).empty()) return choice;
  return Improver(net, std::move(choice), cost).run(limit);
}

}  // namespace fusewright::extract::dag
