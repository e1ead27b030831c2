#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fusewright/ops/op_table.hpp"

/// What the words of the language mean, in a line each.
namespace fusewright::lsp {

struct Word {
  std::string_view name, meaning;
};
const std::vector<Word>& keywords();
const std::vector<Word>& exactness_classes();
const std::vector<Word>& templates();
const std::vector<Word>& targets();
const std::vector<Word>& axis_roles();
/// Functions and guards; their parameters are those of ops::function_signatures and of the rule room's queries.
const std::vector<Word>& functions();
std::optional<std::string_view> meaning_in(const std::vector<Word>& words, std::string_view name);

/// `broadcasts_to(x, shape)`; empty where there is no such function.
std::string function_signature(std::string_view name);
/// `dot(a, b; lhs_batch = [], ..., dtype: dtype) -> (out)`.
std::string signature(const ops::OpInfo& op);
/// What a built-in operator computes and the shape of its result; empty where the table has no words for it.
std::string built_in_meaning(const ops::OpInfo& op);

}  // namespace fusewright::lsp
