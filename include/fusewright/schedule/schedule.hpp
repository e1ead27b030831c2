#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "fusewright/ops/template.hpp"
#include "fusewright/region/region.hpp"

namespace fusewright::schedule {

using ops::Template;
using region::Region;

/// What of a machine shapes a schedule; filled from a device file, never from the number of threads of a run.
struct Target {
  enum class Family : std::uint8_t { kCpu, kGpu } family = Family::kCpu;
  int vector_bits = 512;      ///< CPU
  int vector_registers = 32;  ///< CPU
  std::int64_t l1_bytes = 32 << 10, l2_bytes = 512 << 10;
  int cores = 2;                         ///< CPU cores or GPU multiprocessors
  int warp = 32, max_threads = 1024;     ///< GPU
  std::int64_t registers = 65536;        ///< GPU: 32-bit registers a multiprocessor
  std::int64_t shared_bytes = 48 << 10;  ///< GPU: a block's
};

/// A region refused by a template, or by every one: the reason in the words the audit prints, with its numbers.
struct Refusal {
  std::string reason;
};

/// What a kernel made with a schedule needs of the machine, per launch.
struct Resources {
  std::int64_t live_values = 0;    ///< greatest number of scalar temporaries alive at once in the innermost body
  std::int64_t registers = 0;      ///< GPU: estimated 32-bit registers a thread; CPU: vector registers
  std::int64_t shared_bytes = 0;   ///< GPU, a block
  std::int64_t scratch_bytes = 0;  ///< CPU, a thread
  std::int64_t parallelism = 0;    ///< GPU threads or CPU tasks of the largest launch
  double recomputed_units = 0;     ///< work beyond computing every value once (replicating index maps)
  std::int64_t launches = 1;
  std::int64_t reread_bytes =
      0;  ///< traffic beyond the planned bytes that comes from cache or DRAM (tiles read again, rows read twice)
};

/// How one region is computed. Made by `fit`, consumed by kernel::lower; every number in it is fixed by shapes and
/// target.
struct Schedule {
  Template kind = Template::kLoop;
  std::vector<std::int64_t>
      tile;                  ///< template's own: contract {m, n, k}, loop {elements a task}, row {rows a task}, ...
  std::int64_t vector = 1;   ///< lanes (CPU) or elements a thread loads at once (GPU)
  std::int64_t threads = 0;  ///< GPU: threads a block
  std::vector<region::ValueId> staged;  ///< values kept in local or shared buffers instead of being computed again
  std::vector<std::int64_t> parts;      ///< horizontal: part number of each output
  Resources resources;
};

/// True when no output has an element: any template will do, and the kernel is empty.
bool computes_nothing(const Region& region);

/// Schedules the region with this template, or says why it cannot be. A region that fits is one that kernel::lower
/// lowers.
std::expected<Schedule, Refusal> fit(const Region& region, Template kind, const Target& target);

}  // namespace fusewright::schedule
