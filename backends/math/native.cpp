// Compiled by clang once per machine level: FW_TABLE names the table to define, FW_SCALARS adds the scalar functions.

#include "math_native.hpp"

#include "functions.hpp"

namespace source = fusewright::math_source;

namespace {

template <class L, auto kFunction>
void loop(const typename L::T* x, const typename L::T* y, typename L::T* out, std::size_t count) {
  for (std::size_t i = 0; i < count; i += L::N) {
    typename L::V a, b, result;
    __builtin_memcpy(&a, x + i, sizeof(typename L::T) * L::N);
    if constexpr (requires { kFunction(a, b); }) {
      __builtin_memcpy(&b, y + i, sizeof(typename L::T) * L::N);
      result = kFunction(a, b);
    } else {
      result = kFunction(a);
    }
    __builtin_memcpy(out + i, &result, sizeof(typename L::T) * L::N);
  }
}

using source::Lanes;

constexpr fusewright::math::NativeFunction kTable[] = {
#define FW_UNARY_LOOP(name, type, lanes) \
  loop<Lanes<type, lanes>, [](Lanes<type, lanes>::V x) { return source::name<Lanes<type, lanes>>(x); }>
#define FW_BINARY_LOOP(name, type, lanes)                                           \
  loop<Lanes<type, lanes>, [](Lanes<type, lanes>::V x, Lanes<type, lanes>::V y) {   \
    return source::name<Lanes<type, lanes>>(x, y);                                  \
  }>
#define FW_ROW(kind, name, arity)                                                                                       \
  {#name, arity, kind(name, float, 1), kind(name, float, 4), kind(name, float, 8), kind(name, float, 16),               \
   kind(name, double, 1), kind(name, double, 2), kind(name, double, 4), kind(name, double, 8)},
#define FW_UNARY(name) FW_ROW(FW_UNARY_LOOP, name, 1)
#define FW_BINARY(name) FW_ROW(FW_BINARY_LOOP, name, 2)
#include "functions.def"
};

}  // namespace

namespace fusewright::math {

std::span<const NativeFunction> FW_TABLE() { return kTable; }

#ifdef FW_SCALARS
#define FW_UNARY(name)                                                                        \
  extern "C" float fw_##name##_f32(float x) { return source::name<Lanes<float, 1>>(x); }      \
  extern "C" double fw_##name##_f64(double x) { return source::name<Lanes<double, 1>>(x); }
#define FW_BINARY(name)                                                                                       \
  extern "C" float fw_##name##_f32(float x, float y) { return source::name<Lanes<float, 1>>(x, y); }          \
  extern "C" double fw_##name##_f64(double x, double y) { return source::name<Lanes<double, 1>>(x, y); }
#include "functions.def"
#endif

}  // namespace fusewright::math
