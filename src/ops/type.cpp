#include "fusewright/ops/type.hpp"

#include <algorithm>

#include "fusewright/support/check.hpp"
#include "fusewright/support/ids.hpp"

namespace fusewright::ops {
namespace {

// 2^46 bytes at the widest element (c128, 2^4 bytes).
constexpr std::int64_t kMostElements = std::int64_t{1} << 42;

}  // namespace

std::string to_string(const Shape& shape) {
  std::string out = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) out += (i > 0 ? "," : "") + shape[i].to_string();
  return out + "]";
}

std::string to_string(const Type& type) {
  switch (type.kind) {
    case Type::Kind::kNone: return "none";
    case Type::Kind::kToken: return "token[]";
    case Type::Kind::kTensor: return std::string(name(type.dtype)) + to_string(type.shape);
    case Type::Kind::kTuple: break;
  }
  std::string out = "(";
  for (std::size_t i = 0; i < type.elements.size(); ++i) out += (i > 0 ? ", " : "") + to_string(type.elements[i]);
  return out + ")";
}

std::uint64_t hash(const Type& type) {
  std::uint64_t seed = hash_mix(static_cast<std::uint64_t>(type.kind), static_cast<std::uint64_t>(type.dtype));
  for (const Dim& dim : type.shape) seed = hash_mix(seed, dim.hash());
  for (const Type& element : type.elements) seed = hash_mix(seed, hash(element));
  return seed;
}

bool is_static(const Shape& shape) {
  return std::all_of(shape.begin(), shape.end(), [](const Dim& dim) { return dim.is_constant(); });
}

std::vector<std::int64_t> static_dims(const Shape& shape) {
  std::vector<std::int64_t> dims;
  dims.reserve(shape.size());
  for (const Dim& dim : shape) dims.push_back(dim.value());
  return dims;
}

Result<std::int64_t> element_count(const Shape& shape) {
  // An empty tensor is no excuse for the other extents: they are multiplied as if the zeros were ones.
  std::int64_t product = 1;
  bool empty = false;
  for (const Dim& dim : shape) {
    const std::optional<std::int64_t> extent = dim.constant();
    if (!extent)
      return fail(ErrorKind::kUnsupported,
                  "dim " + dim.to_string() + " of shape " + to_string(shape) + " is not bound");
    if (*extent < 0) return fail("shape " + to_string(shape) + " has a negative dim");
    empty = empty || *extent == 0;
    if (*extent > 0 && (__builtin_mul_overflow(product, *extent, &product) || product > kMostElements))
      return fail("shape " + to_string(shape) + " has more than 2^42 elements");
  }
  return empty ? 0 : product;
}

std::int64_t byte_size(const Type& type) {
  FW_CHECK(type.is_tensor()) << to_string(type);
  std::int64_t elements = 1;
  for (const Dim& dim : type.shape) elements *= dim.value();
  return elements * byte_width(type.dtype);
}

Result<Shape> broadcast_shapes(const Shape& a, const Shape& b) {
  const std::size_t rank = std::max(a.size(), b.size());
  Shape out(rank);
  for (std::size_t i = 0; i < rank; ++i) {  // axes are counted from the end
    const Dim left = i < a.size() ? a[a.size() - 1 - i] : Dim(1);
    const Dim right = i < b.size() ? b[b.size() - 1 - i] : Dim(1);
    Dim& extent = out[rank - 1 - i];
    if (left == right || right == Dim(1)) {
      extent = left;
    } else if (left == Dim(1)) {
      extent = right;
    } else {
      return fail("shapes " + to_string(a) + " and " + to_string(b) + " do not broadcast: axis " +
                  std::to_string(rank - 1 - i) + " is " + left.to_string() + " and " + right.to_string());
    }
  }
  return out;
}

}  // namespace fusewright::ops
