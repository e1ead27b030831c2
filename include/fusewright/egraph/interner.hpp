#pragma once

#include <deque>
#include <unordered_map>
#include <unordered_set>

#include "fusewright/egraph/ids.hpp"
#include "fusewright/ops/attrs.hpp"
#include "fusewright/ops/type.hpp"

namespace fusewright::egraph {

/// Numbers equal values equally, in order of first sight. References to the values stay valid.
template <class IdType, class Value, class Hash, class Equal>
class Interner {
 public:
  IdType intern(const Value& value) {
    auto [begin, end] = by_hash_.equal_range(Hash{}(value));
    for (; begin != end; ++begin) {
      if (Equal{}(values_[begin->second], value)) return IdType(begin->second);
    }
    return append(value);
  }
  /// A number of its own, equal to no other.
  IdType distinct(Value value) {
    values_.push_back(std::move(value));
    distinct_.insert(static_cast<std::uint32_t>(values_.size() - 1));
    return IdType(values_.size() - 1);
  }
  bool is_distinct(IdType id) const { return distinct_.contains(id.index); }
  const Value& operator[](IdType id) const { return values_[id.index]; }
  std::size_t size() const { return values_.size(); }

 private:
  IdType append(const Value& value) {
    values_.push_back(value);  // first: an entry must not be left that stands for nothing
    by_hash_.emplace(Hash{}(value), static_cast<std::uint32_t>(values_.size() - 1));
    return IdType(values_.size() - 1);
  }

  std::deque<Value> values_;
  std::unordered_multimap<std::uint64_t, std::uint32_t> by_hash_;
  std::unordered_set<std::uint32_t> distinct_;
};

struct HashAttrs {
  std::uint64_t operator()(const ops::Attrs& attrs) const { return attrs.hash(); }
};
struct HashType {
  std::uint64_t operator()(const ops::Type& type) const { return ops::hash(type); }
};
template <class T>
struct SameValue {
  bool operator()(const T& a, const T& b) const { return a == b; }
};
using AttrsInterner = Interner<AttrsId, ops::Attrs, HashAttrs, SameValue<ops::Attrs>>;
using TypeInterner = Interner<TypeId, ops::Type, HashType, SameValue<ops::Type>>;

}  // namespace fusewright::egraph
