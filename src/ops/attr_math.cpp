#include "src/ops/attr_math.hpp"

#include <algorithm>
#include <cmath>

namespace fusewright::ops {
namespace {

constexpr std::int64_t kLongestList = 1 << 16;

bool is_number(const AttrValue& value) {
  return kind_of(value) == AttrKind::kInt || kind_of(value) == AttrKind::kFloat;
}
bool is_list(const AttrValue& value) { return kind_of(value) == AttrKind::kInts || kind_of(value) == AttrKind::kShape; }

/// What an extent without a number leaves open.
std::unexpected<Error> not_bound(const Dim& dim) {
  return fail(ErrorKind::kUnsupported, "dim " + dim.to_string() + " is not bound");
}

std::unexpected<Error> no_operator(const std::string& op, const AttrValue& left, const AttrValue& right) {
  return fail("there is no '" + op + "' of " + describe(left) + " and " + describe(right));
}

Result<AttrValue> integer_power(std::int64_t base, std::int64_t exponent) {
  std::int64_t result = 1;
  // |base| > 1 overflows within 63 steps, the others need only the parity.
  const std::int64_t steps = base >= -1 && base <= 1 ? (exponent == 0 ? 0 : 2 - exponent % 2) : exponent;
  for (std::int64_t i = 0; i < steps; ++i)
    if (__builtin_mul_overflow(result, base, &result))
      return fail(std::to_string(base) + " ** " + std::to_string(exponent) + " is out of range");
  return result;
}

Result<AttrValue> integer_arithmetic(const std::string& op, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  bool overflow = false;
  const bool divides = op == "/" || op == "//" || op == "%";
  if (divides && b == 0) return fail("division of " + std::to_string(a) + " by 0");
  if (divides && b == -1) {  // INT_MIN / -1 traps
    if (op == "%") return AttrValue(std::int64_t{0});
    overflow = __builtin_sub_overflow(std::int64_t{0}, a, &result);
  } else if (op == "+") {
    overflow = __builtin_add_overflow(a, b, &result);
  } else if (op == "-") {
    overflow = __builtin_sub_overflow(a, b, &result);
  } else if (op == "*") {
    overflow = __builtin_mul_overflow(a, b, &result);
  } else if (op == "/") {
    if (a % b != 0) return AttrValue(static_cast<double>(a) / static_cast<double>(b));
    result = a / b;
  } else if (op == "//") {
    result = a / b - (a % b != 0 && (a % b < 0) != (b < 0) ? 1 : 0);
  } else if (op == "%") {
    result = a % b;
    if (result != 0 && (result < 0) != (b < 0)) result += b;
  } else {
    if (b >= 0) return integer_power(a, b);
    return AttrValue(std::pow(static_cast<double>(a), static_cast<double>(b)));
  }
  if (overflow) return fail(std::to_string(a) + " " + op + " " + std::to_string(b) + " is out of range");
  return AttrValue(result);
}

Result<AttrValue> float_arithmetic(const std::string& op, double a, double b) {
  if (op == "+") return AttrValue(a + b);
  if (op == "-") return AttrValue(a - b);
  if (op == "*") return AttrValue(a * b);
  if (op == "**") return AttrValue(std::pow(a, b));
  if (op == "/") return AttrValue(a / b);
  const double floored = std::floor(a / b);
  if (op == "//") return AttrValue(floored);
  return AttrValue(a - floored * b);
}

Result<AttrValue> list_arithmetic(const std::string& op, const AttrValue& left, const AttrValue& right) {
  if (op == "+" && is_list(left) && is_list(right)) {
    FW_TRY(Shape out, to_list(left));
    FW_TRY(const Shape tail, to_list(right));
    out.insert(out.end(), tail.begin(), tail.end());
    return from_list(std::move(out));
  }
  if (op == "*" && is_list(left) && kind_of(right) == AttrKind::kInt) {
    FW_TRY(const Shape list, to_list(left));
    const std::int64_t times = std::max<std::int64_t>(0, std::get<std::int64_t>(right));
    if (times > kLongestList / std::max<std::int64_t>(1, static_cast<std::int64_t>(list.size())))
      return fail("a list of more than " + std::to_string(kLongestList) + " elements");
    Shape out;
    for (std::int64_t i = 0; i < times; ++i) out.insert(out.end(), list.begin(), list.end());
    return from_list(std::move(out));
  }
  if (op == "*" && is_list(right) && kind_of(left) == AttrKind::kInt) return list_arithmetic(op, right, left);
  return no_operator(op, left, right);
}

// Long double holds every int64 and every double.
long double exact(const AttrValue& value) {
  const auto* integer = std::get_if<std::int64_t>(&value);
  return integer != nullptr ? static_cast<long double>(*integer) : static_cast<long double>(std::get<double>(value));
}

Result<AttrValue> ordered(const std::string& op, const AttrValue& left, const AttrValue& right) {
  if (!is_number(left) || !is_number(right)) return no_operator(op, left, right);
  const long double a = exact(left), b = exact(right);
  return AttrValue(op == "<" ? a < b : op == "<=" ? a <= b : op == ">" ? a > b : a >= b);
}

Result<AttrValue> contained(const AttrValue& value, const AttrValue& list) {
  if (const auto* strings = std::get_if<std::vector<std::string>>(&list)) {
    const auto* text = std::get_if<std::string>(&value);
    return AttrValue(text != nullptr && std::find(strings->begin(), strings->end(), *text) != strings->end());
  }
  if (const auto* floats = std::get_if<std::vector<double>>(&list)) {
    FW_TRY(const double number, to_number(value));
    return AttrValue(std::find(floats->begin(), floats->end(), number) != floats->end());
  }
  FW_TRY(const Shape items, to_list(list));
  FW_TRY(const std::int64_t number, to_integer(value));
  if (std::find(items.begin(), items.end(), Dim(number)) != items.end()) return AttrValue(true);
  const auto open = std::ranges::find_if_not(items, &Dim::is_constant);
  if (open != items.end()) return not_bound(*open);
  return AttrValue(false);
}

/// Symbols surely differ only by a number that is added: n and n + 1. Of n and m nothing is known.
Result<bool> same_extents(const Shape& a, const Shape& b) {
  if (a == b) return true;
  if (a.size() != b.size()) return false;
  const Dim* open = nullptr;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const Dim apart = a[i] - b[i];
    if (!apart.is_constant()) open = a[i].is_constant() ? &b[i] : &a[i];
    if (apart.is_constant() && apart.value() != 0) return false;
  }
  if (open != nullptr) return not_bound(*open);
  return true;
}

Result<bool> known_same(const AttrValue& a, const AttrValue& b) {
  const bool symbolic = std::holds_alternative<Shape>(a) || std::holds_alternative<Shape>(b);
  if (!symbolic || !is_list(a) || !is_list(b)) return same_value(a, b);
  FW_TRY(const Shape left, to_list(a));
  FW_TRY(const Shape right, to_list(b));
  return same_extents(left, right);
}

}  // namespace

std::string describe(const AttrValue& value) { return std::string(name(kind_of(value))) + " " + to_string(value); }

Result<std::int64_t> to_integer(const AttrValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return *integer;
  if (const auto* number = std::get_if<double>(&value))
    if (*number == std::floor(*number) && std::fabs(*number) < 0x1p63) return static_cast<std::int64_t>(*number);
  return fail(describe(value) + " is not an integer");
}

Result<double> to_number(const AttrValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<double>(*integer);
  if (const auto* number = std::get_if<double>(&value)) return *number;
  return fail(describe(value) + " is not a number");
}

Result<bool> to_truth(const AttrValue& value) {
  if (const auto* truth = std::get_if<bool>(&value)) return *truth;
  if (const auto* integer = std::get_if<std::int64_t>(&value); integer != nullptr && (*integer == 0 || *integer == 1))
    return *integer == 1;
  return fail(describe(value) + " is neither true nor false");
}

Result<Shape> to_list(const AttrValue& value) {
  if (const auto* shape = std::get_if<Shape>(&value)) return *shape;
  if (const auto* ints = std::get_if<std::vector<std::int64_t>>(&value)) return Shape(ints->begin(), ints->end());
  return fail(describe(value) + " is not a list of integers");
}

Result<std::vector<std::int64_t>> to_integers(const AttrValue& value) {
  FW_TRY(const Shape list, to_list(value));
  std::vector<std::int64_t> out;
  for (const Dim& dim : list) {
    if (!dim.is_constant()) return not_bound(dim);
    out.push_back(dim.value());
  }
  return out;
}

AttrValue from_list(Shape list) {
  if (is_static(list)) return static_dims(list);
  return list;
}

Result<AttrValue> from_dim(const Dim& dim) {
  if (!dim.is_constant()) return not_bound(dim);
  return AttrValue(dim.value());
}

bool same_value(const AttrValue& a, const AttrValue& b) {
  if (is_number(a) && is_number(b)) return exact(a) == exact(b);
  if (is_list(a) && is_list(b)) return *to_list(a) == *to_list(b);
  const auto truth = [](const AttrValue& v) { return std::holds_alternative<bool>(v); };
  if (truth(a) != truth(b) && (truth(a) ? to_truth(b) : to_truth(a)).has_value()) return *to_truth(a) == *to_truth(b);
  return equal(a, b);
}

Result<std::int64_t> normal_axis(std::int64_t axis, std::int64_t rank) {
  if (axis < -rank || axis >= rank)
    return fail("axis " + std::to_string(axis) + " where the rank is " + std::to_string(rank));
  return axis < 0 ? axis + rank : axis;
}

Result<AttrValue> attr_negate(const AttrValue& value) {
  if (const auto* number = std::get_if<double>(&value)) return AttrValue(-*number);
  FW_TRY(const std::int64_t integer, to_integer(value));
  return integer_arithmetic("-", 0, integer);
}

Result<AttrValue> attr_binary(const std::string& op, const AttrValue& left, const AttrValue& right) {
  if (op == "==" || op == "!=") {
    FW_TRY(const bool same, known_same(left, right));
    return AttrValue(same == (op == "=="));
  }
  if (op == "in") return contained(left, right);
  if (op == "not in") {
    FW_TRY(const AttrValue in, contained(left, right));
    return AttrValue(!std::get<bool>(in));
  }
  if (op == "<" || op == "<=" || op == ">" || op == ">=") return ordered(op, left, right);
  if (is_list(left) || is_list(right)) return list_arithmetic(op, left, right);
  if (!is_number(left) || !is_number(right)) return no_operator(op, left, right);
  if (kind_of(left) == AttrKind::kInt && kind_of(right) == AttrKind::kInt)
    return integer_arithmetic(op, std::get<std::int64_t>(left), std::get<std::int64_t>(right));
  FW_TRY(const double a, to_number(left));
  FW_TRY(const double b, to_number(right));
  return float_arithmetic(op, a, b);
}

}  // namespace fusewright::ops
