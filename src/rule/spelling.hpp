#pragma once

#include <string>
#include <vector>

namespace fusewright::rule {

/// Ours for a name that other languages give a dtype: "f32" for `float32`; else empty.
std::string dtype_of_others(const std::string& word);
/// "did you mean 'f32'?" for such a name, or one that is near; else empty.
std::string dtype_meant(const std::string& word);
/// "did you mean 'to'?" for a word by which others begin a clause; else empty.
std::string clause_meant(const std::string& word);
/// The same for a name that frameworks give an operator: "the operator is named 'dot'" for `MatMul`. `known` has the
/// names that there are.
std::string operator_meant(const std::string& word, const std::vector<std::string>& known);
/// The same for an attribute that an operator does not have: `dim` for `axis`. `known` has those that it has.
std::string attr_meant(const std::string& word, const std::vector<std::string>& known);
/// The same for the kind of an attribute: `int` for `integer`.
std::string kind_meant(const std::string& word, const std::vector<std::string>& known);
/// "write rank(x)" for `x.ndim`, and for functions of ours; else empty.
std::string member_meant(const std::string& tensor, const std::string& word);

}  // namespace fusewright::rule
