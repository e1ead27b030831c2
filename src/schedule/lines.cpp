#include "fusewright/schedule/lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "templates.hpp"

namespace fusewright::schedule {

using region::IndexExpr;
using region::IndexMap;
using region::RegionValue;
using region::ValueId;

IndexMap line_map(const Region& region, const Lines& lines, ValueId id) {
  const std::vector<std::int64_t>& dims = region[id].dims;
  const auto axis = static_cast<std::size_t>(region[lines.op].attrs.get<std::int64_t>("axis"));
  IndexMap map;
  map.domain = {lines.outer, lines.inner, dims[axis]};
  map.results.assign(dims.size(), region::index_constant(0));
  const auto spread = [&](IndexExpr rest, std::size_t begin, std::size_t end) {
    for (std::size_t d = end; d-- > begin;) {
      const std::int64_t extent = std::max<std::int64_t>(1, dims[d]);
      map.results[d] = simplify(d == begin ? rest : floor_mod(rest, extent), map);
      rest = simplify(floor_div(rest, extent), map);
    }
  };
  spread(region::index_dim(0), 0, axis);
  spread(region::index_dim(1), axis + 1, dims.size());
  map.results[axis] = region::index_dim(2);
  return map;
}

std::expected<Lines, Refusal> analyse_lines(const Region& region) {
  Lines lines;
  for (std::size_t i = 0; i < region.values.size(); ++i) {
    const RegionValue& v = region.values[i];
    if (v.kind != RegionValue::Kind::kOp) continue;
    if (v.op_class == ops::OpClass::kSort || v.op_class == ops::OpClass::kScan) {
      if (!lines.op.valid())
        lines.op = ValueId(i);
      else if (v.result == 0)
        return refuse("two ordering operators in one kernel");
    } else if (!pointwise(v)) {
      return refuse(fmt::format("{} is neither elementwise nor an ordering operator", v.op_name));
    }
  }
  if (!lines.op.valid()) return refuse("there is no sort, top_k or cumulative operator");
  const RegionValue& v = region[lines.op];
  lines.scan = v.op_class == ops::OpClass::kScan;
  for (const ValueId output : region.outputs)
    if (region[output].op != v.op || region[output].operands != v.operands)
      return refuse(fmt::format("an output is not a result of {}", v.op_name));
  const std::vector<std::int64_t>& from = region[v.operands[0]].dims;
  if (from.empty()) return refuse(fmt::format("{} of a scalar", v.op_name));
  const auto axis = static_cast<std::size_t>(v.attrs.get<std::int64_t>("axis"));
  for (std::size_t d = 0; d < from.size(); ++d) {
    if (d < axis) lines.outer *= from[d];
    if (d > axis) lines.inner *= from[d];
  }
  lines.length = from[axis];
  lines.result_length = v.dims[axis];
  if (lines.outer * lines.inner * lines.result_length == 0) return refuse("an axis has no elements");
  if (lines.length > (std::int64_t{1} << 22))
    return refuse(fmt::format("lines of {} elements are too long to order in one kernel", lines.length));
  for (const ValueId operand : v.operands) {
    const auto graph = region::trace_accesses(region, {{operand, line_map(region, lines, operand)}});
    if (!graph) return refuse(graph.error().diagnostics.front().message);
  }
  return lines;
}

namespace {

// Finding the first k takes at most about k passes over a line; merging it log of them, a bitonic network log^2 / 2.
bool is_selection(const Region& region, const Lines& lines, bool cpu, std::int64_t padded, bool near) {
  if (region[lines.op].op_name != "top_k") return false;
  const std::int64_t bits = std::bit_width(static_cast<std::uint64_t>(padded)) - 1, steps = bits * (bits + 1) / 2;
  // On a CPU a pass is cheap once what is found is nearly right; in the network a step is, as long as the line is near.
  if (cpu) return lines.result_length <= 4 * bits;
  return lines.result_length * (near ? 16 : 2) <= steps;
}

}  // namespace

// tile = {power of two that holds a line, elements that are selected: 0 orders the whole line}
Fit fit_sort(const Region& region, const Target& target) {
  const auto lines = analyse_lines(region);
  if (!lines) return std::unexpected(lines.error());
  Schedule s;
  s.kind = Template::kSort;
  const bool cpu = target.family == Target::Family::kCpu;
  const auto padded =
      static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(2, lines->length))));
  s.vector = cpu ? vector_lanes(region, target) : 1;
  const std::int64_t all = lines->outer * lines->inner;
  const std::int64_t cell = ops::byte_width(region[region[lines->op].operands[0]].dtype) + 4, bytes = padded * cell;
  const bool selects = is_selection(region, *lines, cpu, padded, bytes <= target.shared_bytes);
  const std::int64_t selected = selects ? lines->result_length : 0;
  s.tile = {padded, selected};
  if (cpu) {
    s.resources.parallelism = all;
    s.resources.scratch_bytes = lines->scan ? 0 : (selects ? selected : 2 * lines->length) * cell;
  } else if (lines->scan) {
    s.threads = 128;
    s.resources.parallelism = all;
  } else {
    s.threads = std::clamp<std::int64_t>(padded / (selects ? 8 : 2) / 32 * 32, 32, 1024);
    s.resources.parallelism = all * s.threads;
    s.resources.shared_bytes = selects ? s.threads / 32 * cell : bytes <= target.shared_bytes ? bytes : 0;
  }
  s.resources.live_values = live_values(region) + 4;
  s.resources.registers = s.resources.live_values + (cpu ? 0 : 28);
  if (!lines->scan) {
    const double steps = static_cast<double>(std::bit_width(static_cast<std::uint64_t>(padded)));
    const double ordered = cpu ? 4 * steps : steps * steps, found = cpu ? 2 : static_cast<double>(selected);
    const double passes = selects ? found : ordered;  // of simple operations
    s.resources.recomputed_units = static_cast<double>(all * padded) * passes;
  }
  return s;
}

}  // namespace fusewright::schedule
