#include "src/extract/ranks.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <set>

using fusewright::extract::Ranks;

namespace {

using Kernels = std::vector<std::uint32_t>;
using Edges = std::map<std::uint32_t, std::set<std::uint32_t>>;

std::set<std::uint32_t> reached(const Edges& edges, const Kernels& from, const Kernels& without) {
  std::set<std::uint32_t> seen;
  Kernels stack = from;
  while (!stack.empty()) {
    const std::uint32_t k = stack.back();
    stack.pop_back();
    if (const auto at = edges.find(k); at != edges.end())
      for (const std::uint32_t r : at->second)
        if (std::ranges::find(without, r) == without.end() && seen.insert(r).second) stack.push_back(r);
  }
  return seen;
}

}  // namespace

TEST_CASE("kernels keep smaller ranks than their readers while kernels become one and fall apart") {
  const unsigned seed = GENERATE(range(0U, 20U));
  std::mt19937 rng(seed);
  Edges readers, writers;
  const auto all_of = [](const Edges& edges, std::uint32_t k) {
    const auto at = edges.find(k);
    return at == edges.end() ? Kernels{} : Kernels(at->second.begin(), at->second.end());
  };
  Ranks ranks([&](std::uint32_t k) { return all_of(readers, k); }, [&](std::uint32_t k) { return all_of(writers, k); });
  const auto connect = [&](std::uint32_t from, std::uint32_t to) {
    readers[from].insert(to);
    writers[to].insert(from);
  };
  const auto drop = [&](std::uint32_t k) {
    for (const std::uint32_t r : all_of(readers, k)) writers[r].erase(k);
    for (const std::uint32_t w : all_of(writers, k)) readers[w].erase(k);
    readers.erase(k);
    writers.erase(k);
  };
  const auto keeps = [&] {
    for (const auto& [k, all] : readers)
      for (const std::uint32_t r : all)
        if (ranks[k] >= ranks[r]) return false;
    return true;
  };

  Kernels alive;
  std::uint32_t next = 0;
  for (; next < 60; ++next) {  // readers first
    if (next > 0)
      for (int i = 0; i < 3; ++i) connect(next, next - 1 - static_cast<std::uint32_t>(rng() % std::min(next, 12U)));
    ranks.add_first(next);
    alive.push_back(next);
  }
  REQUIRE(keeps());
  for (int step = 0; step < 200 && alive.size() > 4; ++step) {
    const std::uint32_t a = alive[rng() % alive.size()], b = alive[rng() % alive.size()];
    const Kernels both{a, b};
    if (a == b) continue;
    const auto outside = reached(readers, both, both);
    const auto leads_back = [&](std::uint32_t k) { return readers[k].contains(a) || readers[k].contains(b); };
    if (std::ranges::any_of(outside, leads_back)) continue;  // a circle
    Kernels reads = all_of(writers, a), read_by = all_of(readers, a);
    for (const std::uint32_t w : all_of(writers, b)) reads.push_back(w);
    for (const std::uint32_t r : all_of(readers, b)) read_by.push_back(r);
    drop(a);
    drop(b);
    const Kernels fresh = step % 3 == 0 ? Kernels{next, next + 1} : Kernels{next};
    next += static_cast<std::uint32_t>(fresh.size());
    for (const std::uint32_t w : reads)
      if (w != a && w != b) connect(w, fresh.front());
    for (const std::uint32_t r : read_by)
      if (r != a && r != b) connect(fresh.back(), r);
    if (fresh.size() > 1) connect(fresh.front(), fresh.back());
    ranks.replace(both, fresh);
    std::erase_if(alive, [&](std::uint32_t k) { return k == a || k == b; });
    alive.insert(alive.end(), fresh.begin(), fresh.end());
    REQUIRE(keeps());
  }
}
