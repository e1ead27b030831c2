#include "fusewright/egraph/index.hpp"

#include <algorithm>

#include "fusewright/support/check.hpp"

namespace fusewright::egraph {

void Index::refresh(const EGraph& egraph) {
  FW_CHECK(!egraph.needs_rebuild()) << "index of a stale e-graph";
  const std::size_t count = egraph.node_count();
  const std::size_t ops = egraph.table().size() + 2;  // with the two internal ones
  const std::size_t known = class_of_.size();
  class_of_.resize(count);
  facts_.resize(count);
  changed_.resize(count);
  op_begin_.assign(ops + 1, 0);
  class_begin_.assign(count + 1, 0);
  classes_.clear();

  std::size_t live = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const ENodeId n(i);
    const EClassId c = egraph.find(term(n));
    const Fact fact = egraph.fact(c);
    const bool changed = i >= known || class_of_[i] != c || facts_[i] != fact;
    changed_[i] = changed ? egraph.round() : std::max(changed_[i], egraph.changed_in(n));
    class_of_[i] = c;
    facts_[i] = fact;
    if (c == term(n) && c != egraph.none()) classes_.push_back(c);
    if (egraph[n].dead || i == 0) continue;
    ++op_begin_[egraph[n].op.index + 1];
    ++class_begin_[c.index + 1];
    ++live;
  }
  for (std::size_t i = 0; i < ops; ++i) op_begin_[i + 1] += op_begin_[i];
  for (std::size_t i = 0; i < count; ++i) class_begin_[i + 1] += class_begin_[i];

  // Two stable counting sorts: by operator, then by class, so that a class lists its nodes by operator.
  by_op_.resize(live);
  std::vector<std::uint32_t> next(op_begin_.begin(), op_begin_.end() - 1);
  for (std::size_t i = 1; i < count; ++i) {
    const ENode& node = egraph[ENodeId(i)];
    if (!node.dead) by_op_[next[node.op.index]++] = ENodeId(i);
  }
  entries_.resize(live);
  next.assign(class_begin_.begin(), class_begin_.end() - 1);
  for (const ENodeId n : by_op_) entries_[next[class_of_[n.index].index]++] = {egraph[n].op, n};
}

std::span<const Index::Entry> Index::nodes(EClassId c, OpId op) const {
  const auto all = nodes(c);
  if (all.size() > 16) {
    const auto [begin, end] = std::ranges::equal_range(all, op, {}, &Entry::op);
    return {begin, end};
  }
  auto begin = all.begin();
  while (begin != all.end() && begin->op < op) ++begin;
  auto end = begin;
  while (end != all.end() && end->op == op) ++end;
  return {begin, end};
}

std::span<const ENodeId> Index::nodes_of_op(OpId op) const {
  return {by_op_.data() + op_begin_[op.index], by_op_.data() + op_begin_[op.index + 1]};
}

}  // namespace fusewright::egraph
