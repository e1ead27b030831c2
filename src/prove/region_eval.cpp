#include "src/prove/region_eval.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

#include "fusewright/interpret/evaluate.hpp"
#include "fusewright/region/access.hpp"

namespace fusewright::prove {

using ops::Tensor;
using region::AccessNode;
using region::IndexExpr;
using region::IndexMap;
using region::IndexNode;
using region::RegionValue;
using region::ValueId;
using Ints = std::vector<std::int64_t>;

namespace {

std::int64_t floor_divided(std::int64_t a, std::int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

/// Recursion as deep as an index map's text.
std::int64_t index_at(const IndexNode& e, const Ints& point, const Ints& runtime) {
  switch (e.kind) {
    case IndexNode::Kind::kConstant: return e.value;
    case IndexNode::Kind::kDim: return point[static_cast<std::size_t>(e.value)];
    case IndexNode::Kind::kRuntime: return runtime[static_cast<std::size_t>(e.value)];
    case IndexNode::Kind::kAdd: return index_at(*e.a, point, runtime) + index_at(*e.b, point, runtime);
    case IndexNode::Kind::kMul: return index_at(*e.a, point, runtime) * e.value;
    case IndexNode::Kind::kFloorDiv: return floor_divided(index_at(*e.a, point, runtime), e.value);
    case IndexNode::Kind::kMod: {
      const std::int64_t a = index_at(*e.a, point, runtime);
      return a - e.value * floor_divided(a, e.value);
    }
    case IndexNode::Kind::kClamp: return std::clamp<std::int64_t>(index_at(*e.a, point, runtime), 0, e.value);
  }
  return 0;
}

class Evaluator {
 public:
  Evaluator(const ops::OpTable& table, const region::Region& region, std::span<const Tensor> inputs)
      : table_(table), region_(region), inputs_(inputs), whole_(region.values.size()) {}

  Result<std::vector<Tensor>> run() {
    for (std::size_t v = 0; v < region_.values.size(); ++v)
      if (needs_many(ValueId(v))) FW_TRY_STATUS(compute_whole(ValueId(v)));
    std::vector<Tensor> out;
    for (const ValueId v : region_.outputs) {
      FW_TRY(Tensor t, tensor_of(v));
      out.push_back(std::move(t));
    }
    return out;
  }

 private:
  bool needs_many(ValueId v) const {
    const RegionValue& value = region_[v];
    if (value.kind != RegionValue::Kind::kOp || value.operands.empty()) return false;
    return !region::operand_map(region_, v, 0).has_value();
  }

  Status compute_whole(ValueId v) {
    const RegionValue& value = region_[v];
    std::vector<Tensor> operands;
    for (const ValueId o : value.operands) {
      FW_TRY(Tensor t, tensor_of(o));
      operands.push_back(std::move(t));
    }
    FW_TRY(std::vector<Tensor> results, interpret::evaluate_node(table_, value.op, operands, value.attrs));
    whole_[v.index] = std::move(results[value.result]);
    return {};
  }

  /// All elements of a value, each by its own way through the index maps.
  Result<Tensor> tensor_of(ValueId v) {
    if (whole_[v.index]) return *whole_[v.index];
    const auto stop = [&](ValueId id) { return whole_[id.index].has_value(); };
    FW_TRY(const region::AccessGraph graph,
           region::trace_accesses(region_, {{v, region::identity_map(region_[v].dims)}}, stop));
    const Ints domain = region_[v].dims;
    std::vector<Tensor> made;  // by access node: its element at every point of the domain
    for (const AccessNode& node : graph.nodes) {
      FW_TRY(Tensor t, node_tensor(graph, node, domain, made));
      made.push_back(std::move(t));
    }
    return made[graph.roots[0]];
  }

  Result<Tensor> node_tensor(const region::AccessGraph& graph, const AccessNode& node, const Ints& domain,
                             const std::vector<Tensor>& made) {
    const RegionValue& value = region_[node.value];
    if (whole_[node.value.index]) return read(*whole_[node.value.index], node, domain, made);
    if (value.kind == RegionValue::Kind::kCapture) return read(inputs_[value.capture], node, domain, made);
    if (value.kind == RegionValue::Kind::kScalar) return read(*value.scalar, node, domain, made);
    if (value.operands.empty()) {
      FW_TRY(const std::vector<Tensor> all, interpret::evaluate_node(table_, value.op, {}, value.attrs));
      return read(all[0], node, domain, made);
    }
    if (!node.guards.empty()) return choose(graph, node, domain, made);
    std::vector<Tensor> operands;
    for (const std::uint32_t o : node.operands)
      if (o != AccessNode::kNone) operands.push_back(made[o]);
    if (value.op_class != ops::OpClass::kElementwise) return operands[0];  // moved: the map has found the element
    FW_TRY(std::vector<Tensor> results, interpret::evaluate_node(table_, value.op, operands, value.attrs));
    return results[0];
  }

  /// The operand whose constraints hold at each point, the last one where none do; of pad and dynamic_update_slice only
  /// the one operand has any, the update of a scalar none, which hold everywhere. Constraints are written in the
  /// runtime variables of the operand's own map.
  Result<Tensor> choose(const region::AccessGraph& graph, const AccessNode& node, const Ints& domain,
                        const std::vector<Tensor>& made) {
    const RegionValue& value = region_[node.value];
    const bool updates = value.op_name == "dynamic_update_slice";
    FW_TRY(Tensor out, ops::make_tensor(value.dtype, domain));
    FW_TRY_STATUS(each_point(node, domain, made, [&](std::int64_t i, const Ints& point, const Ints&) {
      std::optional<std::uint32_t> constrained, free;
      for (std::size_t k = 0; k < node.operands.size(); ++k) {
        if (node.operands[k] == AccessNode::kNone) continue;
        const Ints runtime = runtime_at(graph.nodes[node.operands[k]], made, i);
        const bool holds = std::ranges::all_of(node.guards[k], [&](const region::Constraint& c) {
          const std::int64_t at = index_at(*c.expr, point, runtime);
          return at >= c.low && at <= c.high;
        });
        const bool has_any = !node.guards[k].empty() || (updates && k == 1);
        if (!has_any) free = free.value_or(static_cast<std::uint32_t>(k));
        if (holds && has_any) constrained = constrained.value_or(static_cast<std::uint32_t>(k));
      }
      const auto from = constrained ? constrained : free;
      if (from) copy(made[node.operands[*from]], i, out, i);
    }));
    return out;
  }

  Result<Tensor> read(const Tensor& from, const AccessNode& node, const Ints& domain, const std::vector<Tensor>& made) {
    FW_TRY(Tensor out, ops::make_tensor(from.dtype, domain));
    FW_TRY_STATUS(each_point(node, domain, made, [&](std::int64_t i, const Ints& point, const Ints& runtime) {
      std::int64_t at = 0;
      for (std::size_t d = 0; d < from.dims.size(); ++d) {
        // An element that no constraint lets through may have any place.
        const std::int64_t x = index_at(*node.map().results[d], point, runtime);
        at = at * from.dims[d] + std::clamp<std::int64_t>(x, 0, std::max<std::int64_t>(from.dims[d] - 1, 0));
      }
      if (from.elements() > 0) copy(from, at, out, i);
    }));
    return out;
  }

  static Ints runtime_at(const AccessNode& node, const std::vector<Tensor>& made, std::int64_t i) {
    Ints runtime(node.map().runtime.size());
    for (std::size_t k = 0; k < runtime.size(); ++k) {
      const region::RuntimeVariable& variable = node.map().runtime[k];
      std::int64_t x = ops::get_int(made[node.runtime[k]], i);
      if (x < 0) x += variable.wrap;
      runtime[k] = std::clamp(x, variable.range.low, std::max(variable.range.low, variable.range.high));
    }
    return runtime;
  }

  template <class Visit>
  Status each_point(const AccessNode& node, const Ints& domain, const std::vector<Tensor>& made, const Visit& visit) {
    std::int64_t count = 1;
    for (const std::int64_t d : domain) count *= d;
    Ints point(domain.size(), 0);
    for (std::int64_t i = 0; i < count; ++i) {
      visit(i, point, runtime_at(node, made, i));
      for (std::size_t d = domain.size(); d-- > 0;) {
        if (++point[d] < domain[d]) break;
        point[d] = 0;
      }
    }
    return {};
  }

  static void copy(const Tensor& from, std::int64_t at, Tensor& to, std::int64_t i) {
    const std::int64_t width = ops::byte_width(from.dtype);
    std::memcpy(to.mutable_data() + i * width, from.data() + at * width, static_cast<std::size_t>(width));
  }

  const ops::OpTable& table_;
  const region::Region& region_;
  std::span<const Tensor> inputs_;
  std::vector<std::optional<Tensor>> whole_;  // by value: those that need many elements
};

}  // namespace

Result<std::vector<Tensor>> evaluate_region(const ops::OpTable& table, const region::Region& region,
                                            std::span<const Tensor> inputs) {
  return Evaluator(table, region, inputs).run();
}

}  // namespace fusewright::prove
