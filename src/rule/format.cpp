#include "fusewright/rule/format.hpp"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "fusewright/rule/parse.hpp"
#include "src/rule/layout.hpp"

namespace fusewright::rule {

namespace {

constexpr std::size_t kIndent = 2;

bool one_of(const Piece& piece, std::initializer_list<std::string_view> words) {
  return piece.is_word() && std::find(words.begin(), words.end(), piece.text) != words.end();
}

bool is_separator(const Piece& piece) { return piece.kind == Token::Kind::kMark && (piece.is(",") || piece.is(";")); }

bool starts_declaration(const Piece& piece) {
  return one_of(piece, {"include", "ruleset", "opclass", "op", "rewrite", "fuse"});
}

/// Whether a clause, a result or an input begins at i.
bool starts_clause(const std::vector<Piece>& p, std::size_t i) {
  if (!p[i].is_word() || i + 1 >= p.size()) return false;
  if (one_of(p[i], {"match", "where", "let", "to", "test", "reject"})) return true;
  if (is_reserved(p[i].text) || (i > 0 && p[i - 1].is("let"))) return false;
  return p[i + 1].is(":") || p[i + 1].is("=") || (p[i].is("kernels") && p[i + 1].kind == Token::Kind::kNumber) ||
         (p[i].is("no_duplicate") && p[i + 1].is_word() && !is_reserved(p[i + 1].text));
}

/// Commas and semicolons between clauses and declarations say nothing; their comments go with their neighbours.
void drop_separators(std::vector<Piece>& pieces) {
  std::vector<bool> ends(pieces.size(), true);  // no list goes on here
  for (std::size_t i = pieces.size() - 1; i-- > 0;)
    ends[i] = is_separator(pieces[i]) ? ends[i + 1]
                                      : pieces[i].is("}") || starts_declaration(pieces[i]) || starts_clause(pieces, i);
  std::vector<Piece> kept;
  std::vector<bool> lists;  // of the open brackets: no block
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    Piece& piece = pieces[i];
    if (is_separator(piece) && (lists.empty() || !lists.back()) && (piece.is(";") || ends[i])) {
      std::vector<Piece::Comment>& above = pieces[i + 1].above;
      std::uint32_t& line_ends = above.empty() ? pieces[i + 1].line_ends : above.front().line_ends;
      if (!piece.behind.empty()) {
        if (!kept.empty() && kept.back().behind.empty() && piece.above.empty())
          kept.back().behind = piece.behind;
        else
          piece.above.push_back({piece.behind, 1});
      }
      if (piece.above.empty()) line_ends += piece.line_ends;
      above.insert(above.begin(), piece.above.begin(), piece.above.end());
      continue;
    }
    if (piece.opens()) lists.push_back(!piece.is("{"));
    if (piece.closes() && !lists.empty()) lists.pop_back();
    kept.push_back(std::move(piece));
  }
  pieces = std::move(kept);
}

/// Walks the declarations of a file that parses and writes each.
class Formatter {
 public:
  explicit Formatter(std::string_view source) : p_(pieces_of(source)), out_(p_) {
    drop_separators(p_);
    match_brackets(p_);
  }

  std::string run() {
    const std::size_t last = p_.size() - 1;
    for (std::size_t i = 0; i < last;) {
      if (p_[i].is("}")) {
        close(i++);
        continue;
      }
      out_.line_of(i, indent_, std::exchange(first_, false));
      i = declaration(i);
    }
    if (!p_[last].above.empty()) {
      p_[last].line_ends = 1;
      out_.line_of(last, 0, first_);
    }
    std::string text = out_.take();
    if (!text.empty() && text.back() != '\n') text += '\n';
    return text;
  }

 private:
  /// Past the last piece of the declaration that begins at `begin`, whose blocks are not looked into.
  std::size_t end_of_declaration(std::size_t begin) const {
    const auto allows = [&](std::size_t i) {
      return p_[i].is("allow") && p_[i].is_word() && p_[i + 1].is("(") && ends_operand(p_[i - 1]);
    };
    std::size_t i = begin + 1;
    while (i + 1 < p_.size() && !starts_declaration(p_[i]) && !p_[i].is("}") && !allows(i))
      i = p_[i].opens() && p_[i].partner > i ? p_[i].partner + 1 : i + 1;
    return i;
  }

  std::size_t declaration(std::size_t begin) {
    std::size_t end = end_of_declaration(begin), head = begin + 1;
    if (p_[begin].is("ruleset") && p_[begin + 2].is("{")) {
      space_out(p_, begin, begin + 3);
      out_.put(begin, begin + 3, indent_);
      open_block();
      return begin + 3;
    }
    const bool has_block = one_of(p_[begin], {"op", "rewrite", "fuse"});
    while (has_block && head < end && !p_[head].is("{") && !p_[head].is("="))
      head = p_[head].opens() && p_[head].partner > head ? p_[head].partner + 1 : head + 1;
    if (!has_block || head == end) {
      space_out(p_, begin, end);
      out_.put(begin, end, indent_ + 2 * kIndent);
      return end;
    }
    if (p_[head].is("=")) {
      space_out(p_, begin, end);
      formula(begin, head + 1, end);
      return end;
    }
    space_out(p_, begin, head + 1);
    out_.put(begin, head + 1, indent_ + 2 * kIndent);
    block(head, p_[begin].is("fuse"));
    return p_[head].partner + 1;
  }

  /// Lines that continue [begin, end) stand below its piece `from`, unless that is far to the right; all of it stands
  /// on the next line where it fits there alone.
  void formula(std::size_t begin, std::size_t from, std::size_t end) {
    constexpr std::size_t kFarRight = 60;
    out_.put(begin, from, indent_ + 2 * kIndent);
    const std::size_t width = out_.width(from, end);
    if (p_[from - 1].is("=") && out_.column() + 1 + width > LineWriter::kWidth &&
        indent_ + kIndent + width <= LineWriter::kWidth)
      out_.line(indent_ + kIndent);
    const std::size_t below = out_.column() < kFarRight && !out_.ended() ? out_.column() + 1 : indent_ + 2 * kIndent;
    out_.put(from, end, below);
  }

  void open_block() {
    indent_ += kIndent;
    first_ = true;
  }
  /// The brace that ends a block; comments in front of it are the block's.
  void close(std::size_t i) {
    if (!p_[i].above.empty()) {
      p_[i].line_ends = 1;
      out_.line_of(i, indent_, first_);
    }
    first_ = false;
    indent_ -= std::min(indent_, kIndent);
    out_.line(indent_);
    p_[i].space_before = false;
    out_.put(i, i + 1, indent_);
  }

  std::size_t end_of_clause(std::size_t i, std::size_t close) const {
    const bool example = one_of(p_[i], {"test", "reject"});
    for (++i; i < close && (example ? !p_[i - 1].is("}") : !starts_clause(p_, i));)
      i = p_[i].opens() && p_[i].partner > i ? p_[i].partner + 1 : i + 1;
    return std::min(i, close);
  }

  /// The clauses of a rule or an operator, each on a line of its own.
  void block(std::size_t open, bool fuse) {
    const std::size_t end = p_[open].partner;
    open_block();
    for (std::size_t i = open + 1; i < end;) {
      const std::size_t next = end_of_clause(i, end);
      out_.line_of(i, indent_, std::exchange(first_, false));
      if (one_of(p_[i], {"test", "reject"}))
        example(i, next);
      else
        clause(i, next, fuse && p_[i].is("match"));
      i = next;
    }
    close(end);
  }

  void clause(std::size_t begin, std::size_t end, bool chain = false) {
    space_out(p_, begin, end, chain);
    std::size_t from = begin + 1;
    while (from < end && p_[from].is_word() && p_[begin].is("let")) ++from;
    if (from < end && p_[from].is("=")) ++from;
    formula(begin, std::min(from, end), end);
  }

  void example(std::size_t begin, std::size_t end) {
    const std::size_t close_at = end - 1, open = p_[close_at].partner;
    space_out(p_, begin, open);
    p_[open].space_before = true;
    std::vector<std::size_t> starts;
    for (std::size_t i = open + 1; i < close_at; i = end_of_clause(i, close_at)) starts.push_back(i);
    starts.push_back(close_at);
    for (std::size_t k = 0; k + 1 < starts.size(); ++k) space_out(p_, starts[k], starts[k + 1]);
    const bool broken =
        p_[open + 1].starts_line() || out_.column() + on_one_line(begin, open, starts) > LineWriter::kWidth;
    out_.put(begin, open + 1, indent_ + 2 * kIndent);
    if (broken) {
      lines(starts);
      return;
    }
    for (std::size_t k = 0; k + 1 < starts.size(); ++k) {
      p_[starts[k]].space_before = k == 0;
      if (k > 0) out_.gap();
      out_.put(starts[k], starts[k + 1], indent_);
    }
    p_[close_at].space_before = starts.size() > 1;
    out_.put(close_at, end, indent_);
  }

  /// Columns of an example that is not broken.
  std::size_t on_one_line(std::size_t begin, std::size_t open, const std::vector<std::size_t>& starts) const {
    std::size_t width = out_.width(begin, open + 1) + 2;
    for (std::size_t k = 0; k + 1 < starts.size(); ++k) width += out_.width(starts[k], starts[k + 1]) + 2;
    for (std::size_t i = open; i < starts.back(); ++i)
      if (!p_[i].behind.empty()) return LineWriter::kWidth + 1;
    return p_[starts.back()].above.empty() ? width : LineWriter::kWidth + 1;
  }

  /// One clause on a line; inputs share lines as their author had it, as far as they fit.
  void lines(const std::vector<std::size_t>& starts) {
    open_block();
    for (std::size_t k = 0; k + 1 < starts.size(); ++k) {
      const std::size_t begin = starts[k], end = starts[k + 1];
      const bool input = p_[begin + 1].is(":"), after_input = k > 0 && p_[starts[k - 1] + 1].is(":");
      const bool joins = input && after_input && !p_[begin].starts_line() && !out_.ended() &&
                         out_.column() + 2 + out_.width(begin, end) <= LineWriter::kWidth;
      if (joins) {
        p_[begin].space_before = false;
        out_.gap();
        out_.put(begin, end, indent_ + 2 * kIndent);
        continue;
      }
      out_.line_of(begin, indent_, std::exchange(first_, false));
      clause(begin, end);
    }
    close(starts.back());
  }

  std::vector<Piece> p_;
  LineWriter out_;
  std::size_t indent_ = 0;
  bool first_ = true;  ///< nothing stands in this block yet
};

/// The text without blanks, comments, and what separates clauses.
std::vector<std::string_view> essence(std::string_view source, bool comments) {
  std::vector<std::string_view> words;
  for (const Token& token : tokenize(source)) {
    const std::string_view word = token.text(source);
    if (token.comment() == comments && word != "," && word != ";") words.push_back(word);
  }
  return words;
}

}  // namespace

Result<std::string> format_rules(const SourcePtr& source) {
  FW_TRY(const ast::File file, parse_rules(source));
  const std::string& text = source->text;
  const bool marked = text.starts_with("\xef\xbb\xbf");
  std::string out = (marked ? text.substr(0, 3) : std::string()) + Formatter(text).run();
  const std::size_t line_end = text.find('\n');
  if (line_end != std::string::npos && line_end > 0 && text[line_end - 1] == '\r') {
    std::string lines;
    for (const char c : out) lines += c == '\n' ? std::string("\r\n") : std::string(1, c);
    out = std::move(lines);
  }
  const auto again = parse_rules(std::make_shared<const SourceText>(SourceText{source->name, out}));
  if (!again || print_rules(*again) != print_rules(file) || essence(out, false) != essence(text, false) ||
      essence(out, true) != essence(text, true))
    return fail(ErrorKind::kCheckFailed,
                source->name + ": formatting would change what the file says; it is left alone");
  return out;
}

}  // namespace fusewright::rule
