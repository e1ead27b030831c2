#include "src/frontend/hlo/combiner.hpp"

#include <bit>
#include <cmath>
#include <limits>

#include "src/frontend/hlo/attributes.hpp"
#include "src/frontend/hlo/literal.hpp"
#include "src/frontend/hlo/opcodes.hpp"

namespace fusewright::frontend_hlo {

namespace {

constexpr std::size_t kLargestCombiner = 64;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

// Comparators are recognised by trying them. They consist of comparisons, logic and selection over their parameters and
// the constants 0, NaN and infinity; so what they do depends only on the order of the parameters among each other and
// those constants. The samples hold every such order, which makes the trial a proof. (XLA also compares the bits of
// floats as integers, with all but the sign turned around below zero: monotone on either side of zero, so that two
// samples there show the order.)
std::vector<double> samples_of(ops::DType dtype) {
  if (ops::is_float(dtype)) return {kNan, -kInf, -2.0, -1.0, -0.0, 0.0, 1.0, 3.0, kInf};
  if (ops::is_unsigned_integer(dtype) || dtype == ops::DType::kPred) return {0, 1};
  return {-2, -1, 0, 1, 3};
}

bool is_harmless_constant(double value) { return value == 0 || std::isnan(value) || std::isinf(value); }

// IEEE 754 total order: -NaN, -inf, ..., -0, 0, ..., inf, NaN.
std::int64_t total_order_key(double value) {
  const auto bits = std::bit_cast<std::int64_t>(value);
  return bits < 0 ? bits ^ std::numeric_limits<std::int64_t>::max() : bits;
}

std::optional<bool> compare(std::string_view direction, bool total, double a, double b) {
  const std::int64_t ka = total_order_key(a), kb = total_order_key(b);
  if (direction == "EQ") return total ? ka == kb : a == b;
  if (direction == "NE") return total ? ka != kb : a != b;
  if (direction == "LT") return total ? ka < kb : a < b;
  if (direction == "LE") return total ? ka <= kb : a <= b;
  if (direction == "GT") return total ? ka > kb : a > b;
  if (direction == "GE") return total ? ka >= kb : a >= b;
  return std::nullopt;
}

// The greatest number of a signed integer dtype: all bits but the sign.
std::int64_t all_but_sign(ops::DType dtype) { return (std::int64_t{1} << (ops::bit_width(dtype) - 1)) - 1; }

bool is_narrow_integer(ops::DType dtype) { return ops::is_integer(dtype) && ops::bit_width(dtype) <= 32; }

// The bits of a float, as an integer of its width that a double holds exactly.
std::optional<double> bits_as_integer(double value, ops::DType from, ops::DType to) {
  if (!ops::is_float(from) || !is_narrow_integer(to) || ops::bit_width(from) != ops::bit_width(to)) return std::nullopt;
  ops::Tensor tensor = ops::scalar_tensor(from, value);
  tensor.dtype = to;
  return ops::get_double(tensor, 0);
}

bool is_commutative(std::string_view opcode) {
  for (const std::string_view name : {"add", "multiply", "maximum", "minimum", "and", "or", "xor"})
    if (opcode == name) return true;
  return false;
}

bool same_value(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

}  // namespace

bool Combiner::is_parameter(std::uint32_t instruction, std::size_t number) const {
  return number < names_.parameters.size() && names_.parameters[number] == instruction;
}

std::optional<std::string_view> Combiner::comparison() const {
  const std::vector<std::uint32_t>& operands = names_.operands[body_.root];
  if (names_.parameters.size() != 2 || body_.instructions[body_.root].opcode != "compare" || operands.size() != 2 ||
      !is_parameter(operands[0], 0) || !is_parameter(operands[1], 1))
    return std::nullopt;
  const AttributeReader attributes(module_, body_.instructions[body_.root]);
  const Result<std::string_view> direction = attributes.word("direction");
  if (!direction || attributes.has("type")) return std::nullopt;
  for (const auto& [word, op] : {std::pair{"GE", "ge"}, {"GT", "gt"}, {"LE", "le"}, {"LT", "lt"}})
    if (*direction == word) return op;
  return std::nullopt;
}

bool Combiner::is_second_parameter() const { return is_parameter(body_.root, 1); }

std::optional<ops::DType> Combiner::dtype_of(std::uint32_t instruction) const {
  const Instruction& i = body_.instructions[instruction];
  return i.shape.dims.empty() ? ops::dtype_from_name(i.shape.element_type) : std::nullopt;
}

std::optional<std::vector<Combiner::Step>> Combiner::steps(std::size_t results) const {
  if (names_.parameters.size() != 2 * results) return std::nullopt;
  std::vector<std::uint32_t> roots = {body_.root};
  if (body_.instructions[body_.root].opcode == "tuple") roots = names_.operands[body_.root];
  if (roots.size() != results) return std::nullopt;
  std::vector<Step> found;
  for (std::size_t k = 0; k < results; ++k) {
    std::uint32_t root = roots[k];
    std::optional<ops::DType> rounded;
    // XLA computes in a wider float what the model computes in a narrow one, and rounds: convert(convert(a + b)).
    if (body_.instructions[root].opcode == "convert") {
      const std::uint32_t narrow = names_.operands[root][0];
      if (body_.instructions[narrow].opcode != "convert") return std::nullopt;
      const std::uint32_t wide = names_.operands[narrow][0];
      rounded = dtype_of(narrow);
      if (!rounded || !ops::is_float(*rounded) || dtype_of(wide) != dtype_of(root)) return std::nullopt;
      root = wide;
    }
    const std::string_view opcode = body_.instructions[root].opcode;
    const std::vector<std::uint32_t>& operands = names_.operands[root];
    const ElementwiseOpcode* row = find_elementwise(opcode);
    if (row == nullptr || row->operands != 2 || operands.size() != 2) return std::nullopt;
    const bool straight = is_parameter(operands[0], k) && is_parameter(operands[1], results + k);
    const bool crossed = is_parameter(operands[1], k) && is_parameter(operands[0], results + k);
    if (!straight && !(crossed && is_commutative(opcode))) return std::nullopt;
    found.push_back({opcode, rounded});
  }
  return found;
}

std::optional<std::vector<double>> Combiner::evaluate(const std::vector<double>& parameters) const {
  std::vector<double> values(body_.instructions.size(), 0);
  for (std::size_t i = 0; i < body_.instructions.size(); ++i) {
    if (!names_.live[i]) continue;
    const Instruction& instruction = body_.instructions[i];
    const std::vector<std::uint32_t>& operands = names_.operands[i];
    const AttributeReader attributes(module_, instruction);
    const auto value = [&](std::size_t k) { return values[operands[k]]; };
    const std::string_view opcode = instruction.opcode;
    if (opcode == "parameter") {
      values[i] = parameters[static_cast<std::size_t>(instruction.parameter_number)];
    } else if (opcode == "constant") {
      const auto dtype = ops::dtype_from_name(instruction.shape.element_type);
      if (!dtype || !instruction.shape.dims.empty()) return std::nullopt;
      const Result<Literal> literal = read_literal(module_, instruction.literal, *dtype, {});
      if (!literal || literal->elided) return std::nullopt;
      values[i] = ops::get_double(literal->tensor, 0);
      const bool mask = is_narrow_integer(*dtype) && values[i] == static_cast<double>(all_but_sign(*dtype));
      if (*dtype != ops::DType::kPred && !mask && !is_harmless_constant(values[i])) return std::nullopt;
    } else if (opcode == "compare" && operands.size() == 2) {
      const Result<std::string_view> direction = attributes.word("direction");
      const bool total = attributes.has("type") && attributes.word("type").value() == "TOTALORDER";
      const std::optional<bool> holds = direction ? compare(*direction, total, value(0), value(1)) : std::nullopt;
      if (!holds) return std::nullopt;
      values[i] = *holds ? 1 : 0;
    } else if (opcode == "select" && operands.size() == 3) {
      values[i] = value(0) != 0 ? value(1) : value(2);
    } else if (instruction.shape.element_type == "pred" && opcode == "not" && operands.size() == 1) {
      values[i] = value(0) == 0 ? 1 : 0;
    } else if (instruction.shape.element_type == "pred" && operands.size() == 2 && opcode == "and") {
      values[i] = value(0) != 0 && value(1) != 0 ? 1 : 0;
    } else if (instruction.shape.element_type == "pred" && operands.size() == 2 && opcode == "or") {
      values[i] = value(0) != 0 || value(1) != 0 ? 1 : 0;
    } else if (opcode == "copy" && operands.size() == 1) {
      values[i] = value(0);
    } else if ((opcode == "bitcast" || opcode == "bitcast-convert") && operands.size() == 1) {
      const auto from = dtype_of(operands[0]), to = dtype_of(static_cast<std::uint32_t>(i));
      const std::optional<double> bits = from && to ? bits_as_integer(value(0), *from, *to) : std::nullopt;
      if (!bits) return std::nullopt;
      values[i] = *bits;
    } else if (opcode == "xor" && operands.size() == 2) {
      const auto dtype = dtype_of(static_cast<std::uint32_t>(i));
      if (!dtype || !is_narrow_integer(*dtype)) return std::nullopt;
      values[i] = static_cast<double>(static_cast<std::int64_t>(value(0)) ^ static_cast<std::int64_t>(value(1)));
    } else if (!(opcode == "tuple" && i == body_.root)) {
      return std::nullopt;
    }
  }
  if (body_.instructions[body_.root].opcode != "tuple") return std::vector<double>{values[body_.root]};
  std::vector<double> results;
  for (const std::uint32_t operand : names_.operands[body_.root]) results.push_back(values[operand]);
  return results;
}

bool Combiner::orders(std::size_t operand, bool descending, const std::vector<double>& samples) const {
  bool nan_is_incomparable = true, nan_is_large = true;
  std::vector<double> parameters(names_.parameters.size(), 0);
  for (const double a : samples) {
    for (const double b : samples) {
      parameters[2 * operand] = a;
      parameters[2 * operand + 1] = b;
      const auto result = evaluate(parameters);
      if (!result || result->size() != 1) return false;
      const bool holds = (*result)[0] != 0;
      if (std::isnan(a) || std::isnan(b)) {
        const bool large_first = descending ? std::isnan(a) && !std::isnan(b) : std::isnan(b) && !std::isnan(a);
        nan_is_incomparable &= !holds;
        nan_is_large &= holds == large_first;
      } else if (holds != (descending ? a > b : a < b)) {
        return false;
      }
    }
  }
  return nan_is_incomparable || nan_is_large;
}

std::optional<Combiner::SortOrder> Combiner::sort_order(ops::DType dtype_of_key) const {
  if (body_.instructions.size() > kLargestCombiner) return std::nullopt;
  std::optional<std::size_t> operand;
  for (std::size_t number = 0; number < names_.parameters.size(); ++number) {
    if (!names_.live[names_.parameters[number]]) continue;
    if (operand && *operand != number / 2) return std::nullopt;
    operand = number / 2;
  }
  if (!operand || names_.parameters.size() % 2 != 0) return std::nullopt;
  const std::vector<double> samples = samples_of(dtype_of_key);
  for (const bool descending : {false, true})
    if (orders(*operand, descending, samples)) return SortOrder{*operand, descending};
  return std::nullopt;
}

bool Combiner::reduces(ArgReduction kind, const std::vector<double>& samples) const {
  for (const double a : samples) {
    for (const double b : samples) {
      for (const auto& [i, j] : {std::pair{0.0, 1.0}, std::pair{1.0, 0.0}}) {
        const bool both_nan = std::isnan(a) && std::isnan(b);
        // A reduction keeps indices in order, so which of two NaNs wins against the order is of no account.
        if (both_nan && (i > j) != kind.last) continue;
        const auto result = evaluate({a, i, b, j});
        if (!result || result->size() != 2) return false;
        const bool equal = a == b || both_nan;
        const bool first_wins =
            equal ? (kind.last ? i > j : i < j) : std::isnan(a) || (!std::isnan(b) && (kind.is_max ? a > b : a < b));
        if (!same_value((*result)[0], first_wins ? a : b) || (*result)[1] != (first_wins ? i : j)) return false;
      }
    }
  }
  return true;
}

std::optional<Combiner::ArgReduction> Combiner::arg_reduction(ops::DType value_dtype) const {
  if (body_.instructions.size() > kLargestCombiner || names_.parameters.size() != 4) return std::nullopt;
  const std::vector<double> samples = samples_of(value_dtype);
  for (const bool is_max : {true, false})
    for (const bool last : {false, true})
      if (reduces({is_max, last}, samples)) return ArgReduction{is_max, last};
  return std::nullopt;
}

}  // namespace fusewright::frontend_hlo
