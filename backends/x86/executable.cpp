#include "backends/x86/executable.hpp"

#include <algorithm>
#include <cstdlib>

#include "fusewright/support/check.hpp"

namespace fusewright::backend_x86 {

namespace {

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<void, Free>;

class X86Executable final : public kernel::Executable {
 public:
  X86Executable(std::unique_ptr<Loader> loader, std::vector<LoadedKernel> kernels)
      : loader_(std::move(loader)), kernels_(std::move(kernels)) {
    for (const LoadedKernel& k : kernels_) scratch_bytes_ = std::max(scratch_bytes_, k.scratch_bytes);
  }

  Status prepare(std::size_t index, const std::vector<void*>& buffers, int threads) override {
    return run(index, buffers, threads, &LoadedKernel::prepare);
  }
  Status run(std::size_t index, const std::vector<void*>& buffers, int threads) override {
    return run(index, buffers, threads, &LoadedKernel::launches);
  }

 private:
  struct Call {
    LaunchFunction function;
    void* const* buffers;
    const std::vector<Memory>* scratch;
  };

  Status run(std::size_t index, const std::vector<void*>& buffers, int threads,
             std::vector<LoadedKernel::Step> LoadedKernel::* steps) {
    FW_CHECK(index < kernels_.size()) << "there is no kernel " << index;
    const LoadedKernel& kernel = kernels_[index];
    FW_CHECK(buffers.size() == kernel.buffers) << buffers.size() << " buffers for " << kernel.buffers;
    for (const void* buffer : buffers)
      FW_CHECK(reinterpret_cast<std::uintptr_t>(buffer) % 64 == 0) << "a buffer is not aligned to 64 bytes";
    const std::lock_guard lock(running_);
    if (kernel.scratch_bytes > 0) FW_TRY_STATUS(provide_scratch(std::max(threads, 1)));
    for (const LoadedKernel::Step& step : kernel.*steps) {
      Call call{step.function, buffers.data(), &scratch_};
      pool_.run(threads, step.iterations, &X86Executable::work, &call);
    }
    return {};
  }

  static void work(void* context, int slot, std::int64_t begin, std::int64_t end) {
    const Call& call = *static_cast<const Call*>(context);
    const auto at = static_cast<std::size_t>(slot);
    call.function(call.buffers, at < call.scratch->size() ? (*call.scratch)[at].get() : nullptr, begin, end);
  }

  Status provide_scratch(int threads) {
    while (scratch_.size() < static_cast<std::size_t>(threads)) {
      Memory memory(std::aligned_alloc(64, static_cast<std::size_t>((scratch_bytes_ + 63) / 64 * 64)));
      if (memory == nullptr)
        return fail(ErrorKind::kResource,
                    "no memory for " + std::to_string(scratch_bytes_) + " bytes of scratch a thread");
      scratch_.push_back(std::move(memory));
    }
    return {};
  }

  std::unique_ptr<Loader> loader_;
  std::vector<LoadedKernel> kernels_;
  std::int64_t scratch_bytes_ = 0;
  std::vector<Memory> scratch_;  // one for each thread
  std::mutex running_;
  Pool pool_;  // last: its threads end first
};

}  // namespace

std::unique_ptr<kernel::Executable> make_executable(std::unique_ptr<Loader> loader, std::vector<LoadedKernel> kernels) {
  return std::make_unique<X86Executable>(std::move(loader), std::move(kernels));
}

}  // namespace fusewright::backend_x86
