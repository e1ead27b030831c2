#include "backends/x86/pool.hpp"

#include <immintrin.h>

#include <algorithm>
#include <system_error>

namespace fusewright::backend_x86 {

namespace {
constexpr int kSpins = 600;  // of one pause each: 10 to 30 microseconds
constexpr int kMaxHelpers = 1 << 14;
}  // namespace

Pool::~Pool() {
  stop_ = true;
  gate_ += kRound;
  ++bell_;
  bell_.notify_all();
  for (std::thread& helper : helpers_) helper.join();
}

// The system may have no more threads: then those that there are do the work, with the same results.
void Pool::grow(int helpers) try {
  while (static_cast<int>(helpers_.size()) < helpers)
    helpers_.emplace_back([this, slot = static_cast<int>(helpers_.size()) + 1] { serve(slot); });
} catch (const std::system_error&) {
}

void Pool::take_pieces(int slot) {
  for (;;) {
    const std::int64_t begin = next_.fetch_add(piece_, std::memory_order_relaxed);
    if (begin >= count_) return;
    work_(context_, slot, begin, std::min(begin + piece_, count_));
  }
}

void Pool::run(int threads, std::int64_t count, Work work, void* context) {
  threads = static_cast<int>(std::min<std::int64_t>({threads, count, kMaxHelpers}));
  if (threads <= 1) {
    if (count > 0) work(context, 0, 0, count);
    return;
  }
  grow(threads - 1);
  threads = std::min(threads, static_cast<int>(helpers_.size()) + 1);
  work_ = work;
  context_ = context;
  count_ = count;
  piece_ = std::max<std::int64_t>(1, count / (static_cast<std::int64_t>(threads) * 16));
  next_.store(0, std::memory_order_relaxed);
  const std::uint64_t round = gate_.load(std::memory_order_relaxed) / kRound + 1;
  gate_.store(round * kRound | kOpen | static_cast<std::uint64_t>(threads - 1) << kHelpersShift);
  if (sleepers_.load() > 0) {
    ++bell_;
    bell_.notify_all();
  }
  take_pieces(0);
  // Who is not inside now stays out; those inside finish their last piece.
  gate_.fetch_and(~kOpen);
  for (int spin = 0; (gate_.load(std::memory_order_acquire) & kInside) != 0; ++spin) {
    if (spin < kSpins)
      _mm_pause();
    else
      std::this_thread::yield();
  }
}

// The gate as soon as it is in another round than `seen`.
std::uint64_t Pool::wait_for_round(std::uint64_t seen) {
  for (int spin = 0; spin < kSpins; ++spin) {
    const std::uint64_t gate = gate_.load(std::memory_order_acquire);
    if (gate / kRound != seen) return gate;
    _mm_pause();
  }
  ++sleepers_;
  for (;;) {
    const std::uint32_t bell = bell_.load();
    const std::uint64_t gate = gate_.load();  // after the bell: a round that began since has rung it
    if (gate / kRound != seen) {
      --sleepers_;
      return gate;
    }
    bell_.wait(bell);
  }
}

void Pool::serve(int slot) {
  std::uint64_t seen = 0;
  for (;;) {
    std::uint64_t gate = wait_for_round(seen);
    seen = gate / kRound;
    if (stop_) return;
    const auto invited = [&] {
      return gate / kRound == seen && (gate & kOpen) != 0 && slot <= static_cast<int>(gate >> kHelpersShift & 0x7fff);
    };
    bool inside = false;
    while (!inside && invited()) inside = gate_.compare_exchange_weak(gate, gate + 1, std::memory_order_acq_rel);
    if (!inside) continue;
    take_pieces(slot);
    gate_.fetch_sub(1, std::memory_order_release);
  }
}

}  // namespace fusewright::backend_x86
