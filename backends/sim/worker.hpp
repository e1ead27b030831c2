#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "backends/sim/memory.hpp"
#include "backends/sim/program.hpp"

namespace fusewright::backend_sim {

/// One run of one launch, as its workers share it.
struct LaunchRun {
  const kernel::Kernel& kernel;
  const kernel::Launch& launch;
  const Program& program;
  const std::vector<void*>& buffers;  ///< addresses of the global buffers
  std::vector<std::uint64_t> base;    ///< address of each of the kernel's buffers, 0 where it is not global
  std::vector<GlobalShadow> shadows;  ///< of each of the kernel's buffers
  std::atomic<std::int64_t> next_block{0};
  std::atomic<std::int64_t> end_block{0};  ///< blocks from here on need not run: one before them failed

  std::int64_t blocks() const { return launch.grid[0] * launch.grid[1] * launch.grid[2]; }
  /// "kernel 'k', launch 'l', block (1, 0, 0), thread 5"
  std::string name(Where who) const;
  /// "load of 'in0'[7] in `x = in0[i]`"
  std::string describe(std::uint32_t site, std::int64_t element) const;
};

/// What a block was stopped for.
struct Fault {
  std::int64_t block = 0;
  std::string message;
};

/// Memory for the fibers of a block's threads, each with a page below that may not be touched.
class Stacks {
 public:
  Stacks(std::size_t count, std::size_t bytes);
  ~Stacks();
  Stacks(const Stacks&) = delete;
  Stacks& operator=(const Stacks&) = delete;
  void* top(std::size_t index) const { return memory_ + (index + 1) * each_; }
  std::size_t bytes() const { return each_ - kGuard; }

 private:
  static constexpr std::size_t kGuard = 4096;
  std::size_t count_, each_;
  char* memory_ = nullptr;
};

/// Runs blocks one after the other, on one CPU thread.
class Worker {
 public:
  explicit Worker(LaunchRun& run);
  /// Takes blocks until there are no more.
  void work();

  const kernel::Counters& counters() const { return counting_.counters(); }
  /// The first block of this worker that failed.
  const std::vector<Fault>& faults() const { return faults_; }

  // What generated code calls; see instrument.hpp.
  void access(Thread& thread, std::uint64_t address, std::uint32_t bytes, std::uint32_t site);
  void wait(Thread& thread, Thread::State state, std::uint32_t site);
  void fiber(Thread& thread, void* scheduler);

 private:
  void run_block(std::int64_t block);
  void start(std::size_t thread);
  void resume(Thread& thread);
  void run_warp(std::size_t first);
  bool exchange(std::size_t first);
  bool pass_barrier();
  void global(Thread& thread, std::uint64_t address, std::uint32_t bytes, std::uint32_t site);
  void shared(Thread& thread, std::uint64_t address, std::uint32_t bytes, std::uint32_t site);
  [[noreturn]] void stop(const std::string& message);
  void fault(std::string message);
  std::int32_t buffer_at(std::uint64_t address, std::uint32_t bytes, kernel::Space space) const;
  std::string standing(const Thread& thread) const;

  LaunchRun& run_;
  Counting counting_;
  std::vector<Thread> threads_;
  std::unique_ptr<char, void (*)(void*)> shared_memory_;
  std::vector<SharedShadow> shared_;  // by buffer
  Stacks stacks_;
  void* scheduler_ = nullptr;  // context of work() while a fiber runs
  std::int64_t block_ = 0;
  std::uint32_t epoch_ = 0, start_epoch_ = 0;
  bool failed_ = false;  // this block
  std::vector<Fault> faults_;
};

extern "C" {
void fw_sim_access(Thread* thread, std::uint64_t address, std::uint32_t bytes, std::uint32_t site);
void fw_sim_barrier(Thread* thread, std::uint32_t site);
std::uint32_t fw_sim_shuffle_32(Thread* thread, std::uint32_t value, std::uint32_t mask, std::uint32_t site);
std::uint64_t fw_sim_shuffle_64(Thread* thread, std::uint64_t value, std::uint32_t mask, std::uint32_t site);
}

}  // namespace fusewright::backend_sim
