#include <algorithm>
#include <functional>
#include <limits>
#include <queue>
#include <tuple>

#include "fusewright/egraph/index.hpp"
#include "fusewright/extract/extract.hpp"

namespace fusewright::extract {

namespace {

using egraph::EClassId;
using egraph::EGraph;
using egraph::ENodeId;

// A value shared along a deep graph counts often below: the range must bear a chain of thousands of `x + x`. Where it
// ends, classes cost alike, and the first choice that was found stays.
using Cost = long double;
constexpr Cost kInfinite = std::numeric_limits<Cost>::infinity();
Cost plus(Cost a, Cost b) {
  return a == kInfinite || b == kInfinite ? kInfinite : std::min(a + b, std::numeric_limits<Cost>::max());
}
constexpr Cost kNoKernel = 1e3;  // seconds: dearer than any kernel, but a choice where there is no other

std::int64_t bytes_of(const ops::Type& type) {
  if (type.kind == ops::Type::Kind::kTuple) {
    std::int64_t sum = 0;
    for (const ops::Type& element : type.elements) sum += bytes_of(element);
    return sum;
  }
  return type.is_tensor() && ops::is_static(type.shape) ? ops::byte_size(type) : 0;
}

/// Price of one e-node next to fused neighbours.
class Pricing {
 public:
  Pricing(const EGraph& egraph, const cost::Device& device) : egraph_(egraph), device_(device) {}

  Cost own(ENodeId n) const {
    constexpr Cost kEpsilon = 1e-12;  // fewer nodes win between equals
    const ops::OpId op = egraph_[n].op;
    if (op == egraph_.result_op()) return kEpsilon;
    const ops::OpInfo& info = egraph_.table()[op];
    const EClassId c = egraph::term(n);
    // Weights folded at load cost what reading them costs, and that is paid by what reads them.
    if (egraph_.fact(c).constant()) return kEpsilon + 1e-18L * static_cast<Cost>(bytes_of(egraph_.type(c)));
    const auto bytes = static_cast<Cost>(bytes_of(egraph_.type(c)));
    const Cost bandwidth = device_.memory.back().bytes_per_second;
    switch (info.op_class) {
      case ops::OpClass::kComposite:
      case ops::OpClass::kUninterpreted: return kNoKernel;
      case ops::OpClass::kElementwise:
        return kEpsilon + static_cast<Cost>(elements(c)) * work(info, egraph_.type(c)) / device_.unit_rate;
      case ops::OpClass::kMovement:
        // A transpose that no reader absorbs is a pass over memory; the others vanish into index arithmetic.
        return kEpsilon + (info.name == "transpose" || info.name == "concat" ? 0.5L : 0.01L) * bytes / bandwidth;
      case ops::OpClass::kContraction:
      case ops::OpClass::kConvolution: return kEpsilon + contraction(n, info) / device_.contraction_flops;
      case ops::OpClass::kSource: return kEpsilon;
      default: return kEpsilon + (bytes + operand_bytes(n)) / bandwidth;
    }
  }

 private:
  std::int64_t elements(EClassId c) const {
    const ops::Type& type = egraph_.type(c);
    return type.is_tensor() ? bytes_of(type) / std::max<std::int64_t>(1, ops::byte_width(type.dtype)) : 0;
  }
  static Cost work(const ops::OpInfo& info, const ops::Type& type) {
    return info.scalar ? static_cast<Cost>(ops::work(*info.scalar, type.dtype)) : 1;
  }
  Cost operand_bytes(ENodeId n) const {
    Cost sum = 0;
    for (const EClassId operand : egraph_.operands(n))
      if (operand != egraph_.none()) sum += static_cast<Cost>(bytes_of(egraph_.type(operand)));
    return sum;
  }
  // Multiply-adds, twice: elements of the result by what is summed for each.
  Cost contraction(ENodeId n, const ops::OpInfo& info) const {
    const auto operands = egraph_.operands(n);
    const Cost result = static_cast<Cost>(elements(egraph::term(n)));
    const ops::Type& a = egraph_.type(operands[0]);
    const ops::Type& b = egraph_.type(operands[1]);
    if (info.op_class == ops::OpClass::kContraction) {
      Cost terms = 1;
      for (const std::int64_t axis : egraph_.attrs(n).get<std::vector<std::int64_t>>("lhs_contract"))
        terms *= static_cast<Cost>(a.shape[static_cast<std::size_t>(axis)].constant().value_or(1));
      return 2 * result * terms;
    }
    const std::int64_t out_axis = egraph_.attrs(n).get<std::vector<std::int64_t>>("rhs_spec")[0];
    const auto out = static_cast<Cost>(b.shape[static_cast<std::size_t>(out_axis)].constant().value_or(1));
    return 2 * result * static_cast<Cost>(elements(operands[1])) / std::max<Cost>(1, out);
  }

  const EGraph& egraph_;
  const cost::Device& device_;
};

/// The selection as a set of needed classes with the number of chosen readers of each; lets single choices be
/// exchanged.
class Refiner {
 public:
  /// @param own  price of each node
  Refiner(const EGraph& egraph, const egraph::Index& index, const std::vector<Cost>& own, egraph::Selection& selection)
      : egraph_(egraph),
        index_(index),
        own_(own),
        selection_(selection),
        readers_(selection.choice.size(), 0),
        position_(selection.choice.size(), 0),
        seen_(selection.choice.size(), 0) {}

  void run(const std::vector<EClassId>& results) {
    for (const EClassId c : results) gain(egraph_.find(c));
    order();
    constexpr int kRounds = 4;
    for (int round = 0; round < kRounds; ++round) {
      bool changed = false;
      for (const EClassId c : index_.classes())
        if (readers_[c.index] > 0) changed |= improve(c);
      if (!changed) break;
    }
  }

 private:
  // Cost that becomes needed / is no longer needed when one more / one fewer chosen node reads the class.
  Cost gain(EClassId c) {
    Cost sum = 0;
    std::vector<EClassId> stack{c};
    while (!stack.empty()) {
      const EClassId at = stack.back();
      stack.pop_back();
      if (at == egraph_.none() || readers_[at.index]++ > 0) continue;
      const ENodeId n = selection_[at];
      if (!n.valid()) continue;
      sum += price(n);
      for (const EClassId operand : egraph_.operands(n)) stack.push_back(egraph_.find(operand));
    }
    return sum;
  }
  Cost lose(EClassId c) {
    Cost sum = 0;
    std::vector<EClassId> stack{c};
    while (!stack.empty()) {
      const EClassId at = stack.back();
      stack.pop_back();
      if (at == egraph_.none() || --readers_[at.index] > 0) continue;
      const ENodeId n = selection_[at];
      if (!n.valid()) continue;
      sum += price(n);
      for (const EClassId operand : egraph_.operands(n)) stack.push_back(egraph_.find(operand));
    }
    return sum;
  }

  // Numbers the classes, each behind all that its choice is made of.
  void order() {
    std::uint32_t next = 0;
    std::ranges::fill(position_, 0);
    std::vector<std::pair<EClassId, bool>> stack;  // (class, its operands have numbers)
    for (const EClassId root : index_.classes()) {
      stack.emplace_back(root, false);
      while (!stack.empty()) {
        const auto [c, complete] = stack.back();
        stack.pop_back();
        if (c == egraph_.none() || position_[c.index] != 0 || !selection_[c].valid()) continue;
        if (complete) {
          position_[c.index] = ++next;
          continue;
        }
        stack.emplace_back(c, true);
        for (const EClassId operand : egraph_.operands(selection_[c])) stack.emplace_back(egraph_.find(operand), false);
      }
    }
  }

  // A node that depends on the class through chosen nodes cannot be its choice. What stands before it does not.
  bool reaches(ENodeId from, EClassId target) {
    std::vector<EClassId> stack;
    ++searches_;
    const auto push = [&](ENodeId n) {
      for (const EClassId operand : egraph_.operands(n)) {
        const EClassId c = egraph_.find(operand);
        if (c == egraph_.none() || position_[c.index] < position_[target.index] || seen_[c.index] == searches_)
          continue;
        seen_[c.index] = searches_;
        stack.push_back(c);
      }
    };
    push(from);
    while (!stack.empty()) {
      const EClassId c = stack.back();
      stack.pop_back();
      if (c == target) return true;
      if (selection_[c].valid()) push(selection_[c]);
    }
    return false;
  }

  Cost price(ENodeId n) const { return own_[n.index]; }

  void exchange(EClassId c, ENodeId to, Cost& saved, Cost& added) {
    const ENodeId old = selection_[c];
    selection_.choice[c.index] = to;
    added = price(to);
    for (const EClassId operand : egraph_.operands(to)) added += gain(egraph_.find(operand));
    saved = price(old);
    for (const EClassId operand : egraph_.operands(old)) saved += lose(egraph_.find(operand));
  }

  bool improve(EClassId c) {
    const auto nodes = index_.nodes(c);
    if (nodes.size() < 2) return false;
    bool changed = false;
    for (const auto& [op, candidate] : nodes) {
      const ENodeId current = selection_[c];
      if (candidate == current || price(candidate) >= kNoKernel) continue;
      bool complete = true;
      for (const EClassId operand : egraph_.operands(candidate)) {
        const EClassId below = egraph_.find(operand);
        complete = complete && (below == egraph_.none() || selection_[below].valid());
      }
      if (!complete || reaches(candidate, c)) continue;
      Cost saved = 0, added = 0;
      exchange(c, candidate, saved, added);
      if (added < saved * (1 - 1e-9L)) {
        changed = true;
        const auto stands_behind = [&](EClassId operand) {
          return position_[egraph_.find(operand).index] > position_[c.index];
        };
        if (std::ranges::any_of(egraph_.operands(candidate), stands_behind)) order();
      } else {
        exchange(c, current, saved, added);
      }
    }
    return changed;
  }

  const EGraph& egraph_;
  const egraph::Index& index_;
  const std::vector<Cost>& own_;  // by node
  egraph::Selection& selection_;
  std::vector<std::uint32_t> readers_;
  std::vector<std::uint32_t> position_;  // by class: see order()
  std::vector<std::uint32_t> seen_;      // by class: the search that saw it last
  std::uint32_t searches_ = 0;
};

/// Of each class the node with the least cost as a tree. Own costs are positive, so no node is cheaper than what it is
/// made of: classes are settled in the order of their costs, each node is looked at once, and no choice leads in a
/// circle.
egraph::Selection cheapest_trees(const EGraph& egraph, const egraph::Index& index, const std::vector<Cost>& own) {
  struct Open {
    Cost cost;
    EClassId of;
    bool operator>(const Open& other) const { return std::tie(cost, of) > std::tie(other.cost, other.of); }
  };
  egraph::Selection selection;
  selection.choice.resize(egraph.node_count());
  std::vector<Cost> cost(egraph.node_count(), kInfinite);
  cost[egraph.none().index] = 0;
  std::vector<std::uint32_t> missing(egraph.node_count(), 0);  // by node: operands that are not settled
  std::vector<bool> settled(egraph.node_count(), false);
  std::priority_queue<Open, std::vector<Open>, std::greater<>> open;
  const auto offer = [&](EClassId c, ENodeId n) {
    Cost sum = own[n.index];
    for (const EClassId operand : egraph.operands(n)) sum = plus(sum, cost[egraph.find(operand).index]);
    // Between equals the older node stays, the model's own before what rules made.
    ENodeId& choice = selection.choice[c.index];
    if (sum > cost[c.index] || sum == kInfinite || (sum == cost[c.index] && choice < n)) return;
    if (sum < cost[c.index]) open.push({sum, c});
    cost[c.index] = sum;
    choice = n;
  };
  for (const EClassId c : index.classes())
    for (const auto& [op, n] : index.nodes(c)) {
      for (const EClassId operand : egraph.operands(n)) missing[n.index] += operand != egraph.none() ? 1 : 0;
      if (missing[n.index] == 0) offer(c, n);
    }
  while (!open.empty()) {
    const EClassId c = open.top().of;
    open.pop();
    if (settled[c.index]) continue;
    settled[c.index] = true;
    egraph.for_each_use(c, [&](ENodeId user, std::uint32_t) {
      const EClassId above = index.class_of(user);
      if (--missing[user.index] == 0 && !settled[above.index]) offer(above, user);
    });
  }
  return selection;
}

}  // namespace

egraph::Selection select_nodes(const egraph::Imported& imported, const cost::Device& device) {
  const EGraph& egraph = imported.egraph;
  egraph::Index index;
  index.refresh(egraph);
  const Pricing pricing(egraph, device);
  std::vector<Cost> own(egraph.node_count(), kInfinite);
  for (const EClassId c : index.classes())
    for (const auto& [op, n] : index.nodes(c)) own[n.index] = pricing.own(n);
  egraph::Selection selection = cheapest_trees(egraph, index, own);
  Refiner(egraph, index, own, selection).run(imported.results);
  return selection;
}

}  // namespace fusewright::extract
