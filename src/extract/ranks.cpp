#include "ranks.hpp"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "fusewright/graph/algorithms.hpp"
#include "fusewright/support/check.hpp"

namespace fusewright::extract {

namespace {

constexpr Ranks::Rank kFirst = std::numeric_limits<Ranks::Rank>::min(), kLast = std::numeric_limits<Ranks::Rank>::max();

}  // namespace

void Ranks::set(std::uint32_t kernel, Rank rank) {
  if (kernel >= ranks_.size()) ranks_.resize(kernel + 1, 0);
  ranks_[kernel] = rank;
  by_rank_.emplace(rank, kernel);
}

void Ranks::add_first(std::uint32_t kernel) { set(kernel, by_rank_.empty() ? 0 : by_rank_.begin()->first - kApart); }

// Each behind those that it reads from, else as they come.
std::vector<std::uint32_t> Ranks::in_order(const std::vector<std::uint32_t>& some) const {
  std::unordered_map<std::uint32_t, std::size_t> place;
  for (const std::uint32_t k : some) place.emplace(k, place.size());
  std::vector<std::pair<std::size_t, std::size_t>> edges;
  for (std::size_t i = 0; i < some.size(); ++i)
    for (const std::uint32_t reader : readers_(some[i]))
      if (const auto at = place.find(reader); at != place.end() && at->second != i) edges.emplace_back(i, at->second);
  const auto order = graph::stable_order(some.size(), std::move(edges));
  FW_CHECK(order.has_value()) << "kernels depend on each other in a circle";
  std::vector<std::uint32_t> out;
  for (const std::size_t i : *order) out.push_back(some[i]);
  return out;
}

void Ranks::number(const std::vector<std::uint32_t>& kernels) {
  by_rank_.clear();
  Rank rank = 0;
  for (const std::uint32_t k : in_order(kernels)) set(k, rank += kApart);
}

// Between what they read from and what reads from them, where no other kernel has to move for it.
bool Ranks::fit_in(const std::vector<std::uint32_t>& fresh) {
  std::vector<std::pair<std::uint32_t, Rank>> found;
  const auto rank_of = [&](std::uint32_t kernel) -> const Rank* {
    for (const auto& [k, rank] : found)
      if (k == kernel) return &rank;
    if (std::ranges::find(fresh, kernel) != fresh.end() || kernel >= ranks_.size() ||
        !by_rank_.contains({ranks_[kernel], kernel}))
      return nullptr;
    return &ranks_[kernel];
  };
  for (const std::uint32_t k : fresh) {
    Rank low = kFirst, high = kLast;
    for (const std::uint32_t writer : writers_(k))
      if (const Rank* rank = rank_of(writer)) low = std::max(low, *rank);
    for (const std::uint32_t reader : readers_(k))
      if (const Rank* rank = rank_of(reader)) high = std::min(high, *rank);
    if (low == kFirst && high == kLast) low = 0;
    if (low == kFirst) low = high - kApart;
    if (high == kLast) high = low + kApart;
    if (high < low + 2) return false;
    found.emplace_back(k, low + (high - low) / 2);
  }
  for (const auto& [k, rank] : found) set(k, rank);
  return true;
}

void Ranks::replace(const std::vector<std::uint32_t>& gone, const std::vector<std::uint32_t>& fresh) {
  Rank first = kLast, last = kFirst;
  for (const std::uint32_t k : gone) {
    first = std::min(first, ranks_[k]);
    last = std::max(last, ranks_[k]);
    by_rank_.erase({ranks_[k], k});
  }
  if (fit_in(in_order(fresh))) return;
  // Else what stands between the places of those that are gone is put in order.
  std::vector<std::uint32_t> between = fresh;
  auto at = by_rank_.lower_bound({first, 0});
  while (at != by_rank_.end() && at->first < last) {
    between.push_back(at->second);
    at = by_rank_.erase(at);
  }
  const Rank end = at != by_rank_.end() ? at->first : last + kApart;
  const auto count = static_cast<Rank>(between.size());
  if (end - first < count) {
    std::vector<std::uint32_t> all;
    for (const auto& [rank, k] : by_rank_) {
      if (rank >= first && !between.empty()) all.insert(all.end(), between.begin(), between.end()), between.clear();
      all.push_back(k);
    }
    all.insert(all.end(), between.begin(), between.end());
    return number(all);
  }
  Rank rank = first;
  for (const std::uint32_t k : in_order(between)) {
    set(k, rank);
    rank += (end - first) / count;
  }
}

}  // namespace fusewright::extract
