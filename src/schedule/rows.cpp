#include "fusewright/schedule/rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "fusewright/support/check.hpp"
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

std::int64_t product(const Ints& dims, std::size_t begin, std::size_t end) {
  std::int64_t n = 1;
  for (std::size_t d = begin; d < end; ++d) n *= dims[d];
  return n;
}

struct Split {
  std::int64_t outer = 1, inner = 1, reduced = 1;
  bool operator==(const Split&) const = default;
};

// Unit axes belong to whichever neighbour suits; what counts is whether an axis that matters lies between reduced ones.
Split split_of(const Ints& dims, const Ints& axes) {
  Split split;
  std::size_t first = dims.size(), last = 0;
  for (const std::int64_t a : axes) {
    const auto axis = static_cast<std::size_t>(a);
    split.reduced *= dims[axis];
    if (dims[axis] == 1) continue;
    first = std::min(first, axis);
    last = std::max(last, axis);
  }
  std::int64_t kept = 1;
  for (std::size_t d = 0; d < dims.size(); ++d)
    if (std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(d)) == axes.end()) kept *= dims[d];
  if (first > last) {
    split.outer = kept;
    return split;
  }
  const bool neighbours = product(dims, first, last + 1) == split.reduced;
  split.outer = neighbours ? product(dims, 0, first) : kept;
  split.inner = neighbours ? product(dims, last + 1, dims.size()) : 1;
  return split;
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
  std::size_t first = dims.size();
  for (const std::int64_t a : reduced_axes)
    if (dims[static_cast<std::size_t>(a)] != 1) first = std::min(first, static_cast<std::size_t>(a));
  for (std::size_t d = 0; d < dims.size(); ++d) {
    const bool is_reduced =
        std::find(reduced_axes.begin(), reduced_axes.end(), static_cast<std::int64_t>(d)) != reduced_axes.end();
    if (is_reduced)
      reduced.push_back(d);
    else if (d < first || rows.inner == 1)
      outer.push_back(d);
    else
      inner.push_back(d);
  }
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
    if (!shared) first_axes = axes_of(v);
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

Passes passes_needing(const Region& region, const Rows& rows) {
  Passes passes(region.values.size());
  for (std::size_t r = 0; r < rows.reductions.size(); ++r)
    passes.add(region[rows.reductions[r]].operands[0], {rows.level[r]});
  for (const ValueId output : rows.full) passes.add(output, {rows.levels});
  const std::int64_t whole = rows.outer * rows.inner * rows.reduced;
  for (std::size_t i = region.values.size(); i-- > 0;) {
    const RegionValue& v = region.values[i];
    if (v.kind != RegionValue::Kind::kOp || rows.is_reduction(ValueId(i))) continue;
    for (const ValueId operand : v.operands)
      if (region[operand].elements() == whole) passes.add_those_of(operand, ValueId(i));
  }
  return passes;
}

namespace {

constexpr std::int64_t kLongestStagedRow = 1 << 16;

// Values worth keeping from one pass over a row to a later one: the last common point of several passes, where the way
// to it is dear. On a GPU what is read from memory is kept as well.
std::vector<ValueId> staged_values(const Region& region, const Rows& rows, const Target& target) {
  const bool gpu = target.family == Target::Family::kGpu;
  const std::int64_t whole = rows.outer * rows.inner * rows.reduced;
  const Passes passes = passes_needing(region, rows);
  std::vector<bool> dear(region.values.size(), false);
  for (std::size_t i = 0; i < region.values.size(); ++i) {
    const RegionValue& v = region.values[i];
    if (v.kind != RegionValue::Kind::kOp || rows.is_reduction(ValueId(i)) || v.elements() != whole) continue;
    dear[i] = v.scalar_op && ops::is_expensive(*v.scalar_op);
    for (const ValueId operand : v.operands) dear[i] = dear[i] || dear[operand.index];
  }
  std::vector<bool> continued(region.values.size(), false);  // a later value serves the same passes
  for (std::size_t i = 0; i < region.values.size(); ++i)
    for (const ValueId operand : region.values[i].operands)
      if (!rows.is_reduction(ValueId(i)) && passes.same(operand, ValueId(i))) continued[operand.index] = true;
  std::vector<ValueId> staged;
  for (std::size_t i = 0; i < region.values.size(); ++i) {
    const RegionValue& v = region.values[i];
    if (passes[ValueId(i)].size() < 2 || v.elements() != whole) continue;
    const bool capture = v.kind == RegionValue::Kind::kCapture;
    if (capture ? gpu : dear[i] && !continued[i] && v.kind == RegionValue::Kind::kOp) staged.push_back(ValueId(i));
  }
  return staged;
}

// tile = {rows or column groups of a task, parts of a row, accumulators}
Fit schedule_rows(const Region& region, const Rows& rows, const Target& target, Template kind) {
  Schedule schedule;
  schedule.kind = kind;
  const bool cpu = target.family == Target::Family::kCpu;
  const std::int64_t lanes = cpu ? vector_lanes(region, target) : thread_elements(region);
  schedule.vector = lanes;
  const bool columns = rows.inner > 1;
  const std::int64_t kept = rows.outer * rows.inner;

  // Few long rows are cut into parts, which a second launch puts together: parts are worth it by their elements or by
  // the work that these are. The cut depends on the region alone.
  constexpr std::int64_t kPart = 1 << 15, kShortest = 1 << 12;
  constexpr double kPartWork = 1 << 16;  // simple operations
  std::int64_t parts = 1;
  const std::int64_t groups = columns ? rows.outer * ((rows.inner + lanes - 1) / lanes) : rows.outer;
  const bool can_split = kind == Template::kReduce && rows.levels == 1;
  if (can_split && groups < (cpu ? 16 : 1024))
    parts = std::max<std::int64_t>(1, rows.reduced / (columns ? 1024 : kPart));
  if (can_split && cpu && !columns && rows.outer == 1)
    parts = std::max(
        parts, std::min(static_cast<std::int64_t>(region::work(region).units / kPartWork), rows.reduced / kShortest));
  if (parts > 4096) parts = 4096;

  if (rows.reduced > 0 && rows.reduced <= kLongestStagedRow && parts == 1) {
    schedule.staged = staged_values(region, rows, target);
    if (!cpu && (columns || rows.reduced > 16384)) schedule.staged.clear();
  }
  const std::int64_t row_bytes = rows.reduced * 4;
  const std::int64_t unit_rows = columns ? lanes : 1;
  std::int64_t task = std::max<std::int64_t>(1, (64 << 10) / std::max<std::int64_t>(1, row_bytes * unit_rows));
  task = std::min(task, std::max<std::int64_t>(1, groups / 16));
  schedule.tile = {cpu ? task : 1, parts, cpu ? 4 : 1};
  if (!cpu) {
    const std::int64_t wanted = columns ? 128 : (rows.reduced / parts + lanes - 1) / lanes;
    schedule.threads = std::clamp<std::int64_t>((wanted + 31) / 32 * 32, 32, 1024);
  }
  Resources& r = schedule.resources;
  r.live_values = live_values(region);
  r.registers = cpu ? r.live_values + 4 : 24 + 2 * r.live_values;
  if (!cpu && !columns && schedule.threads > 0)
    r.registers +=
        static_cast<std::int64_t>(schedule.staged.size()) * ((rows.reduced + schedule.threads - 1) / schedule.threads);
  r.launches = parts > 1 ? 2 : 1;
  r.parallelism =
      cpu ? std::max<std::int64_t>(1, groups * parts / task) : (columns ? kept : rows.outer * schedule.threads) * parts;
  r.shared_bytes = cpu || columns ? 0 : static_cast<std::int64_t>(rows.reductions.size()) * 32 * 8;
  // Rows longer than the nearest cache are read again by every pass.
  const std::int64_t again = (rows.levels - 1) + (rows.full.empty() ? 0 : 1);
  if (again > 0 && row_bytes * unit_rows > target.l2_bytes / 2)
    for (std::uint32_t c = 0; c < region.captures; ++c)
      if (region.values[c].elements() >= kept * rows.reduced)
        r.reread_bytes += again * region.values[c].elements() * ops::byte_width(region.values[c].dtype);
  return schedule;
}

}  // namespace

Fit fit_reduce(const Region& region, const Target& target) {
  auto rows = analyse_rows(region);
  if (!rows) return std::unexpected(rows.error());
  if (!rows->full.empty() || rows->levels > 1) return refuse("it keeps whole rows, or reduces in several passes");
  return schedule_rows(region, *rows, target, Template::kReduce);
}

Fit fit_row(const Region& region, const Target& target) {
  auto rows = analyse_rows(region);
  if (!rows) return std::unexpected(rows.error());
  return schedule_rows(region, *rows, target, Template::kRow);
}

}  // namespace fusewright::schedule
