#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "backends/x86/loader.hpp"
#include "backends/x86/pool.hpp"
#include "fusewright/kernel/executable.hpp"

namespace fusewright::backend_x86 {

/// One kernel ready to run.
struct LoadedKernel {
  struct Step {
    LaunchFunction function = nullptr;
    std::int64_t iterations = 1;  ///< of the parallel loop
  };
  std::vector<Step> prepare, launches;
  std::size_t buffers = 0;         ///< global ones
  std::int64_t scratch_bytes = 0;  ///< a thread
};

std::unique_ptr<kernel::Executable> make_executable(std::unique_ptr<Loader> loader, std::vector<LoadedKernel> kernels);

}  // namespace fusewright::backend_x86
