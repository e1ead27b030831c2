#include "src/rule/lint_differences.hpp"

#include <deque>
#include <limits>

namespace fusewright::rule {

std::size_t Differences::number(const std::string& name) {
  const auto [at, fresh] = numbers_.emplace(name, numbers_.size());
  if (fresh) {
    edges_.emplace_back();
    witness_.emplace_back();
  }
  return at->second;
}

bool Differences::add(const std::string& a, const std::string& b, Bound bound) {
  if (bound.most == std::numeric_limits<double>::infinity()) return true;
  if (a == b) return bound.most > 0 || (bound.most == 0 && !bound.strict);
  const std::size_t to = number(a), from = number(b);
  // The witness is mended from `a` on. If `b` itself would have to come down for it, there is no witness.
  std::vector<Sum> mended = witness_;
  edges_[from].push_back({to, bound});
  std::deque<std::size_t> open;
  if (mended[from] + bound < mended[to]) {
    mended[to] = mended[from] + bound;
    open.push_back(to);
  }
  // Without a circle below zero no number is mended more often than there are numbers. Rounding can make one look so.
  const std::size_t most = witness_.size() * witness_.size();
  for (std::size_t steps = 0; !open.empty() && steps <= most; open.pop_front(), ++steps) {
    const std::size_t at = open.front();
    for (const Edge& edge : edges_[at]) {
      const Sum least = mended[at] + edge.bound;
      if (mended[edge.to] <= least) continue;
      if (edge.to == from) {
        edges_[from].pop_back();
        return false;
      }
      mended[edge.to] = least;
      open.push_back(edge.to);
    }
  }
  witness_ = std::move(mended);
  return true;
}

double Differences::shortest(const std::string& from, const std::string& to) const {
  constexpr double kMost = std::numeric_limits<double>::infinity();
  const auto source = numbers_.find(from), target = numbers_.find(to);
  if (source == numbers_.end() || target == numbers_.end()) return kMost;
  std::vector<double> most(edges_.size(), kMost);
  most[source->second] = 0;
  bool changed = true;
  for (std::size_t round = 0; changed && round < edges_.size(); ++round) {
    changed = false;
    for (std::size_t at = 0; at < edges_.size(); ++at) {
      for (const Edge& edge : edges_[at]) {
        if (most[at] + edge.bound.most >= most[edge.to]) continue;
        most[edge.to] = most[at] + edge.bound.most;
        changed = true;
      }
    }
  }
  return most[target->second];
}

Interval Differences::between(const std::string& a, const std::string& b) const {
  return {-shortest(a, b), shortest(b, a)};
}

}  // namespace fusewright::rule
