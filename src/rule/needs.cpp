#include "fusewright/rule/needs.hpp"

#include <algorithm>

namespace fusewright::rule {

Needs::Needs(const ops::OpTable& table, const std::vector<RewriteRule>& rewrites) {
  std::vector<std::uint64_t> known(table.size(), 0);  // by operator: nodes of patterns that it may be
  for (std::uint32_t r = 0; r < rewrites.size(); ++r)
    for (std::uint32_t v = 0; v < rewrites[r].variants.size(); ++v) {
      const auto& nodes = rewrites[r].variants[v].nodes;
      const auto first = static_cast<std::uint32_t>(needs_.size());
      for (std::size_t i = nodes.size(); i-- > 0;) {
        if (nodes[i].kind != PatternNode::Kind::kApply) continue;
        const auto begin = static_cast<std::uint32_t>(ops_.size());
        for (const ops::OpId op : nodes[i].ops.ops) {
          ops_.push_back(op);
          ++known[op.index];
        }
        needs_.push_back({begin, static_cast<std::uint32_t>(ops_.size())});
      }
      patterns_.push_back({r, v, first, static_cast<std::uint32_t>(needs_.size())});
    }

  std::vector<Need> watched;
  begin_.assign(table.size() + 1, 0);
  for (const Pattern& pattern : patterns_) {
    const auto crowd = [&](const Need& need) {
      std::uint64_t sum = 0;
      for (const ops::OpId op : ops(need)) sum += known[op.index];
      return sum;
    };
    const std::span own = std::span(needs_).subspan(pattern.first, pattern.last - pattern.first);
    watched.push_back(*std::ranges::min_element(own, {}, crowd));  // a pattern's root is an operator
    for (const ops::OpId op : ops(watched.back())) ++begin_[op.index + 1];
  }
  for (std::size_t op = 0; op < table.size(); ++op) begin_[op + 1] += begin_[op];
  watching_.resize(begin_.back());
  std::vector<std::uint32_t> next(begin_.begin(), begin_.end() - 1);
  for (std::uint32_t p = 0; p < patterns_.size(); ++p)
    for (const ops::OpId op : ops(watched[p])) watching_[next[op.index]++] = p;
}

std::span<const ops::OpId> Needs::missing(const Pattern& pattern, std::span<const std::uint8_t> occurs) const {
  for (std::uint32_t i = pattern.first; i < pattern.last; ++i)
    if (std::ranges::none_of(ops(needs_[i]), [&](ops::OpId op) { return occurs[op.index] != 0; }))
      return ops(needs_[i]);
  return {};
}

}  // namespace fusewright::rule
