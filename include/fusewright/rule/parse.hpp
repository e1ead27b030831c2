#pragma once

#include <string>

#include "fusewright/rule/ast.hpp"
#include "fusewright/support/result.hpp"

namespace fusewright::rule {

/// What could be read of a rule file, and where it stops to be one. After a syntax error reading goes on at the next
/// declaration; there are at most 20 such errors of one file.
struct Parsed {
  ast::File file;
  std::vector<Diagnostic> errors;
};
Parsed parse_declarations(const SourcePtr& source);

/// Parses a whole rule file (see grammar/LANGUAGE.md). Errors: those of `parse_declarations`, each with its place and
/// what was expected there.
Result<ast::File> parse_rules(const SourcePtr& source);

/// The file in canonical layout, without comments (documentation stays). Parsing it gives an equal file.
std::string print_rules(const ast::File& file);

/// A pattern as a rule author writes it.
std::string print_pattern(const ast::Pattern& pattern);

}  // namespace fusewright::rule
