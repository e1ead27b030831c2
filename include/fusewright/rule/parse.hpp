#pragma once

#include <string>

#include "fusewright/rule/ast.hpp"
#include "fusewright/support/result.hpp"

namespace fusewright::rule {

/// Parses one rule file (see grammar/LANGUAGE.md). Errors: the first place where the text stops to be a rule file, with
/// what was expected there.
Result<ast::File> parse_rules(const SourcePtr& source);

/// The file in canonical layout, without comments (documentation stays). Parsing it gives an equal file.
std::string print_rules(const ast::File& file);

/// A pattern as a rule author writes it.
std::string print_pattern(const ast::Pattern& pattern);

}  // namespace fusewright::rule
