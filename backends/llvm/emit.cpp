#include "backends/llvm/emit.hpp"

#include <fmt/format.h>
#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/Module.h>

#include <algorithm>

#include "backends/llvm/expressions.hpp"
#include "fusewright/support/check.hpp"

namespace fusewright::backend_llvm {

using kernel::Buffer;
using kernel::BufferId;
using kernel::Expr;
using kernel::ExprId;
using kernel::Kernel;
using kernel::LoopKind;
using kernel::Space;
using kernel::Stmt;
using kernel::StmtId;
using kernel::TargetFamily;

namespace {

constexpr std::int64_t kAlign = 64;

std::int64_t bytes_of(const Buffer& buffer) { return buffer.elements * ops::byte_width(buffer.dtype); }

bool on_stack(const Buffer& buffer, const Target& target) {
  return buffer.space == Space::kLocal &&
         (target.family == TargetFamily::kGpu || bytes_of(buffer) <= target.stack_bytes);
}

/// Which buffers a launch reads or writes, and which it writes.
struct Uses {
  std::vector<bool> touched, written;
};

Uses uses_of(const Kernel& kernel, const kernel::Launch& launch) {
  Uses uses{std::vector<bool>(kernel.buffers.size()), std::vector<bool>(kernel.buffers.size())};
  std::vector<bool> seen(kernel.exprs.size());
  std::vector<ExprId> exprs;
  std::vector<StmtId> stmts(launch.body.begin(), launch.body.end());
  while (!stmts.empty()) {
    const Stmt& s = kernel[stmts.back()];
    stmts.pop_back();
    if (s.kind == Stmt::Kind::kStore) uses.touched[s.buffer.index] = uses.written[s.buffer.index] = true;
    for (const ExprId e : {s.extent, s.value, s.index, s.condition})
      if (e.valid()) exprs.push_back(e);
    stmts.insert(stmts.end(), s.body.begin(), s.body.end());
    stmts.insert(stmts.end(), s.orelse.begin(), s.orelse.end());
    while (!exprs.empty()) {
      const ExprId id = exprs.back();
      exprs.pop_back();
      if (seen[id.index]) continue;
      seen[id.index] = true;
      if (kernel[id].kind == Expr::Kind::kLoad) uses.touched[kernel[id].buffer.index] = true;
      exprs.insert(exprs.end(), kernel[id].args.begin(), kernel[id].args.end());
    }
  }
  return uses;
}

/// Writes one launch of a kernel.
class LaunchEmitter {
 public:
  LaunchEmitter(const Kernel& kernel, const kernel::Launch& launch, const Target& target, llvm::Module& module)
      : kernel_(kernel),
        launch_(launch),
        target_(target),
        module_(module),
        builder_(module.getContext()),
        expressions_(kernel, module, builder_, target),
        uses_(uses_of(kernel, launch)) {}

  void run(const std::string& name) {
    const bool cpu = target_.family == TargetFamily::kCpu;
    function_ = cpu ? cpu_function(name) : gpu_function(name);
    builder_.SetInsertPoint(llvm::BasicBlock::Create(module_.getContext(), "entry", function_));
    if (target_.statements) debug_scope();
    places();
    body(launch_.body);
    builder_.CreateRetVoid();
  }

 private:
  // --- Functions and buffers ---------------------------------------------------------------------------

  bool constant(const Buffer& buffer, std::size_t index) const {
    return buffer.space == Space::kGlobal && !uses_.written[index];
  }

  // Arguments are the only place where LLVM takes it on trust that buffers do not overlap.
  void describe_buffers(llvm::Function& function) {
    unsigned arg = 0;
    llvm::LLVMContext& context = module_.getContext();
    for (std::size_t b = 0; b < kernel_.buffers.size(); ++b) {
      const Buffer& buffer = kernel_.buffers[b];
      if (buffer.space != Space::kGlobal) continue;
      function.addParamAttr(arg, llvm::Attribute::NoAlias);
      function.addParamAttr(arg, llvm::Attribute::getWithAlignment(context, llvm::Align(kAlign)));
      if (constant(buffer, b)) function.addParamAttr(arg, llvm::Attribute::ReadOnly);
      if (buffer.elements > 0)
        function.addParamAttr(
            arg, llvm::Attribute::getWithDereferenceableBytes(context, static_cast<std::uint64_t>(bytes_of(buffer))));
      ++arg;
    }
  }

  std::vector<llvm::Type*> buffer_types() {
    std::vector<llvm::Type*> types;
    for (const Buffer& buffer : kernel_.buffers)
      if (buffer.space == Space::kGlobal) types.push_back(builder_.getPtrTy(target_.global_space));
    return types;
  }

  llvm::Function* make_function(const std::string& name, const std::vector<llvm::Type*>& types,
                                llvm::GlobalValue::LinkageTypes linkage) {
    auto* type = llvm::FunctionType::get(builder_.getVoidTy(), types, false);
    llvm::Function* function = llvm::Function::Create(type, linkage, name, module_);
    function->addFnAttr(llvm::Attribute::NoUnwind);
    return function;
  }

  llvm::Function* gpu_function(const std::string& name) {
    llvm::Function* function = make_function(name, buffer_types(), llvm::GlobalValue::ExternalLinkage);
    function->setCallingConv(target_.calling_convention);
    describe_buffers(*function);
    return function;
  }

  // The entry reads the addresses and calls the code proper, which is not inlined so that it keeps its noalias
  // arguments.
  llvm::Function* cpu_function(const std::string& name) {
    std::vector<llvm::Type*> types = buffer_types();
    const std::size_t buffers = types.size();
    types.insert(types.end(), {builder_.getPtrTy(), builder_.getInt64Ty(), builder_.getInt64Ty()});
    llvm::Function* inner = make_function(name + ".body", types, llvm::GlobalValue::InternalLinkage);
    inner->addFnAttr(llvm::Attribute::NoInline);
    describe_buffers(*inner);
    inner->addParamAttr(static_cast<unsigned>(buffers), llvm::Attribute::NoAlias);

    llvm::Type* pointer = builder_.getPtrTy();
    llvm::Function* entry = make_function(name, {pointer, pointer, builder_.getInt64Ty(), builder_.getInt64Ty()},
                                          llvm::GlobalValue::ExternalLinkage);
    builder_.SetInsertPoint(llvm::BasicBlock::Create(module_.getContext(), "entry", entry));
    std::vector<llvm::Value*> args;
    for (std::size_t b = 0; b < buffers; ++b)
      args.push_back(builder_.CreateLoad(pointer, builder_.CreateConstInBoundsGEP1_64(pointer, entry->getArg(0), b)));
    for (const unsigned arg : {1u, 2u, 3u}) args.push_back(entry->getArg(arg));
    builder_.CreateCall(inner, args);
    builder_.CreateRetVoid();
    return inner;
  }

  void places() {
    unsigned arg = 0;
    std::int64_t offset = 0;
    for (std::size_t b = 0; b < kernel_.buffers.size(); ++b) {
      const Buffer& buffer = kernel_.buffers[b];
      Place place;
      if (buffer.space == Space::kGlobal) {
        place = {function_->getArg(arg++), kAlign, constant(buffer, b)};
      } else if (buffer.space == Space::kShared) {
        if (uses_.touched[b]) place.address = shared(buffer, b);
      } else if (on_stack(buffer, target_)) {
        if (uses_.touched[b]) place.address = stack(buffer);
      } else {
        llvm::Value* scratch = function_->getArg(static_cast<unsigned>(function_->arg_size()) - 3);
        place.address =
            builder_.CreateConstInBoundsGEP1_64(builder_.getInt8Ty(), scratch, static_cast<std::uint64_t>(offset));
        offset += (bytes_of(buffer) + kAlign - 1) / kAlign * kAlign;
      }
      expressions_.set(BufferId(b), place);
    }
  }

  llvm::ArrayType* array(const Buffer& buffer) {
    Scalars scalars(module_, builder_, target_);
    return llvm::ArrayType::get(scalars.memory_type(buffer.dtype), static_cast<std::uint64_t>(buffer.elements));
  }

  llvm::Value* stack(const Buffer& buffer) {
    llvm::AllocaInst* memory = builder_.CreateAlloca(array(buffer));
    memory->setAlignment(llvm::Align(kAlign));
    return memory;
  }

  llvm::Value* shared(const Buffer& buffer, std::size_t index) {
    const std::string name = fmt::format("fw_shared_{}", index);
    auto* memory = new llvm::GlobalVariable(module_, array(buffer), false, llvm::GlobalValue::InternalLinkage,
                                            llvm::PoisonValue::get(array(buffer)), name, nullptr,
                                            llvm::GlobalValue::NotThreadLocal, target_.shared_space);
    memory->setAlignment(llvm::Align(kAlign));
    return memory;
  }

  // --- Statements --------------------------------------------------------------------------------------

  void debug_scope() {
    llvm::DIBuilder debug(module_);
    llvm::DIFile* file = debug.createFile(kernel_.name, "");
    debug.createCompileUnit(llvm::DISourceLanguageName(llvm::dwarf::DW_LANG_C), file, "fusewright", true, "", 0, "",
                            llvm::DICompileUnit::NoDebug);
    scope_ = debug.createFunction(file, function_->getName(), function_->getName(), file, 0,
                                  debug.createSubroutineType(debug.getOrCreateTypeArray({})), 0, llvm::DINode::FlagZero,
                                  llvm::DISubprogram::SPFlagDefinition);
    function_->setSubprogram(scope_);
    debug.finalize();
    if (module_.getModuleFlag("Debug Info Version") == nullptr)
      module_.addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
    locate(0);
  }

  void locate(std::uint32_t line) {
    if (scope_ != nullptr)
      builder_.SetCurrentDebugLocation(llvm::DILocation::get(module_.getContext(), line, 0, scope_));
  }

  void body(const std::vector<StmtId>& stmts) {
    for (const StmtId id : stmts) {
      const Stmt& s = kernel_[id];
      expressions_.forget();
      locate(static_cast<std::uint32_t>(id.index) + 1);
      switch (s.kind) {
        case Stmt::Kind::kFor: loop(s); break;
        case Stmt::Kind::kLet: expressions_.set(s.var, expressions_.evaluate(s.value)); break;
        case Stmt::Kind::kStore: {
          const Value index = expressions_.evaluate(s.index);
          expressions_.store(s.buffer, index, expressions_.evaluate(s.value));
          break;
        }
        case Stmt::Kind::kIf: condition(s); break;
        case Stmt::Kind::kBarrier:
          builder_.CreateCall(
              module_.getOrInsertFunction("fw_barrier", llvm::FunctionType::get(builder_.getVoidTy(), false)));
          break;
      }
    }
  }

  void condition(const Stmt& s) {
    llvm::LLVMContext& context = module_.getContext();
    llvm::Value* holds = expressions_.evaluate(s.condition).v;
    auto* then = llvm::BasicBlock::Create(context, "then", function_);
    auto* orelse = s.orelse.empty() ? nullptr : llvm::BasicBlock::Create(context, "else", function_);
    auto* after = llvm::BasicBlock::Create(context, "endif", function_);
    builder_.CreateCondBr(holds, then, orelse != nullptr ? orelse : after);
    builder_.SetInsertPoint(then);
    body(s.body);
    builder_.CreateBr(after);
    if (orelse != nullptr) {
      builder_.SetInsertPoint(orelse);
      body(s.orelse);
      builder_.CreateBr(after);
    }
    after->moveAfter(&function_->back());
    builder_.SetInsertPoint(after);
  }

  void loop(const Stmt& s) {
    const Value extent = expressions_.evaluate(s.extent);
    switch (s.loop) {
      case LoopKind::kSerial: serial(s, builder_.getInt64(0), extent.v, extent.low, extent.high); break;
      case LoopKind::kParallel: {
        const auto last = static_cast<unsigned>(function_->arg_size()) - 1;
        serial(s, function_->getArg(last - 1), function_->getArg(last), 0, extent.high);
        break;
      }
      case LoopKind::kUnrolled:
        for (std::int64_t i = 0; i < extent.high; ++i) iteration(s, i);
        break;
      case LoopKind::kVector: vector(s, extent.high); break;
      case LoopKind::kGridX: position(s, "fw_block_x", extent); break;
      case LoopKind::kGridY: position(s, "fw_block_y", extent); break;
      case LoopKind::kGridZ: position(s, "fw_block_z", extent); break;
      case LoopKind::kThreadX: position(s, "fw_thread_x", extent); break;
    }
  }

  void iteration(const Stmt& s, std::int64_t i) {
    expressions_.set(s.var, constant_index(builder_.getInt64(static_cast<std::uint64_t>(i)), i));
    body(s.body);
  }

  void vector(const Stmt& s, std::int64_t lanes) {
    if (lanes == 1) return iteration(s, 0);
    expressions_.lanes = static_cast<int>(lanes);
    Value var = constant_index(builder_.getInt64(0), 0);
    var.stride = 1;
    expressions_.set(s.var, var);
    body(s.body);
    expressions_.lanes = 1;
  }

  // From `begin` up to `end`; the test comes last, so that what does not change may leave the loop.
  void serial(const Stmt& s, llvm::Value* begin, llvm::Value* end, std::int64_t least, std::int64_t most) {
    if (most <= 0) return;
    llvm::LLVMContext& context = module_.getContext();
    auto* head = builder_.GetInsertBlock();
    auto* loop = llvm::BasicBlock::Create(context, "loop", function_);
    auto* after = llvm::BasicBlock::Create(context, "after", function_);
    if (least >= 1)
      builder_.CreateBr(loop);
    else
      builder_.CreateCondBr(builder_.CreateICmpSLT(begin, end), loop, after);
    builder_.SetInsertPoint(loop);
    llvm::PHINode* i = builder_.CreatePHI(builder_.getInt64Ty(), 2);
    i->addIncoming(begin, head);
    Value var;
    var.v = i;
    var.low = 0;
    var.high = most == std::numeric_limits<std::int64_t>::max() ? most : most - 1;
    expressions_.set(s.var, var);
    body(s.body);
    llvm::Value* next = builder_.CreateAdd(i, builder_.getInt64(1), "", true, true);
    i->addIncoming(next, builder_.GetInsertBlock());
    llvm::BranchInst* again = builder_.CreateCondBr(builder_.CreateICmpSLT(next, end), loop, after);
    if (written_out(s)) keep_rolled(again);
    after->moveAfter(&function_->back());
    builder_.SetInsertPoint(after);
  }

  // The template chose how much of the body stands in a row; more would not fit the registers.
  bool written_out(const Stmt& s) const {
    return std::any_of(s.body.begin(), s.body.end(), [&](StmtId id) {
      return kernel_[id].kind == Stmt::Kind::kFor && kernel_[id].loop == LoopKind::kUnrolled;
    });
  }

  void keep_rolled(llvm::BranchInst* again) {
    llvm::LLVMContext& context = module_.getContext();
    llvm::Metadata* no = llvm::MDNode::get(context, llvm::MDString::get(context, "llvm.loop.unroll.disable"));
    llvm::MDNode* loop = llvm::MDNode::getDistinct(context, {nullptr, no});
    loop->replaceOperandWith(0, loop);
    again->setMetadata(llvm::LLVMContext::MD_loop, loop);
  }

  // Grid and thread loops are the machine's: each thread runs the body once.
  void position(const Stmt& s, const char* function, const Value& extent) {
    llvm::Type* word = builder_.getInt32Ty();
    llvm::CallInst* call =
        builder_.CreateCall(module_.getOrInsertFunction(function, llvm::FunctionType::get(word, false)));
    Value var;
    var.v = builder_.CreateZExt(call, builder_.getInt64Ty());
    var.low = 0;
    var.high = extent.high == std::numeric_limits<std::int64_t>::max() ? extent.high : extent.high - 1;
    expressions_.set(s.var, var);
    body(s.body);
  }

  const Kernel& kernel_;
  const kernel::Launch& launch_;
  const Target& target_;
  llvm::Module& module_;
  llvm::IRBuilder<> builder_;
  Expressions expressions_;
  Uses uses_;
  llvm::Function* function_ = nullptr;
  llvm::DISubprogram* scope_ = nullptr;  // where instructions are to say their statement
};

Status check_dtypes(const Kernel& kernel) {
  const auto check = [&](ops::DType dtype) -> Status {
    if (dtype <= ops::DType::kF64) return {};
    return fail(ErrorKind::kUnsupported,
                fmt::format("kernel {}: no code can be made for {}", kernel.name, ops::name(dtype)));
  };
  for (const Buffer& buffer : kernel.buffers) FW_TRY_STATUS(check(buffer.dtype));
  for (const Expr& expr : kernel.exprs) FW_TRY_STATUS(check(expr.dtype));
  return {};
}

}  // namespace

std::int64_t scratch_bytes(const Kernel& kernel, const Target& target) {
  std::int64_t bytes = 0;
  for (const Buffer& buffer : kernel.buffers)
    if (buffer.space == Space::kLocal && !on_stack(buffer, target))
      bytes += (bytes_of(buffer) + kAlign - 1) / kAlign * kAlign;
  return bytes;
}

Status emit_kernel(const Kernel& kernel, const std::vector<std::string>& names, const Target& target,
                   llvm::Module& module) {
  FW_CHECK(kernel.family == target.family) << kernel.name << " is for the other family of machines";
  FW_CHECK(names.size() == kernel.prepare.size() + kernel.launches.size());
  FW_TRY_STATUS(check_dtypes(kernel));
  std::size_t next = 0;
  for (const auto* launches : {&kernel.prepare, &kernel.launches})
    for (const kernel::Launch& launch : *launches) LaunchEmitter(kernel, launch, target, module).run(names[next++]);
  return {};
}

}  // namespace fusewright::backend_llvm
