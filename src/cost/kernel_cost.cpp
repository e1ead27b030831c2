#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "fusewright/cost/device.hpp"
#include "fusewright/schedule/horizontal.hpp"

namespace fusewright::cost {

namespace {

using region::Region;
using schedule::Schedule;

bool is_gpu(const Device& device) { return device.shape.family == schedule::Target::Family::kGpu; }

double factor_of(const Device& device, ops::DType dtype) {
  for (const auto& [name, factor] : device.dtype_factor)
    if (name == ops::name(dtype)) return factor;
  return 1;
}

// Share of the peak that this much parallelism reaches. On a CPU tasks are dealt out whole.
double utilisation(const Schedule& schedule, const Device& device) {
  const auto parallel = static_cast<double>(std::max<std::int64_t>(1, schedule.resources.parallelism));
  const auto peak = static_cast<double>(device.parallelism_for_peak);
  if (is_gpu(device)) return std::min(1.0, parallel / peak);
  const double rounds = std::ceil(parallel / peak);
  return parallel / (rounds * peak);
}

// Values beyond the register file are written and read back for every vector of the loop body.
double spill_factor(const Schedule& schedule, const Device& device) {
  const auto live = static_cast<double>(schedule.resources.live_values);
  if (!is_gpu(device)) {
    const auto registers = static_cast<double>(device.shape.vector_registers) - 4;
    return live <= registers ? 1.0 : 1.0 + 1.5 * (live - registers) / live;
  }
  const auto threads = static_cast<double>(std::max<std::int64_t>(1, schedule.threads));
  const auto each = static_cast<double>(std::max<std::int64_t>(1, schedule.resources.registers));
  if (each > 255) return 1.0 + 4 * (each - 255) / each;
  const double resident = std::floor(static_cast<double>(device.shape.registers) / (each * threads)) * threads;
  return std::max(1.0, 512 / std::max(threads, resident));
}

// Time of the work with this share of the machine, or on one core where handing it out takes longer than it saves.
// Returns the share that is used.
double spread(KernelCost& cost, double compute, double memory, double share, const Device& device) {
  const auto use = [&](double part) {
    cost.compute = compute / part;
    cost.memory = memory / std::sqrt(part);  // bandwidth saturates with fewer tasks than arithmetic, but not with one
    return std::max(cost.compute, cost.memory);
  };
  const double one_core = 1 / static_cast<double>(device.parallelism_for_peak);
  if (is_gpu(device) || share <= one_core) {
    use(share);
    return share;
  }
  const double alone = use(one_core);
  if (use(share) + device.handoff_seconds < alone) {
    cost.launch += device.handoff_seconds;
    return share;
  }
  use(one_core);
  return one_core;
}

// An input that an earlier kernel left in cache, or an output, moves from the nearest level that can still hold it;
// everything else goes to the last level.
const MemoryLevel& level_for(const Device& device, std::int64_t bytes, bool in_cache) {
  if (in_cache)
    for (const MemoryLevel& level : device.memory)
      if (level.bytes == 0 || 2 * bytes <= level.bytes) return level;
  return device.memory.back();
}

}  // namespace

double transfer_seconds(std::int64_t bytes, bool in_cache, const Device& device) {
  return static_cast<double>(bytes) / level_for(device, bytes, in_cache).bytes_per_second;
}

double least_seconds(double compute, double memory, const Device& device) {
  KernelCost cost;
  spread(cost, compute, memory, 1, device);
  return device.launch_seconds + cost.launch + std::max(cost.compute, cost.memory);
}

double arithmetic_seconds(const Region& region, const Device& device) {
  double seconds = 0;
  for (const region::RegionValue& v : region.values) {
    if (v.kind != region::RegionValue::Kind::kOp || v.result != 0) continue;
    const bool contraction = v.op_class == ops::OpClass::kContraction || v.op_class == ops::OpClass::kConvolution;
    const region::Work work = region::value_work(region, v);
    // What a contraction accumulates in decides, and f16 and bf16 accumulate in f32.
    const double factor = ops::byte_width(v.dtype) <= 4 ? 1 : factor_of(device, v.dtype);
    seconds += contraction ? work.flops / (device.contraction_flops * factor) : work.units / device.unit_rate;
  }
  return seconds;
}

namespace {

// Bytes by level.
std::vector<double> traffic(const Region& region, const Device& device, const std::vector<bool>& input_in_cache) {
  std::vector<double> bytes_at(device.memory.size(), 0);
  const auto add = [&](std::int64_t bytes, bool hot) {
    bytes_at[static_cast<std::size_t>(&level_for(device, bytes, hot) - device.memory.data())] +=
        static_cast<double>(bytes);
  };
  const std::vector<std::int64_t> inputs = region::planned_inputs_bytes(region);
  for (std::size_t c = 0; c < inputs.size(); ++c) add(inputs[c], c < input_in_cache.size() && input_in_cache[c]);
  for (const region::ValueId output : region.outputs)
    add(region[output].elements() * ops::byte_width(region[output].dtype), true);
  return bytes_at;
}

double seconds_of(const std::vector<double>& bytes_at, const Device& device) {
  double seconds = 0;
  for (std::size_t l = 0; l < bytes_at.size(); ++l) seconds += bytes_at[l] / device.memory[l].bytes_per_second;
  return seconds;
}

// A CPU's cores work through parts that lie side by side one after the other, so that what one of them computes does
// not hide what another one moves.
double lost_overlap(const std::vector<schedule::Part>& parts, const Device& device,
                    const std::vector<bool>& input_in_cache) {
  double compute = 0, memory = 0, apart = 0;
  for (const schedule::Part& part : parts) {
    std::vector<bool> hot;
    for (const std::uint32_t c : part.captures) hot.push_back(c < input_in_cache.size() && input_in_cache[c]);
    const double computes = arithmetic_seconds(part.region, device);
    const double moves = seconds_of(traffic(part.region, device, hot), device);
    compute += computes;
    memory += moves;
    apart += std::max(computes, moves);
  }
  return apart - std::max(compute, memory);
}

}  // namespace

KernelCost kernel_cost(const Region& region, const Schedule& schedule, const Device& device,
                       const std::vector<bool>& input_in_cache) {
  schedule::PartFits none(device.shape);
  schedule::Fits fits(region, device.shape, none);
  return kernel_cost(fits, schedule, device, input_in_cache);
}

KernelCost kernel_cost(schedule::Fits& fits, const Schedule& schedule, const Device& device,
                       const std::vector<bool>& input_in_cache) {
  const Region& region = fits.region();
  KernelCost cost;
  cost.spills = spill_factor(schedule, device);
  cost.launch = device.launch_seconds * static_cast<double>(schedule.resources.launches);
  const double again = schedule.resources.recomputed_units / device.unit_rate;
  const double compute = (arithmetic_seconds(region, device) + again) * cost.spills;

  std::vector<double> bytes_at = traffic(region, device, input_in_cache);
  bytes_at.front() += static_cast<double>(schedule.resources.reread_bytes);
  std::size_t worst = 0;
  for (std::size_t l = 1; l < bytes_at.size(); ++l)
    if (bytes_at[l] / device.memory[l].bytes_per_second > bytes_at[worst] / device.memory[worst].bytes_per_second)
      worst = l;
  const double memory = seconds_of(bytes_at, device);
  const double share = spread(cost, compute, memory, utilisation(schedule, device), device);
  cost.seconds = cost.launch + std::max(cost.compute, cost.memory);
  if (schedule.kind == schedule::Template::kHorizontal && !is_gpu(device))
    cost.seconds += lost_overlap(fits.parts(), device, input_in_cache) / share;

  std::string corrections;
  if (share < 0.999) corrections += fmt::format(", {:.0f} % of the machine used", 100 * share);
  if (cost.spills > 1) corrections += fmt::format(", {} values alive", schedule.resources.live_values);
  if (schedule.resources.recomputed_units > 0)
    corrections += fmt::format(", {:.3g} operations computed again", schedule.resources.recomputed_units);
  if (cost.launch >= std::max(cost.compute, cost.memory)) {
    cost.explanation = fmt::format("launch {:.3g} us{}", 1e6 * cost.launch, corrections);
  } else if (cost.compute >= cost.memory) {
    cost.explanation = fmt::format("compute {:.3g} us{}", 1e6 * cost.compute, corrections);
  } else {
    cost.explanation = fmt::format("{} {:.3g} MB at {:.3g} GB/s{}", device.memory[worst].name, 1e-6 * bytes_at[worst],
                                   1e-9 * device.memory[worst].bytes_per_second, corrections);
  }
  return cost;
}

}  // namespace fusewright::cost
