#include "fusewright/rule/tokens.hpp"

#include <algorithm>

namespace fusewright::rule {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_word(char c) { return is_letter(c) || is_digit(c); }
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f'; }

// Behind these stands a name in kebab-case; so do the lint of `allow(...)` and
// the targets of `requires target(...)`.
constexpr std::string_view kNamed[] = {"rewrite", "fuse", "ruleset", "test", "reject"};
// The longer ones first.
constexpr std::string_view kMarks[] = {"...", "..", "|>", "->", "**", "//", "==", "!=", "<=", ">=", "??"};

class Tokenizer {
 public:
  explicit Tokenizer(std::string_view text) : text_(text) {}

  std::vector<Token> run() {
    if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;
    for (bool line_start = true; skip_blanks(line_start); line_start = false) {
      const std::size_t begin = at_;
      const Token::Kind kind = take(line_start);
      tokens_.push_back({kind, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(at_), line_ends_});
      line_ends_ = 0;
    }
    return std::move(tokens_);
  }

 private:
  bool skip_blanks(bool& line_start) {
    for (; at_ < text_.size() && is_blank(text_[at_]); ++at_) {
      if (text_[at_] == '\n') ++line_ends_;
      // Only these may stand in front of a `//` that is a comment.
      line_start = text_[at_] == '\n' || (line_start && (text_[at_] == ' ' || text_[at_] == '\t'));
    }
    return at_ < text_.size();
  }

  Token::Kind take(bool line_start) {
    const char c = text_[at_];
    if (starts("///")) return take_line(Token::Kind::kDocumentation);
    if (c == '#' || (line_start && starts("//"))) return take_line(Token::Kind::kComment);
    if (c == '"') {
      const std::size_t end = text_.find_first_of("\"\n", at_ + 1);
      at_ = end == std::string_view::npos ? text_.size() : end + (text_[end] == '"' ? 1 : 0);
      return Token::Kind::kText;
    }
    if (is_letter(c)) {
      take_word();
      return Token::Kind::kWord;
    }
    if (is_digit(c)) {
      take_number();
      return Token::Kind::kNumber;
    }
    for (const std::string_view mark : kMarks) {
      if (!starts(mark)) continue;
      at_ += mark.size();
      return Token::Kind::kMark;
    }
    ++at_;
    while (at_ < text_.size() && (static_cast<unsigned char>(c) & 0x80) != 0 &&
           (static_cast<unsigned char>(text_[at_]) & 0xc0) == 0x80)
      ++at_;  // the rest of a letter that takes several bytes
    return Token::Kind::kMark;
  }

  bool starts(std::string_view part) const { return text_.substr(at_).starts_with(part); }

  Token::Kind take_line(Token::Kind kind) {
    std::size_t end = std::min(text_.find('\n', at_), text_.size());
    at_ = end;
    while (is_blank(text_[at_ - 1])) --at_;
    return kind;
  }

  void take_word() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    if (text_.substr(begin, at_ - begin) == "because" || !is_hyphenated()) return;
    while (at_ + 1 < text_.size() && text_[at_] == '-' && is_word(text_[at_ + 1]))
      for (++at_; at_ < text_.size() && is_word(text_[at_]);) ++at_;
  }

  /// Whether names may hold hyphens behind the tokens before.
  bool is_hyphenated() const {
    std::size_t last = tokens_.size();
    const auto before = [&]() -> std::string_view {
      while (last > 0 && tokens_[last - 1].comment()) --last;
      return last == 0 ? std::string_view() : tokens_[--last].text(text_);
    };
    std::string_view word = before();
    if (std::find(std::begin(kNamed), std::end(kNamed), word) != std::end(kNamed)) return true;
    while (word == ",") before(), word = before();
    if (word != "(") return false;
    word = before();
    return word == "allow" || (word == "target" && before() == "requires");
  }

  void take_number() {
    const auto digits = [&] {
      while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
    };
    digits();
    if (at_ + 1 < text_.size() && text_[at_] == '.' && is_digit(text_[at_ + 1])) ++at_, digits();
    if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
      const bool sign = at_ + 1 < text_.size() && (text_[at_ + 1] == '+' || text_[at_ + 1] == '-');
      const std::size_t exponent = at_ + (sign ? 2 : 1);
      if (exponent < text_.size() && is_digit(text_[exponent])) at_ = exponent, digits();
    }
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::uint32_t line_ends_ = 0;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokenize(std::string_view source) { return Tokenizer(source).run(); }

bool is_reserved(std::string_view word) {
  constexpr std::string_view kReserved[] = {"include", "ruleset", "opclass", "op",     "rewrite", "fuse", "match",
                                            "where",   "let",     "test",    "reject", "if",      "else", "and",
                                            "or",      "not",     "in",      "as",     "along",   "fold", "true",
                                            "false",   "inf",     "to",      "_"};
  return std::find(std::begin(kReserved), std::end(kReserved), word) != std::end(kReserved);
}

}  // namespace fusewright::rule
