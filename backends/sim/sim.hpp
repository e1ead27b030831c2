#pragma once

#include <memory>
#include <vector>

#include "fusewright/kernel/executable.hpp"
#include "fusewright/kernel/ir.hpp"
#include "fusewright/support/result.hpp"

namespace fusewright::backend_sim {

/// GPU kernels run on the CPU, every access watched. What runs is the code that the GPU gets, up to the last step: the
/// optimised module of the NVPTX backend, with calls of the simulator at each access to global and shared memory.
///
/// Each GPU thread is a fiber, where it has to wait for others; blocks are shared out among CPU threads. Results,
/// counters and errors do not depend on how many. `run` stops at the end of a launch with an error of kind
/// kCheckFailed, which names kernel, launch, block, threads, buffer, element and statement, on:
/// - an access outside of its buffer;
/// - a race: two threads access one element, at least one of them writing, with no barrier between, or from two blocks;
/// - shared memory read that nobody in the block wrote;
/// - threads of a warp that meet at different shuffles, threads of a block at different barriers.
Result<std::unique_ptr<kernel::Executable>> compile_sim(const std::vector<kernel::Kernel>& kernels);

}  // namespace fusewright::backend_sim
