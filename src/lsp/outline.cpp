#include "src/lsp/outline.hpp"

#include <algorithm>

namespace fusewright::lsp {

using rule::Token;

std::string_view name(Binding::Kind kind) {
  switch (kind) {
    case Binding::Kind::kTensor: return "tensor";
    case Binding::Kind::kNode: return "node";
    case Binding::Kind::kSegment: return "segment";
    case Binding::Kind::kAttribute: return "attribute";
    case Binding::Kind::kOperand: return "operand";
    case Binding::Kind::kResult: return "result";
    case Binding::Kind::kLet: return "let";
    case Binding::Kind::kInput: return "input";
  }
  return "";
}

std::string_view name(Declaration::Kind kind) {
  switch (kind) {
    case Declaration::Kind::kInclude: return "include";
    case Declaration::Kind::kRuleset: return "ruleset";
    case Declaration::Kind::kOp: return "op";
    case Declaration::Kind::kOpclass: return "opclass";
    case Declaration::Kind::kRewrite: return "rewrite";
    case Declaration::Kind::kFuse: return "fuse";
  }
  return "";
}

namespace {

std::optional<Declaration::Kind> declared_by(std::string_view word) {
  for (const auto kind : {Declaration::Kind::kInclude, Declaration::Kind::kRuleset, Declaration::Kind::kOp,
                          Declaration::Kind::kOpclass, Declaration::Kind::kRewrite, Declaration::Kind::kFuse})
    if (word == name(kind)) return kind;
  return std::nullopt;
}

/// The text of documentation lines without their marks.
std::string documentation(const std::vector<std::string_view>& lines) {
  std::string doc;
  for (std::string_view line : lines) {
    line.remove_prefix(std::min(line.find_first_not_of("/ \t"), line.size()));
    doc += (doc.empty() ? "" : "\n") + std::string(line);
  }
  return doc;
}

/// Reads one declaration's bindings off its tokens.
class Reader {
 public:
  Reader(const Outline& outline, const std::function<bool(std::string_view)>& is_operator)
      : o_(outline), is_operator_(is_operator) {}

  void read(Declaration& d) {
    constexpr std::size_t kMostTokens = 20000;  // nobody writes such a declaration, and what follows is square in it
    const Stretch all{d.tokens.begin, std::min(d.tokens.end, d.tokens.begin + kMostTokens)};
    std::size_t head = all.begin;
    while (head < all.end && o_.word(head) != "{" && o_.word(head) != "=") head = past(head, all.end);
    if (d.kind == Declaration::Kind::kOp) {
      parameters({all.begin, head}, d.bindings);
      lets({head, all.end}, d.bindings);
    }
    d.signature = text({all.begin, d.kind == Declaration::Kind::kOpclass ? all.end : head});
    if (d.kind == Declaration::Kind::kRewrite || d.kind == Declaration::Kind::kFuse) rule(d, head + 1, all.end);
  }

 private:
  std::string_view w(std::size_t i) const { return o_.word(i); }
  bool name_at(std::size_t i) const { return o_.is_word(i) && !rule::is_reserved(w(i)); }

  /// Past a token, or past the brackets that it opens.
  std::size_t past(std::size_t i, std::size_t end) const {
    int depth = 0;
    do {
      if (w(i) == "(" || w(i) == "[" || w(i) == "{") ++depth;
      if (w(i) == ")" || w(i) == "]" || w(i) == "}") --depth;
      ++i;
    } while (i < end && depth > 0);
    return i;
  }

  std::string text(Stretch tokens) const {
    if (tokens.begin >= tokens.end || tokens.end > o_.tokens.size()) return {};
    const std::size_t begin = o_.tokens[tokens.begin].begin;
    return o_.text.substr(begin, o_.tokens[tokens.end - 1].end - begin);
  }

  static void bind(std::vector<Binding>& into, Binding binding) {
    const bool known = std::any_of(into.begin(), into.end(), [&](const Binding& b) { return b.name == binding.name; });
    if (!known) into.push_back(std::move(binding));
  }

  bool starts_clause(std::size_t i) const {
    const std::string_view word = w(i);
    for (const std::string_view clause : {"match", "where", "let", "to", "test", "reject"})
      if (word == clause) return true;
    return name_at(i) &&
           ((w(i + 1) == ":" || (w(i + 1) == "=" && w(i - 1) != "let")) || (word == "no_duplicate" && name_at(i + 1)) ||
            (word == "kernels" && i + 1 < o_.tokens.size() && o_.tokens[i + 1].kind == Token::Kind::kNumber));
  }
  std::size_t end_of_clause(std::size_t i, std::size_t end) const {
    for (i = past(i, end); i < end && !starts_clause(i) && w(i) != "}"; i = past(i, end)) {
    }
    return i;
  }

  void parameters(Stretch head, std::vector<Binding>& into) {
    bool attributes = false, results = false;
    int depth = 0;
    for (std::size_t i = head.begin; i < head.end; ++i) {
      if (w(i) == "(") ++depth;
      if (w(i) == ")") --depth;
      if (w(i) == ";") attributes = true;
      if (w(i) == "->") results = true, attributes = false;
      const bool first = w(i - 1) == "(" || w(i - 1) == "," || w(i - 1) == ";";
      if (depth != 1 || !first || !name_at(i)) continue;
      std::size_t end = i;
      while (end < head.end && w(end) != "," && w(end) != ")" && w(end) != ";") end = past(end, head.end);
      const Binding::Kind kind = results      ? Binding::Kind::kResult
                                 : attributes ? Binding::Kind::kAttribute
                                              : Binding::Kind::kOperand;
      bind(into, {kind, std::string(w(i)), i, text({i, end})});
    }
  }

  void lets(Stretch tokens, std::vector<Binding>& into) {
    for (std::size_t i = tokens.begin; i + 1 < tokens.end; ++i)
      if (w(i) == "let" && name_at(i + 1))
        bind(into, {Binding::Kind::kLet, std::string(w(i + 1)), i + 1, text({i, end_of_clause(i, tokens.end)})});
  }

  void rule(Declaration& d, std::size_t i, std::size_t end) {
    while (i < end) {
      const std::size_t next = end_of_clause(i, end);
      if (w(i) == "match") {
        if (d.kind == Declaration::Kind::kFuse)
          chain({i + 1, next}, d.bindings);
        else
          pattern({i + 1, next}, d.bindings);
      } else if (w(i) == "let") {
        lets({i, next}, d.bindings);
      } else if (w(i) == "test" || w(i) == "reject") {
        i = example(d, i, end);
        continue;
      }
      i = std::max(next, i + 1);
    }
  }

  std::size_t example(Declaration& d, std::size_t begin, std::size_t end) {
    Example e;
    e.reject = w(begin) == "reject";
    e.token = begin;
    if (name_at(begin + 1) && w(begin + 1) != "because") e.name = w(begin + 1);
    std::size_t open = begin + 1;
    while (open < end && (w(open) != "{" || w(open - 1) == "fold")) open = past(open, end);
    std::size_t close = past(open, end);
    e.tokens = {begin, close};
    e.body = {std::min(open + 1, close), close > 0 && w(close - 1) == "}" ? close - 1 : close};
    for (std::size_t i = e.body.begin; i < e.body.end; i = std::max(end_of_clause(i, e.body.end), i + 1)) {
      if (name_at(i) && w(i + 1) == ":")
        bind(e.bindings, {Binding::Kind::kInput, std::string(w(i)), i, text({i, end_of_clause(i, e.body.end)})});
    }
    lets(e.body, e.bindings);
    d.examples.push_back(std::move(e));
    return std::max(close, begin + 1);
  }

  /// The operators that `as` behind token `last` names: those of `conv(x, w)`, of `(relu | gelu)(x)`, of
  /// `elementwise*`.
  std::string operators_before(std::size_t last, std::size_t begin) const {
    if (last > begin + 1 && w(last - 1) == ".") last -= 2;  // top_k(x).values
    const auto bound = [&](std::size_t i) { return w(i) == "*" || w(i) == "+" || w(i) == "?" || w(i) == "}"; };
    if (bound(last) && w(last) == "}") {
      while (last > begin && w(last) != "{") --last;
      --last;
    } else if (bound(last) && last > begin) {
      --last;
    }
    std::size_t first = last;
    while (first >= begin && w(first) == ")") {
      int depth = 0;
      do {
        if (w(first) == ")") ++depth;
        if (w(first) == "(") --depth;
      } while (depth > 0 && first-- > begin);
      if (first > begin && (o_.is_word(first - 1) || w(first - 1) == ")") && w(first - 1) != "match") {
        last = --first;  // what is applied
      } else {
        break;
      }
    }
    return text({std::max(first, begin), last + 1});
  }

  /// `dims = d`, `axes = [a, b]`; gives where the value ends.
  std::size_t attribute(std::size_t i, std::size_t end, std::vector<Binding>& into) {
    const std::string owner = o_.applied_at(i), attr(w(i));
    const std::size_t value = i + 2;
    std::size_t stop = value;
    while (stop < end && w(stop) != "," && w(stop) != ";" && w(stop) != ")") stop = past(stop, end);
    const std::string what = attr + " of " + owner;
    if (stop == value + 1 && name_at(value))
      bind(into, {Binding::Kind::kAttribute, std::string(w(value)), value, what});
    if (w(value) == "[") {
      for (std::size_t k = value + 1; k + 1 < stop; ++k) {
        const bool alone = (w(k - 1) == "[" || w(k - 1) == ",") && (w(k + 1) == "," || w(k + 1) == "]");
        if (alone && name_at(k)) bind(into, {Binding::Kind::kAttribute, std::string(w(k)), k, "element of " + what});
      }
    }
    return stop;
  }

  void pattern(Stretch tokens, std::vector<Binding>& into) {
    for (std::size_t i = tokens.begin; i < tokens.end; ++i) {
      if (!name_at(i) || w(i + 1) == "(") continue;
      const std::string_view before = i > tokens.begin ? w(i - 1) : std::string_view();
      if (before == "as") {
        bind(into, {Binding::Kind::kNode, std::string(w(i)), i, operators_before(i - 2, tokens.begin)});
      } else if (w(i + 1) == "=") {
        i = attribute(i, tokens.end, into) - 1;
      } else if (before != "." && w(i) != "within" && !((before == "|" || w(i + 1) == "|") && is_operator_(w(i)))) {
        bind(into, {Binding::Kind::kTensor, std::string(w(i)), i, {}});
      }
    }
  }

  void chain(Stretch tokens, std::vector<Binding>& into) {
    for (std::size_t i = tokens.begin; i < tokens.end; ++i) {
      if (w(i) == "sharing") break;
      const bool alias = name_at(i) && i > tokens.begin && w(i - 1) == "as";
      if (alias) bind(into, {Binding::Kind::kSegment, std::string(w(i)), i, operators_before(i - 2, tokens.begin)});
      const bool applies = w(i) == "(" && i > tokens.begin && (name_at(i - 1) || w(i - 1) == ")");
      if (!applies) continue;
      const std::size_t close = past(i, tokens.end);
      pattern({i + 1, close - 1}, into);
      i = close - 1;
    }
  }

  const Outline& o_;
  const std::function<bool(std::string_view)>& is_operator_;
};

}  // namespace

std::optional<std::size_t> Outline::token_at(std::size_t offset) const {
  const std::size_t next = tokens_before(offset + 1);
  if (next > 0 && offset < tokens[next - 1].end &&
      (is_word(next - 1) || next < 2 || tokens[next - 2].end != offset || !is_word(next - 2)))
    return next - 1;
  const std::size_t before = tokens_before(offset);
  if (before > 0 && tokens[before - 1].end == offset) return before - 1;
  return std::nullopt;
}

std::size_t Outline::tokens_before(std::size_t offset) const {
  return static_cast<std::size_t>(std::lower_bound(tokens.begin(), tokens.end(), offset,
                                                   [](const Token& t, std::size_t at) { return t.begin < at; }) -
                                  tokens.begin());
}

bool Outline::in_comment(std::size_t offset) const {
  return std::any_of(comments.begin(), comments.end(), [&](const Token& t) {
    return t.begin < offset && offset <= std::min(text.find('\n', t.begin), text.size());
  });
}

const Declaration* Outline::declaration_at(std::size_t token) const {
  for (const Declaration& d : declarations)
    if (d.tokens.holds(token)) return &d;
  return nullptr;
}

std::vector<std::size_t> Outline::open_brackets(std::size_t token) const {
  std::vector<std::size_t> open;
  int closed = 0;
  for (std::size_t i = token; i-- > 0;) {
    const std::string_view mark = word(i);
    if (is_word(i) && declared_by(mark)) break;
    if (tokens[i].kind != Token::Kind::kMark) continue;
    if (mark == ")" || mark == "]" || mark == "}") ++closed;
    if (mark != "(" && mark != "[" && mark != "{") continue;
    if (closed > 0)
      --closed;
    else
      open.push_back(i);
  }
  return open;
}

std::string Outline::applied_at(std::size_t token) const {
  for (const std::size_t open : open_brackets(token)) {
    if (word(open) == "{") break;
    if (word(open) == "(" && open > 0 && is_word(open - 1) && !rule::is_reserved(word(open - 1)))
      return std::string(word(open - 1));
  }
  return {};
}

Outline outline_of(std::string text, const std::function<bool(std::string_view)>& is_operator) {
  Outline o;
  o.text = std::move(text);
  std::vector<std::string_view> doc;
  std::vector<Token> all = rule::tokenize(o.text);
  for (const Token& token : all) {
    if (token.comment()) {
      if (token.kind == Token::Kind::kDocumentation) doc.push_back(token.text(o.text));
      o.comments.push_back(token);
      continue;
    }
    const auto kind = token.kind == Token::Kind::kWord ? declared_by(token.text(o.text)) : std::nullopt;
    if (kind) {
      Declaration d;
      d.kind = *kind;
      d.tokens.begin = o.tokens.size();
      d.token = d.tokens.begin + 1;
      d.doc = documentation(doc);
      doc.clear();
      o.declarations.push_back(std::move(d));
    }
    o.tokens.push_back(token);
  }
  Reader reader(o, is_operator);
  for (std::size_t i = 0; i < o.declarations.size(); ++i) {
    Declaration& d = o.declarations[i];
    const std::size_t end = i + 1 < o.declarations.size() ? o.declarations[i + 1].tokens.begin : o.tokens.size();
    int depth = 0;
    d.tokens.end = d.tokens.begin + 1;
    while (d.tokens.end < end && depth >= 0) {
      const std::string_view word = o.word(d.tokens.end);
      if (word == "(" || word == "[" || word == "{") ++depth;
      if (word == ")" || word == "]" || word == "}") --depth;
      if (depth < 0 && word == "}") break;
      ++d.tokens.end;
      if (depth == 0 && word == "}" && d.kind != Declaration::Kind::kOpclass) break;
    }
    d.name = o.word(d.token);
    if (d.kind == Declaration::Kind::kInclude && d.name.size() > 1) d.name = d.name.substr(1, d.name.size() - 2);
    reader.read(d);
  }
  return o;
}

std::vector<const Binding*> bindings_around(const Outline& outline, std::size_t token) {
  std::vector<const Binding*> found;
  const Declaration* d = outline.declaration_at(token);
  if (d == nullptr) return found;
  for (const Example& e : d->examples) {
    if (!e.body.holds(token)) continue;
    for (const Binding& b : e.bindings) found.push_back(&b);
    return found;
  }
  for (const Binding& b : d->bindings) found.push_back(&b);
  return found;
}

bool is_field(const Outline& outline, std::size_t token) {
  const std::string_view before = token > 0 ? outline.word(token - 1) : std::string_view();
  if (before == ".") return true;
  return outline.word(token + 1) == "=" && (before == "(" || before == "," || before == ";") &&
         !outline.applied_at(token).empty();
}

const Binding* binding_at(const Outline& outline, std::size_t token) {
  if (!outline.is_word(token)) return nullptr;
  for (const Binding* b : bindings_around(outline, token)) {
    if (b->token == token) return b;
    if (b->name == outline.word(token) && !is_field(outline, token)) return b;
  }
  return nullptr;
}

}  // namespace fusewright::lsp
