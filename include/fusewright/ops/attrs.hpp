#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "fusewright/ops/dtype.hpp"
#include "fusewright/ops/tensor.hpp"
#include "fusewright/ops/type.hpp"
#include "fusewright/support/check.hpp"

namespace fusewright::ops {

/// The kinds in the order of the variant below.
enum class AttrKind : std::uint8_t { kInt, kFloat, kBool, kString, kDType, kInts, kFloats, kStrings, kShape, kTensor };

using AttrValue = std::variant<std::int64_t, double, bool, std::string, DType, std::vector<std::int64_t>,
                               std::vector<double>, std::vector<std::string>, Shape, TensorHandle>;

inline AttrKind kind_of(const AttrValue& value) { return static_cast<AttrKind>(value.index()); }
bool equal(const AttrValue& a, const AttrValue& b);  ///< doubles by their bits, tensors by same_constant
std::uint64_t hash(const AttrValue& value);
std::string to_string(const AttrValue& value);
std::string_view name(AttrKind kind);

/// Attributes of one node, by name. Kept sorted, so equal sets compare and print the same.
class Attrs {
 public:
  Attrs() = default;
  Attrs(std::initializer_list<std::pair<std::string, AttrValue>> entries) {
    for (const auto& [key, value] : entries) set(key, value);
  }

  void set(std::string_view name, AttrValue value);
  void erase(std::string_view name);
  const AttrValue* find(std::string_view name) const;
  bool has(std::string_view name) const { return find(name) != nullptr; }

  /// The value, which must be there with that type (checked: the op table has validated the node).
  template <class T>
  const T& get(std::string_view name) const {
    const AttrValue* value = find(name);
    FW_CHECK(value != nullptr && std::holds_alternative<T>(*value)) << "attribute " << name;
    return std::get<T>(*value);
  }
  template <class T>
  T get_or(std::string_view name, T fallback) const {
    const AttrValue* value = find(name);
    return value != nullptr && std::holds_alternative<T>(*value) ? std::get<T>(*value) : fallback;
  }

  const std::vector<std::pair<std::string, AttrValue>>& entries() const { return entries_; }
  bool empty() const { return entries_.empty(); }
  friend bool operator==(const Attrs& a, const Attrs& b);
  std::uint64_t hash() const;

 private:
  std::vector<std::pair<std::string, AttrValue>> entries_;
};

}  // namespace fusewright::ops
