#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include "fusewright/support/large_vector.hpp"

namespace fusewright::egraph {

/// Open-addressing hash table of node numbers, by 32-bit hash. An entry whose node has changed its key since is dropped
/// when there are many of them: it can never be found, because the key decides the hash. What was inserted last waits
/// beside the table until the memory of its place has come.
class NodeTable {
 public:
  static constexpr std::uint32_t kNone = 0xffffffffU;

  NodeTable() : entries_(kStart, Entry{0, kNone}) { waiting_nodes_.fill(kNone); }

  /// The first entry of this hash for which `same(node)` holds, or kNone.
  template <class Same>
  std::uint32_t find(std::uint32_t hash, Same&& same) const {
    bool waits = false;
    for (std::size_t k = 0; k < kWaiting; ++k) waits |= waiting_hashes_[k] == hash;
    for (std::size_t k = 0; waits && k < kWaiting; ++k) {
      const std::uint32_t node = waiting_nodes_[k];
      if (waiting_hashes_[k] == hash && node != kNone && same(node)) return node;
    }
    const std::size_t mask = entries_.size() - 1;
    for (std::size_t i = hash & mask;; i = (i + 1) & mask) {
      const Entry& entry = entries_[i];
      if (entry.node == kNone) return kNone;
      if (entry.hash == hash && same(entry.node)) return entry.node;
    }
  }
  void insert(std::uint32_t hash, std::uint32_t node) {
    prefetch(hash);
    const std::size_t k = used_++ % kWaiting;
    if (waiting_nodes_[k] != kNone) put({waiting_hashes_[k], waiting_nodes_[k]});
    waiting_hashes_[k] = hash;
    waiting_nodes_[k] = node;
  }
  bool full() const { return used_ * 5 > entries_.size() * 3; }
  std::size_t used() const { return used_; }  ///< with entries that can never be found any more
  /// Empties the table and makes room for `count` entries.
  void reset(std::size_t count) {
    std::size_t size = kStart;
    while (size < count * 4) size *= 2;
    entries_.assign(size, Entry{0, kNone});
    waiting_nodes_.fill(kNone);
    used_ = 0;
  }
  /// Makes room for four times as much and keeps all entries, in an order that the processor likes.
  void grow() {
    const LargeVector<Entry> old = std::exchange(entries_, LargeVector<Entry>(4 * entries_.size(), Entry{0, kNone}));
    for (const Entry& entry : old) {
      if (entry.node != kNone) put(entry);
    }
  }
  /// The node of that hash in one of the first places that `find` would look at, or kNone.
  std::uint32_t peek(std::uint32_t hash) const {
    const std::size_t mask = entries_.size() - 1;
    for (std::size_t i = 0; i < 4; ++i) {
      const Entry& entry = entries_[(hash + i) & mask];
      if (entry.hash == hash) return entry.node;
    }
    return kNone;
  }
  void prefetch(std::uint32_t hash) const { __builtin_prefetch(&entries_[hash & (entries_.size() - 1)]); }
  std::size_t bytes() const { return entries_.bytes(); }

 private:
  struct Entry {
    std::uint32_t hash;
    std::uint32_t node;
  };
  static constexpr std::size_t kStart = 1024, kWaiting = 8;

  void put(const Entry& entry) {
    const std::size_t mask = entries_.size() - 1;
    std::size_t i = entry.hash & mask;
    while (entries_[i].node != kNone) i = (i + 1) & mask;
    entries_[i] = entry;
  }

  LargeVector<Entry> entries_;
  std::array<std::uint32_t, kWaiting> waiting_hashes_{}, waiting_nodes_;
  std::size_t used_ = 0;
};

}  // namespace fusewright::egraph
