#include "reference.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>

namespace fusewright::tests {

namespace {

constexpr mpfr_prec_t kPrecision = 90;  // 37 bits beyond double: errors are seen to 1e-11 ulp
constexpr mpfr_rnd_t kNearest = MPFR_RNDN;

using Unary = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);
using Binary = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t);

template <Unary kFunction>
int unary(mpfr_t out, const mpfr_t x, const mpfr_t) {
  return kFunction(out, x, kNearest);
}

template <Binary kFunction>
int binary(mpfr_t out, const mpfr_t x, const mpfr_t y) {
  return kFunction(out, x, y, kNearest);
}

int logistic(mpfr_t out, const mpfr_t x, const mpfr_t) {
  mpfr_neg(out, x, kNearest);
  mpfr_exp(out, out, kNearest);
  mpfr_add_ui(out, out, 1, kNearest);
  return mpfr_ui_div(out, 1, out, kNearest);
}

int round_away(mpfr_t out, const mpfr_t x, const mpfr_t) { return mpfr_round(out, x); }

}  // namespace

Reference::Function Reference::find(std::string_view name) {
  static constexpr struct {
    std::string_view name;
    Function function;
  } kTable[] = {
      {"exp", unary<mpfr_exp>},     {"exp2", unary<mpfr_exp2>},   {"expm1", unary<mpfr_expm1>},
      {"log", unary<mpfr_log>},     {"log1p", unary<mpfr_log1p>}, {"log2", unary<mpfr_log2>},
      {"logistic", logistic},       {"tanh", unary<mpfr_tanh>},   {"sinh", unary<mpfr_sinh>},
      {"cosh", unary<mpfr_cosh>},   {"asinh", unary<mpfr_asinh>}, {"acosh", unary<mpfr_acosh>},
      {"atanh", unary<mpfr_atanh>}, {"erf", unary<mpfr_erf>},     {"erfc", unary<mpfr_erfc>},
      {"sin", unary<mpfr_sin>},     {"cos", unary<mpfr_cos>},     {"tan", unary<mpfr_tan>},
      {"asin", unary<mpfr_asin>},   {"acos", unary<mpfr_acos>},   {"atan", unary<mpfr_atan>},
      {"cbrt", unary<mpfr_cbrt>},   {"round_away", round_away},   {"atan2", binary<mpfr_atan2>},
      {"pow", binary<mpfr_pow>},    {"rem", binary<mpfr_fmod>},
  };
  for (const auto& row : kTable) {
    if (row.name == name) return row.function;
  }
  throw std::invalid_argument("no reference for " + std::string(name));
}

Reference::Reference(std::string_view name) : function_(find(name)) {
  mpfr_inits2(kPrecision, x_, y_, exact_, difference_, static_cast<mpfr_ptr>(nullptr));
}

Reference::~Reference() { mpfr_clears(x_, y_, exact_, difference_, static_cast<mpfr_ptr>(nullptr)); }

double Reference::ulp_error(float x, float y, float got) { return error(x, y, got); }

double Reference::ulp_error(double x, double y, double got) { return error(x, y, got); }

template <class T>
double Reference::error(T x, T y, T got) {
  using Limits = std::numeric_limits<T>;
  constexpr double kWrong = std::numeric_limits<double>::infinity();
  mpfr_set_d(x_, x, kNearest);
  mpfr_set_d(y_, y, kNearest);
  function_(exact_, x_, y_);
  if (mpfr_nan_p(exact_) || std::isnan(got)) {
    return mpfr_nan_p(exact_) && std::isnan(got) ? 0 : kWrong;
  }
  // An infinity stands for the first power of two that is out of range.
  const bool beyond = mpfr_inf_p(exact_) || (!mpfr_zero_p(exact_) && mpfr_get_exp(exact_) > Limits::max_exponent);
  if (beyond && std::isinf(got)) {
    return (mpfr_sgn(exact_) > 0) == (got > 0) ? 0 : kWrong;
  }
  if (mpfr_inf_p(exact_)) return kWrong;
  if (std::isinf(got)) {
    mpfr_set_si_2exp(difference_, got > 0 ? 1 : -1, Limits::max_exponent, kNearest);
  } else {
    mpfr_set_d(difference_, got, kNearest);
  }
  mpfr_sub(difference_, difference_, exact_, kNearest);
  mpfr_exp_t exponent = mpfr_zero_p(exact_) ? Limits::min_exponent : mpfr_get_exp(exact_);
  if (exponent < Limits::min_exponent) exponent = Limits::min_exponent;
  mpfr_mul_2si(difference_, difference_, Limits::digits - exponent, kNearest);
  return std::fabs(mpfr_get_d(difference_, kNearest));
}

}  // namespace fusewright::tests
