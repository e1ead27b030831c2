#pragma once

#include <mpfr.h>

#include <string_view>

namespace fusewright::tests {

/// The math functions by MPFR, and how far a computed value is from theirs.
class Reference {
 public:
  /// `name` as in NativeFunction.
  explicit Reference(std::string_view name);
  Reference(const Reference&) = delete;
  Reference& operator=(const Reference&) = delete;
  ~Reference();

  /// Error of `got` as the value at (x, y), in units in the last place of the exact value (of the smallest denormal
  /// below the normal range). Zero for NaN where NaN is right and for infinity where the exact value rounds to it;
  /// infinite for NaN where it is wrong. Unary functions do not look at y.
  double ulp_error(float x, float y, float got);
  double ulp_error(double x, double y, double got);

 private:
  using Function = int (*)(mpfr_t out, const mpfr_t x, const mpfr_t y);
  static Function find(std::string_view name);

  template <class T>
  double error(T x, T y, T got);

  Function function_;
  mpfr_t x_, y_, exact_, difference_;
};

}  // namespace fusewright::tests
