#pragma once

#include <catch2/catch.hpp>

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "fusewright/interpret/evaluate.hpp"

// Small tensors and single nodes for the tests of the evaluator.
namespace fusewright::interpret::testing {

using graph::Builder;
using graph::Graph;
using graph::Value;
using ops::Attrs;
using ops::AttrValue;
using ops::DType;
using ops::Shape;
using ops::Tensor;
using ops::Type;

using Ints = std::vector<std::int64_t>;
using Numbers = std::vector<double>;

inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInf = std::numeric_limits<double>::infinity();

inline std::shared_ptr<const ops::OpTable> table() {
  static const auto shared = std::make_shared<const ops::OpTable>(ops::OpTable::builtin());
  return shared;
}

inline Tensor tensor(DType dtype, Ints dims, const Numbers& values) {
  Tensor out = ops::make_tensor(dtype, std::move(dims)).value();
  REQUIRE(out.elements() == static_cast<std::int64_t>(values.size()));
  for (std::size_t i = 0; i < values.size(); ++i) ops::set_double(out, static_cast<std::int64_t>(i), values[i]);
  return out;
}
inline Tensor vec(DType dtype, const Numbers& values) {
  return tensor(dtype, {static_cast<std::int64_t>(values.size())}, values);
}
inline Tensor integers(DType dtype, Ints dims, const Ints& values) {
  Tensor out = ops::make_tensor(dtype, std::move(dims)).value();
  REQUIRE(out.elements() == static_cast<std::int64_t>(values.size()));
  for (std::size_t i = 0; i < values.size(); ++i) ops::set_int(out, static_cast<std::int64_t>(i), values[i]);
  return out;
}
inline Tensor ints(DType dtype, const Ints& values) {
  return integers(dtype, {static_cast<std::int64_t>(values.size())}, values);
}
/// 0, 1, 2, ... each modulo `modulus`, minus `shift`.
inline Tensor counting(DType dtype, const Ints& dims, std::int64_t modulus, std::int64_t shift) {
  Tensor out = ops::make_tensor(dtype, dims).value();
  for (std::int64_t i = 0; i < out.elements(); ++i) ops::set_int(out, i, i % modulus - shift);
  return out;
}

inline Numbers numbers(const Tensor& tensor) {
  Numbers out;
  for (std::int64_t i = 0; i < tensor.elements(); ++i) out.push_back(ops::get_double(tensor, i));
  return out;
}
inline Ints whole(const Tensor& tensor) {
  Ints out;
  for (std::int64_t i = 0; i < tensor.elements(); ++i) out.push_back(ops::get_int(tensor, i));
  return out;
}

/// Equal numbers with equal signs of zero; NaN equals NaN.
inline bool same(const Numbers& a, const Numbers& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    if (a[i] != b[i] || std::signbit(a[i]) != std::signbit(b[i])) return false;
  }
  return true;
}

inline Result<std::vector<Tensor>> try_node(const std::string& op, const std::vector<Tensor>& operands,
                                            const Attrs& attrs = {}) {
  return evaluate_node(*table(), table()->require(op), operands, attrs);
}
inline std::vector<Tensor> nodes(const std::string& op, const std::vector<Tensor>& operands, const Attrs& attrs = {}) {
  auto result = try_node(op, operands, attrs);
  INFO(op << ": " << (result ? "" : print_error(result.error())));
  REQUIRE(result.has_value());
  return *result;
}
inline Tensor node(const std::string& op, const std::vector<Tensor>& operands, const Attrs& attrs = {}) {
  return nodes(op, operands, attrs)[0];
}

template <class T>
T get(Result<T> result) {
  INFO((result ? "" : print_error(result.error())));
  REQUIRE(result.has_value());
  return *std::move(result);
}
/// The message of the first diagnostic; "" when there is no error.
template <class T>
std::string message(const Result<T>& result) {
  return result ? "" : result.error().diagnostics[0].message;
}

}  // namespace fusewright::interpret::testing
