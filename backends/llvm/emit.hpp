#pragma once

#include <string>
#include <vector>

#include "backends/llvm/target.hpp"
#include "fusewright/kernel/ir.hpp"
#include "fusewright/support/result.hpp"

namespace llvm {
class Module;
}

namespace fusewright::backend_llvm {

/// Adds the kernel's launches to the module, one function each, named by `names`: those of `prepare` first. Nothing is
/// optimised yet.
///
/// CPU: `void name(ptr buffers, ptr scratch, i64 begin, i64 end)` runs iterations [begin, end) of the launch's parallel
/// loop.
///   `buffers` points to the addresses of all global buffers in order; `scratch` to scratch_bytes(kernel, target) bytes
///   that are this thread's own, 64-byte aligned.
/// GPU: `void name(ptr addrspace(global_space) ...)`, one argument for each global buffer in order, run by every
/// thread.
///
/// Global buffers are 64-byte aligned and do not overlap; inputs do not change while a launch runs.
/// Errors: kUnsupported, naming the kernel and a dtype that has no lowering (4-bit, f8 and complex ones).
Status emit_kernel(const kernel::Kernel& kernel, const std::vector<std::string>& names, const Target& target,
                   llvm::Module& module);

/// Bytes of scratch memory one CPU thread needs for the kernel's larger local buffers.
std::int64_t scratch_bytes(const kernel::Kernel& kernel, const Target& target);

}  // namespace fusewright::backend_llvm
