#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

namespace fusewright::backend_x86 {

/// Threads that stay, for loops of a few microseconds: who waits spins a little before it sleeps, and nobody waits for
/// a thread that has not woken up in time to help.
class Pool {
 public:
  /// work(slot, begin, end) with a slot of its own for each thread that takes part, 0 for the caller's.
  using Work = void (*)(void* context, int slot, std::int64_t begin, std::int64_t end);

  Pool() = default;
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  /// Shares out [0, count) in pieces among up to `threads` threads and returns when all are done. One call at a time.
  void run(int threads, std::int64_t count, Work work, void* context);

 private:
  // The gate says in one word whether a loop is open, for how many helpers, and how many are in it now.
  static constexpr std::uint64_t kInside = 0xffff, kOpen = 1ULL << 31, kRound = 1ULL << 32;
  static constexpr int kHelpersShift = 16;

  void grow(int helpers);
  void serve(int slot);
  void take_pieces(int slot);
  std::uint64_t wait_for_round(std::uint64_t seen);

  alignas(64) std::atomic<std::uint64_t> gate_{0};
  alignas(64) std::atomic<std::int64_t> next_{0};
  alignas(64) std::atomic<std::uint32_t> bell_{0};
  std::atomic<int> sleepers_{0};
  std::atomic<bool> stop_{false};
  Work work_ = nullptr;
  void* context_ = nullptr;
  std::int64_t count_ = 0, piece_ = 1;
  std::vector<std::thread> helpers_;
};

}  // namespace fusewright::backend_x86
