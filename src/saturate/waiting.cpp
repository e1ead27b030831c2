#include "src/saturate/waiting.hpp"

#include <algorithm>

namespace fusewright::saturate {

Waiting::Waiting(const rule::RuleSet& rules, std::function<bool(const rule::RewriteRule&)> used,
                 match::Program& program)
    : rewrites_(rules.rewrites),
      needs_(*rules.needs),
      used_(std::move(used)),
      compiler_(*rules.table, program),
      state_(needs_.patterns().size(), State::kUnseen),
      occurs_(rules.table->size(), 0),
      first_link_(rules.table->size(), kNone) {}

Status Waiting::wake(const egraph::Index& index) {
  std::vector<std::uint32_t> called;
  for (std::size_t op = 0; op < occurs_.size(); ++op) {
    if (occurs_[op] != 0 || index.nodes_of_op(ops::OpId(op)).empty()) continue;
    occurs_[op] = 1;
    for (const std::uint32_t p : needs_.watching(ops::OpId(op)))
      if (state_[p] == State::kUnseen) called.push_back(p);
    for (std::uint32_t at = first_link_[op]; at != kNone; at = links_[at].next) called.push_back(links_[at].pattern);
  }
  std::ranges::sort(called);
  called.erase(std::ranges::unique(called).begin(), called.end());
  for (const std::uint32_t p : called) FW_TRY_STATUS(look_at(p));
  return {};
}

Status Waiting::look_at(std::uint32_t p) {
  const rule::Needs::Pattern& pattern = needs_.patterns()[p];
  if (state_[p] == State::kDone) return {};
  state_[p] = State::kDone;
  if (!used_(rewrites_[pattern.rewrite])) return {};
  const std::span<const ops::OpId> missing = needs_.missing(pattern, occurs_);
  if (missing.empty())
    return compiler_.add(rewrites_[pattern.rewrite], match::RuleId(pattern.rewrite), pattern.variant);
  state_[p] = State::kWaits;
  for (const ops::OpId op : missing) {
    links_.push_back({p, first_link_[op.index]});
    first_link_[op.index] = static_cast<std::uint32_t>(links_.size() - 1);
  }
  return {};
}

}  // namespace fusewright::saturate
