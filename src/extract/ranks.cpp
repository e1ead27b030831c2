#include "ranks.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <unordered_map>
#include <unordered_set>

#include "fusewright/graph/algorithms.hpp"
#include "fusewright/support/check.hpp"

namespace fusewright::extract {

namespace {

constexpr Ranks::Rank kFirst = std::numeric_limits<Ranks::Rank>::min(), kLast = std::numeric_limits<Ranks::Rank>::max();

}  // namespace

void Ranks::set(std::uint32_t kernel, Rank rank) {
  if (kernel >= ranks_.size()) {
    ranks_.resize(kernel + 1, 0);
    ranked_.resize(kernel + 1, false);
  }
  ranks_[kernel] = rank;
  ranked_[kernel] = true;
  by_rank_.emplace(rank, kernel);
}

void Ranks::add_first(std::uint32_t kernel) { set(kernel, by_rank_.empty() ? 0 : by_rank_.begin()->first - kApart); }

void Ranks::take_out(std::uint32_t kernel) {
  if (!has_rank(kernel)) return;
  by_rank_.erase({ranks_[kernel], kernel});
  ranked_[kernel] = false;
}

// Each behind those that it reads from, else as they come.
std::vector<std::uint32_t> Ranks::in_order(const std::vector<std::uint32_t>& some) const {
  if (some.size() < 2) return some;
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
  ranked_.assign(ranked_.size(), false);
  Rank rank = 0;
  for (const std::uint32_t k : in_order(kernels)) set(k, rank += kApart);
}

// Between what they read from and what reads from them, where no other kernel has to move for it.
bool Ranks::fit_in(const std::vector<std::uint32_t>& fresh) {
  std::vector<std::pair<std::uint32_t, Rank>> found;
  const auto rank_of = [&](std::uint32_t kernel) -> const Rank* {
    for (const auto& [k, rank] : found)
      if (k == kernel) return &rank;
    return std::ranges::find(fresh, kernel) == fresh.end() && has_rank(kernel) ? &ranks_[kernel] : nullptr;
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

// Those that depend on `fresh` and whose ranks are at most `last`, or those that `fresh` depends on and whose ranks are
// at least `first`: the fewer of them, found by growing both.
Ranks::Movers Ranks::movers(const std::vector<std::uint32_t>& fresh, Rank first, Rank last) const {
  std::vector<std::uint32_t> later = fresh, earlier = fresh;
  std::unordered_set<std::uint32_t> seen_later(fresh.begin(), fresh.end()), seen_earlier = seen_later;
  for (std::size_t i = 0;; ++i) {
    if (i >= later.size() && last != kFirst) return {std::move(later), true};
    if (i >= earlier.size() && first != kLast) return {std::move(earlier), false};
    if (i < later.size())
      for (const std::uint32_t reader : readers_(later[i]))
        if (has_rank(reader) && ranks_[reader] <= last && seen_later.insert(reader).second) later.push_back(reader);
    if (i < earlier.size())
      for (const std::uint32_t writer : writers_(earlier[i]))
        if (has_rank(writer) && ranks_[writer] >= first && seen_earlier.insert(writer).second)
          earlier.push_back(writer);
  }
}

void Ranks::replace(const std::vector<std::uint32_t>& gone, const std::vector<std::uint32_t>& fresh) {
  for (const std::uint32_t k : gone) take_out(k);
  if (fit_in(in_order(fresh))) return;
  // Else what depends on them moves with them behind the last that they read from, or what they depend on before the
  // first that reads from them.
  Rank first = kLast, last = kFirst;
  for (const std::uint32_t k : fresh) {
    for (const std::uint32_t reader : readers_(k))
      if (has_rank(reader)) first = std::min(first, ranks_[reader]);
    for (const std::uint32_t writer : writers_(k))
      if (has_rank(writer)) last = std::max(last, ranks_[writer]);
  }
  if (first == kLast && last == kFirst) last = 0;  // nothing around them
  auto [moved, behind] = movers(fresh, first, last);
  for (const std::uint32_t k : moved) take_out(k);
  moved = in_order(moved);
  const auto next = behind ? by_rank_.upper_bound({last, std::numeric_limits<std::uint32_t>::max()})
                           : by_rank_.lower_bound({first, 0});
  const auto room = static_cast<Rank>(moved.size() + 1);
  Rank low = last, high = first;
  if (behind)
    high = next != by_rank_.end() ? next->first : low + kApart * room;
  else
    low = next != by_rank_.begin() ? std::prev(next)->first : high - kApart * room;
  if (const Rank step = (high - low) / room; step > 0) {
    for (const std::uint32_t k : moved) set(k, low += step);
    return;
  }
  std::vector<std::uint32_t> all;
  for (auto at = by_rank_.begin(); at != next; ++at) all.push_back(at->second);
  all.insert(all.end(), moved.begin(), moved.end());
  for (auto at = next; at != by_rank_.end(); ++at) all.push_back(at->second);
  number(all);
}

}  // namespace fusewright::extract
