#include <fmt/format.h>

#include "fusewright/region/access.hpp"
#include "templates.hpp"

namespace fusewright::schedule {

// Two launches: the operand is copied, then the updates are applied one after the other, in their order: an element
// that several of them hit gets the same result every time.
Fit fit_scatter(const Region& region, const Target& target) {
  region::ValueId scatter;
  for (std::size_t i = 0; i < region.values.size(); ++i) {
    const region::RegionValue& v = region.values[i];
    if (v.kind != region::RegionValue::Kind::kOp) continue;
    if (v.op_name == "scatter") {
      if (scatter.valid()) return refuse("two scatters in one kernel");
      scatter = region::ValueId(i);
    } else if (!pointwise(v)) {
      return refuse(fmt::format("{} is neither elementwise nor the scatter", v.op_name));
    }
  }
  if (!scatter.valid()) return refuse("there is no scatter");
  if (region.outputs.size() != 1 || region.outputs.front() != scatter)
    return refuse("an output is not the scatter's result");
  const region::RegionValue& v = region[scatter];
  for (const region::ValueId operand : v.operands) {
    const auto graph = region::trace_accesses(region, {{operand, region::identity_map(region[operand].dims)}});
    if (!graph) return refuse(graph.error().diagnostics.front().message);
  }
  Schedule s;
  s.kind = Template::kScatter;
  s.threads = target.family == Target::Family::kCpu ? 0 : 256;
  s.tile = {1 << 14};
  s.resources.live_values = live_values(region);
  s.resources.registers = 32;
  s.resources.parallelism = 1;
  s.resources.launches = 2;
  return s;
}

}  // namespace fusewright::schedule
