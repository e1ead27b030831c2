#pragma once

#include <map>
#include <set>

#include "fusewright/plan/plan.hpp"

/// Which tensor holds a value of a plan.
namespace fusewright::plan {

/// Tensors that exist before the first group runs: parameters, constants and what is folded.
std::set<Value> ready_values(const Plan& plan);

/// What each view is of.
std::map<Value, Value> viewed(const Plan& plan);

/// The tensor whose bytes a value is.
Value storage_of(const std::map<Value, Value>& views, Value v);

/// A tensor in the arena: written by one group, read by others up to the last.
struct Life {
  Value value;
  std::int64_t bytes;  ///< a multiple of the alignment
  std::size_t first, last;
};
std::vector<Life> lives(const Plan& plan);

}  // namespace fusewright::plan
