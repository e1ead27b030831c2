#pragma once

#include <memory>
#include <string>

#include "backends/llvm/target.hpp"
#include "fusewright/kernel/ir.hpp"
#include "fusewright/support/result.hpp"

namespace llvm {
class LLVMContext;
class Module;
class TargetMachine;
}  // namespace llvm

namespace fusewright::backend_nvptx {

/// LLVM's address spaces of NVPTX.
inline constexpr unsigned kGlobalSpace = 1, kSharedSpace = 3;

/// The GPU that code is made for.
struct Gpu {
  std::string sm, features;  ///< in LLVM's words
  backend_llvm::Target target;
  std::unique_ptr<llvm::TargetMachine> machine;
};
/// Errors (kUnsupported): an architecture that is not in `architectures()`.
Result<Gpu> find_gpu(const std::string& sm);

/// A kernel as LLVM IR for a GPU.
struct Draft {
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> module;
};

/// What is to become of the device functions (fw_thread_x, fw_barrier, ...).
enum class Devices {
  kNvidia,   ///< they are the machine's instructions
  kOutside,  ///< they stay calls of outside functions, marked with what they do; code says which statement it belongs
             ///< to
};

/// The kernel's launches, named as such, with math linked, optimised. With either choice the code is the same but for
/// the device functions: what the simulator runs is what the GPU gets.
Result<Draft> make_module(const kernel::Kernel& kernel, Gpu& gpu, Devices devices);

}  // namespace fusewright::backend_nvptx
