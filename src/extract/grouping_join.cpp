#include "grouping.hpp"

#include "fusewright/support/distinct.hpp"

namespace fusewright::extract {

bool Grouping::try_join(std::uint32_t a, std::uint32_t b) {
  if (!members_[a].unsupported.empty() || !members_[b].unsupported.empty()) return false;
  if (!refused_.insert(std::uint64_t(changed_at_[a]) << 32 | changed_at_[b]).second) return false;
  if (surely_depend({a, b})) return false;
  Attempt joined = unpriced({a, b}, {});
  const auto pays = [&] {
    return joined.possible() && joined->cost.seconds < seconds({a, b}) && !clashes(joined, {a, b});
  };
  // In repeated blocks the price is known from the first: what does not pay need not be searched for circles.
  joined.price = evaluator_.known(joined.nodes, joined.outputs);
  if (joined.price != nullptr && !pays()) return false;
  if (joins_cyclically({a, b})) return false;
  if (joined.price == nullptr) {
    joined.price = &evaluator_.evaluate(joined.nodes, joined.outputs);
    if (!pays()) return false;
  }
  replace({std::min(a, b), std::max(a, b)}, std::move(joined));
  return true;
}

// Groups that read what it reads, itself among them.
std::vector<std::uint32_t> Grouping::fellow_readers(std::uint32_t group) const {
  constexpr std::size_t kWidest = 32;
  std::vector<std::uint32_t> out;
  for (const Value in : members_[group].inputs) {
    const auto& all = uses_.readers(in.node);
    if (all.size() > kWidest) continue;
    for (const NodeId r : all) out.insert(out.end(), groups_of_[r.index].begin(), groups_of_[r.index].end());
  }
  sort_distinct(out);
  return out;
}

// Pairs that share a tensor, one writing and the other reading it or both reading it. Rounds behind the first look only
// around what was joined.
std::string Grouping::improve(const FusionOptions& options) {
  Budget budget(evaluator_, options);
  std::vector<bool> open(members_.size(), true);
  for (bool changed = true; changed;) {
    changed = false;
    for (std::uint32_t g = 0; g < members_.size(); ++g) {
      if (!members_[g].alive || !open[g]) continue;
      if (std::string reason = budget.spent(); !reason.empty()) return reason;
      open[g] = false;
      std::vector<std::uint32_t> near = readers(g);
      for (const std::uint32_t other : fellow_readers(g))
        if (other > g) near.push_back(other);
      sort_distinct(near);
      for (const std::uint32_t other : near) {
        if (other == g || !members_[g].alive || !members_[other].alive || !try_join(g, other)) continue;
        changed = true;
        const std::uint32_t joined = std::min(g, other);
        open[joined] = true;
        for (const auto& around : {readers(joined), fellow_readers(joined), writers(joined)})
          for (const std::uint32_t n : around) open[n] = true;
      }
    }
  }
  return {};
}

}  // namespace fusewright::extract
