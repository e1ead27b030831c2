#include "fusewright/ops/attrs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <type_traits>

#include "fusewright/support/ids.hpp"

namespace fusewright::ops {
namespace {

std::uint64_t hash_text(std::string_view text) {
  std::uint64_t seed = text.size();
  for (const char c : text) seed = hash_mix(seed, static_cast<unsigned char>(c));
  return seed;
}

// The shortest text that reads back as the same double, never mistaken for an integer.
std::string print_number(double value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_not_of("-0123456789") == std::string::npos) text += ".0";
  return text;
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out + '"';
}

template <class T, class Print>
std::string print_list(const std::vector<T>& values, Print print) {
  std::string out = "[";
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) out += ",";
    out += print(values[i]);
  }
  return out + "]";
}

std::string print_tensor(const TensorHandle& tensor) {
  constexpr std::int64_t kMostShown = 8;
  if (!tensor) return "null";
  std::string out = to_string(tensor->type()) + "{";
  const std::int64_t shown = std::min(tensor->elements(), kMostShown);
  for (std::int64_t i = 0; i < shown; ++i) {
    if (i > 0) out += ",";
    const bool real = !is_integer(tensor->dtype) && tensor->dtype != DType::kPred;
    if (real) {
      out += fmt::format("{}", get_double(*tensor, i));
    } else if (tensor->dtype == DType::kU64) {
      out += std::to_string(static_cast<std::uint64_t>(get_int(*tensor, i)));
    } else {
      out += std::to_string(get_int(*tensor, i));
    }
  }
  if (shown < tensor->elements()) out += ",...";
  return out + "}";
}

}  // namespace

bool equal(const AttrValue& a, const AttrValue& b) {
  if (a.index() != b.index()) return false;
  const auto same_bits = [](double x, double y) {
    return std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y);
  };
  return std::visit(
      [&](const auto& left) {
        using T = std::decay_t<decltype(left)>;
        const T& right = std::get<T>(b);
        if constexpr (std::is_same_v<T, double>) {
          return same_bits(left, right);
        } else if constexpr (std::is_same_v<T, std::vector<double>>) {
          return std::equal(left.begin(), left.end(), right.begin(), right.end(), same_bits);
        } else if constexpr (std::is_same_v<T, TensorHandle>) {
          return same_constant(left, right);
        } else {
          return left == right;
        }
      },
      a);
}

std::uint64_t hash(const AttrValue& value) {
  const std::uint64_t content = std::visit(
      [](const auto& v) -> std::uint64_t {
        using T = std::decay_t<decltype(v)>;
        std::uint64_t seed = 0;
        if constexpr (std::is_same_v<T, double>) {
          seed = std::bit_cast<std::uint64_t>(v);
        } else if constexpr (std::is_same_v<T, std::string>) {
          seed = hash_text(v);
        } else if constexpr (std::is_same_v<T, std::vector<double>>) {
          for (const double x : v) seed = hash_mix(seed, std::bit_cast<std::uint64_t>(x));
        } else if constexpr (std::is_same_v<T, std::vector<std::int64_t>>) {
          for (const std::int64_t x : v) seed = hash_mix(seed, static_cast<std::uint64_t>(x));
        } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
          for (const std::string& x : v) seed = hash_mix(seed, hash_text(x));
        } else if constexpr (std::is_same_v<T, Shape>) {
          for (const Dim& x : v) seed = hash_mix(seed, x.hash());
        } else if constexpr (std::is_same_v<T, TensorHandle>) {
          seed = hash_constant(v);
        } else {
          seed = static_cast<std::uint64_t>(v);
        }
        return seed;
      },
      value);
  return hash_mix(value.index(), content);
}

std::string to_string(const AttrValue& value) {
  return std::visit(
      [](const auto& v) -> std::string {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, bool>) {
          return v ? "true" : "false";
        } else if constexpr (std::is_same_v<T, std::int64_t>) {
          return std::to_string(v);
        } else if constexpr (std::is_same_v<T, double>) {
          return print_number(v);
        } else if constexpr (std::is_same_v<T, std::string>) {
          return quoted(v);
        } else if constexpr (std::is_same_v<T, DType>) {
          return std::string(name(v));
        } else if constexpr (std::is_same_v<T, std::vector<std::int64_t>>) {
          return print_list(v, [](std::int64_t x) { return std::to_string(x); });
        } else if constexpr (std::is_same_v<T, std::vector<double>>) {
          return print_list(v, print_number);
        } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
          return print_list(v, quoted);
        } else if constexpr (std::is_same_v<T, Shape>) {
          return to_string(v);
        } else {
          return print_tensor(v);
        }
      },
      value);
}

std::string_view name(AttrKind kind) {
  switch (kind) {
    case AttrKind::kInt: return "int";
    case AttrKind::kFloat: return "float";
    case AttrKind::kBool: return "bool";
    case AttrKind::kString: return "string";
    case AttrKind::kDType: return "dtype";
    case AttrKind::kInts: return "ints";
    case AttrKind::kFloats: return "floats";
    case AttrKind::kStrings: return "strings";
    case AttrKind::kShape: return "shape";
    case AttrKind::kTensor: return "tensor";
  }
  return "";
}

namespace {

auto position(auto& entries, std::string_view name) {
  return std::lower_bound(entries.begin(), entries.end(), name,
                          [](const auto& entry, std::string_view key) { return entry.first < key; });
}

}  // namespace

void Attrs::set(std::string_view name, AttrValue value) {
  const auto at = position(entries_, name);
  if (at != entries_.end() && at->first == name) {
    at->second = std::move(value);
  } else {
    entries_.emplace(at, std::string(name), std::move(value));
  }
}

void Attrs::erase(std::string_view name) {
  const auto at = position(entries_, name);
  if (at != entries_.end() && at->first == name) entries_.erase(at);
}

const AttrValue* Attrs::find(std::string_view name) const {
  const auto at = position(entries_, name);
  return at != entries_.end() && at->first == name ? &at->second : nullptr;
}

bool operator==(const Attrs& a, const Attrs& b) {
  return std::equal(a.entries_.begin(), a.entries_.end(), b.entries_.begin(), b.entries_.end(),
                    [](const auto& x, const auto& y) { return x.first == y.first && equal(x.second, y.second); });
}

std::uint64_t Attrs::hash() const {
  std::uint64_t seed = entries_.size();
  for (const auto& [key, value] : entries_) seed = hash_mix(hash_mix(seed, hash_text(key)), ops::hash(value));
  return seed;
}

}  // namespace fusewright::ops
