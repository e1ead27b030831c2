#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include "backends/llvm/optimize.hpp"
#include "backends/nvptx/module.hpp"
#include "backends/nvptx/nvptx.hpp"

namespace fusewright::backend_nvptx {

Result<Ptx> emit_ptx(const kernel::Kernel& kernel, const std::string& sm) {
  FW_TRY(Gpu gpu, find_gpu(sm));
  FW_TRY(const Draft draft, make_module(kernel, gpu, Devices::kNvidia));
  Ptx ptx;
  for (const kernel::Launch& launch : kernel.launches) ptx.entries.push_back(launch.name);
  FW_TRY(ptx.text, backend_llvm::emit_code(*draft.module, *gpu.machine, backend_llvm::Output::kAssembly));
  return ptx;
}

}  // namespace fusewright::backend_nvptx
