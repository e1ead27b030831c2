#pragma once

#include <memory>
#include <string>

#include "backends/llvm/target.hpp"
#include "fusewright/support/result.hpp"

namespace llvm {
class Module;
class TargetMachine;
}  // namespace llvm

namespace fusewright::backend_llvm {

/// Links the math functions that the module calls, as functions of its own: inlined where the optimiser runs, or kept
/// as calls: where that is asked for, or where there are so many that inlined code would be too large.
enum class MathCode { kInline, kCalls };
Status link_math(llvm::Module& module, const Target& target, MathCode code = MathCode::kInline);

/// LLVM's pipeline for the module, a cheaper one for very large modules. Floating point is left as written: no
/// reassociation, no contraction. `machine` may be null, for a module that is only to be simplified.
void optimize(llvm::Module& module, llvm::TargetMachine* machine);

/// Makes functions of a bearable size of long blocks: time for code generation grows with the square of a block's
/// length. `optimize` does it, but for GPUs.
void cut_long_blocks(llvm::Module& module);

/// A machine for code generation: strict floating point, position independent code. Errors: what LLVM does not know.
/// @param large  choose the quicker code generator settings, for modules that `is_large`.
Result<std::unique_ptr<llvm::TargetMachine>> make_machine(const std::string& triple, const std::string& cpu,
                                                          const std::string& features, bool large = false);

/// True for modules so large that the usual pipeline would take more than a few seconds.
bool is_large(const llvm::Module& module);

enum class Output { kObject, kAssembly };
/// Code of the module, which code generation consumes.
Result<std::string> emit_code(llvm::Module& module, llvm::TargetMachine& machine, Output output);

}  // namespace fusewright::backend_llvm
