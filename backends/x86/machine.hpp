#pragma once

#include <memory>
#include <string>

#include "backends/llvm/target.hpp"
#include "fusewright/support/result.hpp"

namespace llvm {
class Module;
class TargetMachine;
}  // namespace llvm

namespace fusewright::backend_x86 {

/// The CPU that code is made for.
struct Machine {
  std::string cpu, features;  ///< in LLVM's words
  bool avx512 = false;
  backend_llvm::Target target;
};

/// @param cpu as Options::cpu. Errors (kUnsupported): unknown to LLVM, or without AVX2, FMA and F16C.
Result<Machine> find_machine(const std::string& cpu);

Result<std::unique_ptr<llvm::TargetMachine>> make_code_generator(const Machine& machine, bool large);

/// Marks every function of the module as code for this CPU, with its widest vectors.
void mark_functions(llvm::Module& module, const Machine& machine);

}  // namespace fusewright::backend_x86
