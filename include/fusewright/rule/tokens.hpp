#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace fusewright::rule {

/// One token of a rule file, comments included.
struct Token {
  enum class Kind : std::uint8_t {
    kWord,           ///< a name or keyword; the name of a rule, set or example in one piece ("conv-bn-fold")
    kNumber,         ///< without its sign
    kText,           ///< in quotes
    kMark,           ///< operators, brackets, separators; and any byte that the language has no use for
    kComment,        ///< `#` or `//` up to the end of its line
    kDocumentation,  ///< `///` up to the end of its line
  };
  Kind kind = Kind::kMark;
  std::uint32_t begin = 0, end = 0;  ///< bytes [begin, end) of the text
  std::uint32_t line_ends = 0;       ///< between the token before and this one

  bool comment() const { return kind == Kind::kComment || kind == Kind::kDocumentation; }
  std::string_view text(std::string_view source) const { return source.substr(begin, end - begin); }
};

/// The tokens of any text, whether or not it is a rule file: between them stand only blanks.
std::vector<Token> tokenize(std::string_view source);

/// Whether the language reserves this word, so that nothing can be called so.
bool is_reserved(std::string_view word);

}  // namespace fusewright::rule
