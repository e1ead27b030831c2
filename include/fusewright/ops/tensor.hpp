#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "fusewright/ops/dtype.hpp"
#include "fusewright/ops/type.hpp"

namespace fusewright::ops {

/// Bytes that somebody keeps alive: an aligned allocation or a mapped file.
class Storage {
 public:
  virtual ~Storage() = default;
  virtual std::byte* data() = 0;
  virtual std::size_t size() const = 0;
};
/// 64-byte aligned and zeroed; an Error of kind kResource when there is no memory for it.
Result<std::shared_ptr<Storage>> allocate_storage(std::size_t bytes);
/// A read-only mapping of a whole file (copy-on-write for writers).
Result<std::shared_ptr<Storage>> map_file(const std::string& path);

/// A dense row-major tensor with known extents. Copies share the bytes.
struct Tensor {
  DType dtype = DType::kF32;
  std::vector<std::int64_t> dims;
  std::shared_ptr<Storage> storage;
  std::size_t offset = 0;  ///< bytes into the storage

  std::int64_t elements() const;
  std::size_t bytes() const;
  const std::byte* data() const { return storage->data() + offset; }
  std::byte* mutable_data() { return storage->data() + offset; }
  Type type() const;

  template <class T>
  std::span<const T> as() const {
    return {reinterpret_cast<const T*>(data()), static_cast<std::size_t>(elements())};
  }
  template <class T>
  std::span<T> mutable_as() {
    return {reinterpret_cast<T*>(mutable_data()), static_cast<std::size_t>(elements())};
  }
};

Result<Tensor> make_tensor(DType dtype, std::vector<std::int64_t> dims);
/// A rank-0 tensor holding `value` rounded to `dtype`.
Tensor scalar_tensor(DType dtype, double value);
Tensor scalar_tensor_int(DType dtype, std::int64_t value);
Tensor vector_tensor(const std::vector<std::int64_t>& values);  ///< s64[n]

/// One element as a double / integer, and back (round to nearest even; integers wrap). `index` is linear.
double get_double(const Tensor& tensor, std::int64_t index);
std::int64_t get_int(const Tensor& tensor, std::int64_t index);
void set_double(Tensor& tensor, std::int64_t index, double value);
void set_int(Tensor& tensor, std::int64_t index, std::int64_t value);

/// Rounds once, to nearest even, to f16 or bf16 or f32 (identity for f64).
double round_to(DType dtype, double value);

/// Weights are handles: a small tensor (up to 4 KiB) equals another with the same type and bits, a large one only
/// itself.
using TensorHandle = std::shared_ptr<const Tensor>;
bool same_constant(const TensorHandle& a, const TensorHandle& b);
std::uint64_t hash_constant(const TensorHandle& tensor);

/// NumPy .npy files, version 1 and 2, little-endian, C or Fortran order; bfloat16 as '<V2'.
Result<Tensor> read_npy(const std::string& path);
Status write_npy(const std::string& path, const Tensor& tensor);

}  // namespace fusewright::ops
