#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/sim/program.hpp"
#include "fusewright/kernel/executable.hpp"

namespace fusewright::backend_sim {

/// A thread in the grid, as faults name it.
struct Where {
  std::uint64_t block = 0;
  std::uint32_t thread = 0;
};

/// Who accessed each element of one global buffer that a launch writes. Shared by all workers: what it keeps about
/// different blocks is least and greatest block, which come out the same in any order.
class GlobalShadow {
 public:
  GlobalShadow() = default;
  GlobalShadow(std::int64_t elements, bool loaded);

  bool watched() const { return cells_ != nullptr; }
  /// @param epoch barriers that this block has passed.
  /// @returns a thread of the same block that accessed the element since, so that there is a race.
  std::optional<std::uint32_t> load(std::int64_t element, Where who, std::uint64_t epoch, std::uint32_t site);
  std::optional<std::uint32_t> store(std::int64_t element, Where who, std::uint64_t epoch, std::uint32_t site);

  /// Two accesses of one element by different blocks, the first at least a store.
  struct Conflict {
    std::int64_t element = 0;
    Where first, second;
    std::uint32_t first_site = 0, second_site = 0;
  };
  std::optional<Conflict> across_blocks() const;

 private:
  // Zero is nobody, so that memory nobody touches costs nothing.
  struct Free {
    void operator()(std::uint64_t* memory) const;
  };
  std::uint64_t* cell(std::int64_t element) const { return cells_.get() + element * fields_; }

  std::unique_ptr<std::uint64_t, Free> cells_;
  std::int64_t elements_ = 0;
  int fields_ = 3;  // of a cell: 6 where the launch loads from the buffer, too
};

/// Who accessed each element of a block's shared memory.
class SharedShadow {
 public:
  void reset(std::int64_t elements) { cells_.assign(static_cast<std::size_t>(elements), {}); }

  struct Answer {
    enum class Kind : std::uint8_t { kGood, kRace, kUnwritten } kind = Kind::kGood;
    std::uint32_t other = 0;  ///< the thread raced with
  };
  /// Epochs rise at every barrier; `start` is the block's first.
  Answer load(std::int64_t element, std::uint32_t thread, std::uint32_t epoch, std::uint32_t start);
  Answer store(std::int64_t element, std::uint32_t thread, std::uint32_t epoch);

 private:
  struct Cell {
    std::uint32_t written = 0, read = 0;   // epochs of the last store and load
    std::uint16_t writer = 0, reader = 0;  // reader: the first of that epoch
    std::uint16_t second_reader = 0;       // another reader of that epoch, plus one
  };
  std::vector<Cell> cells_;
};

/// Counts accesses to global memory. Lanes of a warp run one after the other; the n-th time that they come by a site
/// counts as one instruction of the warp.
class Counting {
 public:
  explicit Counting(std::size_t sites) : sites_(sites) {}

  void begin_lane() {
    for (PerSite& s : sites_) s.times = 0;
  }
  void access(std::uint32_t site, std::uint64_t address, std::uint32_t bytes, bool store);
  void end_warp();
  const kernel::Counters& counters() const { return counters_; }

 private:
  struct PerSite {
    std::uint32_t times = 0;                                       // that this lane came by
    std::vector<std::uint64_t> last;                               // sector of the lane before, by times
    std::vector<std::pair<std::uint32_t, std::uint64_t>> sectors;  // times and sector
  };
  std::vector<PerSite> sites_;
  kernel::Counters counters_;
};

}  // namespace fusewright::backend_sim
