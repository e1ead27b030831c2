#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "fusewright/kernel/ir.hpp"
#include "fusewright/support/result.hpp"

namespace fusewright::kernel {

/// What the simulator counted over one run of a kernel's launches: global memory accesses that threads executed.
struct Counters {
  std::int64_t loads = 0, stores = 0;            ///< accesses (a 16-byte vector access is one)
  std::int64_t load_bytes = 0, store_bytes = 0;  ///< their bytes, summed over threads
  std::int64_t sectors = 0;                      ///< distinct 32-byte sectors per warp instruction, summed
};

/// Kernels compiled for one device. Made by a backend.
class Executable {
 public:
  virtual ~Executable() = default;
  /// Runs what the kernel prepares at load: needs the addresses of the inputs that it reads and of packed buffers.
  virtual Status prepare(std::size_t, const std::vector<void*>&, int) { return {}; }
  /// Runs all launches of kernel `index` in order and waits for them. `buffers` are the addresses of the kernel's
  /// global buffers in order, in host memory (cuda: device memory made by its runtime). Results do not depend on
  /// `threads`. An Error of kind kCheckFailed is what the simulator found (a race, divergence, an access out of
  /// bounds), with its place.
  virtual Status run(std::size_t index, const std::vector<void*>& buffers, int threads) = 0;
  /// Of the last run of that kernel; zeros where the device does not count.
  virtual Counters counters(std::size_t) const { return {}; }
  /// Registers a thread and shared bytes a block as the device's compiler reports them; -1 where not known.
  virtual std::int64_t registers(std::size_t) const { return -1; }
  virtual std::int64_t shared_bytes(std::size_t) const { return -1; }
};

/// From kernels to something that runs; every backend has one such function.
using CompileFn = std::function<Result<std::unique_ptr<Executable>>(const std::vector<Kernel>&)>;

}  // namespace fusewright::kernel
