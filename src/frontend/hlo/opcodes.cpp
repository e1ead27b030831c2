#include "src/frontend/hlo/opcodes.hpp"

#include <unordered_map>
#include <utility>

#include "src/frontend/hlo/handlers.hpp"

namespace fusewright::frontend_hlo {

namespace {

using Words = std::vector<std::pair<std::string_view, std::string_view>>;

// What is said after "is not supported: ".
const Words& unsupported() {
  static const Words words = {
      {"all-gather", "a collective"},
      {"all-gather-start", "a collective"},
      {"all-gather-done", "a collective"},
      {"all-reduce", "a collective"},
      {"all-reduce-start", "a collective"},
      {"all-reduce-done", "a collective"},
      {"all-to-all", "a collective"},
      {"ragged-all-to-all", "a collective"},
      {"collective-broadcast", "a collective"},
      {"collective-permute", "a collective"},
      {"collective-permute-start", "a collective"},
      {"collective-permute-done", "a collective"},
      {"reduce-scatter", "a collective"},
      {"partition-id", "it belongs to programs over several devices"},
      {"replica-id", "it belongs to programs over several devices"},
      {"async-start", "asynchronous execution"},
      {"async-update", "asynchronous execution"},
      {"async-done", "asynchronous execution"},
      {"send", "communication"},
      {"send-done", "communication"},
      {"recv", "communication"},
      {"recv-done", "communication"},
      {"infeed", "communication"},
      {"outfeed", "communication"},
      {"complex", "complex numbers"},
      {"real", "complex numbers"},
      {"imag", "complex numbers"},
      {"fft", "complex numbers"},
      {"batch-norm-training", "decompose it"},
      {"batch-norm-grad", "decompose it"},
      {"cholesky", "a matrix decomposition"},
      {"triangular-solve", "a matrix decomposition"},
      {"rng-get-and-update-state", "hidden random state"},
      {"stochastic-convert", "random rounding"},
      {"set-dimension-size", "dynamic dimensions"},
      {"dynamic-reshape", "dynamic dimensions"},
      {"ragged-dot", "ragged contraction"},
      {"scaled-dot", "scaled contraction"},
      {"scan", "a general scan"},
  };
  return words;
}

}  // namespace

const std::vector<ElementwiseOpcode>& elementwise_opcodes() {
  static const std::vector<ElementwiseOpcode> opcodes = {
      {"abs", "abs", 1},
      {"negate", "neg", 1},
      {"sign", "sign", 1},
      {"exponential", "exp", 1},
      {"exponential-minus-one", "expm1", 1},
      {"log", "log", 1},
      {"log-plus-one", "log1p", 1},
      {"sqrt", "sqrt", 1},
      {"rsqrt", "rsqrt", 1},
      {"cbrt", "cbrt", 1},
      {"sine", "sin", 1},
      {"cosine", "cos", 1},
      {"tan", "tan", 1},
      {"asin", "asin", 1},
      {"acos", "acos", 1},
      {"sinh", "sinh", 1},
      {"cosh", "cosh", 1},
      {"tanh", "tanh", 1},
      {"asinh", "asinh", 1},
      {"acosh", "acosh", 1},
      {"atanh", "atanh", 1},
      {"logistic", "logistic", 1},
      {"erf", "erf", 1},
      {"floor", "floor", 1},
      {"ceil", "ceil", 1},
      {"round-nearest-even", "round_even", 1},
      {"round-nearest-afz", "round_away", 1},
      {"not", "not", 1},
      {"popcnt", "popcount", 1},
      {"count-leading-zeros", "clz", 1},
      {"is-finite", "is_finite", 1},
      {"add", "add", 2},
      {"subtract", "sub", 2},
      {"multiply", "mul", 2},
      {"divide", "div", 2},
      {"remainder", "rem", 2},
      {"power", "pow", 2},
      {"maximum", "max", 2},
      {"minimum", "min", 2},
      {"atan2", "atan2", 2},
      {"and", "and", 2},
      {"or", "or", 2},
      {"xor", "xor", 2},
      {"shift-left", "shl", 2},
      {"shift-right-arithmetic", "shr_arithmetic", 2},
      {"shift-right-logical", "shr_logical", 2},
  };
  return opcodes;
}

const ElementwiseOpcode* find_elementwise(std::string_view opcode) {
  static const auto by_opcode = [] {
    std::unordered_map<std::string_view, const ElementwiseOpcode*> map;
    for (const ElementwiseOpcode& row : elementwise_opcodes()) map.emplace(row.opcode, &row);
    return map;
  }();
  const auto at = by_opcode.find(opcode);
  return at == by_opcode.end() ? nullptr : at->second;
}

const ElementwiseOpcode* find_elementwise_op(std::string_view op) {
  static const auto by_op = [] {
    std::unordered_map<std::string_view, const ElementwiseOpcode*> map;
    for (const ElementwiseOpcode& row : elementwise_opcodes()) map.emplace(row.op, &row);
    return map;
  }();
  const auto at = by_op.find(op);
  return at == by_op.end() ? nullptr : at->second;
}

std::string_view unsupported_opcode(std::string_view opcode) {
  for (const auto& [name, why] : unsupported())
    if (name == opcode) return why;
  return {};
}

std::string_view logical_opcode(std::string_view opcode) {
  if (opcode == "add" || opcode == "maximum") return "or";
  if (opcode == "multiply" || opcode == "minimum") return "and";
  return opcode;
}

std::string_view reduction_suffix(std::string_view opcode) {
  static const Words suffixes = {{"add", "sum"},     {"multiply", "prod"}, {"maximum", "max"},
                                 {"minimum", "min"}, {"and", "and"},       {"or", "or"}};
  for (const auto& [name, suffix] : suffixes)
    if (name == opcode) return suffix;
  return {};
}

std::vector<std::string> known_opcodes() {
  std::vector<std::string> names = handled_opcodes();
  for (const ElementwiseOpcode& row : elementwise_opcodes()) names.emplace_back(row.opcode);
  for (const auto& [name, why] : unsupported()) names.emplace_back(name);
  return names;
}

}  // namespace fusewright::frontend_hlo
