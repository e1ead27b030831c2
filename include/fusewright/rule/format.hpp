#pragma once

#include <string>

#include "fusewright/support/result.hpp"

namespace fusewright::rule {

/// A rule file in its one layout: two blanks for each block, one clause on a line, at most 120 columns where the text
/// can be broken. Tokens stay as they are written, but for separators between clauses, which go; so do all comments,
/// and one blank line wherever there are some. An example (`test`, `reject`) stays on one line where it was written on
/// one and fits. Formatting what was formatted changes nothing.
/// Errors: those of parsing; the text is then not touched. That the result means the same (equal tokens, equal syntax
/// tree, equal comments) is verified before it is returned; were it otherwise, the error says so (kCheckFailed).
Result<std::string> format_rules(const SourcePtr& source);

}  // namespace fusewright::rule
