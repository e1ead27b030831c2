#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "fusewright/rule/tokens.hpp"

namespace fusewright::rule {

/// A token that is no comment, with the comments that go where it goes.
struct Piece {
  struct Comment {
    std::string_view text;
    std::uint32_t line_ends = 0;  ///< in front of it
  };
  std::string_view text;
  Token::Kind kind = Token::Kind::kMark;
  std::vector<Comment> above;   ///< in front of it, each on a line of its own
  std::string_view behind;      ///< on its line
  std::uint32_t line_ends = 0;  ///< in front of it, behind the comments
  std::size_t partner = 0;      ///< of a bracket: where the other one stands (0: nowhere)
  bool space_before = false;    ///< where it is not the first on its line

  bool is(std::string_view word) const { return text == word; }
  bool opens() const { return kind == Token::Kind::kMark && (is("(") || is("[") || is("{")); }
  bool closes() const { return kind == Token::Kind::kMark && (is(")") || is("]") || is("}")); }
  bool is_word() const { return kind == Token::Kind::kWord; }
  bool starts_line() const { return line_ends > 0 || !above.empty(); }
};

/// The pieces of a text; the last one is empty and holds the comments at the end of the file.
std::vector<Piece> pieces_of(std::string_view source);
void match_brackets(std::vector<Piece>& pieces);
/// Decides where blanks stand within [begin, end), one clause or header. In a chain of segments `*` and `+` are bounds.
void space_out(std::vector<Piece>& pieces, std::size_t begin, std::size_t end, bool chain = false);
/// Whether an operand can end with this piece, so that what follows is an operator.
bool ends_operand(const Piece& piece);

/// Lines of text, made of pieces.
class LineWriter {
 public:
  static constexpr std::size_t kWidth = 120;

  explicit LineWriter(std::vector<Piece>& pieces) : pieces_(pieces) {}

  /// Begins a line.
  void line(std::size_t indent);
  /// Begins the line of piece i, below its comments and the blank lines around them; the first in a block has no blank
  /// line in front.
  void line_of(std::size_t i, std::size_t indent, bool first);
  /// Pieces [begin, end) from here on, broken where they do not fit: lines that continue begin at `below`, and `behind`
  /// columns are left at the end.
  void put(std::size_t begin, std::size_t end, std::size_t below, std::size_t behind = 0);
  /// Two blanks, between clauses on one line.
  void gap();
  /// Columns that the pieces take on one line; nothing fits where a comment among them ends a line.
  std::size_t width(std::size_t begin, std::size_t end) const;
  std::size_t column() const { return column_; }
  /// Whether a comment ended the line.
  bool ended() const { return ended_; }
  std::string take() { return std::move(out_); }

 private:
  void write(std::string_view text);
  void put_piece(std::size_t i, std::size_t below);
  /// Those in front of a piece, each on a line, and the line that the piece begins.
  void comments_above(std::size_t i, std::size_t below);
  void put_brackets(std::size_t begin, std::size_t end, std::size_t below, std::size_t behind);
  std::vector<std::size_t> split(std::size_t begin, std::size_t end) const;

  std::vector<Piece>& pieces_;
  std::string out_;
  std::size_t column_ = 0, indent_ = 0;
  bool fresh_ = true;   ///< nothing stands on the line yet
  bool ended_ = false;  ///< a comment ends the line
};

}  // namespace fusewright::rule
