#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fusewright/region/region.hpp"
#include "fusewright/schedule/fits.hpp"
#include "fusewright/support/result.hpp"

namespace fusewright::cost {

/// One level of memory.
struct MemoryLevel {
  std::string name;             ///< "l2", "dram"
  std::int64_t bytes = 0;       ///< capacity; 0 for the last one
  double bytes_per_second = 0;  ///< all cores together
};

/// A machine as the cost model sees it; read from a JSON file under backends/devices.
struct Device {
  std::string name;
  std::string target;      ///< "x86" or "nvptx:sm_90"
  schedule::Target shape;  ///< what schedules depend on
  double launch_seconds = 0;
  double handoff_seconds = 0;       ///< CPU: until other cores work on a launch too
  std::vector<MemoryLevel> memory;  ///< nearest first
  /// Peak rates with every core: simple operations per second on f32 vectors (see ops::work), and f32 multiply-adds,
  /// which count 2; those of wider dtypes relative to it, by dtype name.
  double unit_rate = 0;
  double contraction_flops = 0;
  std::vector<std::pair<std::string, double>> dtype_factor;  ///< {"f64", 0.5}, ...
  std::int64_t parallelism_for_peak = 1;                     ///< tasks or threads needed to reach the rates
};
/// Errors: an unreadable file, JSON that is not a device, figures that are not positive; each names the file.
Result<Device> load_device(const std::string& path);
/// The text of a file that gives this device.
std::string print_device(const Device& device);
/// Names of the device files in a folder (without ".json"), sorted.
std::vector<std::string> device_names(const std::string& folder);

/// Seconds of the region's arithmetic at the device's full rates, every value computed once: multiply-adds of
/// contractions at their own rate, everything else at the rate of simple operations. No kernel takes less.
double arithmetic_seconds(const region::Region& region, const Device& device);

/// Seconds that a tensor takes to be written, or to be read by a later kernel, at full bandwidth. What no kernel of the
/// plan has made (not `in_cache`) comes from the last level.
double transfer_seconds(std::int64_t bytes, bool in_cache, const Device& device);
/// Seconds that no kernel goes below whose arithmetic and transfers take so long on the whole machine, launch included.
double least_seconds(double compute, double memory, const Device& device);

/// What one kernel costs and why.
struct KernelCost {
  double seconds = 0;
  double launch = 0, compute = 0, memory = 0;  ///< each already corrected; seconds = launch + max(compute, memory), and
                                               ///< what parts side by side on a CPU do not overlap
  double spills = 1;        ///< times as long as compute would take if registers held all values that are alive at once
  std::string explanation;  ///< the binding term with its numbers
};

/// Launch overhead plus the larger of work over rate and, for each level, bytes over bandwidth, corrected for
/// registers, occupancy and parallelism. On a CPU one core does the work where handing it out would take longer.
/// `input_in_cache[i]` says that an earlier kernel of the plan has just made input i: it is read from the nearest level
/// that holds twice its size. Inputs not listed come from the last level.
KernelCost kernel_cost(const region::Region& region, const schedule::Schedule& schedule, const Device& device,
                       const std::vector<bool>& input_in_cache = {});
/// The same of a region that was fitted.
KernelCost kernel_cost(schedule::Fits& fits, const schedule::Schedule& schedule, const Device& device,
                       const std::vector<bool>& input_in_cache);

}  // namespace fusewright::cost
