#include "fusewright/region/index_map.hpp"

#include "fusewright/region/access.hpp"

#include <algorithm>
#include <tuple>

#include "fusewright/support/check.hpp"

namespace fusewright::region {

namespace {

using Dims = std::vector<std::int64_t>;
using Ints = std::vector<std::int64_t>;

IndexExpr substitute(const IndexExpr& e, const std::vector<IndexExpr>& dims, std::int64_t runtime_offset) {
  using Kind = IndexNode::Kind;
  switch (e->kind) {
    case Kind::kConstant: return e;
    case Kind::kDim: return dims[static_cast<std::size_t>(e->value)];
    case Kind::kRuntime: return index_runtime(e->value + runtime_offset);
    case Kind::kAdd: return substitute(e->a, dims, runtime_offset) + substitute(e->b, dims, runtime_offset);
    case Kind::kMul: return substitute(e->a, dims, runtime_offset) * e->value;
    case Kind::kFloorDiv: return floor_div(substitute(e->a, dims, runtime_offset), e->value);
    case Kind::kMod: return floor_mod(substitute(e->a, dims, runtime_offset), e->value);
    case Kind::kClamp: return clamp(substitute(e->a, dims, runtime_offset), e->value);
  }
  return e;
}

IndexMap empty_map(const Dims& domain) {
  IndexMap map;
  map.domain = domain;
  return map;
}

void within(IndexMap& map, const IndexExpr& e, std::int64_t low, std::int64_t high) {
  const Range range = range_of(e, map);
  if (range.low >= low && range.high <= high) return;
  map.constraints.push_back({e, low, high});
}

IndexMap pad_map(const RegionValue& value, const Dims& from) {
  IndexMap map = empty_map(value.dims);
  const Ints& low = value.attrs.get<Ints>("low");
  const Ints interior = value.attrs.get_or<Ints>("interior", Ints(from.size(), 0));
  for (std::size_t axis = 0; axis < from.size(); ++axis) {
    const std::int64_t step = interior[axis] + 1;
    // Shifted by whole steps so that nothing divided is negative.
    const std::int64_t shift = std::max<std::int64_t>(0, (low[axis] + step - 1) / step);
    const IndexExpr offset = index_dim(static_cast<std::int64_t>(axis)) + index_constant(shift * step - low[axis]);
    if (step > 1) within(map, floor_mod(offset, step), 0, 0);
    const IndexExpr at = floor_div(offset, step) + index_constant(-shift);
    within(map, simplify(at, map), 0, from[axis] - 1);
    map.results.push_back(simplify(at, map));
  }
  return map;
}

IndexMap take_map(const Region& region, const RegionValue& value, const Dims& from, bool along) {
  IndexMap map = empty_map(value.dims);
  const auto axis = static_cast<std::size_t>(value.attrs.get<std::int64_t>("axis"));
  const std::size_t index_rank = region[value.operands[1]].dims.size();
  RuntimeVariable variable{value.operands[1], {}, from[axis], {0, std::max<std::int64_t>(0, from[axis] - 1)}};
  if (along) {
    for (std::size_t d = 0; d < value.dims.size(); ++d) {
      variable.index.push_back(index_dim(static_cast<std::int64_t>(d)));
      map.results.push_back(d == axis ? index_runtime(0) : index_dim(static_cast<std::int64_t>(d)));
    }
  } else {
    for (std::size_t d = 0; d < index_rank; ++d)
      variable.index.push_back(index_dim(static_cast<std::int64_t>(axis + d)));
    for (std::size_t d = 0; d < from.size(); ++d) {
      if (d == axis)
        map.results.push_back(index_runtime(0));
      else
        map.results.push_back(index_dim(static_cast<std::int64_t>(d < axis ? d : d + index_rank - 1)));
    }
  }
  map.runtime.push_back(std::move(variable));
  return map;
}

bool contains(const Ints& list, std::int64_t item) { return std::find(list.begin(), list.end(), item) != list.end(); }

// HLO's gather: each result axis is either an offset axis (it walks inside the slice) or a batch axis (it walks over
// `indices`).
IndexMap gather_map(const Region& region, const RegionValue& value, const Dims& from) {
  IndexMap map = empty_map(value.dims);
  const Ints offset_dims = value.attrs.get<Ints>("offset_dims");
  const Ints collapsed = value.attrs.get_or<Ints>("collapsed_slice_dims", {});
  const Ints start_map = value.attrs.get<Ints>("start_index_map");
  const Ints operand_batch = value.attrs.get_or<Ints>("operand_batching_dims", {});
  const Ints indices_batch = value.attrs.get_or<Ints>("indices_batching_dims", {});
  const std::int64_t vector_dim = value.attrs.get<std::int64_t>("index_vector_dim");
  const Ints slice_sizes = value.attrs.get<Ints>("slice_sizes");
  const Dims& index_dims = region[value.operands[1]].dims;

  std::vector<IndexExpr> batch;  // result axes that walk over the indices, in order
  for (std::size_t d = 0; d < value.dims.size(); ++d)
    if (!contains(offset_dims, static_cast<std::int64_t>(d))) batch.push_back(index_dim(static_cast<std::int64_t>(d)));
  const auto index_at = [&](std::int64_t component) {
    std::vector<IndexExpr> index;
    std::size_t next = 0;
    for (std::size_t d = 0; d < index_dims.size(); ++d) {
      if (static_cast<std::int64_t>(d) == vector_dim)
        index.push_back(index_constant(component));
      else
        index.push_back(batch[next++]);
    }
    return index;
  };

  map.results.assign(from.size(), index_constant(0));
  std::size_t next_offset = 0;
  for (std::size_t axis = 0; axis < from.size(); ++axis) {
    const auto a = static_cast<std::int64_t>(axis);
    if (!contains(collapsed, a) && !contains(operand_batch, a))
      map.results[axis] = index_dim(offset_dims[next_offset++]);
  }
  for (std::size_t k = 0; k < start_map.size(); ++k) {
    const auto axis = static_cast<std::size_t>(start_map[k]);
    const std::int64_t last = std::max<std::int64_t>(0, from[axis] - slice_sizes[axis]);
    map.runtime.push_back({value.operands[1], index_at(static_cast<std::int64_t>(k)), 0, {0, last}});
    map.results[axis] = map.results[axis] + index_runtime(static_cast<std::int64_t>(map.runtime.size()) - 1);
  }
  for (std::size_t k = 0; k < operand_batch.size(); ++k) {
    std::int64_t position = indices_batch[k];
    if (position > vector_dim) --position;
    map.results[static_cast<std::size_t>(operand_batch[k])] = batch[static_cast<std::size_t>(position)];
  }
  return map;
}

// Starts are scalars in operands `first`, `first + 1`, ... and clamp so that the window stays inside.
std::vector<IndexExpr> window_starts(IndexMap& map, const RegionValue& value, std::size_t first, const Dims& whole,
                                     const Dims& window) {
  std::vector<IndexExpr> starts;
  for (std::size_t axis = 0; axis < whole.size(); ++axis) {
    const std::int64_t last = std::max<std::int64_t>(0, whole[axis] - window[axis]);
    map.runtime.push_back({value.operands[first + axis], {}, 0, {0, last}});
    starts.push_back(last == 0 ? index_constant(0) : index_runtime(static_cast<std::int64_t>(map.runtime.size()) - 1));
  }
  return starts;
}

}  // namespace

std::strong_ordering compare(const IndexMap& a, const IndexMap& b) {
  const auto all = [](const std::vector<IndexExpr>& x, const std::vector<IndexExpr>& y) {
    return std::lexicographical_compare_three_way(x.begin(), x.end(), y.begin(), y.end(),
                                                  [](const auto& e, const auto& f) { return compare(e, f); });
  };
  if (const auto domain = a.domain <=> b.domain; domain != 0) return domain;
  if (const auto results = all(a.results, b.results); results != 0) return results;
  return std::lexicographical_compare_three_way(a.runtime.begin(), a.runtime.end(), b.runtime.begin(), b.runtime.end(),
                                                [&](const RuntimeVariable& x, const RuntimeVariable& y) {
                                                  const auto key = [](const RuntimeVariable& r) {
                                                    return std::tuple(r.tensor.index, r.wrap, r.range.low,
                                                                      r.range.high);
                                                  };
                                                  const auto by_key = key(x) <=> key(y);
                                                  return by_key != 0 ? by_key : all(x.index, y.index);
                                                });
}

IndexMap identity_map(std::vector<std::int64_t> dims) {
  IndexMap map;
  map.domain = std::move(dims);
  for (std::size_t d = 0; d < map.domain.size(); ++d) map.results.push_back(index_dim(static_cast<std::int64_t>(d)));
  return map;
}

IndexExpr linearize(const IndexMap& map, const std::vector<std::int64_t>& dims) {
  IndexExpr offset = index_constant(0);
  std::int64_t stride = 1;
  for (std::size_t axis = dims.size(); axis-- > 0;) {
    offset = offset + map.results[axis] * stride;
    stride *= dims[axis];
  }
  return simplify(offset, map);
}

IndexMap reshape_map(const Dims& domain, const Dims& from) {
  IndexMap map = empty_map(domain);
  IndexExpr rest = linearize(identity_map(domain), domain);
  map.results.assign(from.size(), index_constant(0));
  for (std::size_t axis = from.size(); axis-- > 0;) {
    const std::int64_t extent = std::max<std::int64_t>(1, from[axis]);
    map.results[axis] = simplify(axis == 0 ? rest : floor_mod(rest, extent), map);
    rest = simplify(floor_div(rest, extent), map);
  }
  return map;
}

std::optional<IndexMap> operand_map(const Region& region, ValueId id, std::size_t operand) {
  const RegionValue& value = region[id];
  if (value.kind != RegionValue::Kind::kOp) return std::nullopt;
  const Dims& from = region[value.operands[operand]].dims;
  const std::string& op = value.op_name;

  if (value.op_class == ops::OpClass::kElementwise) return identity_map(value.dims);
  if (op == "broadcast") {
    IndexMap map = empty_map(value.dims);
    for (const std::int64_t d : value.attrs.get<Ints>("dims")) map.results.push_back(index_dim(d));
    return map;
  }
  if (op == "reshape") return reshape_map(value.dims, from);
  if (op == "transpose") {
    IndexMap map = empty_map(value.dims);
    map.results.assign(from.size(), nullptr);
    const Ints& perm = value.attrs.get<Ints>("perm");
    for (std::size_t d = 0; d < perm.size(); ++d)
      map.results[static_cast<std::size_t>(perm[d])] = index_dim(static_cast<std::int64_t>(d));
    return map;
  }
  if (op == "reverse") {
    IndexMap map = identity_map(value.dims);
    for (const std::int64_t axis : value.attrs.get<Ints>("axes")) {
      const auto a = static_cast<std::size_t>(axis);
      map.results[a] = index_dim(axis) * -1 + index_constant(std::max<std::int64_t>(0, from[a] - 1));
    }
    return map;
  }
  if (op == "slice") {
    IndexMap map = identity_map(value.dims);
    const Ints& starts = value.attrs.get<Ints>("starts");
    const Ints strides = value.attrs.get_or<Ints>("strides", Ints(from.size(), 1));
    for (std::size_t a = 0; a < from.size(); ++a)
      map.results[a] = map.results[a] * strides[a] + index_constant(starts[a]);
    return map;
  }
  if (op == "pad") return operand == 0 ? pad_map(value, from) : empty_map(value.dims);
  if (op == "concat") {
    const auto axis = static_cast<std::size_t>(value.attrs.get<std::int64_t>("axis"));
    std::int64_t offset = 0;
    for (std::size_t k = 0; k < operand; ++k) offset += region[value.operands[k]].dims[axis];
    IndexMap map = identity_map(value.dims);
    map.results[axis] = map.results[axis] + index_constant(-offset);
    within(map, map.results[axis], 0, from[axis] - 1);
    return map;
  }
  if (op == "take" || op == "take_along") {
    const bool along = op == "take_along";
    if (operand == 0) return take_map(region, value, from, along);
    if (along) return identity_map(value.dims);
    IndexMap map = empty_map(value.dims);
    const std::int64_t axis = value.attrs.get<std::int64_t>("axis");
    for (std::size_t d = 0; d < from.size(); ++d) map.results.push_back(index_dim(axis + static_cast<std::int64_t>(d)));
    return map;
  }
  if (op == "gather" && operand == 0) return gather_map(region, value, from);
  if (op == "dynamic_slice" && operand == 0) {
    IndexMap map = empty_map(value.dims);
    const std::vector<IndexExpr> starts = window_starts(map, value, 1, from, value.dims);
    for (std::size_t a = 0; a < from.size(); ++a)
      map.results.push_back(starts[a] + index_dim(static_cast<std::int64_t>(a)));
    return map;
  }
  if (op == "dynamic_update_slice" && operand == 0) return identity_map(value.dims);
  if (op == "dynamic_update_slice" && operand == 1) {
    IndexMap map = empty_map(value.dims);
    const std::vector<IndexExpr> starts = window_starts(map, value, 2, value.dims, from);
    for (std::size_t a = 0; a < from.size(); ++a) {
      map.results.push_back(index_dim(static_cast<std::int64_t>(a)) + starts[a] * -1);
      within(map, map.results.back(), 0, from[a] - 1);
    }
    return map;
  }
  return std::nullopt;
}

IndexMap compose(const IndexMap& outer, const IndexMap& inner) {
  FW_CHECK(outer.results.size() == inner.domain.size());
  IndexMap map;
  map.domain = outer.domain;
  map.runtime = outer.runtime;
  map.constraints = outer.constraints;
  const auto offset = static_cast<std::int64_t>(outer.runtime.size());
  // Runtime variables first: simplifying anything else asks for their ranges.
  for (const RuntimeVariable& variable : inner.runtime) {
    RuntimeVariable made = variable;
    for (IndexExpr& index : made.index) index = simplify(substitute(index, outer.results, offset), map);
    map.runtime.push_back(std::move(made));
  }
  for (const Constraint& constraint : inner.constraints)
    within(map, simplify(substitute(constraint.expr, outer.results, offset), map), constraint.low, constraint.high);
  for (const IndexExpr& result : inner.results)
    map.results.push_back(simplify(substitute(result, outer.results, offset), map));
  return map;
}

bool is_bijective(const IndexMap& map, const std::vector<std::int64_t>& operand_dims) {
  if (!map.constraints.empty() || !map.runtime.empty()) return false;
  std::int64_t domain = 1, operand = 1;
  for (const std::int64_t d : map.domain) domain *= d;
  for (const std::int64_t d : operand_dims) operand *= d;
  if (domain != operand) return false;
  if (domain <= 1) return true;
  // A mixed-radix number whose digits are the dims, in any order: each stride is the product of the extents below it.
  IndexExpr offset = linearize(map, operand_dims);
  std::vector<std::pair<std::int64_t, std::int64_t>> digits;  // (stride, extent)
  std::vector<IndexExpr> stack{offset};
  while (!stack.empty()) {
    const IndexExpr e = stack.back();
    stack.pop_back();
    std::int64_t stride = 1;
    IndexExpr atom = e;
    if (e->kind == IndexNode::Kind::kAdd) {
      stack.push_back(e->a);
      stack.push_back(e->b);
      continue;
    }
    if (e->kind == IndexNode::Kind::kMul) {
      stride = e->value;
      atom = e->a;
    }
    if (atom->kind != IndexNode::Kind::kDim) return false;
    digits.emplace_back(stride, map.domain[static_cast<std::size_t>(atom->value)]);
  }
  std::sort(digits.begin(), digits.end());
  std::int64_t expected = 1;
  for (const auto& [stride, extent] : digits) {
    if (stride != expected) return false;
    expected *= extent;
  }
  return expected == domain;
}

}  // namespace fusewright::region
