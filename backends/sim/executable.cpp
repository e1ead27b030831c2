#include <fmt/format.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include <map>
#include <system_error>
#include <thread>

#include "backends/llvm/optimize.hpp"
#include "backends/nvptx/module.hpp"
#include "backends/sim/instrument.hpp"
#include "backends/sim/sim.hpp"
#include "backends/sim/worker.hpp"
#include "backends/x86/loader.hpp"
#include "backends/x86/machine.hpp"
#include "fusewright/support/check.hpp"

namespace fusewright::backend_sim {

using kernel::Counters;
using kernel::Kernel;

namespace {

constexpr const char* kSm = "sm_90";  // whose code is run
constexpr std::int64_t kMostBlocks = std::int64_t{1} << 27;
constexpr int kMostWorkers = 256;  // each has stacks for the threads of a block

/// A kernel's launches and the object that has their code.
struct Compiled {
  std::vector<Program> programs;
  std::string object;
};

Result<Compiled> compile(const Kernel& kernel, std::size_t number, const backend_x86::Machine& machine) {
  for (const kernel::Launch& launch : kernel.launches)
    if (launch.grid[0] * launch.grid[1] * launch.grid[2] > kMostBlocks)
      return fail(ErrorKind::kUnsupported,
                  fmt::format("kernel {}: more than {} blocks are not simulated", kernel.name, kMostBlocks));
  FW_TRY(backend_nvptx::Gpu gpu, backend_nvptx::find_gpu(kSm));
  FW_TRY(const backend_nvptx::Draft draft, backend_nvptx::make_module(kernel, gpu, backend_nvptx::Devices::kOutside));
  llvm::Module& module = *draft.module;
  Compiled out;
  for (std::size_t l = 0; l < kernel.launches.size(); ++l)
    out.programs.push_back(
        instrument(module, kernel, kernel.launches[l], fmt::format("fw_sim_kernel_{}_{}", number, l)));

  // From here on it is a module for this CPU.
  module.setTargetTriple(llvm::Triple(machine.target.triple));
  module.setDataLayout(machine.target.data_layout);
  for (llvm::Function& function : module)
    for (const char* name : {"target-cpu", "target-features", "nvvm.maxntid"}) function.removeFnAttr(name);
  backend_llvm::cut_long_blocks(module);
  backend_x86::mark_functions(module, machine);
  std::string broken;
  llvm::raw_string_ostream stream(broken);
  FW_CHECK(!llvm::verifyModule(module, &stream)) << broken;
  FW_TRY(const auto generator, backend_x86::make_code_generator(machine, backend_llvm::is_large(module)));
  FW_TRY(out.object, backend_llvm::emit_code(module, *generator, backend_llvm::Output::kObject));
  return out;
}

Counters& operator+=(Counters& a, const Counters& b) {
  a.loads += b.loads;
  a.stores += b.stores;
  a.load_bytes += b.load_bytes;
  a.store_bytes += b.store_bytes;
  a.sectors += b.sectors;
  return a;
}

class SimExecutable final : public kernel::Executable {
 public:
  SimExecutable(std::unique_ptr<backend_x86::Loader> loader, std::vector<Kernel> kernels,
                std::vector<std::vector<Program>> programs)
      : loader_(std::move(loader)),
        kernels_(std::move(kernels)),
        programs_(std::move(programs)),
        counters_(kernels_.size()) {}

  Status run(std::size_t index, const std::vector<void*>& buffers, int threads) override {
    FW_CHECK(index < kernels_.size()) << "there is no kernel " << index;
    counters_[index] = {};
    for (std::size_t l = 0; l < kernels_[index].launches.size(); ++l)
      FW_TRY_STATUS(run_launch(index, l, buffers, threads));
    return {};
  }
  Counters counters(std::size_t index) const override { return counters_[index]; }
  std::int64_t shared_bytes(std::size_t index) const override {
    std::int64_t most = 0;
    for (const Program& p : programs_[index]) most = std::max(most, p.shared_bytes);
    return most;
  }

 private:
  Status run_launch(std::size_t index, std::size_t l, const std::vector<void*>& buffers, int threads) {
    const Kernel& kernel = kernels_[index];
    LaunchRun run{kernel, kernel.launches[l], programs_[index][l], buffers, {}, {}};
    std::size_t next = 0;
    for (const kernel::Buffer& b : kernel.buffers)
      run.base.push_back(b.space == kernel::Space::kGlobal ? reinterpret_cast<std::uint64_t>(buffers[next++]) : 0);
    FW_CHECK(next == buffers.size());
    run.shadows = shadows(run);
    run.end_block = run.blocks();

    std::vector<std::unique_ptr<Worker>> workers;
    const std::int64_t count = std::clamp<std::int64_t>(run.blocks(), 1, std::clamp(threads, 1, kMostWorkers));
    for (std::int64_t w = 0; w < count; ++w) workers.push_back(std::make_unique<Worker>(run));
    std::vector<std::thread> others = start_others(workers);
    workers[0]->work();
    for (std::thread& other : others) other.join();

    const Fault* first = nullptr;
    for (const auto& worker : workers) {
      counters_[index] += worker->counters();
      for (const Fault& f : worker->faults())
        if (first == nullptr || f.block < first->block) first = &f;
    }
    if (first != nullptr) return fail(ErrorKind::kCheckFailed, first->message);
    return across_blocks(run);
  }

  // The system may have no more threads: workers without one do nothing, and the others take all blocks.
  static std::vector<std::thread> start_others(const std::vector<std::unique_ptr<Worker>>& workers) {
    std::vector<std::thread> others;
    try {
      for (std::size_t w = 1; w < workers.size(); ++w) others.emplace_back([&worker = *workers[w]] { worker.work(); });
    } catch (const std::system_error&) {
    }
    return others;
  }

  static std::vector<GlobalShadow> shadows(const LaunchRun& run) {
    const std::size_t buffers = run.kernel.buffers.size();
    std::vector<bool> loaded(buffers), stored(buffers);
    for (const Site& s : run.program.sites) {
      if (s.shared || s.kind == Site::Kind::kBarrier || s.kind == Site::Kind::kShuffle) continue;
      std::vector<bool>& list = s.kind == Site::Kind::kStore ? stored : loaded;
      if (s.buffer >= 0)
        list[static_cast<std::size_t>(s.buffer)] = true;
      else
        list.assign(buffers, true);
    }
    std::vector<GlobalShadow> out(buffers);
    for (std::size_t b = 0; b < buffers; ++b)
      if (stored[b] && run.kernel.buffers[b].space == kernel::Space::kGlobal)
        out[b] = GlobalShadow(run.kernel.buffers[b].elements, loaded[b]);
    return out;
  }

  static Status across_blocks(const LaunchRun& run) {
    if (run.blocks() == 1) return {};
    for (const GlobalShadow& shadow : run.shadows) {
      if (!shadow.watched()) continue;
      if (const auto c = shadow.across_blocks())
        return fail(ErrorKind::kCheckFailed,
                    fmt::format("{}: {} races with another block's {} ({})", run.name(c->first),
                                run.describe(c->first_site, c->element), run.describe(c->second_site, c->element),
                                run.name(c->second)));
    }
    return {};
  }

  std::unique_ptr<backend_x86::Loader> loader_;
  std::vector<Kernel> kernels_;
  std::vector<std::vector<Program>> programs_;
  std::vector<Counters> counters_;
};

}  // namespace

Result<std::unique_ptr<kernel::Executable>> compile_sim(const std::vector<Kernel>& kernels) {
  FW_TRY(const backend_x86::Machine machine, backend_x86::find_machine(""));
  FW_TRY(auto loader, backend_x86::Loader::make({{"fw_sim_access", reinterpret_cast<void*>(&fw_sim_access)},
                                                 {"fw_sim_barrier", reinterpret_cast<void*>(&fw_sim_barrier)},
                                                 {"fw_sim_shuffle_32", reinterpret_cast<void*>(&fw_sim_shuffle_32)},
                                                 {"fw_sim_shuffle_64", reinterpret_cast<void*>(&fw_sim_shuffle_64)}}));
  std::vector<std::vector<Program>> programs;
  std::map<std::uint64_t, std::size_t> same;  // kernel that stands for each structural hash
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    if (const auto [at, added] = same.try_emplace(kernel::hash(kernels[i]), i); !added) {
      programs.push_back(programs[at->second]);
      continue;
    }
    FW_TRY(Compiled compiled, compile(kernels[i], i, machine));
    FW_TRY_STATUS(loader->add(std::move(compiled.object)));
    for (Program& p : compiled.programs) {
      FW_TRY(void* const address, loader->find_address(p.symbol));
      p.function = reinterpret_cast<Program::Function>(address);
    }
    programs.push_back(std::move(compiled.programs));
  }
  return std::make_unique<SimExecutable>(std::move(loader), kernels, std::move(programs));
}

}  // namespace fusewright::backend_sim
