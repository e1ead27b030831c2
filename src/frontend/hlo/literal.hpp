#pragma once

#include "fusewright/frontend/hlo/ast.hpp"
#include "fusewright/ops/tensor.hpp"
#include "fusewright/support/result.hpp"

namespace fusewright::frontend_hlo {

struct Literal {
  ops::Tensor tensor;   ///< without storage where the values were left out
  bool elided = false;  ///< written `{...}`: the values are not in the text
};

/// Reads a literal as a tensor of this type.
/// Errors: malformed text, braces or counts that do not fit the shape, a number that the dtype cannot hold, complex
/// numbers.
Result<Literal> read_literal(const Module& module, std::string_view text, ops::DType dtype,
                             const std::vector<std::int64_t>& dims);

/// One number as HLO text writes it, so that reading it gives the same bits ("-inf", "nan", "1.5", "true").
std::string print_scalar(const ops::Tensor& tensor, std::int64_t index);
/// A whole tensor: nested braces, a scalar bare. Above `most_elements` it is elided as `{...}`.
std::string print_literal(const ops::Tensor& tensor, std::int64_t most_elements);

}  // namespace fusewright::frontend_hlo
