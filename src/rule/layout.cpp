#include "src/rule/layout.hpp"

#include <algorithm>
#include <initializer_list>
#include <utility>

namespace fusewright::rule {

namespace {

bool one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// Letters, each as wide as any other.
std::size_t columns(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

/// Comments between two tokens go with the one behind them, but for one on the line of the token in front.
void add_comment(std::vector<Piece>& pieces, const Token& token, std::string_view text, Piece& next) {
  const bool behind = token.kind == Token::Kind::kComment && token.line_ends == 0 && !pieces.empty() &&
                      next.above.empty() && pieces.back().behind.empty();
  if (behind)
    pieces.back().behind = text;
  else
    next.above.push_back({text, token.line_ends});
}

}  // namespace

std::vector<Piece> pieces_of(std::string_view source) {
  std::vector<Piece> pieces;
  Piece next;
  for (const Token& token : tokenize(source)) {
    if (token.comment()) {
      add_comment(pieces, token, token.text(source), next);
      continue;
    }
    next.text = token.text(source);
    next.kind = token.kind;
    next.line_ends = token.line_ends;
    pieces.push_back(std::exchange(next, {}));
  }
  pieces.push_back(std::move(next));
  return pieces;
}

void match_brackets(std::vector<Piece>& pieces) {
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (pieces[i].opens()) {
      open.push_back(i);
    } else if (pieces[i].closes() && !open.empty()) {
      pieces[i].partner = open.back();
      pieces[open.back()].partner = i;
      open.pop_back();
    }
  }
}

bool ends_operand(const Piece& piece) {
  switch (piece.kind) {
    case Token::Kind::kWord: return !is_reserved(piece.text) || one_of(piece.text, {"true", "false", "inf", "_"});
    case Token::Kind::kNumber:
    case Token::Kind::kText: return true;
    case Token::Kind::kMark: return piece.closes() || one_of(piece.text, {"?", "..."});
    default: return false;
  }
}

namespace {

/// Which blanks stand within one clause: two tokens stand apart unless the left one holds the right one or is held by
/// it.
class Spacing {
 public:
  Spacing(std::vector<Piece>& pieces, std::size_t begin, std::size_t end, bool chain)
      : p_(pieces), begin_(begin), end_(end), chain_(chain) {}

  void run() {
    for (at_ = begin_; at_ < end_; ++at_) {
      Piece& piece = p_[at_];
      Sides sides = sides_of(piece);
      piece.space_before = sides.left && right_;
      right_ = sides.right;
      was_operand_ = std::exchange(operand_, sides.operand);
      if (piece.opens()) open_.push_back(at_);
      if (piece.closes() && !open_.empty()) open_.pop_back();
    }
  }

 private:
  struct Sides {
    bool left = true, right = true;  ///< whether a blank may stand there
    bool operand = false;            ///< an operator can follow
  };

  Sides sides_of(const Piece& piece) const {
    if (piece.kind != Token::Kind::kMark) return {true, true, ends_operand(piece) && !is_because(piece)};
    if (piece.closes()) return {is_fold_brace(piece.partner), true, true};
    if (piece.opens()) return {stands_apart(piece), is_fold_brace(at_), false};
    if (piece.is(".")) return {false, false, false};
    if (piece.is(",")) return {false, !(in("{") && is_bounds(open_.back())), false};
    if (piece.is(":")) return {false, !in("["), false};
    if (one_of(piece.text, {";", "?", "..."})) return {false, true, !piece.is(";")};
    if (one_of(piece.text, {"~", ".."}) || (piece.is("-") && !operand_)) return {true, false, false};
    if (chain_ && open_.empty() && one_of(piece.text, {"*", "+"})) return {false, true, true};
    return {};
  }

  bool stands_apart(const Piece& piece) const {
    if (at_ == begin_) return true;
    const Piece& before = p_[at_ - 1];
    if (piece.is("{")) return before.is("times") || !is_bounds(at_);
    if (piece.is("[")) return !operand_ || is_optional_part(piece);
    if (before.is("fold")) return false;
    // Both the word of a condition and the name of an operator; its author knows which.
    if (before.is("not")) return before.text.end() != piece.text.begin();
    if (one_of(before.text, {"and", "or"}) && !was_operand_) return false;
    return !operand_;
  }

  bool in(std::string_view bracket) const { return !open_.empty() && p_[open_.back()].is(bracket); }
  bool is_bounds(std::size_t i) const { return i + 1 < end_ && p_[i + 1].kind == Token::Kind::kNumber; }
  bool is_fold_brace(std::size_t i) const { return i > begin_ && p_[i].is("{") && p_[i - 1].is("fold"); }
  /// [+ bias]? against x[-1].
  bool is_optional_part(const Piece& open) const {
    return open.partner != 0 && open.partner + 1 < end_ && p_[open.partner + 1].is("?");
  }
  /// In the head of an example.
  bool is_because(const Piece& piece) const {
    return piece.is("because") && one_of(p_[begin_].text, {"test", "reject"}) && open_.empty();
  }

  std::vector<Piece>& p_;
  std::size_t begin_, end_;
  bool chain_;
  std::size_t at_ = 0;
  bool right_ = true, operand_ = false, was_operand_ = false;
  std::vector<std::size_t> open_;
};

/// How loosely an operator binds, from the loosest (1) on; 0 for what lines are never broken at.
int looseness(const Piece& piece) {
  if (piece.kind == Token::Kind::kText || piece.kind == Token::Kind::kNumber) return 0;
  static constexpr std::initializer_list<std::string_view> kLevels[] = {
      {",", ";"}, {"|>"},     {"if", "else"},       {"or"}, {"and"}, {"==", "!=", "<", "<=", ">", ">=", "in"}, {"??"},
      {"|"},      {"+", "-"}, {"*", "/", "//", "%"}};
  int level = 1;
  for (const auto& words : kLevels) {
    if (one_of(piece.text, words)) return level;
    ++level;
  }
  return 0;
}

}  // namespace

void space_out(std::vector<Piece>& pieces, std::size_t begin, std::size_t end, bool chain) {
  Spacing(pieces, begin, end, chain).run();
}

void LineWriter::write(std::string_view text) {
  if (fresh_) out_.append(indent_, ' ');
  fresh_ = false;
  out_ += text;
  column_ += columns(text);
}

void LineWriter::line(std::size_t indent) {
  if (!fresh_) out_ += '\n';
  fresh_ = true;
  ended_ = false;
  indent_ = column_ = indent;
}

void LineWriter::line_of(std::size_t i, std::size_t indent, bool first) {
  Piece& piece = pieces_[i];
  const auto begin = [&](std::uint32_t line_ends) {
    line(indent);
    if (line_ends > 1 && !first) out_ += '\n';
    first = false;
  };
  for (const Piece::Comment& comment : std::exchange(piece.above, {})) {
    begin(comment.line_ends);
    write(comment.text);
  }
  begin(piece.line_ends);
}

void LineWriter::gap() { write("  "); }

std::size_t LineWriter::width(std::size_t begin, std::size_t end) const {
  std::size_t sum = 0;
  for (std::size_t i = begin; i < end; ++i) {
    const Piece& piece = pieces_[i];
    if (!piece.above.empty() || (!piece.behind.empty() && i + 1 < end)) return kWidth + 1;
    sum += columns(piece.text) + (i > begin && piece.space_before ? 1 : 0);
  }
  return sum;
}

void LineWriter::comments_above(std::size_t i, std::size_t below) {
  const std::vector<Piece::Comment> above = std::exchange(pieces_[i].above, {});
  for (const Piece::Comment& comment : above) {
    line(below);
    write(comment.text);
  }
  if (!above.empty()) line(below);
}

void LineWriter::put_piece(std::size_t i, std::size_t below) {
  Piece& piece = pieces_[i];
  comments_above(i, below);
  if (ended_)
    line(below);
  else if (!fresh_ && piece.space_before)
    write(" ");
  write(piece.text);
  if (piece.behind.empty()) return;
  write("  ");
  write(piece.behind);
  ended_ = true;
}

void LineWriter::put(std::size_t begin, std::size_t end, std::size_t below, std::size_t behind) {
  if (begin >= end) return;
  comments_above(begin, below);
  const auto fits = [&](std::size_t first, std::size_t last, std::size_t rest) {
    return column_ + (!fresh_ && pieces_[first].space_before ? 1 : 0) + width(first, last) + rest <= kWidth;
  };
  if (fits(begin, end, behind)) {
    for (std::size_t i = begin; i < end; ++i) put_piece(i, below);
    return;
  }
  const std::vector<std::size_t> starts = split(begin, end);
  if (starts.size() == 1) return put_brackets(begin, end, below, behind);
  const bool chain = pieces_[starts[1]].is("|>") || pieces_[starts[1]].is("|");
  for (std::size_t k = 0; k < starts.size(); ++k) {
    const bool last = k + 1 == starts.size();
    const std::size_t stop = last ? end : starts[k + 1], rest = last ? behind : 0;
    comments_above(starts[k], below);
    if (k > 0 && ended_) line(below);
    if (k > 0 && !fresh_ && (chain || !fits(starts[k], stop, rest))) line(below);
    put(starts[k], stop, k == 0 ? below : below + 2, rest);
  }
}

/// Nothing can be broken but what stands in brackets.
void LineWriter::put_brackets(std::size_t begin, std::size_t end, std::size_t below, std::size_t behind) {
  constexpr std::size_t kFarRight = 80;
  for (std::size_t i = begin; i < end; ++i) {
    put_piece(i, below);
    const std::size_t close = pieces_[i].partner;
    if (!pieces_[i].opens() || close <= i || close >= end) continue;
    std::size_t inner = column_;
    if (inner > kFarRight) line(inner = below + 2);
    const bool more = std::any_of(pieces_.begin() + static_cast<std::ptrdiff_t>(close),
                                  pieces_.begin() + static_cast<std::ptrdiff_t>(end),
                                  [](const Piece& piece) { return piece.opens(); });
    put(i + 1, close, inner, more ? 1 : width(close, end) + behind);
    i = close - 1;
  }
}

/// Where the parts begin that the loosest operators of [begin, end) join. An operator ends its line, so that `//` never
/// begins one, where it would be a comment; but links of a chain and branches of a condition show what they are in
/// front, and so does what a comment stands in front of. Then all alternatives do.
std::vector<std::size_t> LineWriter::split(std::size_t begin, std::size_t end) const {
  std::vector<std::size_t> starts{begin};
  int loosest = 0;
  for (std::size_t i = begin; i < end; ++i) {
    const Piece& piece = pieces_[i];
    if (piece.opens() && piece.partner > i) i = piece.partner;
    const int level = looseness(piece);
    const bool comma = level == 1;
    const bool joins = level > 0 && i > begin && i + 1 < end && (comma || piece.space_before) &&
                       (comma || pieces_[i + 1].space_before);
    if (!joins || (loosest != 0 && level > loosest)) continue;
    if (level != loosest) starts.resize(1);
    loosest = level;
    const bool commented = !piece.is("//") && (!piece.above.empty() || !pieces_[i - 1].behind.empty());
    starts.push_back(one_of(piece.text, {"|>", "if", "else"}) || commented ? i : i + 1);
  }
  const auto in_front = [&](std::size_t start) { return pieces_[start].is("|"); };
  if (std::any_of(starts.begin() + 1, starts.end(), in_front)) {
    for (std::size_t& start : starts)
      if (start > begin && pieces_[start - 1].is("|")) --start;
  }
  return starts;
}

}  // namespace fusewright::rule
