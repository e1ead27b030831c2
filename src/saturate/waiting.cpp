#include "src/saturate/waiting.hpp"

#include <algorithm>
#include <numeric>

namespace fusewright::saturate {

using rule::PatternNode;

Waiting::Waiting(const ops::OpTable& table, const std::vector<rule::RewriteRule>& rewrites,
                 std::span<const match::RuleId> selected, match::Program& program)
    : rewrites_(rewrites), compiler_(table, program), occurs_(table.size(), 0), waiting_for_(table.size()) {
  patterns_.reserve(selected.size());
  for (const match::RuleId rule : selected) {
    for (std::uint32_t v = 0; v < rewrites[rule.index].variants.size(); ++v) patterns_.push_back({rule, v, 0});
  }
}

/// The first node of the pattern, from its root on, of whose operators none occurs; kAwake where there is no such node.
std::uint32_t Waiting::missing(const Asleep& pattern) const {
  const auto& nodes = rewrites_[pattern.rule.index].variants[pattern.variant].nodes;
  for (auto i = static_cast<std::uint32_t>(nodes.size()); i-- > 0;) {
    const PatternNode& node = nodes[i];
    if (node.kind != PatternNode::Kind::kApply) continue;
    if (std::ranges::none_of(node.ops.ops, [&](ops::OpId op) { return occurs_[op.index] != 0; })) return i;
  }
  return kAwake;
}

Status Waiting::wake(const egraph::Index& index) {
  std::vector<std::uint32_t> called;
  if (first_) {
    called.resize(patterns_.size());
    std::iota(called.begin(), called.end(), 0);
  }
  first_ = false;
  for (std::size_t op = 0; op < occurs_.size(); ++op) {
    if (occurs_[op] != 0 || index.nodes_of_op(ops::OpId(op)).empty()) continue;
    occurs_[op] = 1;
    called.insert(called.end(), waiting_for_[op].begin(), waiting_for_[op].end());
    waiting_for_[op].clear();
  }
  std::ranges::sort(called);
  called.erase(std::ranges::unique(called).begin(), called.end());
  for (const std::uint32_t i : called) {
    Asleep& pattern = patterns_[i];
    if (pattern.node == kAwake) continue;
    pattern.node = missing(pattern);
    const rule::RewriteRule& rule = rewrites_[pattern.rule.index];
    if (pattern.node == kAwake) {
      FW_TRY_STATUS(compiler_.add(rule, pattern.rule, pattern.variant));
    } else {
      for (const ops::OpId op : rule.variants[pattern.variant].nodes[pattern.node].ops.ops)
        waiting_for_[op.index].push_back(i);
    }
  }
  return {};
}

std::vector<Asleep> Waiting::asleep() const {
  std::vector<Asleep> out;
  std::ranges::copy_if(patterns_, std::back_inserter(out), [](const Asleep& p) { return p.node != kAwake; });
  return out;
}

}  // namespace fusewright::saturate
