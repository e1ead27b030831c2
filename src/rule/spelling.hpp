#pragma once

#include <string>

namespace fusewright::rule {

/// "did you mean 'f32'?" for a name that other languages give a dtype, or one that is near; else empty.
std::string dtype_meant(const std::string& word);
/// "did you mean 'to'?" for a word by which others begin a clause; else empty.
std::string clause_meant(const std::string& word);

}  // namespace fusewright::rule
