// The functions as kernels see them: fw_exp_f32, fw_exp_f32x16, ... This file becomes bitcode only; native.cpp is for
// calls.

#include "functions.hpp"

namespace source = fusewright::math_source;

#define FW_EXPORT extern "C" __attribute__((always_inline))

#define FW_UNARY_AT(name, suffix, type, lanes)                                                           \
  FW_EXPORT source::Lanes<type, lanes>::V fw_##name##_##suffix(source::Lanes<type, lanes>::V x) {        \
    return source::name<source::Lanes<type, lanes>>(x);                                                   \
  }
#define FW_BINARY_AT(name, suffix, type, lanes)                                                          \
  FW_EXPORT source::Lanes<type, lanes>::V fw_##name##_##suffix(source::Lanes<type, lanes>::V x,          \
                                                               source::Lanes<type, lanes>::V y) {        \
    return source::name<source::Lanes<type, lanes>>(x, y);                                                \
  }

#define FW_UNARY(name)                  \
  FW_UNARY_AT(name, f32, float, 1)      \
  FW_UNARY_AT(name, f64, double, 1)
#define FW_BINARY(name)                 \
  FW_BINARY_AT(name, f32, float, 1)     \
  FW_BINARY_AT(name, f64, double, 1)
#include "functions.def"

#ifdef FW_VECTORS
#define FW_UNARY(name)                  \
  FW_UNARY_AT(name, f32x4, float, 4)    \
  FW_UNARY_AT(name, f32x8, float, 8)    \
  FW_UNARY_AT(name, f32x16, float, 16)  \
  FW_UNARY_AT(name, f64x2, double, 2)   \
  FW_UNARY_AT(name, f64x4, double, 4)   \
  FW_UNARY_AT(name, f64x8, double, 8)
#define FW_BINARY(name)                 \
  FW_BINARY_AT(name, f32x4, float, 4)   \
  FW_BINARY_AT(name, f32x8, float, 8)   \
  FW_BINARY_AT(name, f32x16, float, 16) \
  FW_BINARY_AT(name, f64x2, double, 2)  \
  FW_BINARY_AT(name, f64x4, double, 4)  \
  FW_BINARY_AT(name, f64x8, double, 8)
#include "functions.def"
#endif
