#pragma once

// Element types that are stored but never computed with. A tensor of one is carried in the smallest dtype of the
// operator table that holds all its values: integers of 2 and 4 bits in s8 and u8, floats of 4 and 8 bits in f16.

#include <cstdint>
#include <span>

#include "fusewright/ops/tensor.hpp"

namespace fusewright::frontend_onnx {

struct NarrowType {
  std::int64_t element_type;  ///< TensorProto::DataType
  int bits;
  ops::DType carrier;
  double least, greatest;      ///< finite values
  int mantissa = 0, bias = 0;  ///< of a float
  bool infinite = false;       ///< a float with infinities
  bool one_nan = false;        ///< a float whose only NaN is the pattern of minus zero
  bool is_float() const { return mantissa > 0; }
};

/// The row of an element type, or null.
const NarrowType* find_narrow(std::int64_t element_type);
/// Values that lie packed in bytes, the first one in the lowest bits. `bytes` holds as many as `tensor` has elements.
void unpack(const NarrowType& type, std::span<const std::uint8_t> bytes, ops::Tensor& tensor);

}  // namespace fusewright::frontend_onnx
