#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fusewright/ops/dtype.hpp"
#include "fusewright/support/dim.hpp"
#include "fusewright/support/result.hpp"

namespace fusewright::ops {

using Shape = std::vector<Dim>;

/// What a value is: a tensor, a tuple of types, a token (an ordering of effects), or nothing (an optional operand left
/// out).
struct Type {
  enum class Kind : std::uint8_t { kNone, kTensor, kTuple, kToken };

  Kind kind = Kind::kNone;
  DType dtype = DType::kF32;   ///< tensors only
  Shape shape;                 ///< tensors only
  std::vector<Type> elements;  ///< tuples only

  static Type tensor(DType dtype, Shape shape) { return {Kind::kTensor, dtype, std::move(shape), {}}; }
  static Type tuple(std::vector<Type> elements) { return {Kind::kTuple, DType::kF32, {}, std::move(elements)}; }
  static Type token() { return {Kind::kToken, DType::kF32, {}, {}}; }

  bool is_tensor() const { return kind == Kind::kTensor; }
  std::int64_t rank() const { return static_cast<std::int64_t>(shape.size()); }
  bool operator==(const Type&) const = default;
};

/// "f32[2,3]", "bf16[n,4]", "(f32[], s32[2])", "token[]".
std::string to_string(const Type& type);
std::string to_string(const Shape& shape);  ///< "[2,3]"
std::uint64_t hash(const Type& type);

bool is_static(const Shape& shape);
/// Extents as numbers. All must be bound (checked).
std::vector<std::int64_t> static_dims(const Shape& shape);
/// Number of elements of a static shape; an error if a dim is negative or the bytes pass 2^46.
Result<std::int64_t> element_count(const Shape& shape);
/// Elements times byte width, of a type already checked with element_count.
std::int64_t byte_size(const Type& type);

/// NumPy's broadcast of two shapes, aligned at the last axis; an error names the axis that does not fit.
Result<Shape> broadcast_shapes(const Shape& a, const Shape& b);

}  // namespace fusewright::ops
