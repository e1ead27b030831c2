#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <vector>

#include "fusewright/region/access.hpp"
#include "fusewright/schedule/schedule.hpp"

namespace fusewright::schedule {

/// A region of reductions over the same axes, with elementwise work before, between and after them, seen in three
/// extents: kept axes behind the last reduced one (inner), the other kept axes (outer), and the reduced ones.
struct Rows {
  std::int64_t outer = 1, inner = 1, reduced = 1;
  std::int64_t run = 1;  ///< elements side by side in memory: of the inner axes, or of a row where there are none
  std::vector<region::ValueId> reductions;  ///< topological
  std::vector<int> level;                   ///< of each: reductions that it waits for, one behind the other
  int levels = 0;
  std::vector<region::ValueId> full;  ///< outputs with an element for each of outer x inner x reduced
  std::vector<region::ValueId> kept;  ///< outputs with an element for each of outer x inner

  std::vector<std::int64_t> domain() const { return {outer, inner, reduced}; }
  bool is_reduction(region::ValueId id) const;
};

/// Errors: what makes the region something else, with the axes or extents that differ.
std::expected<Rows, Refusal> analyse_rows(const Region& region);

/// From (outer, inner, reduced) to an element of a tensor that the reductions read / that is written in full.
region::IndexMap full_map(const Region& region, const Rows& rows, region::ValueId value);
/// From (outer, inner) to an element of a tensor with the kept axes.
region::IndexMap kept_map(const Region& region, const Rows& rows, region::ValueId value);

/// The passes over a row that need a value of the whole domain: levels, then the outputs' pass. Values that the same
/// passes need share the list.
class Passes {
 public:
  explicit Passes(std::size_t values) : list_of_(values, 0), lists_(1) {}
  const std::vector<int>& operator[](region::ValueId value) const { return lists_[list_of_[value.index]]; }
  bool same(region::ValueId a, region::ValueId b) const { return list_of_[a.index] == list_of_[b.index]; }
  void add(region::ValueId value, std::vector<int> passes);  ///< ascending
  void add_those_of(region::ValueId value, region::ValueId other);

 private:
  std::vector<std::uint32_t> list_of_;
  std::vector<std::vector<int>> lists_;  // distinct, the first is empty
  std::map<std::vector<int>, std::uint32_t> numbers_;
};
/// What a staged value is computed from is needed for the first of its passes only.
Passes passes_needing(const Region& region, const Rows& rows, const std::vector<region::ValueId>& staged = {});

}  // namespace fusewright::schedule
