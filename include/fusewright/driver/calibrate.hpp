#pragma once

#include <functional>
#include <string>

#include "fusewright/cost/device.hpp"

namespace fusewright::driver {

struct CalibrateOptions {
  std::string name;      ///< of the description; empty: "x86-" and the vector extension
  int threads = 0;       ///< that kernels will run with; 0 for one on each core
  double seconds = 0.2;  ///< for each figure; the best run in that time counts
  std::function<void(const std::string& figure)> progress;
};

/// A description of this CPU for the cost model, measured with kernels as models have them: launches, handing work to
/// other cores, bandwidth of each cache and of memory, simple operations, multiply-adds of each dtype. Cache sizes and
/// vector registers are as the system says.
/// Errors: a system that does not say what caches there are; kernels that cannot be made or run.
Result<cost::Device> calibrate(const CalibrateOptions& options);

}  // namespace fusewright::driver
