#include "fusewright/ops/scalar.hpp"

#include <array>
#include <cstddef>

namespace fusewright::ops {
namespace {

struct Row {
  std::string_view name;
  int arity;
  double work;  // on f32, in additions: counts the operations of the math library's branch-free code
};

// In the order of the enumeration.
constexpr std::array<Row, 62> kRows = {{
    {"copy", 1, 0},
    {"abs", 1, 1},
    {"neg", 1, 1},
    {"sign", 1, 2},
    {"exp", 1, 12},
    {"expm1", 1, 16},
    {"log", 1, 14},
    {"log1p", 1, 16},
    {"sqrt", 1, 4},
    {"rsqrt", 1, 5},
    {"cbrt", 1, 16},
    {"sin", 1, 16},
    {"cos", 1, 16},
    {"tan", 1, 22},
    {"asin", 1, 18},
    {"acos", 1, 18},
    {"atan", 1, 18},
    {"sinh", 1, 20},
    {"cosh", 1, 20},
    {"tanh", 1, 16},
    {"asinh", 1, 24},
    {"acosh", 1, 24},
    {"atanh", 1, 22},
    {"logistic", 1, 16},
    {"erf", 1, 20},
    {"floor", 1, 1},
    {"ceil", 1, 1},
    {"trunc", 1, 1},
    {"round_even", 1, 1},
    {"round_away", 1, 3},
    {"not", 1, 1},
    {"popcount", 1, 4},
    {"clz", 1, 4},
    {"is_finite", 1, 2},
    {"is_nan", 1, 1},
    {"is_inf", 1, 2},
    {"convert", 1, 1},
    {"bitcast", 1, 0},
    {"add", 2, 1},
    {"sub", 2, 1},
    {"mul", 2, 1},
    {"div", 2, 4},
    {"rem", 2, 8},
    {"mod", 2, 10},
    {"pow", 2, 30},
    {"max", 2, 1},
    {"min", 2, 1},
    {"atan2", 2, 24},
    {"and", 2, 1},
    {"or", 2, 1},
    {"xor", 2, 1},
    {"shl", 2, 2},
    {"shr_arithmetic", 2, 2},
    {"shr_logical", 2, 2},
    {"eq", 2, 1},
    {"ne", 2, 1},
    {"lt", 2, 1},
    {"le", 2, 1},
    {"gt", 2, 1},
    {"ge", 2, 1},
    {"select", 3, 1},
    {"clamp", 3, 2},
}};
constexpr Row kFmaRow = {"fma", 3, 2};

const Row& row(ScalarOp op) { return op == ScalarOp::kFma ? kFmaRow : kRows[static_cast<std::size_t>(op)]; }
static_assert(static_cast<std::size_t>(ScalarOp::kFma) == kRows.size());

}  // namespace

int arity(ScalarOp op) { return row(op).arity; }

std::string_view name(ScalarOp op) { return row(op).name; }

bool is_comparison(ScalarOp op) { return op >= ScalarOp::kEq && op <= ScalarOp::kGe; }

double work(ScalarOp op, DType dtype) {
  const double base = row(op).work;
  // Half precision is computed in f32, with a conversion around it; f64 takes twice the lanes and longer polynomials.
  if (dtype == DType::kF64) return is_expensive(op) ? base * 3 : base * 2;
  if (is_float(dtype) && bit_width(dtype) < 32) return base + 1;
  if (is_integer(dtype) && (op == ScalarOp::kDiv || op == ScalarOp::kRem || op == ScalarOp::kMod)) return base + 16;
  return is_integer(dtype) && bit_width(dtype) == 64 ? base * 2 : base;
}

bool is_expensive(ScalarOp op) { return row(op).work >= 4 && op != ScalarOp::kPopcount && op != ScalarOp::kClz; }

}  // namespace fusewright::ops
