#include "backends/llvm/optimize.hpp"

#include <llvm/Analysis/CGSCCPassManager.h>
#include <llvm/Analysis/LoopAnalysisManager.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/Linker/Linker.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Target/TargetOptions.h>
#include <llvm/Transforms/Utils/CodeExtractor.h>

namespace fusewright::backend_llvm {

namespace {

constexpr std::size_t kManyMathCalls = 400;  // inlined, a call is 30 to 100 instructions
constexpr std::size_t kLargeModule = 6000;   // instructions before inlining
constexpr std::size_t kLongBlock = 2000;     // instructions in a row
constexpr std::size_t kPiece = 1000;

std::size_t calls_of_math(const llvm::Module& module) {
  std::size_t calls = 0;
  for (const llvm::Function& function : module)
    if (function.isDeclaration() && function.getName().starts_with("fw_")) calls += function.getNumUses();
  return calls;
}

std::unexpected<Error> llvm_error(llvm::Error error) {
  return fail(ErrorKind::kUnsupported, "LLVM: " + llvm::toString(std::move(error)));
}

}  // namespace

void cut_long_blocks(llvm::Module& module) {
  std::vector<llvm::Function*> functions;
  for (llvm::Function& function : module) functions.push_back(&function);
  for (llvm::Function* function : functions) {
    std::vector<llvm::Instruction*> cuts;
    for (llvm::BasicBlock& block : *function) {
      if (block.size() <= kLongBlock) continue;
      std::size_t count = 0;
      for (llvm::Instruction& at : block)
        if (!llvm::isa<llvm::PHINode, llvm::AllocaInst>(at) && !at.isTerminator() && count++ % kPiece == 0)
          cuts.push_back(&at);
      cuts.push_back(block.getTerminator());
    }
    std::vector<llvm::BasicBlock*> pieces;
    for (llvm::Instruction* cut : cuts) {
      llvm::BasicBlock* rest = cut->getParent()->splitBasicBlock(cut);
      if (!cut->isTerminator()) pieces.push_back(rest);
    }
    llvm::CodeExtractorAnalysisCache analyses(*function);
    for (llvm::BasicBlock* piece : pieces) {
      const std::vector<llvm::BasicBlock*> blocks{piece};
      llvm::CodeExtractor extractor(blocks);
      if (extractor.isEligible()) extractor.extractCodeRegion(analyses);
    }
  }
}

Status link_math(llvm::Module& module, const Target& target, MathCode code) {
  const std::size_t calls = calls_of_math(module);
  if (calls == 0) return {};
  const llvm::StringRef bytes(reinterpret_cast<const char*>(target.math.data()), target.math.size());
  auto math = llvm::getLazyBitcodeModule(llvm::MemoryBufferRef(bytes, "math"), module.getContext());
  if (!math) return llvm_error(math.takeError());
  (*math)->setTargetTriple(module.getTargetTriple());
  (*math)->setDataLayout(module.getDataLayout());
  std::vector<std::string> defined;
  for (const llvm::Function& function : **math)
    if (!function.isDeclaration()) defined.push_back(function.getName().str());
  if (llvm::Linker::linkModules(module, std::move(*math), llvm::Linker::LinkOnlyNeeded))
    return fail(ErrorKind::kUnsupported, "LLVM could not link the math functions");
  for (const std::string& name : defined) {
    llvm::Function* function = module.getFunction(name);
    if (function == nullptr || function->isDeclaration()) continue;
    function->setLinkage(llvm::GlobalValue::InternalLinkage);
    function->setVisibility(llvm::GlobalValue::DefaultVisibility);
    function->setComdat(nullptr);
    if (code == MathCode::kCalls || calls > kManyMathCalls) {
      function->removeFnAttr(llvm::Attribute::AlwaysInline);
      function->addFnAttr(llvm::Attribute::NoInline);
    }
  }
  return {};
}

bool is_large(const llvm::Module& module) { return module.getInstructionCount() > kLargeModule; }

void optimize(llvm::Module& module, llvm::TargetMachine* machine) {
  // Kernels come vectorised; looking for more in their scalar edges only takes time.
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = false;
  tuning.SLPVectorization = false;
  tuning.LoopInterleaving = false;
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(machine, tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  const auto level = is_large(module) ? llvm::OptimizationLevel::O1 : llvm::OptimizationLevel::O2;
  builder.buildPerModuleDefaultPipeline(level).run(module, modules);
  // Not for GPUs, where values between functions go through memory.
  if (!module.getTargetTriple().isNVPTX()) cut_long_blocks(module);
}

Result<std::unique_ptr<llvm::TargetMachine>> make_machine(const std::string& triple, const std::string& cpu,
                                                          const std::string& features, bool large) {
  std::string error;
  const llvm::Triple parsed(triple);
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(parsed, error);
  if (target == nullptr) return fail(ErrorKind::kUnsupported, "LLVM: " + error);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  const auto level = large ? llvm::CodeGenOptLevel::Less : llvm::CodeGenOptLevel::Default;
  std::unique_ptr<llvm::TargetMachine> machine(
      target->createTargetMachine(parsed, cpu, features, options, llvm::Reloc::PIC_, std::nullopt, level));
  if (machine == nullptr) return fail(ErrorKind::kUnsupported, "LLVM has no code generator for " + triple);
  return machine;
}

Result<std::string> emit_code(llvm::Module& module, llvm::TargetMachine& machine, Output output) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  const auto type = output == Output::kObject ? llvm::CodeGenFileType::ObjectFile : llvm::CodeGenFileType::AssemblyFile;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, type))
    return fail(ErrorKind::kUnsupported, "LLVM cannot write this kind of file for " + module.getTargetTriple().str());
  passes.run(module);
  return std::string(bytes.data(), bytes.size());
}

}  // namespace fusewright::backend_llvm
