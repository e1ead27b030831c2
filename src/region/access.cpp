#include "fusewright/region/access.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "fusewright/support/check.hpp"

namespace fusewright::region {

namespace {

std::string key_of(ValueId value, const IndexMap& map) {
  std::string key = std::to_string(value.index);
  for (const IndexExpr& e : map.results) key += "," + to_string(e);
  // Runtime variables are numbered within their map; what they read tells maps apart.
  for (const RuntimeVariable& r : map.runtime) {
    key += fmt::format(";{}+{}:{}", r.tensor.index, r.wrap, r.range.high);
    for (const IndexExpr& e : r.index) key += "," + to_string(e);
  }
  return key;
}

// Constraints are taken up where they arise and do not travel further down; unused runtime variables go.
IndexMap without_constraints(IndexMap map) {
  map.constraints.clear();
  return map;
}

class Tracer {
 public:
  Tracer(const Region& region, const std::function<bool(ValueId)>& stop) : region_(region), stop_(stop) {}

  Result<AccessGraph> run(const std::vector<AccessRoot>& roots) {
    for (const AccessRoot& root : roots) {
      FW_TRY(const std::uint32_t node, visit(root.value, root.map));
      graph_.roots.push_back(node);
    }
    return std::move(graph_);
  }

 private:
  struct Frame {
    std::string key;
    AccessNode node;
    std::vector<std::pair<ValueId, IndexMap>> needs;  // operands, then runtime variables
    std::size_t next = 0;
    std::vector<std::uint32_t> found;
  };

  // Depth-first with a stack of our own: a region can be a chain of thousands of operators.
  Result<std::uint32_t> visit(ValueId value, const IndexMap& map) {
    std::vector<Frame> stack;
    std::uint32_t result = 0;
    FW_TRY_STATUS(push(stack, value, map, result));
    while (!stack.empty()) {
      Frame& top = stack.back();
      if (top.next < top.needs.size()) {
        const auto& [need, need_map] = top.needs[top.next];
        std::uint32_t found = AccessNode::kNone;
        if (need.valid()) {
          const auto known = known_.find(key_of(need, need_map));
          if (known == known_.end()) {
            FW_TRY_STATUS(push(stack, need, IndexMap(need_map), result));
            continue;  // `top` may have moved; it is looked at again when the operand is done
          }
          found = known->second;
        }
        top.found.push_back(found);
        ++top.next;
        continue;
      }
      const std::size_t operands = top.node.operands.size();
      std::copy_n(top.found.begin(), operands, top.node.operands.begin());
      top.node.runtime.assign(top.found.begin() + static_cast<std::ptrdiff_t>(operands), top.found.end());
      result = static_cast<std::uint32_t>(graph_.nodes.size());
      graph_.nodes.push_back(std::move(top.node));
      known_.emplace(std::move(top.key), result);
      stack.pop_back();
    }
    return result;
  }

  Status push(std::vector<Frame>& stack, ValueId id, const IndexMap& map, std::uint32_t& result) {
    Frame frame;
    frame.key = key_of(id, map);
    if (const auto known = known_.find(frame.key); known != known_.end()) {
      result = known->second;
      return {};
    }
    frame.node.value = id;
    frame.node.map = map;
    const RegionValue& value = region_[id];
    const bool leaf = value.kind != RegionValue::Kind::kOp || (stop_ && stop_(id));
    if (!leaf) {
      const bool chooses =
          value.op_name == "pad" || value.op_name == "concat" || value.op_name == "dynamic_update_slice";
      for (std::size_t k = 0; k < value.operands.size(); ++k) {
        const std::optional<IndexMap> inner = operand_map(region_, id, k);
        if (!inner) {
          if (k == 0) return fail(fmt::format("one element of {} needs many of its operand", value.op_name));
          frame.needs.emplace_back(ValueId(), IndexMap());  // start indices: read through the runtime variables
        } else if (k > 0 && (value.op_name == "take" || value.op_name == "take_along")) {
          frame.needs.emplace_back(ValueId(), IndexMap());
        } else {
          IndexMap outer = compose(map, *inner);
          if (chooses) {
            frame.node.guards.resize(value.operands.size());
            frame.node.guards[k] = outer.constraints;
          }
          frame.needs.emplace_back(value.operands[k], without_constraints(std::move(outer)));
        }
      }
      frame.node.operands.resize(value.operands.size());
    }
    for (const RuntimeVariable& variable : map.runtime) {
      IndexMap at;
      at.domain = map.domain;
      at.results = variable.index;
      frame.needs.emplace_back(variable.tensor, std::move(at));
    }
    stack.push_back(std::move(frame));
    return {};
  }

  const Region& region_;
  const std::function<bool(ValueId)>& stop_;
  AccessGraph graph_;
  std::unordered_map<std::string, std::uint32_t> known_;
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
      for (const IndexExpr& e : node.map.results) consider(e, node.map);
    } else if (node.operands.empty()) {
      consider(linearize(node.map, value.dims), node.map);
    }
    for (std::size_t k = 0; k < node.guards.size(); ++k)
      for (const Constraint& c : node.guards[k]) consider(c.expr, graph.nodes[node.operands[k]].map);
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
