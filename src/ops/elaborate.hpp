#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fusewright/ops/expr.hpp"

namespace fusewright::ops {

/// Types of a composite's results: its body elaborated on types alone.
Result<std::vector<Type>> infer_composite(const OpTable& table, OpId op, std::span<const Type> operands,
                                          const Attrs& attrs);

/// A call of a built-in function, arguments evaluated; those left out at the end are nothing.
struct FunctionCall {
  const OpTable& table;
  TermBuilder& builder;
  std::vector<EnvValue> args;
};
struct Function {
  const char* name;
  std::vector<const char*> parameters;
  std::size_t needed;  ///< parameters that may not be left out
  Result<EnvValue> (*run)(FunctionCall& call);
};
/// Null when there is none of that name.
const Function* find_function(std::string_view name);
const std::vector<Function>& functions();

/// A rank-0 tensor of that number, rounded once; an error where the dtype cannot hold it.
Result<TensorHandle> number_tensor(DType dtype, const AttrValue& number);
/// A node of operator `constant`.
Result<TermValue> constant_term(const OpTable& table, TermBuilder& builder, TensorHandle tensor, const Span& span);

}  // namespace fusewright::ops
