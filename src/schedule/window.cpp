#include "fusewright/schedule/window.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "templates.hpp"

namespace fusewright::schedule {

using region::IndexExpr;
using region::IndexMap;
using region::RegionValue;
using region::ValueId;

namespace {
using Ints = std::vector<std::int64_t>;
}

IndexExpr window_position(IndexMap& map, const IndexExpr& at, const IndexExpr& tap, std::int64_t stride,
                          std::int64_t dilation, std::int64_t low, std::int64_t base_dilation, std::int64_t extent) {
  // Shifted by whole steps so that nothing divided is negative.
  const std::int64_t shift = std::max<std::int64_t>(0, (low + base_dilation - 1) / base_dilation);
  const IndexExpr spread =
      simplify(at * stride + tap * dilation + region::index_constant(shift * base_dilation - low), map);
  if (base_dilation > 1) map.constraints.push_back({simplify(floor_mod(spread, base_dilation), map), 0, 0});
  const IndexExpr position = simplify(floor_div(spread, base_dilation) + region::index_constant(-shift), map);
  const region::Range range = range_of(position, map);
  if (range.low < 0 || range.high >= extent) map.constraints.push_back({position, 0, extent - 1});
  return position;
}

std::expected<WindowReduction, Refusal> analyse_window(const Region& region, std::int64_t lanes) {
  WindowReduction w;
  for (std::size_t i = 0; i < region.values.size(); ++i) {
    const RegionValue& v = region.values[i];
    if (v.kind != RegionValue::Kind::kOp) continue;
    if (v.op_class == ops::OpClass::kWindow) {
      if (w.window.valid()) return refuse("two windows in one kernel");
      w.window = ValueId(i);
    } else if (!pointwise(v)) {
      return refuse(fmt::format("{} is neither elementwise nor the window", v.op_name));
    }
  }
  if (!w.window.valid()) return refuse("there is no window");
  const RegionValue& v = region[w.window];
  const Ints& from = region[v.operands[0]].dims;
  const std::size_t rank = from.size();
  const Ints& window = v.attrs.get<Ints>("window");
  const Ints strides = v.attrs.get_or<Ints>("strides", Ints(rank, 1)),
             low = v.attrs.get_or<Ints>("pad_low", Ints(rank, 0));
  const Ints base = v.attrs.get_or<Ints>("base_dilation", Ints(rank, 1)),
             dilation = v.attrs.get_or<Ints>("window_dilation", Ints(rank, 1));
  const std::int64_t elements = v.elements();
  if (elements == 0) return refuse("the result has no elements");
  w.columns = rank > 0 && v.dims.back() >= lanes ? v.dims.back() : elements;
  w.rows = elements / w.columns;
  for (const std::int64_t n : window) w.taps *= n;

  const IndexMap place = region::reshape_map({w.rows, w.columns}, v.dims);
  w.operand_map.domain = {w.rows, w.columns, w.taps};
  IndexExpr rest = region::index_dim(2);
  std::vector<IndexExpr> taps(rank);
  for (std::size_t a = rank; a-- > 0;) {
    taps[a] = simplify(floor_mod(rest, std::max<std::int64_t>(1, window[a])), w.operand_map);
    rest = simplify(floor_div(rest, std::max<std::int64_t>(1, window[a])), w.operand_map);
  }
  for (std::size_t a = 0; a < rank; ++a)
    w.operand_map.results.push_back(
        window_position(w.operand_map, place.results[a], taps[a], strides[a], dilation[a], low[a], base[a], from[a]));

  const auto stop = [&](ValueId id) { return id == w.window; };
  for (const ValueId output : region.outputs) {
    if (region[output].elements() != elements)
      return refuse(
          fmt::format("an output has {} elements, the window's result {}", region[output].elements(), elements));
    w.outputs.push_back({output, region::reshape_map({w.rows, w.columns}, region[output].dims)});
  }
  const auto graph = region::trace_accesses(region, w.outputs, stop);
  if (!graph) return refuse(graph.error().diagnostics.front().message);
  for (const region::AccessNode& n : graph->nodes)
    if (n.value == w.window && compare(linearize(n.map(), v.dims), linearize(place, v.dims)) != 0)
      return refuse("an output needs other elements of the window's result than its own");
  IndexMap open = w.operand_map;
  open.constraints.clear();
  const auto operand = region::trace_accesses(region, {{v.operands[0], open}}, stop);
  if (!operand) return refuse(operand.error().diagnostics.front().message);
  return w;
}

// tile = {elements of a task}
Fit fit_window(const Region& region, const Target& target) {
  const bool cpu = target.family == Target::Family::kCpu;
  const std::int64_t lanes = cpu ? vector_lanes(region, target) : 1;
  const auto w = analyse_window(region, lanes);
  if (!w) return std::unexpected(w.error());
  Schedule s;
  s.kind = Template::kWindow;
  s.vector = lanes;
  s.threads = cpu ? 0 : 256;
  const std::int64_t elements = w->rows * w->columns;
  const std::int64_t task = std::clamp<std::int64_t>((1 << 16) / std::max<std::int64_t>(1, w->taps), 256, 1 << 14);
  s.tile = {task};
  s.resources.live_values = live_values(region) + 1;
  s.resources.registers = s.resources.live_values + (cpu ? 0 : 24);
  s.resources.parallelism = cpu ? (elements + task - 1) / task : elements;
  return s;
}

}  // namespace fusewright::schedule
