#include "backends/sim/memory.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>

#include "fusewright/support/check.hpp"

namespace fusewright::backend_sim {

namespace {

using Word = std::atomic_ref<std::uint64_t>;

// Keys order accesses by block, then thread: block 34 bits, thread 10, site 20. Kept plus one, so that zero is nobody.
std::uint64_t key_of(Where who, std::uint32_t site) {
  return (who.block << 30 | std::uint64_t{who.thread} << 20 | (site & 0xfffff)) + 1;
}
std::uint64_t block_of(std::uint64_t key) { return (key - 1) >> 30; }
Where where(std::uint64_t key) { return {block_of(key), static_cast<std::uint32_t>((key - 1) >> 20 & 0x3ff)}; }
std::uint32_t site_of(std::uint64_t key) { return static_cast<std::uint32_t>((key - 1) & 0xfffff); }

// Tags name an access in its block: block 27 bits, epoch 26, thread 11 (plus one).
constexpr std::uint64_t kThreadMask = 0x7ff;
std::uint64_t tag_of(Where who, std::uint64_t epoch) {
  return who.block << 37 | (epoch & 0x3ffffff) << 11 | (who.thread + 1);
}

void raise(std::uint64_t& place, std::uint64_t value) {
  Word word(place);
  std::uint64_t seen = word.load(std::memory_order_relaxed);
  while (seen < value && !word.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
  }
}

// Fields of a cell. The least key is kept as its complement, so that it rises, too.
enum Field : std::size_t { kLastStore, kMostStore, kLeastStore, kLastLoad, kMostLoad, kLeastLoad };

void note(std::uint64_t* most, std::uint64_t* least, std::uint64_t key) {
  raise(*most, key);
  raise(*least, ~key);
}

// Another thread of the same block in the same epoch, or nobody.
std::optional<std::uint32_t> other_of(std::uint64_t last, std::uint64_t mine) {
  if ((last & ~kThreadMask) != (mine & ~kThreadMask) || last == mine || (last & kThreadMask) == 0) return std::nullopt;
  return static_cast<std::uint32_t>(last & kThreadMask) - 1;
}

}  // namespace

// --- Global memory -------------------------------------------------------------------------------------

void GlobalShadow::Free::operator()(std::uint64_t* memory) const { std::free(memory); }

GlobalShadow::GlobalShadow(std::int64_t elements, bool loaded) : elements_(elements), fields_(loaded ? 6 : 3) {
  const std::size_t count =
      static_cast<std::size_t>(std::max<std::int64_t>(elements, 1)) * static_cast<std::size_t>(fields_);
  cells_.reset(static_cast<std::uint64_t*>(std::calloc(count, sizeof(std::uint64_t))));
  if (cells_ == nullptr) throw std::bad_alloc();
}

std::optional<std::uint32_t> GlobalShadow::load(std::int64_t element, Where who, std::uint64_t epoch,
                                                std::uint32_t site) {
  std::uint64_t* c = cell(element);
  const std::uint64_t mine = tag_of(who, epoch);
  if (fields_ == 6) {
    note(&c[kMostLoad], &c[kLeastLoad], key_of(who, site));
    // Of several threads that load in one epoch the first is kept while it is not the one that stores.
    Word last(c[kLastLoad]);
    if (!other_of(last.load(std::memory_order_relaxed), mine)) last.store(mine, std::memory_order_relaxed);
  }
  return other_of(Word(c[kLastStore]).load(std::memory_order_relaxed), mine);
}

std::optional<std::uint32_t> GlobalShadow::store(std::int64_t element, Where who, std::uint64_t epoch,
                                                 std::uint32_t site) {
  std::uint64_t* c = cell(element);
  const std::uint64_t mine = tag_of(who, epoch);
  note(&c[kMostStore], &c[kLeastStore], key_of(who, site));
  const std::uint64_t last = Word(c[kLastStore]).exchange(mine, std::memory_order_relaxed);
  if (const auto other = other_of(last, mine)) return other;
  if (fields_ == 6) return other_of(Word(c[kLastLoad]).load(std::memory_order_relaxed), mine);
  return std::nullopt;
}

std::optional<GlobalShadow::Conflict> GlobalShadow::across_blocks() const {
  for (std::int64_t e = 0; e < elements_; ++e) {
    const std::uint64_t* c = cell(e);
    if (c[kMostStore] == 0) continue;
    const std::uint64_t most = c[kMostStore], least = ~c[kLeastStore];
    const auto conflict = [&](std::uint64_t a, std::uint64_t b) {
      return Conflict{e, where(a), where(b), site_of(a), site_of(b)};
    };
    if (block_of(most) != block_of(least)) return conflict(least, most);
    if (fields_ != 6 || c[kMostLoad] == 0) continue;
    if (block_of(c[kMostLoad]) != block_of(least)) return conflict(least, c[kMostLoad]);
    if (block_of(~c[kLeastLoad]) != block_of(least)) return conflict(least, ~c[kLeastLoad]);
  }
  return std::nullopt;
}

// --- Shared memory -------------------------------------------------------------------------------------

SharedShadow::Answer SharedShadow::load(std::int64_t element, std::uint32_t thread, std::uint32_t epoch,
                                        std::uint32_t start) {
  Cell& c = cells_[static_cast<std::size_t>(element)];
  if (c.written < start) return {Answer::Kind::kUnwritten, 0};
  if (c.written == epoch && c.writer != thread) return {Answer::Kind::kRace, c.writer};
  if (c.read != epoch) {
    c.read = epoch;
    c.reader = static_cast<std::uint16_t>(thread);
    c.second_reader = 0;
  } else if (c.reader != thread) {
    c.second_reader = static_cast<std::uint16_t>(thread + 1);
  }
  return {};
}

SharedShadow::Answer SharedShadow::store(std::int64_t element, std::uint32_t thread, std::uint32_t epoch) {
  Cell& c = cells_[static_cast<std::size_t>(element)];
  if (c.written == epoch && c.writer != thread) return {Answer::Kind::kRace, c.writer};
  if (c.read == epoch && c.reader != thread) return {Answer::Kind::kRace, c.reader};
  if (c.read == epoch && c.second_reader != 0 && c.second_reader != thread + 1)
    return {Answer::Kind::kRace, c.second_reader - 1U};
  c.written = epoch;
  c.writer = static_cast<std::uint16_t>(thread);
  return {};
}

// --- Counting ------------------------------------------------------------------------------------------

void Counting::access(std::uint32_t site, std::uint64_t address, std::uint32_t bytes, bool store) {
  constexpr std::uint64_t kSector = 32;
  ++(store ? counters_.stores : counters_.loads);
  (store ? counters_.store_bytes : counters_.load_bytes) += bytes;
  if (bytes == 0) return;
  PerSite& s = sites_[site];
  const std::uint32_t time = s.times++;
  if (time >= s.last.size()) s.last.push_back(0);
  const std::uint64_t first = address / kSector, last = (address + bytes - 1) / kSector;
  for (std::uint64_t sector = first; sector <= last; ++sector) {
    if (s.last[time] == sector) continue;  // most lanes share their neighbour's
    s.last[time] = sector;
    s.sectors.emplace_back(time, sector);
  }
}

void Counting::end_warp() {
  for (PerSite& s : sites_) {
    if (s.sectors.empty()) continue;
    std::sort(s.sectors.begin(), s.sectors.end());
    counters_.sectors += std::unique(s.sectors.begin(), s.sectors.end()) - s.sectors.begin();
    s.sectors.clear();
    s.last.clear();
  }
}

}  // namespace fusewright::backend_sim
