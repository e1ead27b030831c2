#pragma once

#include <string>
#include <vector>

namespace fusewright::rule {

/// "did you mean 'f32'?" for a name that other languages give a dtype, or one that is near; else empty.
std::string dtype_meant(const std::string& word);
/// "did you mean 'to'?" for a word by which others begin a clause; else empty.
std::string clause_meant(const std::string& word);
/// The same for a name that frameworks give an operator: "the operator is named 'dot'" for `MatMul`. `known` has the
/// names that there are.
std::string operator_meant(const std::string& word, const std::vector<std::string>& known);

}  // namespace fusewright::rule
