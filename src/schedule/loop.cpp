#include <fmt/format.h>

#include <algorithm>

#include "fusewright/region/access.hpp"
#include "templates.hpp"

namespace fusewright::schedule {

bool pointwise(const region::RegionValue& v) {
  switch (v.op_class) {
    case ops::OpClass::kElementwise: return v.scalar_op.has_value();
    case ops::OpClass::kMovement: return true;
    case ops::OpClass::kSource: return v.op_name == "iota";
    case ops::OpClass::kIndexing: return v.op_name != "scatter";
    default: return false;
  }
}

// The schedule's tile is {elements of a task}; the loop's extents are region::collapse_domain of the first output.
Fit fit_loop(const Region& region, const Target& target) {
  if (region.outputs.empty()) return refuse("nothing to compute");
  for (const region::RegionValue& v : region.values)
    if (v.kind == region::RegionValue::Kind::kOp && !pointwise(v))
      return refuse(fmt::format("{} is not elementwise", v.op_name));
  const region::RegionValue& first = region[region.outputs.front()];
  const std::int64_t elements = first.elements();
  std::vector<region::AccessRoot> roots;
  for (const region::ValueId output : region.outputs) {
    if (region[output].elements() != elements)
      return refuse(fmt::format("outputs of {} and {} elements share no loop", elements, region[output].elements()));
    roots.push_back({output, region::reshape_map(first.dims, region[output].dims)});
  }
  const auto graph = region::trace_accesses(region, roots);
  if (!graph) return refuse(graph.error().diagnostics.front().message);

  Schedule schedule;
  schedule.kind = Template::kLoop;
  const bool cpu = target.family == Target::Family::kCpu;
  schedule.vector = cpu ? vector_lanes(region, target) : thread_elements(region);
  schedule.threads = cpu ? 0 : 256;
  std::int64_t bytes = 0;  // of one element of everything read and written
  for (std::uint32_t c = 0; c < region.captures; ++c) bytes += ops::byte_width(region.values[c].dtype);
  for (const region::ValueId output : region.outputs) bytes += ops::byte_width(region[output].dtype);
  // A task is small enough to share out and large enough to be worth handing over; more work an element, fewer
  // elements.
  const region::Work work = region::work(region);
  const double cost =
      static_cast<double>(bytes) + 4 * work.units / static_cast<double>(std::max<std::int64_t>(1, elements));
  std::int64_t task =
      std::clamp<std::int64_t>(static_cast<std::int64_t>((256 << 10) / std::max(1.0, cost)), 1024, 1 << 16);
  // As many tasks as share out evenly over the cores of the device.
  if (cpu && elements > task) {
    const std::int64_t tasks = (elements + task * target.cores - 1) / (task * target.cores) * target.cores;
    task = (elements + tasks - 1) / tasks;
  }
  task = (task + 63) / 64 * 64;
  schedule.tile = {task};

  // Work of the loop body as it will run against each value once.
  double body = 0;
  for (const region::AccessNode& n : graph->nodes) {
    const region::RegionValue& v = region[n.value];
    if (v.kind == region::RegionValue::Kind::kOp && v.elements() > 0)
      body += region::value_work(region, v).units / static_cast<double>(v.elements());
  }
  Resources& r = schedule.resources;
  r.recomputed_units = std::max(0.0, body * static_cast<double>(elements) - work.units);
  r.live_values = live_values(region);
  r.registers = cpu ? r.live_values : 16 + 2 * r.live_values * schedule.vector;
  r.parallelism = cpu ? (elements + task - 1) / task : (elements + schedule.vector - 1) / schedule.vector;
  return schedule;
}

// Nothing but moves: a loop, under the name that rules give it.
Fit fit_move(const Region& region, const Target& target) {
  for (const region::RegionValue& v : region.values)
    if (v.kind == region::RegionValue::Kind::kOp && v.op_class != ops::OpClass::kMovement)
      return refuse(fmt::format("{} is no move", v.op_name));
  Fit fit = fit_loop(region, target);
  if (fit) fit->kind = Template::kMove;
  return fit;
}

}  // namespace fusewright::schedule
