#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "fusewright/kernel/executable.hpp"
#include "fusewright/kernel/ir.hpp"
#include "fusewright/support/result.hpp"

namespace fusewright::backend_nvptx {

/// The GPUs that there is code for: sm_80, sm_90, sm_100, sm_120.
const std::vector<std::string>& architectures();

/// One kernel as PTX text.
struct Ptx {
  std::string text;
  std::vector<std::string>
      entries;  ///< one for each launch, named as the launch; arguments are the global buffers' addresses in order
};

/// Errors (kUnsupported): an architecture that is not known, dtypes that have no code, more shared memory than a block
/// may have.
Result<Ptx> emit_ptx(const kernel::Kernel& kernel, const std::string& sm);

/// What ptxas says of one entry.
struct EntryReport {
  std::string name;
  std::int64_t registers = 0;                      ///< a thread
  std::int64_t shared_bytes = 0;                   ///< a block
  std::int64_t stack_bytes = 0;                    ///< a thread, in local memory
  std::int64_t spill_stores = 0, spill_loads = 0;  ///< bytes a thread
};
struct Cubin {
  std::string bytes;
  std::vector<EntryReport> entries;
};

/// Path of ptxas, through CUDA_HOME, PATH or /usr/local/cuda. Errors (kUnsupported): no toolkit is installed.
Result<std::string> find_ptxas();
/// Assembles PTX. Errors: no toolkit (kUnsupported), what ptxas says of the text (kInput).
Result<Cubin> run_ptxas(const std::string& ptx, const std::string& sm);

/// Kernels loaded by the CUDA driver on the first GPU. `run` takes host memory: it copies what kernels read to the
/// device, and what they write back. Errors (kUnsupported): no driver or no device, named.
Result<std::unique_ptr<kernel::Executable>> compile_cuda(const std::vector<kernel::Kernel>& kernels);

}  // namespace fusewright::backend_nvptx
