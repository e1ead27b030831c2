#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <utility>
#include <vector>

namespace fusewright::extract {

/// Numbers of kernels in the making, smaller ones for those that others read from, and kept so while kernels are
/// replaced: what lies on a way from one kernel to another has a number between theirs.
class Ranks {
 public:
  using Rank = std::int64_t;
  using Neighbours = std::function<std::vector<std::uint32_t>(std::uint32_t kernel)>;

  /// @param readers, writers  kernels that read what a kernel writes, and that write what it reads, as they are now;
  ///                          those that have no number yet do not count.
  Ranks(Neighbours readers, Neighbours writers) : readers_(std::move(readers)), writers_(std::move(writers)) {}

  Rank operator[](std::uint32_t kernel) const { return ranks_[kernel]; }
  /// Adds a kernel that reads from none of the others.
  void add_first(std::uint32_t kernel);
  /// Numbers all kernels anew, as they come where nothing else is said. Precondition: there is no circle.
  void number(const std::vector<std::uint32_t>& kernels);
  /// Numbers `fresh`, which stand for `gone`; a kernel may be among both.
  void replace(const std::vector<std::uint32_t>& gone, const std::vector<std::uint32_t>& fresh);

 private:
  static constexpr Rank kApart = Rank(1) << 32;

  bool has_rank(std::uint32_t kernel) const { return kernel < ranked_.size() && ranked_[kernel]; }
  std::vector<std::uint32_t> in_order(const std::vector<std::uint32_t>& some) const;
  void set(std::uint32_t kernel, Rank rank);
  void take_out(std::uint32_t kernel);
  bool fit_in(const std::vector<std::uint32_t>& fresh);
  struct Movers {
    std::vector<std::uint32_t> kernels;
    bool behind = true;  ///< what was between; else before it
  };
  Movers movers(const std::vector<std::uint32_t>& fresh, Rank first, Rank last) const;

  Neighbours readers_, writers_;
  std::vector<Rank> ranks_;   // by kernel
  std::vector<bool> ranked_;  // by kernel: it has a number now
  std::set<std::pair<Rank, std::uint32_t>> by_rank_;
};

}  // namespace fusewright::extract
