#pragma once

// What the attention operators of both domains share.

#include "src/frontend/onnx/call.hpp"

namespace fusewright::frontend_onnx {

/// Rotary positions: pairs of elements of each head are turned by angles that grow with the position.
struct Rotation {
  Value x;                    ///< [batch, sequence, heads * size] or [batch, heads, sequence, size]
  Value cos, sin;             ///< tables [positions, half], or [batch, sequence, half] without `positions`
  Value positions;            ///< rows of the tables, [batch, sequence], or invalid
  std::int64_t heads = 0;     ///< of an x of rank 3; 0: as the tables tell
  std::int64_t elements = 0;  ///< of each head that are turned; 0: all
  bool interleaved = false;   ///< pairs are neighbours; else their halves stand apart
};
Value emit_rotated(Call& c, const Rotation& of);

/// What stands in the attributes of RotaryEmbedding, of either domain.
Rotation rotation_of(Call& c);

std::vector<Value> emit_grouped_attention(Call& c);  ///< com.microsoft's GroupQueryAttention

}  // namespace fusewright::frontend_onnx
