#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "fusewright/ops/tensor.hpp"

// How the evaluator sees tensors: floats as doubles, integers and pred as 64-bit integers (u64 by its bits), and index
// arithmetic over dense row-major arrays.
namespace fusewright::interpret {

using ops::DType;
using ops::Tensor;
using Dims = std::vector<std::int64_t>;

/// A tensor that stands for an optional operand left out.
inline bool present(const Tensor& tensor) { return tensor.storage != nullptr; }

/// One element: `f` for floats, `i` for integers and pred.
struct Scalar {
  double f = 0;
  std::int64_t i = 0;
};

/// The value as an integer dtype holds it: wrapped; pred is 0 or 1.
std::int64_t wrap(DType dtype, std::int64_t value);
/// The nearest value of a float dtype, ties to even.
double round_element(DType dtype, double value);
/// Largest finite value of a float dtype.
double largest(DType dtype);

/// Elements [begin, end) into `out`.
void decode_floats(const Tensor& tensor, std::int64_t begin, std::int64_t end, double* out);
void decode_ints(const Tensor& tensor, std::int64_t begin, std::int64_t end, std::int64_t* out);
/// From `values` into elements [begin, end): rounded to the tensor's float dtype, or wrapped to its integer dtype.
void encode_floats(Tensor& tensor, std::int64_t begin, std::int64_t end, const double* values);
void encode_ints(Tensor& tensor, std::int64_t begin, std::int64_t end, const std::int64_t* values);

std::vector<double> floats_of(const Tensor& tensor);
std::vector<std::int64_t> ints_of(const Tensor& tensor);
Result<Tensor> tensor_of(DType dtype, Dims dims, const std::vector<double>& values);
Result<Tensor> tensor_of(DType dtype, Dims dims, const std::vector<std::int64_t>& values);

Scalar get_scalar(const Tensor& tensor, std::int64_t index);
void set_scalar(Tensor& tensor, std::int64_t index, Scalar value);

std::int64_t product(std::span<const std::int64_t> dims);
/// Row-major strides in elements.
Dims strides_of(std::span<const std::int64_t> dims);
/// Axes of 0..rank that are not among `axes`, in order.
Dims other_axes(std::int64_t rank, std::span<const std::int64_t> axes);
/// Extents of the named axes.
Dims pick(std::span<const std::int64_t> dims, std::span<const std::int64_t> axes);

/// The linear offsets sum(index[i] * strides[i]) of all indices of `dims`, in row-major order.
std::vector<std::int64_t> offsets_of(std::span<const std::int64_t> dims, std::span<const std::int64_t> strides);

/// Counts through the indices of `dims` in row-major order: `for (Counter c(dims); !c.done(); c.next()) use(c.index)`.
struct Counter {
  explicit Counter(std::span<const std::int64_t> dims_) : dims(dims_), index(dims.size(), 0), left(product(dims)) {}
  bool done() const { return left == 0; }
  void next() {
    --left;
    for (std::size_t axis = dims.size(); axis-- > 0;) {
      if (++index[axis] < dims[axis]) return;
      index[axis] = 0;
    }
  }
  /// Jumps to the index with this linear position.
  void seek(std::int64_t position) {
    left = product(dims) - position;
    for (std::size_t axis = dims.size(); axis-- > 0;) {
      index[axis] = position % dims[axis];
      position /= dims[axis];
    }
  }

  std::span<const std::int64_t> dims;
  Dims index;
  std::int64_t left;
};

}  // namespace fusewright::interpret
