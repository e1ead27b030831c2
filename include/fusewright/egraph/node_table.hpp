#pragma once

#include <cstdint>
#include <utility>

#include "fusewright/support/large_vector.hpp"

namespace fusewright::egraph {

/// Open-addressing hash table of node numbers, by 32-bit hash. An entry whose node has changed its key since is dropped
/// when there are many of them: it can never be found, because the key decides the hash.
class NodeTable {
 public:
  static constexpr std::uint32_t kNone = 0xffffffffU;

  NodeTable() : entries_(kStart, Entry{0, kNone}) {}

  /// The first entry of this hash for which `same(node)` holds, or kNone.
  template <class Same>
  std::uint32_t find(std::uint32_t hash, Same&& same) const {
    const std::size_t mask = entries_.size() - 1;
    for (std::size_t i = hash & mask;; i = (i + 1) & mask) {
      const Entry& entry = entries_[i];
      if (entry.node == kNone) return kNone;
      if (entry.hash == hash && same(entry.node)) return entry.node;
    }
  }
  void insert(std::uint32_t hash, std::uint32_t node) {
    const std::size_t mask = entries_.size() - 1;
    std::size_t i = hash & mask;
    while (entries_[i].node != kNone) i = (i + 1) & mask;
    entries_[i] = {hash, node};
    ++used_;
  }
  bool full() const { return used_ * 5 > entries_.size() * 3; }
  std::size_t used() const { return used_; }  ///< with entries that can never be found any more
  /// Empties the table and makes room for `count` entries.
  void reset(std::size_t count) {
    std::size_t size = kStart;
    while (size < count * 4) size *= 2;
    entries_.assign(size, Entry{0, kNone});
    used_ = 0;
  }
  /// Makes room for four times as much and keeps all entries, in an order that the processor likes.
  void grow() {
    const LargeVector<Entry> old = std::exchange(entries_, LargeVector<Entry>(4 * entries_.size(), Entry{0, kNone}));
    used_ = 0;
    for (const Entry& entry : old) {
      if (entry.node != kNone) insert(entry.hash, entry.node);
    }
  }
  /// The node in the first place that `find` would look at.
  std::uint32_t peek(std::uint32_t hash) const { return entries_[hash & (entries_.size() - 1)].node; }
  void prefetch(std::uint32_t hash) const { __builtin_prefetch(&entries_[hash & (entries_.size() - 1)]); }
  std::size_t bytes() const { return entries_.bytes(); }

 private:
  struct Entry {
    std::uint32_t hash;
    std::uint32_t node;
  };
  static constexpr std::size_t kStart = 1024;

  LargeVector<Entry> entries_;
  std::size_t used_ = 0;
};

}  // namespace fusewright::egraph
