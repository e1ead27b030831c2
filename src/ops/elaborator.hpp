#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fusewright/ops/expr.hpp"
#include "src/ops/elaborate.hpp"

namespace fusewright::ops {

// One operand of an operator: `along` holds the axes of the result that it lies along, where that was written.
struct Argument {
  EnvValue value;
  std::optional<std::vector<std::int64_t>> along;
};

// Values of one name that are several: a variadic operand, or a call with several results.
struct Several {
  OpId op;  // invalid for operands
  std::vector<TermValue> values;
};

inline bool is_tensor(const EnvValue& value) { return std::holds_alternative<TermValue>(value); }
inline bool is_absent(const EnvValue& value) { return std::holds_alternative<std::monostate>(value); }
inline const AttrValue* attr_of(const EnvValue& value) { return std::get_if<AttrValue>(&value); }

template <class T>
Result<T> at(Result<T> result, const Span& span) {
  if (!result) return std::unexpected(with_place(std::move(result).error(), span));
  return result;
}

/// A failure that suggests the candidate nearest to `word`.
std::unexpected<Error> fail_near(std::string message, const Span& span, std::string_view word,
                                 const std::vector<std::string>& candidates);

/// Evaluates expressions with one environment: elaborate.cpp has the values, elaborate_call.cpp the calls and operands.
class Elaborator {
 public:
  Elaborator(const OpTable& table, const Env& env, TermBuilder& builder)
      : table_(table), env_(env), builder_(builder) {}

  Result<EnvValue> eval(const Expr& expr);
  Result<std::vector<TermValue>> eval_body(const OpInfo& op);
  void bind(const std::string& name, EnvValue value) { local_.insert_or_assign(name, std::move(value)); }
  void bind_several(const std::string& name, Several several) { several_.insert_or_assign(name, std::move(several)); }

 private:
  Result<EnvValue> eval_kind(const Expr& expr);
  Result<EnvValue> eval_name(const Expr& expr);
  Result<EnvValue> eval_list(const Expr& expr);
  Result<EnvValue> eval_unary(const Expr& expr);
  Result<EnvValue> eval_binary(const Expr& expr);
  Result<EnvValue> eval_logical(const Expr& expr);
  Result<EnvValue> eval_index(const Expr& expr);
  Result<EnvValue> eval_slice(const Expr& expr);
  Result<EnvValue> eval_result(const Expr& expr);
  Result<EnvValue> eval_conditional(const Expr& expr);
  Result<EnvValue> eval_call(const Expr& expr);
  Result<EnvValue> eval_function(const Function& function, const Expr& expr, const std::vector<Argument>& arguments);
  Result<EnvValue> eval_query(const Expr& expr, const std::vector<Argument>& arguments);
  Result<AttrValue> eval_attr(const Expr& expr);
  Result<Argument> eval_argument(const Expr& expr);
  Result<std::vector<Argument>> eval_arguments(const Expr& expr);

  // Calls of operators.
  bool calls_operator(const Expr& expr, const std::vector<Argument>& arguments) const;
  Result<std::vector<TermValue>> call_operator(const Expr& expr, std::vector<Argument> arguments);
  Result<Attrs> read_named(const Expr& expr, const OpInfo& op, std::vector<Argument>& arguments);
  Result<std::vector<TermValue>> apply(OpId op, const std::vector<Argument>& arguments, const Attrs& attrs,
                                       const Span& span);
  Result<TermValue> operand_term(const OpInfo& op, std::size_t position, const Argument& argument,
                                 const std::vector<Argument>& arguments, const Span& span);
  Result<DType> literal_dtype(const OpInfo& op, std::size_t position, const std::vector<Argument>& arguments) const;
  Result<Shape> common_shape(const OpInfo& op, const std::vector<Argument>& arguments) const;
  Result<TermValue> place_along(TermValue value, std::vector<std::int64_t> axes, const Shape& shape, const Span& span);

  // Null when nothing has that name.
  const EnvValue* find(const std::string& name) const {
    if (const auto bound = local_.find(name); bound != local_.end()) return &bound->second;
    const auto bound = env_.find(name);
    return bound == env_.end() ? nullptr : &bound->second;
  }

  const OpTable& table_;
  const Env& env_;
  Env local_;  // operands, attributes and lets of a body
  TermBuilder& builder_;
  std::map<std::string, Several> several_;
  int depth_ = 0;
};

}  // namespace fusewright::ops
