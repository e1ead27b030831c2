#pragma once

#include <cstddef>
#include <span>

/// The math functions as ordinary code: the same source as the bitcode, with loops around it. For tests, measurements
/// and evaluators that must agree with kernels bit for bit.
namespace fusewright::math {

template <class T>
using ArrayFunction = void (*)(const T* x, const T* y, T* out, std::size_t count);

/// One function at every vector width. `y` is read by binary functions only and may be null for others.
/// `count` must be a multiple of the lanes.
struct NativeFunction {
  const char* name;  // without prefix and dtype: "exp"
  int arity;         // 1 or 2
  ArrayFunction<float> f32, f32x4, f32x8, f32x16;
  ArrayFunction<double> f64, f64x2, f64x4, f64x8;
};

/// Compiled for AVX2 and FMA, which the machine must have. Wider vectors run as pairs of registers.
std::span<const NativeFunction> avx2_functions();

/// Compiled for AVX-512 (F, BW, DQ, VL); only to be called where the machine has them.
std::span<const NativeFunction> avx512_functions();

/// The scalar functions, compiled as in avx2_functions().
extern "C" {
#define FW_UNARY(name)             \
  float fw_##name##_f32(float x);  \
  double fw_##name##_f64(double x);
#define FW_BINARY(name)                      \
  float fw_##name##_f32(float x, float y);   \
  double fw_##name##_f64(double x, double y);
#include "functions.def"
}

}  // namespace fusewright::math
