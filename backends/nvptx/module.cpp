#include "backends/nvptx/module.hpp"

#include <fmt/format.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include <mutex>

#include "backends/llvm/emit.hpp"
#include "backends/llvm/optimize.hpp"
#include "backends/math/math_bitcode.hpp"
#include "backends/nvptx/nvptx.hpp"
#include "fusewright/support/check.hpp"

namespace fusewright::backend_nvptx {

using kernel::Kernel;

namespace {

constexpr const char* kTriple = "nvptx64-nvidia-cuda";

struct Architecture {
  const char* sm;
  const char* features;  // the oldest PTX that knows it, and no older than 7.8
};
constexpr Architecture kArchitectures[] = {
    {"sm_80", "+ptx78"}, {"sm_90", "+ptx78"}, {"sm_100", "+ptx86"}, {"sm_120", "+ptx87"}};

void register_target() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
}

// --- Device functions --------------------------------------------------------------------------------

struct PositionFunction {
  const char* name;
  llvm::Intrinsic::ID intrinsic;
  std::uint64_t below;  // what the machine's numbers stay under
};
constexpr PositionFunction kPositions[] = {
    {"fw_block_x", llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x, 0x7fffffff},
    {"fw_block_y", llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_y, 0xffff},
    {"fw_block_z", llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_z, 0xffff},
    {"fw_thread_x", llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x, 1024},
};
constexpr const char* kShuffles[] = {"fw_shuffle_xor_f32", "fw_shuffle_xor_i32", "fw_shuffle_xor_f64",
                                     "fw_shuffle_xor_i64"};

// What the optimiser may do with a device function that it cannot look into: what it may do with the instruction.
void describe(llvm::Module& module) {
  llvm::LLVMContext& context = module.getContext();
  for (const PositionFunction& position : kPositions) {
    llvm::Function* f = module.getFunction(position.name);
    if (f == nullptr) continue;
    f->setMemoryEffects(llvm::MemoryEffects::none());
    for (const auto attribute : {llvm::Attribute::NoUnwind, llvm::Attribute::WillReturn, llvm::Attribute::Speculatable,
                                 llvm::Attribute::NoCallback})
      f->addFnAttr(attribute);
    f->addRetAttr(llvm::Attribute::get(context, llvm::Attribute::Range,
                                       llvm::ConstantRange(llvm::APInt(32, 0), llvm::APInt(32, position.below))));
  }
  for (const char* name : {"fw_barrier", kShuffles[0], kShuffles[1], kShuffles[2], kShuffles[3]}) {
    llvm::Function* f = module.getFunction(name);
    if (f == nullptr) continue;
    for (const auto attribute : {llvm::Attribute::Convergent, llvm::Attribute::NoUnwind, llvm::Attribute::NoCallback})
      f->addFnAttr(attribute);
    if (llvm::StringRef(name) != "fw_barrier") f->setMemoryEffects(llvm::MemoryEffects::inaccessibleMemOnly());
  }
}

llvm::Value* shuffle_word(llvm::IRBuilder<>& builder, llvm::Value* word, llvm::Value* mask) {
  return builder.CreateIntrinsic(llvm::Intrinsic::nvvm_shfl_sync_bfly_i32, {},
                                 {builder.getInt32(0xffffffff), word, mask, builder.getInt32(31)});
}

// 64-bit values go as two words.
llvm::Value* shuffle(llvm::IRBuilder<>& builder, llvm::Value* value, llvm::Value* mask) {
  llvm::Type* type = value->getType();
  if (type->isFloatTy())
    return builder.CreateIntrinsic(llvm::Intrinsic::nvvm_shfl_sync_bfly_f32, {},
                                   {builder.getInt32(0xffffffff), value, mask, builder.getInt32(31)});
  if (type->isIntegerTy(32)) return shuffle_word(builder, value, mask);
  auto* words = llvm::FixedVectorType::get(builder.getInt32Ty(), 2);
  llvm::Value* parts = builder.CreateBitCast(value, words);
  llvm::Value* out = llvm::PoisonValue::get(words);
  for (const std::uint64_t k : {0, 1})
    out = builder.CreateInsertElement(out, shuffle_word(builder, builder.CreateExtractElement(parts, k), mask), k);
  return builder.CreateBitCast(out, type);
}

// Replaces calls of the device functions by the machine's instructions.
void become_instructions(llvm::Module& module) {
  std::vector<llvm::CallInst*> calls;
  for (llvm::Function& function : module)
    for (llvm::BasicBlock& block : function)
      for (llvm::Instruction& instruction : block)
        if (auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
            call != nullptr && call->getCalledFunction() != nullptr)
          calls.push_back(call);
  for (llvm::CallInst* call : calls) {
    const llvm::StringRef name = call->getCalledFunction()->getName();
    llvm::IRBuilder<> builder(call);
    llvm::Value* made = nullptr;
    if (name == "fw_barrier") {
      builder.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier_cta_sync_aligned_all, {}, {builder.getInt32(0)});
      call->eraseFromParent();
      continue;
    }
    if (name.starts_with("fw_shuffle_xor_")) made = shuffle(builder, call->getArgOperand(0), call->getArgOperand(1));
    for (const PositionFunction& position : kPositions)
      if (name == position.name) made = builder.CreateIntrinsic(position.intrinsic, llvm::ArrayRef<llvm::Value*>{});
    if (made == nullptr) continue;
    call->replaceAllUsesWith(made);
    call->eraseFromParent();
  }
}

// --- Functions ---------------------------------------------------------------------------------------

void mark_functions(llvm::Module& module, const Kernel& kernel, const Gpu& gpu) {
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    function.addFnAttr("target-cpu", gpu.sm);
    function.addFnAttr("target-features", gpu.features);
  }
  for (const kernel::Launch& launch : kernel.launches)
    module.getFunction(launch.name)->addFnAttr("nvvm.maxntid", fmt::format("{},1,1", launch.threads));
}

Status check_shared(const Kernel& kernel) {
  constexpr std::int64_t kMost = 48 << 10;  // what a block gets without asking for more at launch
  std::int64_t bytes = 0;
  for (const kernel::Buffer& b : kernel.buffers)
    if (b.space == kernel::Space::kShared) bytes += (b.elements * ops::byte_width(b.dtype) + 63) / 64 * 64;
  if (bytes <= kMost) return {};
  return fail(ErrorKind::kUnsupported,
              fmt::format("kernel {}: {} bytes of shared memory, a block has {}", kernel.name, bytes, kMost));
}

}  // namespace

const std::vector<std::string>& architectures() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> out;
    for (const Architecture& a : kArchitectures) out.emplace_back(a.sm);
    return out;
  }();
  return names;
}

Result<Gpu> find_gpu(const std::string& sm) {
  register_target();
  Gpu gpu;
  for (const Architecture& a : kArchitectures)
    if (sm == a.sm) gpu.sm = a.sm, gpu.features = a.features;
  if (gpu.sm.empty())
    return fail(ErrorKind::kUnsupported,
                fmt::format("no GPU architecture '{}' (there are {})", sm, fmt::join(architectures(), ", ")));
  FW_TRY(gpu.machine, backend_llvm::make_machine(kTriple, gpu.sm, gpu.features));
  gpu.target.triple = kTriple;
  gpu.target.data_layout = gpu.machine->createDataLayout().getStringRepresentation();
  gpu.target.family = kernel::TargetFamily::kGpu;
  gpu.target.global_space = kGlobalSpace;
  gpu.target.shared_space = kSharedSpace;
  gpu.target.calling_convention = llvm::CallingConv::PTX_Kernel;
  gpu.target.math = math::nvptx_bitcode();
  return gpu;
}

Result<Draft> make_module(const Kernel& kernel, Gpu& gpu, Devices devices) {
  FW_TRY_STATUS(check_shared(kernel));
  Draft d{std::make_unique<llvm::LLVMContext>(), nullptr};
  d.context->setDiscardValueNames(true);
  d.module = std::make_unique<llvm::Module>("kernel", *d.context);
  llvm::Module& module = *d.module;
  module.setTargetTriple(llvm::Triple(gpu.target.triple));
  module.setDataLayout(gpu.target.data_layout);
  std::vector<std::string> names;
  for (const kernel::Launch& launch : kernel.launches) names.push_back(launch.name);
  backend_llvm::Target target = gpu.target;
  target.statements = devices == Devices::kOutside;
  FW_TRY_STATUS(backend_llvm::emit_kernel(kernel, names, target, module));
  FW_TRY_STATUS(backend_llvm::link_math(module, target));
  if (devices == Devices::kNvidia)
    become_instructions(module);
  else
    describe(module);
  mark_functions(module, kernel, gpu);
  std::string broken;
  llvm::raw_string_ostream stream(broken);
  FW_CHECK(!llvm::verifyModule(module, &stream)) << broken;
  backend_llvm::optimize(module, gpu.machine.get());
  return d;
}

}  // namespace fusewright::backend_nvptx
