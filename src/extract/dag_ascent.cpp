#include "dag_ascent.hpp"

#include <algorithm>
#include <array>
#include <queue>
#include <random>

#include "dag_search.hpp"

namespace fusewright::extract::dag {

namespace {

/// Classes that can be made from used-up nodes, and sets of classes around a target that cannot.
class Growth {
 public:
  Growth(const Net& net, std::span<const double> left, std::vector<double> priority)
      : net_(net),
        left_(left.begin(), left.end()),
        priority_(std::move(priority)),
        made_(net.classes(), false),
        missing_(net.nodes()),
        pick_(net.nodes(), kNone),
        stamp_(net.classes(), 0) {
    for (Id n = 0; n < net.nodes(); ++n) missing_[n] = static_cast<Id>(net.children(n).size());
    for (Id n = 0; n < net.nodes(); ++n) use_up(n);
  }

  bool made(Id c) const { return made_[c]; }
  const std::vector<double>& left() const { return left_; }

  /// The nodes of a cut around the target, which is not made.
  const std::vector<Id>& cut(Id target) {
    ++round_;
    outside_.clear();
    stack_.assign(1, target);
    stamp_[target] = round_;
    while (!stack_.empty()) {
      const Id c = stack_.back();
      stack_.pop_back();
      const auto [first, last] = net_.nodes_of(c);
      for (Id n = first; n < last; ++n) {
        if (missing_[n] == 0) {
          outside_.push_back(n);
          continue;
        }
        const Id d = child_inside(n);
        if (stamp_[d] == round_) continue;
        stamp_[d] = round_;
        stack_.push_back(d);
      }
    }
    return outside_;
  }

  /// Raises the price of the last cut; returns by how much.
  double raise() {
    double least = kInfinite;
    for (const Id n : outside_) least = std::min(least, left_[n]);
    for (const Id n : outside_) {
      left_[n] -= least;
      use_up(n);
    }
    return least;
  }

 private:
  // One child that is not made keeps the node inside the set; one that is inside anyway keeps the set small.
  Id child_inside(Id n) {
    for (const Id d : net_.children(n))
      if (stamp_[d] == round_) return d;
    Id& pick = pick_[n];
    if (pick != kNone && !made_[pick]) return pick;
    pick = kNone;
    for (const Id d : net_.children(n))
      if (!made_[d] && (pick == kNone || priority_[d] > priority_[pick])) pick = d;
    return pick;
  }

  void use_up(Id n) {
    if (missing_[n] > 0 || left_[n] > 0 || made_[net_.node_class[n]]) return;
    std::vector<Id> ready{net_.node_class[n]};
    made_[net_.node_class[n]] = true;
    while (!ready.empty()) {
      const Id c = ready.back();
      ready.pop_back();
      for (const Id m : net_.users(c)) {
        if (--missing_[m] > 0 || left_[m] > 0 || made_[net_.node_class[m]]) continue;
        made_[net_.node_class[m]] = true;
        ready.push_back(net_.node_class[m]);
      }
    }
  }

  const Net& net_;
  std::vector<double> left_, priority_;
  std::vector<bool> made_;
  std::vector<Id> missing_;  // of each node: children that are not made
  std::vector<Id> pick_, stamp_, stack_, outside_;
  Id round_ = 0;
};

/// Raises cuts around each target in turn until all are made, or the sum is `enough`.
Ascent climb(Growth growth, std::vector<Id> targets, double enough, const Limit& limit) {
  double bound = 0;
  int steps = 0;
  constexpr int kOften = 64;
  while (!targets.empty() && bound < enough && (++steps % kOften != 0 || !limit.reached())) {
    for (const Id c : targets) {
      if (growth.made(c)) continue;
      growth.cut(c);
      const double more = growth.raise();
      bound += more;
      if (more == kInfinite || bound >= enough) return {bound, growth.left()};
    }
    std::erase_if(targets, [&](Id c) { return growth.made(c); });
  }
  return {bound, growth.left()};
}

double between_zero_and_one(std::mt19937_64& random) { return static_cast<double>(random() >> 11) * 0x1p-53; }

Ascent ascend_by(const Net& net, std::vector<double> priority, const Limit& limit) {
  std::vector<Id> targets(net.children(0).begin(), net.children(0).end());
  sort_by(targets, [&](Id c) { return priority[c]; });
  return climb(Growth(net, net.cost, std::move(priority)), std::move(targets), kInfinite, limit);
}

}  // namespace

Ascent search_ascent(const Net& net, double enough, const Limit& limit) {
  constexpr int kPatience = 400;
  std::mt19937_64 random(1);
  std::vector<double> priority = tree_costs(net, net.cost).cost;
  Ascent best = ascend_by(net, priority, limit);
  for (int idle = 0; idle < kPatience && best.bound < enough && !limit.reached(); ++idle) {
    constexpr std::array kShares{0.005, 0.01, 0.02, 0.01};  // few, so that what is good of the order stays
    const double share = kShares[static_cast<std::size_t>(idle) % kShares.size()];
    std::vector<double> changed = priority;
    for (double& p : changed)
      if (between_zero_and_one(random) < share) p *= 0.25 + 1.75 * between_zero_and_one(random);
    Ascent ascent = ascend_by(net, changed, limit);
    if (ascent.bound < best.bound) continue;
    if (ascent.bound > best.bound) idle = 0;
    best = std::move(ascent);
    priority = std::move(changed);
  }
  return best;
}

Ascent dual_ascent(const Net& net, std::uint64_t seed, const Limit& limit) {
  std::mt19937_64 random(seed);
  std::vector<double> priority = tree_costs(net, net.cost).cost;
  if (seed > 0)
    for (double& p : priority) p *= 0.5 + between_zero_and_one(random);
  if (seed % 3 == 2)
    for (double& p : priority) p = -p;
  return ascend_by(net, std::move(priority), limit);
}

double probe(const Net& net, Id c, bool made, double below, const Limit& limit) {
  std::vector<double> cost = net.cost;
  std::vector<Id> targets(net.children(0).begin(), net.children(0).end());
  if (made) {
    targets.push_back(c);
  } else {
    std::fill(cost.begin() + net.node_begin[c], cost.begin() + net.node_begin[c + 1], kInfinite);
  }
  std::vector<double> priority = tree_costs(net, cost).cost;
  for (double& p : priority) p = p == kInfinite ? p : -p;
  return climb(Growth(net, cost, std::move(priority)), std::move(targets), below, limit).bound;
}

std::vector<bool> promising(const Net& net, const Ascent& ascent, double below) {
  const std::vector<double>& left = ascent.reduced;
  // Down: the dearest chain below a class that no derivation avoids. Up: the cheapest chain from the root.
  const std::vector<double> down = chain_costs(net, left);
  std::vector<double> up(net.classes(), kInfinite);
  using Entry = std::pair<double, Id>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  queue.emplace(up[0] = 0, 0);
  while (!queue.empty()) {
    const auto [at, c] = queue.top();
    queue.pop();
    if (at > up[c]) continue;
    for (Id n = net.node_begin[c]; n < net.node_begin[c + 1]; ++n)
      for (const Id d : net.children(n))
        if (at + left[n] < up[d]) queue.emplace(up[d] = at + left[n], d);
  }
  std::vector<bool> keep(net.nodes(), true);
  for (Id n = 1; n < net.nodes(); ++n) {
    double deepest = 0;
    for (const Id d : net.children(n)) deepest = std::max(deepest, down[d]);
    keep[n] = ascent.bound + up[net.node_class[n]] + left[n] + deepest < below;
  }
  return keep;
}

}  // namespace fusewright::extract::dag
