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

std::vector<double> Differences::distances(std::size_t from, bool backwards) const {
  std::vector<double> most(edges_.size(), std::numeric_limits<double>::infinity());
  most[from] = 0;
  bool changed = true;
  for (std::size_t round = 0; changed && round < edges_.size(); ++round) {
    changed = false;
    for (std::size_t at = 0; at < edges_.size(); ++at) {
      for (const Edge& edge : edges_[at]) {
        const std::size_t start = backwards ? edge.to : at, end = backwards ? at : edge.to;
        if (most[start] + edge.bound.most >= most[end]) continue;
        most[end] = most[start] + edge.bound.most;
        changed = true;
      }
    }
  }
  return most;
}

Interval Differences::between(const std::string& a, const std::string& b) const {
  const auto from = numbers_.find(b), to = numbers_.find(a);
  if (from == numbers_.end() || to == numbers_.end()) return {};
  return {-distances(from->second, true)[to->second], distances(from->second, false)[to->second]};
}

std::map<std::string, Interval> Differences::ranges() const {
  std::map<std::string, Interval> out;
  const auto zero = numbers_.find("");
  if (zero == numbers_.end()) return out;
  const std::vector<double> low = distances(zero->second, true), high = distances(zero->second, false);
  for (const auto& [name, at] : numbers_) out[name] = {-low[at], high[at]};
  return out;
}

}  // namespace fusewright::rule
