#include "fusewright/schedule/rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <optional>

#include "templates.hpp"

namespace fusewright::schedule {

using region::IndexExpr;
using region::IndexMap;
using region::RegionValue;
using region::ValueId;

namespace {

using Ints = std::vector<std::int64_t>;

bool reduces(const RegionValue& v) {
  return v.kind == RegionValue::Kind::kOp && v.op_class == ops::OpClass::kReduction && v.op_name != "reduce";
}

Ints axes_of(const RegionValue& v) {
  if (const ops::AttrValue* axis = v.attrs.find("axis")) return {std::get<std::int64_t>(*axis)};
  return v.attrs.get<Ints>("axes");
}

bool contains(const Ints& axes, std::size_t axis) {
  return std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(axis)) != axes.end();
}

// Reduced axes that have more than one element, in order.
Ints wide_axes(const Ints& dims, const Ints& axes) {
  Ints wide;
  for (std::size_t d = 0; d < dims.size(); ++d)
    if (dims[d] != 1 && contains(axes, d)) wide.push_back(static_cast<std::int64_t>(d));
  return wide;
}

struct Split {
  std::int64_t outer = 1, inner = 1, reduced = 1;
  bool operator==(const Split&) const = default;
};

// Kept axes behind the last reduced one are inner. Axes of one element change nothing wherever they stand.
Split split_of(const Ints& dims, const Ints& axes) {
  const Ints wide = wide_axes(dims, axes);
  const std::size_t last = wide.empty() ? dims.size() : static_cast<std::size_t>(wide.back());
  Split split;
  for (std::size_t d = 0; d < dims.size(); ++d)
    (contains(axes, d) ? split.reduced : d < last ? split.outer : split.inner) *= dims[d];
  return split;
}

// How many neighbours in memory the innermost walk meets: columns, or elements of a row.
std::int64_t run_of(const Ints& dims, const Ints& axes, const Split& split) {
  if (split.inner > 1) return split.inner;
  std::int64_t run = 1;
  for (std::size_t d = dims.size(); d-- > 0;) {
    if (dims[d] != 1 && !contains(axes, d)) break;
    run *= dims[d];
  }
  return run;
}

// The position within some axes of a tensor (given in order, row-major) that a linear number of them is.
void spread(const IndexExpr& number, const Ints& dims, const std::vector<std::size_t>& axes, IndexMap& map) {
  IndexExpr rest = number;
  for (std::size_t k = axes.size(); k-- > 0;) {
    const std::int64_t extent = std::max<std::int64_t>(1, dims[axes[k]]);
    map.results[axes[k]] = simplify(k == 0 ? rest : floor_mod(rest, extent), map);
    rest = simplify(floor_div(rest, extent), map);
  }
}

IndexMap reduction_map(const Rows& rows, const Ints& dims, const Ints& reduced_axes) {
  IndexMap map;
  map.domain = rows.domain();
  map.results.assign(dims.size(), region::index_constant(0));
  std::vector<std::size_t> outer, inner, reduced;
  const Ints wide = wide_axes(dims, reduced_axes);
  const std::size_t last = wide.empty() ? dims.size() : static_cast<std::size_t>(wide.back());
  for (std::size_t d = 0; d < dims.size(); ++d)
    (contains(reduced_axes, d) ? reduced : d < last ? outer : inner).push_back(d);
  spread(region::index_dim(0), dims, outer, map);
  spread(region::index_dim(1), dims, inner, map);
  spread(region::index_dim(2), dims, reduced, map);
  return map;
}

}  // namespace

bool Rows::is_reduction(ValueId id) const {
  return std::find(reductions.begin(), reductions.end(), id) != reductions.end();
}

IndexMap full_map(const Region& region, const Rows& rows, ValueId id) {
  const Ints& dims = region[id].dims;
  // A tensor of a reduction's own extents is walked as that reduction walks it; any other as its elements in row-major
  // order.
  for (const ValueId r : rows.reductions) {
    const RegionValue& reduction = region[r];
    if (region[reduction.operands[0]].dims == dims) return reduction_map(rows, dims, axes_of(reduction));
  }
  // (outer, reduced, inner) is the row-major order.
  IndexMap map;
  map.domain = rows.domain();
  map.results.assign(dims.size(), region::index_constant(0));
  std::vector<std::size_t> all(dims.size());
  for (std::size_t d = 0; d < dims.size(); ++d) all[d] = d;
  spread(
      simplify((region::index_dim(0) * rows.reduced + region::index_dim(2)) * rows.inner + region::index_dim(1), map),
      dims, all, map);
  return map;
}

IndexMap kept_map(const Region& region, const Rows& rows, ValueId id) {
  const Ints& dims = region[id].dims;
  IndexMap map;
  map.domain = {rows.outer, rows.inner};
  map.results.assign(dims.size(), region::index_constant(0));
  std::vector<std::size_t> all(dims.size());
  for (std::size_t d = 0; d < dims.size(); ++d) all[d] = d;
  spread(simplify(region::index_dim(0) * rows.inner + region::index_dim(1), map), dims, all, map);
  return map;
}

namespace {

// Reductions inside are read for the row at hand only.
std::expected<void, Refusal> check_accesses(const Region& region, const Rows& rows,
                                            const std::vector<region::AccessRoot>& roots) {
  if (roots.empty()) return {};
  const auto graph = region::trace_accesses(region, roots, [&](ValueId id) { return rows.is_reduction(id); });
  if (!graph) return std::unexpected(Refusal{graph.error().diagnostics.front().message});
  for (const region::AccessNode& n : graph->nodes) {
    if (!rows.is_reduction(n.value)) continue;
    const IndexExpr at = linearize(n.map(), region[n.value].dims);
    const IndexExpr own = simplify(region::index_dim(0) * rows.inner + region::index_dim(1), n.map());
    if (compare(at, own) != 0)
      return refuse(fmt::format("{} of other rows is needed ({} instead of {})", region[n.value].op_name, to_string(at),
                                to_string(own)));
  }
  return {};
}

}  // namespace

std::expected<Rows, Refusal> analyse_rows(const Region& region) {
  Rows rows;
  std::vector<int> depth(region.values.size(), 0);  // reductions on the way to a value
  std::optional<Split> shared;
  Ints first_axes;
  for (std::size_t i = 0; i < region.values.size(); ++i) {
    const RegionValue& v = region.values[i];
    if (v.kind != RegionValue::Kind::kOp) continue;
    for (const ValueId operand : v.operands) depth[i] = std::max(depth[i], depth[operand.index]);
    if (!reduces(v)) {
      if (!pointwise(v)) return refuse(fmt::format("{} is neither elementwise nor a reduction", v.op_name));
      continue;
    }
    const Ints& dims = region[v.operands[0]].dims;
    const Split split = split_of(dims, axes_of(v));
    if (shared && !(*shared == split))
      return refuse(fmt::format("reductions over different axes: {{{}}} keeps {} x {}, {{{}}} keeps {} x {}",
                                fmt::join(first_axes, ","), shared->outer, shared->inner, fmt::join(axes_of(v), ","),
                                split.outer, split.inner));
    for (const ValueId other : rows.reductions)
      if (region[region[other].operands[0]].dims == dims &&
          wide_axes(dims, axes_of(region[other])) != wide_axes(dims, axes_of(v)))
        return refuse(fmt::format("reductions over different axes: {{{}}} and {{{}}}",
                                  fmt::join(axes_of(region[other]), ","), fmt::join(axes_of(v), ",")));
    const std::int64_t run = run_of(dims, axes_of(v), split);
    if (!shared) first_axes = axes_of(v);
    rows.run = shared ? std::gcd(rows.run, run) : run;
    shared = split;
    rows.reductions.push_back(ValueId(i));
    rows.level.push_back(depth[i]);
    rows.levels = std::max(rows.levels, ++depth[i]);
  }
  if (!shared) return refuse("there is no reduction");
  rows.outer = shared->outer;
  rows.inner = shared->inner;
  rows.reduced = shared->reduced;
  if (rows.outer * rows.inner == 0) return refuse("there are no rows");

  std::vector<region::AccessRoot> full_roots, kept_roots;
  const std::int64_t kept = rows.outer * rows.inner;
  for (const ValueId output : region.outputs) {
    const std::int64_t elements = region[output].elements();
    const bool is_kept = elements == kept && (rows.reduced != 1 || rows.is_reduction(output));
    if (is_kept) {
      rows.kept.push_back(output);
      if (!rows.is_reduction(output)) kept_roots.push_back({output, kept_map(region, rows, output)});
    } else if (elements == kept * rows.reduced) {
      rows.full.push_back(output);
      full_roots.push_back({output, full_map(region, rows, output)});
    } else {
      return refuse(fmt::format("an output of {} elements is neither a row's ({}) nor the whole ({})", elements, kept,
                                kept * rows.reduced));
    }
  }
  for (const ValueId r : rows.reductions)
    full_roots.push_back({region[r].operands[0], full_map(region, rows, region[r].operands[0])});
  if (auto checked = check_accesses(region, rows, full_roots); !checked) return std::unexpected(checked.error());
  if (auto checked = check_accesses(region, rows, kept_roots); !checked) return std::unexpected(checked.error());
  return rows;
}

void Passes::add(ValueId value, std::vector<int> passes) {
  const std::vector<int>& now = lists_[list_of_[value.index]];
  std::vector<int> both;
  std::ranges::set_union(now, passes, std::back_inserter(both));
  const auto [at, fresh] = numbers_.try_emplace(both, static_cast<std::uint32_t>(lists_.size()));
  if (fresh) lists_.push_back(std::move(both));
  list_of_[value.index] = at->second;
}

void Passes::add_those_of(ValueId value, ValueId other) {
  if (same(value, other) || list_of_[other.index] == 0) return;
  if (list_of_[value.index] == 0)
    list_of_[value.index] = list_of_[other.index];
  else
    add(value, lists_[list_of_[other.index]]);
}

Passes passes_needing(const Region& region, const Rows& rows, const std::vector<ValueId>& staged) {
  Passes passes(region.values.size());
  for (std::size_t r = 0; r < rows.reductions.size(); ++r)
    passes.add(region[rows.reductions[r]].operands[0], {rows.level[r]});
  for (const ValueId output : rows.full) passes.add(output, {rows.levels});
  const std::int64_t whole = rows.outer * rows.inner * rows.reduced;
  for (std::size_t i = region.values.size(); i-- > 0;) {
    const RegionValue& v = region.values[i];
    if (v.kind != RegionValue::Kind::kOp || rows.is_reduction(ValueId(i))) continue;
    const bool once =
        passes[ValueId(i)].size() > 1 && std::find(staged.begin(), staged.end(), ValueId(i)) != staged.end();
    for (const ValueId operand : v.operands) {
      if (region[operand].elements() != whole) continue;
      if (once)
        passes.add(operand, {passes[ValueId(i)].front()});
      else
        passes.add_those_of(operand, ValueId(i));
    }
  }
  return passes;
}

}  // namespace fusewright::schedule
