#include "fusewright/region/access.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "fusewright/support/check.hpp"

namespace fusewright::region {

namespace {

/// How many runtime variables from the first on the expressions speak of.
std::ptrdiff_t variables_in(const std::vector<IndexExpr>& expressions) {
  std::ptrdiff_t count = 0;
  std::vector<const IndexNode*> stack;
  for (const IndexExpr& e : expressions) stack.push_back(e.get());
  while (!stack.empty()) {
    const IndexNode& e = *stack.back();
    stack.pop_back();
    if (e.kind == IndexNode::Kind::kRuntime) count = std::max<std::ptrdiff_t>(count, e.value + 1);
    if (e.a != nullptr) stack.push_back(e.a.get());
    if (e.b != nullptr) stack.push_back(e.b.get());
  }
  return count;
}

bool chooses(const RegionValue& value) {
  return value.op_name == "pad" || value.op_name == "concat" || value.op_name == "dynamic_update_slice";
}

class Tracer {
 public:
  Tracer(const Region& region, const std::function<bool(ValueId)>& stop)
      : region_(region), stop_(stop), known_(region.values.size()) {}

  Result<AccessGraph> run(const std::vector<AccessRoot>& roots) {
    for (const AccessRoot& root : roots) {
      FW_TRY(const std::uint32_t node, visit({root.value, intern(simplified(root.map))}));
      graph_.roots.push_back(node);
    }
    return std::move(graph_);
  }

 private:
  using Number = std::uint32_t;  // of a map
  struct Access {
    ValueId value;  // none: an operand that is read through the runtime variables
    Number map = 0;
  };
  struct Frame {
    Access access;
    AccessNode node;
    std::vector<Access> needs;  // operands, then runtime variables
    std::size_t next = 0;
  };

  static IndexMap simplified(const IndexMap& map) {
    IndexMap out = map;
    for (IndexExpr& e : out.results) e = simplify(e, map);
    return out;
  }

  Number intern(IndexMap map) {
    // Constraints are taken up where they arise and do not travel further down.
    map.constraints.clear();
    const auto at = numbers_.find(&map);
    if (at != numbers_.end()) return at->second;
    maps_.push_back(std::make_shared<const IndexMap>(std::move(map)));
    return numbers_[maps_.back().get()] = static_cast<Number>(maps_.size() - 1);
  }

  std::uint32_t known(const Access& access) const {
    for (const auto& [map, node] : known_[access.value.index])
      if (map == access.map) return node;
    return AccessNode::kNone;
  }

  // Depth-first with a stack of our own: a region can be a chain of thousands of operators.
  Result<std::uint32_t> visit(const Access& root) {
    if (const std::uint32_t node = known(root); node != AccessNode::kNone) return node;
    std::vector<Frame> stack;
    FW_TRY_STATUS(push(stack, root));
    for (;;) {
      Frame& top = stack.back();
      bool complete = true;
      for (; top.next < top.needs.size() && complete; top.next += complete ? 1 : 0)
        complete = !top.needs[top.next].value.valid() || known(top.needs[top.next]) != AccessNode::kNone;
      if (!complete) {
        FW_TRY_STATUS(push(stack, Access(top.needs[top.next])));
        continue;
      }
      const auto found = [&](const Access& need) { return need.value.valid() ? known(need) : AccessNode::kNone; };
      const std::size_t runtime = top.node.map().runtime.size();
      for (std::size_t k = 0; k < top.needs.size(); ++k)
        (k + runtime < top.needs.size() ? top.node.operands : top.node.runtime).push_back(found(top.needs[k]));
      const auto made = static_cast<std::uint32_t>(graph_.nodes.size());
      known_[top.access.value.index].emplace_back(top.access.map, made);
      graph_.nodes.push_back(std::move(top.node));
      stack.pop_back();
      if (stack.empty()) return made;
    }
  }

  Status push(std::vector<Frame>& stack, const Access& access) {
    Frame frame;
    frame.access = access;
    frame.node.value = access.value;
    frame.node.at = maps_[access.map];
    const RegionValue& value = region_[access.value];
    const bool leaf = value.kind != RegionValue::Kind::kOp || (stop_ && stop_(access.value));
    for (std::size_t k = 0; k < value.operands.size() && !leaf; ++k) {
      FW_TRY(const Access operand, need(frame, k));
      frame.needs.push_back(operand);
    }
    for (const RuntimeVariable& variable : frame.node.map().runtime) {
      IndexMap at;
      at.domain = frame.node.map().domain;
      at.results = variable.index;
      // A place that is itself read from tensors: the variables before this one, by the same numbers.
      const std::vector<RuntimeVariable>& before = frame.node.map().runtime;
      at.runtime.assign(before.begin(), before.begin() + variables_in(at.results));
      frame.needs.push_back({variable.tensor, intern(std::move(at))});
    }
    stack.push_back(std::move(frame));
    return {};
  }

  // Where operand `k` of the frame's value is read.
  Result<Access> need(Frame& frame, std::size_t k) {
    const ValueId id = frame.access.value;
    const RegionValue& value = region_[id];
    if (value.op_class == ops::OpClass::kElementwise) return Access{value.operands[k], frame.access.map};
    const std::optional<IndexMap> inner = operand_map(region_, id, k);
    if (!inner && k == 0) return fail(fmt::format("one element of {} needs many of its operand", value.op_name));
    // Indices and starts are read through the runtime variables.
    if (!inner || (k > 0 && (value.op_name == "take" || value.op_name == "take_along"))) return Access{};
    IndexMap outer = compose(frame.node.map(), *inner);
    if (chooses(value)) {
      frame.node.guards.resize(value.operands.size());
      frame.node.guards[k] = outer.constraints;
    }
    return Access{value.operands[k], intern(std::move(outer))};
  }

  const Region& region_;
  const std::function<bool(ValueId)>& stop_;
  AccessGraph graph_;
  std::vector<std::shared_ptr<const IndexMap>> maps_;
  struct Less {
    bool operator()(const IndexMap* a, const IndexMap* b) const { return compare(*a, *b) < 0; }
  };
  std::map<const IndexMap*, Number, Less> numbers_;
  std::vector<std::vector<std::pair<Number, std::uint32_t>>> known_;  // by value: maps and their nodes
};

}  // namespace

Result<AccessGraph> trace_accesses(const Region& region, const std::vector<AccessRoot>& roots,
                                   const std::function<bool(ValueId)>& stop) {
  return Tracer(region, stop).run(roots);
}

std::optional<std::int64_t> stride_of(const IndexExpr& expr, const IndexMap& map, std::int64_t dim) {
  using Kind = IndexNode::Kind;
  std::int64_t stride = 0;
  std::vector<std::pair<IndexExpr, std::int64_t>> stack{{expr, 1}};
  while (!stack.empty()) {
    const auto [e, factor] = stack.back();
    stack.pop_back();
    switch (e->kind) {
      case Kind::kConstant: break;
      case Kind::kDim: stride += e->value == dim ? factor : 0; break;
      case Kind::kAdd:
        stack.emplace_back(e->a, factor);
        stack.emplace_back(e->b, factor);
        break;
      case Kind::kMul: stack.emplace_back(e->a, factor * e->value); break;
      case Kind::kRuntime:
        for (const IndexExpr& index : map.runtime[static_cast<std::size_t>(e->value)].index)
          if (stride_of(index, map, dim) != std::optional<std::int64_t>(0)) return std::nullopt;
        break;
      case Kind::kFloorDiv:
      case Kind::kMod:
      case Kind::kClamp:
        if (stride_of(e->a, map, dim) != std::optional<std::int64_t>(0)) return std::nullopt;
        break;
    }
  }
  return stride;
}

Result<std::vector<std::int64_t>> collapse_domain(const Region& region, const std::vector<AccessRoot>& roots,
                                                  const std::function<bool(ValueId)>& stop) {
  FW_TRY(const AccessGraph graph, trace_accesses(region, roots, stop));
  const std::vector<std::int64_t>& domain = roots.front().map.domain;
  const std::size_t rank = domain.size();
  if (rank == 0) return std::vector<std::int64_t>{1};

  // separate[i]: some access does not walk axis i and the next one as a single axis.
  std::vector<bool> separate(rank, false);
  const auto consider = [&](const IndexExpr& e, const IndexMap& map) {
    std::vector<std::optional<std::int64_t>> strides(rank);
    for (std::size_t d = 0; d < rank; ++d) strides[d] = stride_of(e, map, static_cast<std::int64_t>(d));
    std::size_t inner = rank;  // the next axis inside that is not of extent 1
    for (std::size_t d = rank; d-- > 0;) {
      if (domain[d] == 1) continue;
      if (inner != rank) {
        const bool one = strides[d] && strides[inner] && *strides[d] == *strides[inner] * domain[inner];
        if (!one) separate[d] = true;
      }
      inner = d;
    }
  };
  for (const AccessNode& node : graph.nodes) {
    const RegionValue& value = region[node.value];
    const bool source = value.kind == RegionValue::Kind::kOp && value.op_class == ops::OpClass::kSource;
    if (source) {
      for (const IndexExpr& e : node.map().results) consider(e, node.map());
    } else if (node.operands.empty()) {
      consider(linearize(node.map(), value.dims), node.map());
    }
    for (std::size_t k = 0; k < node.guards.size(); ++k)
      for (const Constraint& c : node.guards[k]) consider(c.expr, graph.nodes[node.operands[k]].map());
  }
  std::vector<std::int64_t> extents;
  std::int64_t run = 1;
  for (std::size_t d = 0; d < rank; ++d) {
    run *= domain[d];
    if (domain[d] == 1 && d + 1 < rank) continue;
    if (separate[d] || d + 1 == rank) {
      if (run != 1 || (d + 1 == rank && extents.empty())) extents.push_back(run);
      run = 1;
    }
  }
  return extents;
}

}  // namespace fusewright::region
