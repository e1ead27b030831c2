#include "dag_cuts.hpp"

#include <algorithm>

namespace fusewright::extract::dag {

namespace {

/// Greatest flow from the source, vertex 0, to one vertex (Dinic's algorithm), and the least cut it shows.
class Flow {
 public:
  explicit Flow(Id vertices) : out_(vertices), level_(vertices), next_(vertices) {}

  void add_arc(Id from, Id to, double capacity) {
    out_[from].push_back(static_cast<Id>(arcs_.size()));
    arcs_.push_back({to, capacity});
    out_[to].push_back(static_cast<Id>(arcs_.size()));
    arcs_.push_back({from, 0});
  }
  void reset() { given_.empty() ? void(given_ = arcs_) : void(arcs_ = given_); }

  /// The flow, or `enough` if it is as great.
  double run(Id target, double enough) {
    double sum = 0;
    while (sum < enough && levels(target)) {
      std::fill(next_.begin(), next_.end(), 0);
      for (double pushed = 1; pushed > 0 && sum < enough; sum += pushed) pushed = push(target, enough - sum);
    }
    return sum;
  }
  /// After a run: vertices from which the target can still be reached.
  std::vector<bool> target_side(Id target) const {
    std::vector<bool> side(out_.size(), false);
    std::vector<Id> stack{target};
    side[target] = true;
    while (!stack.empty()) {
      const Id v = stack.back();
      stack.pop_back();
      for (const Id a : out_[v])
        if (arcs_[a ^ 1].capacity > kTiny && !side[arcs_[a].to]) side[arcs_[a].to] = true, stack.push_back(arcs_[a].to);
    }
    return side;
  }

 private:
  struct Arc {
    Id to;
    double capacity;
  };
  static constexpr double kTiny = 1e-9;

  bool levels(Id target) {
    std::fill(level_.begin(), level_.end(), kNone);
    std::vector<Id> queue{0};
    level_[0] = 0;
    for (std::size_t i = 0; i < queue.size() && level_[target] == kNone; ++i)
      for (const Id a : out_[queue[i]])
        if (arcs_[a].capacity > kTiny && level_[arcs_[a].to] == kNone)
          level_[arcs_[a].to] = level_[queue[i]] + 1, queue.push_back(arcs_[a].to);
    return level_[target] != kNone;
  }
  // One path by depth; `next_` remembers the arcs that led nowhere.
  double push(Id target, double most) {
    std::vector<Id> path;
    Id v = 0;
    while (v != target) {
      bool deeper = false;
      for (Id& i = next_[v]; i < out_[v].size(); ++i) {
        const Arc& arc = arcs_[out_[v][i]];
        if (arc.capacity <= kTiny || level_[arc.to] != level_[v] + 1) continue;
        path.push_back(out_[v][i]);
        v = arc.to;
        deeper = true;
        break;
      }
      if (deeper) continue;
      if (path.empty()) return 0;
      v = arcs_[path.back() ^ 1].to;
      path.pop_back();
      ++next_[v];
    }
    for (const Id a : path) most = std::min(most, arcs_[a].capacity);
    for (const Id a : path) arcs_[a].capacity -= most, arcs_[a ^ 1].capacity += most;
    return most;
  }

  std::vector<std::vector<Id>> out_;
  std::vector<Arc> arcs_, given_;
  std::vector<Id> level_, next_;
};

/// How far the values themselves support each class from below: cyclic support counts for nothing.
std::vector<double> support(const Net& net, std::span<const double> value, std::span<const double> active) {
  std::vector<double> out(net.classes(), 0);
  std::vector<bool> waits(net.classes(), true);
  std::vector<Id> queue(net.classes());
  for (Id c = 0; c < net.classes(); ++c) queue[c] = net.classes() - 1 - c;
  constexpr std::size_t kVisits = 20;  // support in cycles may grow for ever in ever smaller steps
  for (std::size_t i = 0; i < queue.size() && i < kVisits * net.classes(); ++i) {
    const Id c = queue[i];
    waits[c] = false;
    double sum = 0;
    for (Id n = net.node_begin[c]; n < net.node_begin[c + 1]; ++n) {
      double least = value[n];
      for (const Id d : net.children(n)) least = std::min(least, out[d]);
      sum += least;
    }
    sum = std::min(sum, active[c]);
    if (sum <= out[c] + 1e-6) continue;
    out[c] = sum;
    for (const Id n : net.users(c))
      if (const Id u = net.node_class[n]; value[n] > 0 && !waits[u]) waits[u] = true, queue.push_back(u);
  }
  return out;
}

}  // namespace

std::vector<Cut> violated_cuts(const Net& net, std::span<const double> value, std::size_t most, const Limit& limit) {
  constexpr double kTiny = 1e-7, kViolated = 0.01;
  std::vector<double> active(net.classes(), 0);
  for (Id n = 0; n < net.nodes(); ++n) active[net.node_class[n]] += value[n];
  const std::vector<double> supported = support(net, value, active);

  // A node is fed by its worst supported child only: what is left is a graph, where flow finds the best cut.
  Flow flow(net.classes() + 1);
  for (Id n = 0; n < net.nodes(); ++n) {
    if (value[n] < kTiny) continue;
    Id from = kNone;
    for (const Id d : net.children(n))
      if (from == kNone || supported[d] < supported[from]) from = d;
    flow.add_arc(from == kNone ? 0 : from + 1, net.node_class[n] + 1, value[n]);
  }
  flow.reset();

  std::vector<Id> targets;
  for (Id c = 0; c < net.classes(); ++c)
    if (active[c] > kViolated) targets.push_back(c);
  sort_by(targets, [&](Id c) { return supported[c] - active[c]; });
  std::vector<Cut> cuts;
  for (const Id target : targets) {
    if (cuts.size() >= most || limit.reached()) break;
    flow.reset();
    if (flow.run(target + 1, active[target]) > active[target] - kViolated) continue;
    const std::vector<bool> side = flow.target_side(target + 1);
    Cut cut{target, {}};
    for (Id c = 0; c < net.classes(); ++c) {
      if (!side[c + 1]) continue;
      for (Id n = net.node_begin[c]; n < net.node_begin[c + 1]; ++n)
        if (std::ranges::none_of(net.children(n), [&](Id d) { return side[d + 1]; })) cut.nodes.push_back(n);
    }
    cuts.push_back(std::move(cut));
  }
  return cuts;
}

}  // namespace fusewright::extract::dag
