#include "src/frontend/onnx/importer.hpp"

namespace fusewright::frontend_onnx {

namespace {

using Values = std::vector<Value>;

Values unary(Call& c) { return {c.e.unary(c.target, c.in(0))}; }

// Below opset 7 operators broadcast only where they say so, and `axis` says where the second operand's axes begin.
Value second_operand(Call& c, std::size_t i = 1) {
  Value b = c.in(i);
  if (c.opset >= 7 || c.int_attr("broadcast", 0) == 0 || !c.has_attr("axis")) return b;
  const std::int64_t rank = c.e.rank(c.in(0));
  const std::int64_t axis = c.axis(c.int_attr("axis"), rank);
  Ints dims = c.e.dims(b);
  while (axis + static_cast<std::int64_t>(dims.size()) < rank) dims.push_back(1);
  return c.e.reshape(b, dims);
}

Values binary(Call& c) { return {c.e.binary(c.target, c.in(0), second_operand(c))}; }

Values variadic(Call& c) {
  Value sum = c.in(0);
  for (std::size_t i = 1; i < c.input_count(); ++i) sum = c.e.binary(c.target, sum, c.in(i));
  return {sum};
}

Values mean(Call& c) { return {c.e.binary("div", variadic(c).front(), static_cast<double>(c.input_count()))}; }

Values mod(Call& c) {
  const bool truncated = c.int_attr("fmod", 0) != 0;
  if (!truncated && ops::is_float(c.e.dtype(c.in(0)))) refuse("Mod of floats needs fmod = 1");
  return {c.e.binary(truncated ? "rem" : "mod", c.in(0), c.in(1))};
}

// The result has the base's dtype; the power is computed in the floating one of the two.
Values power(Call& c) {
  Value x = c.in(0);
  Value y = second_operand(c);
  const DType result = c.e.dtype(x);
  if (c.e.dtype(y) == result) return {c.e.binary("pow", x, y)};
  const DType wide = ops::is_float(result) ? result : c.e.dtype(y);
  return {c.e.convert(c.e.binary("pow", c.e.convert(x, wide), c.e.convert(y, wide)), result)};
}

Values bit_shift(Call& c) {
  const std::string direction = c.string_attr("direction");
  if (direction == "LEFT") return {c.e.binary("shl", c.in(0), c.in(1))};
  if (direction == "RIGHT") return {c.e.binary("shr_logical", c.in(0), c.in(1))};
  refuse("attribute 'direction' is '" + direction + "', not LEFT or RIGHT");
}

Values relu(Call& c) { return {c.e.binary("max", c.in(0), 0.0)}; }
Values reciprocal(Call& c) { return {c.e.binary("div", 1.0, c.in(0))}; }
Values identity(Call& c) { return {c.in(0)}; }

Values is_inf(Call& c) {
  const Value x = c.in(0);
  const bool negative = c.int_attr("detect_negative", 1) != 0;
  const bool positive = c.int_attr("detect_positive", 1) != 0;
  const Value inf = c.e.unary("is_inf", x);
  if (negative && positive) return {inf};
  if (negative) return {c.e.binary("and", inf, c.e.binary("lt", x, 0.0))};
  if (positive) return {c.e.binary("and", inf, c.e.binary("gt", x, 0.0))};
  return {c.e.fill(DType::kPred, 0, c.e.dims(x))};
}

Values clip(Call& c) {
  const Value x = c.in(0);
  Value low, high;
  if (c.opset < 11) {
    if (c.has_attr("min")) low = c.e.scalar(c.e.dtype(x), c.float_attr("min", 0));
    if (c.has_attr("max")) high = c.e.scalar(c.e.dtype(x), c.float_attr("max", 0));
  } else {
    low = c.in_or(1, {});
    high = c.in_or(2, {});
  }
  const Ints dims = c.e.dims(x);
  if (low.valid()) low = c.e.align(low, dims);
  if (high.valid()) high = c.e.align(high, dims);
  if (low.valid() && high.valid()) return {c.e.op("clamp", {low, x, high})};
  if (low.valid()) return {c.e.op("max", {x, low})};
  if (high.valid()) return {c.e.op("min", {x, high})};
  return {x};
}

Values where(Call& c) { return {c.e.select(c.in(0), c.in(1), c.in(2))}; }

// Whole numbers keep their low bits; floats are rounded.
Value cast_to_narrow(Call& c, const NarrowType& type) {
  const Value x = c.in(0);
  Value result;
  if (type.is_float()) {
    result = emit_narrow(c, x, type, c.int_attr("saturate", 1) != 0);
  } else {
    const Ints dims = c.e.dims(x);
    const Value shift = c.e.align(c.e.scalar_int(DType::kS32, 32 - type.bits), dims);
    const Value high = c.e.op("shl", {c.e.convert(x, DType::kS32), shift});
    result = c.e.convert(c.e.op(type.least < 0 ? "shr_arithmetic" : "shr_logical", {high, shift}), type.carrier);
  }
  c.importer.set_narrow(result, &type);
  return result;
}
Values cast_to(Call& c, DType dtype) {
  const Value x = c.in(0);
  return {dtype == DType::kPred ? c.e.to_pred(x) : c.e.convert(x, dtype)};
}
Values cast(Call& c) {
  if (c.opset < 6) {
    const std::string name = c.string_attr("to");
    for (std::int64_t type = 1; type <= 16; ++type) {
      std::string upper = element_type_name(type);
      for (char& letter : upper) letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
      if (upper == name) return cast_to(c, dtype_of(type));
    }
    refuse("attribute 'to' is '" + name + "', which is no element type");
  }
  if (const NarrowType* narrow = find_narrow(c.int_attr("to"))) return {cast_to_narrow(c, *narrow)};
  return cast_to(c, dtype_of(c.int_attr("to")));
}
Values cast_like(Call& c) {
  if (const NarrowType* narrow = c.importer.narrow(c.in(1))) return {cast_to_narrow(c, *narrow)};
  return cast_to(c, c.e.dtype(c.in(1)));
}
Values bit_cast(Call& c) {
  const DType dtype = dtype_of(c.int_attr("to"));
  // A truth value is stored as a byte of 0 or 1.
  if (dtype == DType::kPred) return {c.e.to_pred(c.in(0))};
  if (c.e.dtype(c.in(0)) == DType::kPred) return {c.e.convert(c.in(0), dtype)};
  return {c.e.op("bitcast", {c.in(0)}, {{"dtype", dtype}})};
}

// Inference: nothing is dropped.
Values dropout(Call& c) {
  const Value x = c.in(0);
  const bool training = c.opset < 7 ? c.int_attr("is_test", 0) == 0 && c.float_attr("ratio", 0.5) != 0
                                    : c.opset >= 12 && c.has(2) && c.known_int(2, "training_mode") != 0;
  if (training && c.opset >= 12) {
    const double ratio = c.has(1) ? c.known_double(1, "ratio") : 0.5;
    if (ratio != 0) unsupported("dropout in training mode is not supported");
  }
  Values results = {x};
  if (c.wants(1)) {
    const DType mask = c.opset < 10 ? c.e.dtype(x) : DType::kPred;
    results.push_back(c.e.fill(mask, 1, c.e.dims(x)));
  }
  return results;
}

}  // namespace

std::vector<OperatorRow> elementwise_operators() {
  return {
      {"Abs", unary, "abs"},
      {"Acos", unary, "acos"},
      {"Acosh", unary, "acosh"},
      {"Asin", unary, "asin"},
      {"Asinh", unary, "asinh"},
      {"Atan", unary, "atan"},
      {"Atanh", unary, "atanh"},
      {"Ceil", unary, "ceil"},
      {"Cos", unary, "cos"},
      {"Cosh", unary, "cosh"},
      {"Erf", unary, "erf"},
      {"Exp", unary, "exp"},
      {"Floor", unary, "floor"},
      {"Log", unary, "log"},
      {"Neg", unary, "neg"},
      {"Not", unary, "not"},
      {"BitwiseNot", unary, "not"},
      {"Round", unary, "round_even"},
      {"Sigmoid", unary, "logistic"},
      {"Sign", unary, "sign"},
      {"Sin", unary, "sin"},
      {"Sinh", unary, "sinh"},
      {"Sqrt", unary, "sqrt"},
      {"Tan", unary, "tan"},
      {"Tanh", unary, "tanh"},
      {"IsNaN", unary, "is_nan"},
      {"Add", binary, "add"},
      {"Sub", binary, "sub"},
      {"Mul", binary, "mul"},
      {"Div", binary, "div"},
      {"And", binary, "and"},
      {"Or", binary, "or"},
      {"Xor", binary, "xor"},
      {"BitwiseAnd", binary, "and"},
      {"BitwiseOr", binary, "or"},
      {"BitwiseXor", binary, "xor"},
      {"Equal", binary, "eq"},
      {"Greater", binary, "gt"},
      {"Less", binary, "lt"},
      {"GreaterOrEqual", binary, "ge"},
      {"LessOrEqual", binary, "le"},
      {"Sum", variadic, "add"},
      {"Max", variadic, "max"},
      {"Min", variadic, "min"},
      {"Mean", mean, "add"},
      {"Mod", mod},
      {"Pow", power},
      {"BitShift", bit_shift},
      {"Relu", relu},
      {"Reciprocal", reciprocal},
      {"Identity", identity},
      {"IsInf", is_inf},
      {"Clip", clip},
      {"Where", where},
      {"Cast", cast, kMakesOwnType},
      {"CastLike", cast_like, kMakesOwnType},
      {"BitCast", bit_cast},
      {"Dropout", dropout},
  };
}

}  // namespace fusewright::frontend_onnx
