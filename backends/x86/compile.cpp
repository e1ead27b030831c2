#include <fmt/format.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Support/xxhash.h>
#include <llvm/Target/TargetMachine.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <new>
#include <system_error>
#include <thread>

#include "backends/llvm/emit.hpp"
#include "backends/llvm/optimize.hpp"
#include "backends/x86/cache.hpp"
#include "backends/x86/executable.hpp"
#include "backends/x86/machine.hpp"
#include "backends/x86/x86.hpp"
#include "fusewright/support/check.hpp"

namespace fusewright::backend_x86 {

using backend_llvm::MathCode;
using backend_llvm::Output;
using kernel::Kernel;

namespace {

/// Part of every key. Raise it when the passes or the code generator's settings change: what the lowering writes is
/// itself part of the key.
constexpr const char* kPipeline = "pipeline 3, LLVM " LLVM_VERSION_STRING;

/// A module with the kernel's code as the lowering writes it.
struct Draft {
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> module;
};

Result<Draft> draft(const Kernel& kernel, const std::vector<std::string>& names, const Machine& machine) {
  Draft d{std::make_unique<llvm::LLVMContext>(), nullptr};
  d.context->setDiscardValueNames(true);
  d.module = std::make_unique<llvm::Module>("kernel", *d.context);
  d.module->setTargetTriple(llvm::Triple(machine.target.triple));
  d.module->setDataLayout(machine.target.data_layout);
  FW_TRY_STATUS(backend_llvm::emit_kernel(kernel, names, machine.target, *d.module));
  return d;
}

// Where kernels compute so many functions, compiling each where it is used would take minutes and save little.
constexpr std::size_t kManyFunctions = 2000;

MathCode math_code(const std::vector<const Kernel*>& kernels) {
  constexpr double kFunction = 8;  // in additions: what has no instruction of its own
  std::size_t functions = 0;
  for (const Kernel* kernel : kernels)
    functions += static_cast<std::size_t>(std::ranges::count_if(kernel->exprs, [](const kernel::Expr& e) {
      return e.kind == kernel::Expr::Kind::kOp && ops::work(e.op, e.dtype) >= kFunction;
    }));
  return functions > kManyFunctions ? MathCode::kCalls : MathCode::kInline;
}

Result<std::string> finish(llvm::Module& module, const Machine& machine, MathCode math, Output output) {
  FW_TRY_STATUS(backend_llvm::link_math(module, machine.target, math));
  mark_functions(module, machine);
  std::string broken;
  llvm::raw_string_ostream stream(broken);
  FW_CHECK(!llvm::verifyModule(module, &stream)) << broken;
  FW_TRY(const auto generator, make_code_generator(machine, backend_llvm::is_large(module)));
  backend_llvm::optimize(module, generator.get());
  return backend_llvm::emit_code(module, *generator, output);
}

/// Everything that decides what bytes come out.
std::string key_of(const llvm::Module& module, const Machine& machine, MathCode math) {
  llvm::SmallVector<char, 0> text;
  llvm::raw_svector_ostream stream(text);
  llvm::WriteBitcodeToFile(module, stream);
  const std::span<const unsigned char> functions = machine.target.math;
  stream << '\0' << kPipeline << (math == MathCode::kCalls ? ", calls" : "") << '\0' << machine.cpu << '\0'
         << machine.features << '\0'
         << llvm::xxh3_64bits(llvm::ArrayRef<std::uint8_t>(functions.data(), functions.size()));
  const auto hash =
      llvm::xxh3_128bits(llvm::ArrayRef<std::uint8_t>(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

/// Calls job(i) for each i below count, several at a time, and returns the first error in order.
template <class Job>
Status in_parallel(std::size_t count, int threads, const Job& job) {
  std::vector<Status> results(count);
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        results[i] = job(i);
      } catch (const std::bad_alloc&) {
        results[i] = fail(ErrorKind::kResource, "out of memory while kernels are compiled");
      }
    }
  };
  const std::size_t most =
      threads > 0 ? static_cast<std::size_t>(threads) : std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::thread> helpers;
  try {
    for (std::size_t t = 1; t < std::min(most, count); ++t) helpers.emplace_back(work);
  } catch (const std::system_error&) {  // no more threads: those that there are do the work
  }
  work();
  for (std::thread& helper : helpers) helper.join();
  for (Status& result : results) FW_TRY_STATUS(std::move(result));
  return {};
}

std::vector<std::string> launch_names(const Kernel& kernel) {
  std::vector<std::string> names;
  for (const auto* launches : {&kernel.prepare, &kernel.launches})
    for (const kernel::Launch& launch : *launches) names.push_back(launch.name);
  return names;
}

}  // namespace

Result<std::unique_ptr<kernel::Executable>> compile_x86(const std::vector<Kernel>& kernels, const Options& options) {
  FW_TRY(const Machine machine, find_machine(options.cpu));
  const Cache cache(options.cache);

  // Equal kernels share their code; in a network most blocks come several times.
  std::map<std::uint64_t, std::size_t> number_of;  // by structural hash
  std::vector<std::size_t> first;                  // kernel that stands for each number
  std::vector<std::vector<std::string>> names;  // of its functions: by content, so that they say nothing of this list
  std::vector<std::size_t> number(kernels.size());
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const auto [at, added] = number_of.try_emplace(kernel::hash(kernels[i]), first.size());
    number[i] = at->second;
    if (!added) continue;
    first.push_back(i);
    names.emplace_back();
    for (std::size_t l = 0; l < kernels[i].prepare.size() + kernels[i].launches.size(); ++l)
      names.back().push_back(fmt::format("fw_kernel_{:016x}_{}", at->first, l));
  }
  std::vector<const Kernel*> distinct;
  for (const std::size_t i : first) distinct.push_back(&kernels[i]);
  const MathCode math = math_code(distinct);
  std::vector<std::string> objects(first.size());
  FW_TRY_STATUS(in_parallel(first.size(), options.threads, [&](std::size_t n) -> Status {
    FW_TRY(const Draft d, draft(kernels[first[n]], names[n], machine));
    const std::string key = key_of(*d.module, machine, math);
    if (auto cached = cache.load(key)) {
      objects[n] = *std::move(cached);
      return {};
    }
    FW_TRY(objects[n], finish(*d.module, machine, math, Output::kObject));
    cache.store(key, objects[n]);
    return {};
  }));

  FW_TRY(std::unique_ptr<Loader> loader, Loader::make());
  for (std::string& object : objects) FW_TRY_STATUS(loader->add(std::move(object)));
  std::vector<LoadedKernel> loaded(kernels.size());
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const Kernel& kernel = kernels[i];
    const std::vector<std::string>& symbols = names[number[i]];
    std::size_t next = 0;
    for (const auto& [launches, steps] :
         {std::pair(&kernel.prepare, &loaded[i].prepare), std::pair(&kernel.launches, &loaded[i].launches)})
      for (const kernel::Launch& launch : *launches) {
        FW_TRY(const LaunchFunction function, loader->find(symbols[next++]));
        steps->push_back({function, launch.parallel});
      }
    for (const kernel::Buffer& buffer : kernel.buffers)
      if (buffer.space == kernel::Space::kGlobal) ++loaded[i].buffers;
    loaded[i].scratch_bytes = backend_llvm::scratch_bytes(kernel, machine.target);
  }
  return make_executable(std::move(loader), std::move(loaded));
}

Result<std::vector<Object>> emit_objects(const std::vector<Kernel>& kernels, const Options& options) {
  FW_TRY(const Machine machine, find_machine(options.cpu));
  std::vector<const Kernel*> all;
  for (const Kernel& kernel : kernels) all.push_back(&kernel);
  const MathCode math = math_code(all);
  std::vector<Object> objects(kernels.size());
  FW_TRY_STATUS(in_parallel(kernels.size(), options.threads, [&](std::size_t i) -> Status {
    Object& object = objects[i];
    object.symbols = launch_names(kernels[i]);
    object.scratch_bytes = backend_llvm::scratch_bytes(kernels[i], machine.target);
    FW_TRY(const Draft d, draft(kernels[i], object.symbols, machine));
    FW_TRY(object.bytes, finish(*d.module, machine, math, Output::kObject));
    return {};
  }));
  return objects;
}

Result<std::string> emit_assembly(const Kernel& kernel, const Options& options) {
  FW_TRY(const Machine machine, find_machine(options.cpu));
  FW_TRY(const Draft d, draft(kernel, launch_names(kernel), machine));
  return finish(*d.module, machine, math_code({&kernel}), Output::kAssembly);
}

}  // namespace fusewright::backend_x86
