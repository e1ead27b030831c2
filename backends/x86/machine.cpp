#include "backends/x86/machine.hpp"

#include <llvm/IR/DataLayout.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>

#include <algorithm>
#include <mutex>

#include "backends/llvm/optimize.hpp"
#include "backends/math/math_bitcode.hpp"

namespace fusewright::backend_x86 {

namespace {

constexpr const char* kTriple = "x86_64-unknown-linux-gnu";

void register_target() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeX86AsmParser();
  });
}

// What this machine can do is asked of it, not concluded from its name: virtual machines hide features.
std::string host_features() {
  std::vector<std::string> features;
  for (const auto& feature : llvm::sys::getHostCPUFeatures())
    features.push_back((feature.second ? "+" : "-") + feature.first().str());
  std::ranges::sort(features);  // the map has no order of its own
  std::string joined;
  for (const std::string& feature : features) joined += (joined.empty() ? "" : ",") + feature;
  return joined;
}

}  // namespace

Result<Machine> find_machine(const std::string& cpu) {
  register_target();
  Machine machine;
  if (cpu.empty()) {
    machine.cpu = llvm::sys::getHostCPUName().str();
    machine.features = host_features();
  } else {
    machine.cpu = cpu == "avx2" ? "x86-64-v3" : cpu == "avx512" ? "x86-64-v4" : cpu;
  }
  std::string error;
  const llvm::Triple triple(kTriple);
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (target == nullptr) return fail(ErrorKind::kUnsupported, "LLVM: " + error);
  // With no name of a CPU LLVM stays silent where it would print a warning to the user's terminal.
  const std::unique_ptr<llvm::MCSubtargetInfo> names(target->createMCSubtargetInfo(triple, "", ""));
  if (!names->isCPUStringValid(machine.cpu))
    return fail(ErrorKind::kUnsupported,
                "unknown x86 CPU '" + machine.cpu + "' (avx2, avx512, or a name LLVM knows, such as znver4)");
  const std::unique_ptr<llvm::MCSubtargetInfo> info(
      target->createMCSubtargetInfo(triple, machine.cpu, machine.features));
  if (!info->checkFeatures("+avx2,+fma,+f16c"))
    return fail(ErrorKind::kUnsupported, "the CPU '" + machine.cpu + "' has no AVX2, FMA and F16C, which kernels need");
  machine.avx512 = info->checkFeatures("+avx512f,+avx512bw,+avx512dq,+avx512vl");

  FW_TRY(const auto generator, make_code_generator(machine, false));
  machine.target.triple = kTriple;
  machine.target.data_layout = generator->createDataLayout().getStringRepresentation();
  machine.target.family = kernel::TargetFamily::kCpu;
  machine.target.math = math::x86_bitcode();
  machine.target.vector_math = true;
  machine.target.fast_gather = machine.avx512;
  return machine;
}

Result<std::unique_ptr<llvm::TargetMachine>> make_code_generator(const Machine& machine, bool large) {
  return backend_llvm::make_machine(kTriple, machine.cpu, machine.features, large);
}

void mark_functions(llvm::Module& module, const Machine& machine) {
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    function.addFnAttr("target-cpu", machine.cpu);
    if (!machine.features.empty()) function.addFnAttr("target-features", machine.features);
    function.addFnAttr("prefer-vector-width", machine.avx512 ? "512" : "256");
    function.addFnAttr("min-legal-vector-width", machine.avx512 ? "512" : "256");
  }
}

}  // namespace fusewright::backend_x86
