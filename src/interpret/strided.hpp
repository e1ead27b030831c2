#pragma once

#include "src/interpret/elements.hpp"

namespace fusewright::interpret {

/// One side of a copy: where index 0 lies and how far apart neighbours along each axis are, in elements.
struct Strided {
  std::int64_t base = 0;
  Dims strides;
};

/// out[to.base + sum(i * to.strides)] = in[from.base + sum(i * from.strides)] for every index i of `dims`.
void copy_strided(const Dims& dims, const Tensor& in, const Strided& from, Tensor& out, const Strided& to);

/// Sets every element to the first element of `value`, which has the same dtype.
void fill(Tensor& out, const Tensor& value);

}  // namespace fusewright::interpret
