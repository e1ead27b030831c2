#pragma once

#include <memory>
#include <string>
#include <vector>

#include "fusewright/kernel/executable.hpp"
#include "fusewright/kernel/ir.hpp"
#include "fusewright/support/result.hpp"

namespace fusewright::backend_x86 {

struct Options {
  std::string cpu;    ///< empty: the machine this runs on; "avx2"; "avx512"; or a name that LLVM knows ("znver4",
                      ///< "sapphirerapids")
  std::string cache;  ///< folder of compiled objects, or "off"; empty: $FUSEWRIGHT_CACHE, else
                      ///< $XDG_CACHE_HOME/fusewright or ~/.cache/fusewright
  int threads = 0;    ///< that compile at the same time; 0: one for each core
};

/// Compiles the kernels (equal ones once) and loads them into this process. Compiled objects are kept in the cache
/// folder. Errors (kUnsupported): a CPU that is unknown or has no AVX2 and FMA, kernels with dtypes that have no code.
Result<std::unique_ptr<kernel::Executable>> compile_x86(const std::vector<kernel::Kernel>& kernels,
                                                        const Options& options = {});

/// One kernel as an ELF object, to be linked by others (docs/KERNELS.md says how its functions are called).
struct Object {
  std::string bytes;
  std::vector<std::string> symbols;  ///< one function for each launch, named as the launch
  std::int64_t scratch_bytes = 0;    ///< that each thread must provide
};
/// @returns one object for each kernel, in order. The objects need nothing but memcpy, memmove and memset.
Result<std::vector<Object>> emit_objects(const std::vector<kernel::Kernel>& kernels, const Options& options = {});

/// The kernel's assembly text, for people.
Result<std::string> emit_assembly(const kernel::Kernel& kernel, const Options& options = {});

}  // namespace fusewright::backend_x86
