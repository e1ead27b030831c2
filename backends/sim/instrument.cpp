#include "backends/sim/instrument.hpp"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/ReplaceConstant.h>

#include <cstddef>

#include "backends/nvptx/module.hpp"
#include "fusewright/support/check.hpp"

namespace fusewright::backend_sim {

using backend_nvptx::kGlobalSpace;
using backend_nvptx::kSharedSpace;
using kernel::Buffer;
using kernel::Kernel;
using kernel::Space;

namespace {

/// An address that an instruction reads or writes: one of its operands, which may become another value on the way.
struct Access {
  llvm::Instruction* instruction = nullptr;
  unsigned operand = 0;
  llvm::Value* bytes = nullptr;
  bool store = false;
};

class Instrumenter {
 public:
  Instrumenter(llvm::Module& module, const Kernel& kernel, const kernel::Launch& launch, const std::string& symbol)
      : module_(module), kernel_(kernel), context_(module.getContext()), old_(module.getFunction(launch.name)) {
    program_.symbol = symbol;
  }

  Program run() {
    lay_out();
    find_uses();
    for (const Access& access : accesses_) access_sites_.push_back(site_of(access));
    for (llvm::CallInst* call : calls_) call_sites_.push_back(site_of(call));
    llvm::stripDebugInfo(*old_);
    move();
    for (std::size_t i = 0; i < accesses_.size(); ++i) announce(accesses_[i], access_sites_[i]);
    for (std::size_t i = 0; i < calls_.size(); ++i) replace(calls_[i], call_sites_[i]);
    old_->eraseFromParent();
    return std::move(program_);
  }

 private:
  // Buffers of shared memory lie one after the other, each on a boundary of 64 bytes.
  void lay_out() {
    for (const Buffer& b : kernel_.buffers) {
      const std::int64_t bytes = (b.elements * ops::byte_width(b.dtype) + 63) / 64 * 64;
      program_.shared_offset.push_back(program_.shared_bytes);
      if (b.space == Space::kShared) program_.shared_bytes += bytes;
      if (b.space == Space::kLocal) program_.local_bytes += bytes;
      if (b.space == Space::kGlobal) globals_.push_back(static_cast<std::int32_t>(&b - kernel_.buffers.data()));
    }
  }

  static bool watched(const llvm::Value* address) {
    const unsigned space = address->getType()->getPointerAddressSpace();
    return space == kGlobalSpace || space == kSharedSpace;
  }

  void find_uses() {
    const llvm::DataLayout& layout = module_.getDataLayout();
    const auto size = [&](llvm::Type* type) {
      return llvm::ConstantInt::get(llvm::Type::getInt32Ty(context_), layout.getTypeStoreSize(type).getFixedValue());
    };
    for (llvm::BasicBlock& block : *old_)
      for (llvm::Instruction& i : block) {
        if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&i); load != nullptr && watched(load->getPointerOperand()))
          accesses_.push_back({load, load->getPointerOperandIndex(), size(load->getType()), false});
        if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&i); store != nullptr && watched(store->getPointerOperand()))
          accesses_.push_back(
              {store, store->getPointerOperandIndex(), size(store->getValueOperand()->getType()), true});
        if (auto* memory = llvm::dyn_cast<llvm::MemIntrinsic>(&i)) {
          if (auto* copy = llvm::dyn_cast<llvm::MemTransferInst>(memory);
              copy != nullptr && watched(copy->getRawSource()))
            accesses_.push_back({memory, 1, memory->getLength(), false});
          if (watched(memory->getRawDest())) accesses_.push_back({memory, 0, memory->getLength(), true});
          continue;
        }
        if (auto* call = llvm::dyn_cast<llvm::CallInst>(&i); call != nullptr && call->getCalledFunction() != nullptr) {
          FW_CHECK(!call->getCalledFunction()->getName().starts_with("llvm.masked."))
              << "a masked access is not watched";
          if (call->getCalledFunction()->isDeclaration() && call->getCalledFunction()->getName().starts_with("fw_"))
            calls_.push_back(call);
        }
      }
  }

  std::uint32_t add(Site site, const llvm::Instruction& at) {
    if (const llvm::DebugLoc& place = at.getDebugLoc()) {
      const llvm::DILocation* outer = place.get();
      while (outer->getInlinedAt() != nullptr) outer = outer->getInlinedAt();
      if (outer->getLine() > 0) site.statement = kernel::StmtId(outer->getLine() - 1);
    }
    program_.sites.push_back(site);
    return static_cast<std::uint32_t>(program_.sites.size() - 1);
  }

  std::uint32_t site_of(const Access& access) {
    const llvm::Value* address = access.instruction->getOperand(access.operand);
    Site site;
    site.kind = access.store ? Site::Kind::kStore : Site::Kind::kLoad;
    site.shared = address->getType()->getPointerAddressSpace() == kSharedSpace;
    const llvm::Value* object = llvm::getUnderlyingObject(address, 0);
    if (const auto* arg = llvm::dyn_cast<llvm::Argument>(object)) {
      site.buffer = globals_[arg->getArgNo()];
    } else if (const auto* shared = llvm::dyn_cast<llvm::GlobalVariable>(object)) {
      llvm::StringRef number = shared->getName();
      FW_CHECK(number.consume_front("fw_shared_"));
      number.consumeInteger(10, site.buffer);
    }
    return add(site, *access.instruction);
  }

  std::uint32_t site_of(llvm::CallInst* call) {
    const llvm::StringRef name = call->getCalledFunction()->getName();
    Site site;
    if (name == "fw_barrier")
      site.kind = Site::Kind::kBarrier;
    else if (name.starts_with("fw_shuffle_xor_"))
      site.kind = Site::Kind::kShuffle;
    else
      return 0;
    program_.waits = true;
    return add(site, *call);
  }

  // The body becomes that of a function of the thread, from which addresses of buffers are read.
  void move() {
    llvm::Type* pointer = llvm::PointerType::get(context_, 0);
    auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context_), {pointer}, false);
    function_ = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, program_.symbol, module_);
    function_->addFnAttr(llvm::Attribute::NoUnwind);
    function_->splice(function_->begin(), old_);
    llvm::IRBuilder<> builder(&*function_->getEntryBlock().getFirstInsertionPt());
    llvm::Value* buffers = field(builder, pointer, offsetof(Thread, buffers));
    for (llvm::Argument& arg : old_->args())
      if (!arg.use_empty())
        arg.replaceAllUsesWith(
            builder.CreateLoad(arg.getType(), builder.CreateConstInBoundsGEP1_64(pointer, buffers, arg.getArgNo())));
    llvm::Value* shared = field(builder, llvm::PointerType::get(context_, kSharedSpace), offsetof(Thread, shared));
    for (llvm::GlobalVariable& global : llvm::make_early_inc_range(module_.globals())) {
      llvm::StringRef number = global.getName();
      std::size_t index = 0;
      if (!number.consume_front("fw_shared_") || number.consumeInteger(10, index)) continue;
      llvm::convertUsersOfConstantsToInstructions({&global}, function_);
      llvm::Value* place = builder.CreateConstInBoundsGEP1_64(
          builder.getInt8Ty(), shared, static_cast<std::uint64_t>(program_.shared_offset[index]));
      global.replaceUsesWithIf(place, [&](llvm::Use& use) {
        const auto* user = llvm::dyn_cast<llvm::Instruction>(use.getUser());
        return user != nullptr && user->getFunction() == function_;
      });
    }
  }

  llvm::Value* field(llvm::IRBuilder<>& builder, llvm::Type* type, std::size_t offset) {
    return builder.CreateLoad(type,
                              builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), function_->getArg(0), offset));
  }

  llvm::Value* call(llvm::IRBuilder<>& builder, const char* name, llvm::Type* result,
                    const std::vector<llvm::Value*>& args) {
    std::vector<llvm::Type*> types;
    for (const llvm::Value* arg : args) types.push_back(arg->getType());
    const auto callee = module_.getOrInsertFunction(name, llvm::FunctionType::get(result, types, false));
    return builder.CreateCall(callee, args);
  }

  void announce(const Access& access, std::uint32_t site) {
    llvm::IRBuilder<> builder(access.instruction);
    llvm::Value* address =
        builder.CreateAddrSpaceCast(access.instruction->getOperand(access.operand), builder.getPtrTy());
    llvm::Value* bytes = builder.CreateZExtOrTrunc(access.bytes, builder.getInt32Ty());
    call(builder, "fw_sim_access", builder.getVoidTy(), {function_->getArg(0), address, bytes, builder.getInt32(site)});
  }

  void replace(llvm::CallInst* old, std::uint32_t site) {
    llvm::IRBuilder<> builder(old);
    const llvm::StringRef name = old->getCalledFunction()->getName();
    llvm::Value* made = nullptr;
    if (name == "fw_barrier") {
      call(builder, "fw_sim_barrier", builder.getVoidTy(), {function_->getArg(0), builder.getInt32(site)});
    } else if (name.starts_with("fw_shuffle_xor_")) {
      llvm::Type* type = old->getType();
      const bool wide = type->getPrimitiveSizeInBits() == 64;
      llvm::Type* word = wide ? builder.getInt64Ty() : builder.getInt32Ty();
      llvm::Value* got = call(builder, wide ? "fw_sim_shuffle_64" : "fw_sim_shuffle_32", word,
                              {function_->getArg(0), builder.CreateBitCast(old->getArgOperand(0), word),
                               old->getArgOperand(1), builder.getInt32(site)});
      made = builder.CreateBitCast(got, type);
    } else {
      constexpr std::size_t kBlock = offsetof(Thread, block);
      const std::size_t offset = name == "fw_block_x"   ? kBlock
                                 : name == "fw_block_y" ? kBlock + 4
                                 : name == "fw_block_z" ? kBlock + 8
                                                        : offsetof(Thread, number);
      FW_CHECK(name.starts_with("fw_block_") || name == "fw_thread_x") << name.str() << " is not a device function";
      made = field(builder, builder.getInt32Ty(), offset);
    }
    if (made != nullptr) old->replaceAllUsesWith(made);
    old->eraseFromParent();
  }

  llvm::Module& module_;
  const Kernel& kernel_;
  llvm::LLVMContext& context_;
  llvm::Function* old_;
  llvm::Function* function_ = nullptr;
  std::vector<std::int32_t> globals_;  // buffer of each argument
  std::vector<Access> accesses_;
  std::vector<llvm::CallInst*> calls_;
  std::vector<std::uint32_t> access_sites_, call_sites_;
  Program program_;
};

}  // namespace

Program instrument(llvm::Module& module, const Kernel& kernel, const kernel::Launch& launch,
                   const std::string& symbol) {
  return Instrumenter(module, kernel, launch, symbol).run();
}

}  // namespace fusewright::backend_sim
