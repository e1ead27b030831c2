#include "fusewright/rule/parse.hpp"

#include <cctype>
#include <iterator>
#include <type_traits>

#include "src/rule/spelling.hpp"
#include "src/rule/tree.hpp"

namespace fusewright::rule {

namespace g = fuse_grammar;
namespace peg = tao::pegtl;

namespace {

// The recursive descent takes some fifty frames for a level of brackets; nobody writes a formula this deep.
constexpr int kDeepest = 64;

// --- What was expected, in words ---------------------------------------------------------------------

template <class Rule>
inline constexpr const char* expected = "something else";
#define FW_EXPECTED(rule, text) \
  template <>                   \
  inline constexpr const char* expected<g::rule> = text
FW_EXPECTED(expression, "an expression");
FW_EXPECTED(expressions, "an expression");
FW_EXPECTED(argument, "an operand or a named attribute");
FW_EXPECTED(operand, "an operand pattern");
FW_EXPECTED(number, "a number");
FW_EXPECTED(close_paren, "')' or ','");
FW_EXPECTED(close_bracket, "']'");
FW_EXPECTED(close_brace, "'}'");
FW_EXPECTED(open_paren, "'('");
FW_EXPECTED(equals, "'='");
FW_EXPECTED(question, "'?' (an optional part is written [+ bias]?)");
FW_EXPECTED(exponent_operand, "an operand");
FW_EXPECTED(negation, "an operand");
FW_EXPECTED(along, "an operand");
FW_EXPECTED(product, "an operand");
FW_EXPECTED(sum, "an operand");
FW_EXPECTED(coalesce, "an operand");
FW_EXPECTED(negated, "a condition");
FW_EXPECTED(conjunction, "a condition");
FW_EXPECTED(disjunction, "an expression");
FW_EXPECTED(word_else, "'else'");
FW_EXPECTED(fold_body, "'{' or '('");
FW_EXPECTED(pattern, "a pattern");
FW_EXPECTED(sum_pattern, "a pattern");
FW_EXPECTED(product_pattern, "a pattern");
FW_EXPECTED(exponent_pattern, "a pattern");
FW_EXPECTED(negated_pattern, "a pattern");
FW_EXPECTED(alternative, "a pattern or an operator");
FW_EXPECTED(optional_operator, "one of + - * /");
FW_EXPECTED(chain, "a segment (an operator class or an operator with its operands)");
FW_EXPECTED(segment, "a segment (an operator class or an operator with its operands)");
FW_EXPECTED(class_expression, "an operator or a class");
FW_EXPECTED(class_primary, "an operator or a class");
FW_EXPECTED(bounds_range, "bounds such as {2,8}");
FW_EXPECTED(start_of_rule, "'{', or exactness(...), kernel(...) or requires target(...) before it");
FW_EXPECTED(end_of_rule, "'}' or a clause (match, where, let, to, no_duplicate, test, reject)");
FW_EXPECTED(end_of_op, "'}', a let, or a result such as y = ...");
FW_EXPECTED(end_of_test, "'}', an input such as x: f32[2,3], or a clause (let, match, to, kernels)");
FW_EXPECTED(test_body, "'{'");
FW_EXPECTED(tensor_type, "a type such as f32[2,3]");
FW_EXPECTED(dimensions, "'[' with the extents");
FW_EXPECTED(dimension, "an extent: a number or a name");
FW_EXPECTED(exactness_word,
            "an exactness (bitexact, reassociating, contracting, factoring, approximate(rtol), excess_precision)");
FW_EXPECTED(word_target, "'target'");
FW_EXPECTED(parameter, "an operand's name");
FW_EXPECTED(attribute, "an attribute's name");
FW_EXPECTED(result_name, "a result's name");
FW_EXPECTED(lint_name, "the name of a lint");
FW_EXPECTED(reason_comma, "',' and the reason");
FW_EXPECTED(reason, "the reason in quotes");
FW_EXPECTED(declaration, "a declaration (include, ruleset, op, opclass, rewrite, fuse)");
#undef FW_EXPECTED
template <>
inline constexpr const char* expected<g::token<g::name>> = "a name";
template <>
inline constexpr const char* expected<g::token<g::kebab_name>> = "a name";
template <>
inline constexpr const char* expected<g::token<g::operator_name>> = "an operator or a class";
template <>
inline constexpr const char* expected<g::token<g::text>> = "a file name in quotes";
template <>
inline constexpr const char* expected<g::token<g::number>> = "a number";
template <>
inline constexpr const char* expected<g::token<g::integer>> = "a whole number";
template <>
inline constexpr const char* expected<g::token<peg::identifier>> = "a name";
template <>
inline constexpr const char* expected<peg::one<'"'>> = "a closing '\"' on the same line";

struct Stop {
  const char* place;
  const char* what;
};

// --- Which rules make nodes, and how ------------------------------------------------------------------

template <class... Rules>
struct Set {
  template <class Rule>
  static constexpr bool contains = (std::is_same_v<Rule, Rules> || ...);
};
using Nodes =
    Set<g::name, g::applied_name, g::operator_name, g::kebab_name, g::integer, g::decimal, g::infinity, g::approximate,
        g::truth, g::text, g::rest_argument, g::named_argument, g::arguments, g::call, g::fold_call, g::list_value,
        g::nested, g::slice_colon, g::index, g::field, g::power_operator, g::minus_sign, g::product_operator,
        g::sum_operator, g::coalesce_operator, g::comparison_operator, g::word_not, g::alias, g::tolerance,
        g::literal_pattern, g::optional_mark, g::name_pattern, g::wildcard_pattern, g::attribute_pattern, g::operands,
        g::result, g::application, g::choice, g::product_pattern_operator, g::pattern_comparison, g::optional_operator,
        g::optional_part, g::class_braces, g::class_operator, g::bounds_star, g::bounds_plus, g::bounds_range,
        g::class_segment, g::applied_class, g::segment, g::times, g::sharing, g::chain, g::exactness_word, g::exactness,
        g::kernel, g::requires_target, g::header, g::let_clause, g::where_clause, g::to_clause, g::no_duplicate_clause,
        g::match_pattern, g::match_chain, g::tensor_type, g::constant_mark, g::input, g::match_outputs,
        g::kernels_clause, g::because, g::test_mark, g::reject_mark, g::test, g::documentation, g::include,
        g::ruleset_open, g::ruleset, g::ellipsis, g::parameter, g::attribute_kind, g::attribute_default, g::attribute,
        g::result_name, g::formula, g::value_clause, g::op_block, g::op, g::opclass, g::allow, g::rewrite, g::fuse>;
/// Only where they hold more than one node.
using Levels = Set<g::conditional, g::disjunction, g::conjunction, g::negated, g::comparison, g::coalesce, g::sum,
                   g::product, g::along, g::negation, g::exponent_operand, g::power, g::postfix, g::choice_pattern,
                   g::aliased_pattern, g::negated_pattern, g::exponent_pattern, g::power_pattern, g::product_pattern,
                   g::sum_pattern, g::pattern, g::class_expression>;

using Input = peg::memory_input<peg::tracking_mode::lazy, peg::eol::lf_crlf, std::string_view>;

/// Makes the nodes, each when its rule has matched, so that nothing is made for what is only tried. Those that no other
/// node holds yet stand in a row.
template <class Rule>
struct Control : peg::normal<Rule> {
  template <peg::apply_mode A, peg::rewind_mode M, template <class...> class Action, template <class...> class Self>
  static bool match(Input& in, std::vector<TreeNode>& row) {
    const std::size_t before = row.size();
    const char* const begin = in.current();
    if (!peg::normal<Rule>::template match<A, M, Action, Self>(in, row)) {
      row.resize(before);
      return false;
    }
    if constexpr (Nodes::contains<Rule> || Levels::contains<Rule>) {
      if (Levels::contains<Rule> && row.size() == before + 1) return true;
      const auto first = row.begin() + static_cast<std::ptrdiff_t>(before);
      TreeNode node{&grammar_rule<Rule>, begin, in.current(), {}};
      node.children.assign(std::move_iterator(first), std::move_iterator(row.end()));
      row.erase(first, row.end());
      row.push_back(std::move(node));
    }
    return true;
  }

  [[noreturn]] static void raise(const Input& in, const std::vector<TreeNode>&) {
    throw Stop{in.current(), expected<Rule>};
  }
};

// --- Errors ------------------------------------------------------------------------------------------

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// The token that starts at `at`: a word, a number, or one mark.
std::string token_at(const std::string& text, std::size_t at) {
  std::size_t end = at + 1;
  while (is_word(text[at]) && end < text.size() && is_word(text[end])) ++end;
  return text.substr(at, end - at);
}

/// The token before `at`, or empty at the start of the file.
std::string token_before(const std::string& text, const Scan& scan, std::size_t at) {
  while (at > 0 && !scan.significant[at - 1]) --at;
  if (at == 0) return {};
  std::size_t begin = at - 1;
  while (is_word(text[at - 1]) && begin > 0 && is_word(text[begin - 1])) --begin;
  return text.substr(begin, at - begin);
}

bool printable(const std::string& word) {
  for (const char c : word) {
    if (c < ' ' || c > '~') return false;
  }
  return !word.empty();
}

/// The word of a declaration (or `///` or `allow`) that starts at `at`, else empty.
std::string_view declaration_word(const std::string& text, const Scan& scan, std::size_t at) {
  static constexpr std::string_view kStarts[] = {"rewrite", "fuse",    "opclass", "op",
                                                 "ruleset", "include", "allow",   "///"};
  if (!scan.significant[at]) return {};
  for (const std::string_view start : kStarts) {
    const std::size_t end = at + start.size();
    if (text.compare(at, start.size(), start) == 0 && (start == "///" || end == text.size() || !is_word(text[end])))
      return start;
  }
  return {};
}

/// What other languages write where a mark at `at` does not fit, and `what` was expected.
std::string other_spelling(const std::string& text, std::size_t at, std::string_view what) {
  const auto is = [&](std::string_view mark) { return text.compare(at, mark.size(), mark) == 0; };
  const char before = at > 0 ? text[at - 1] : ' ';
  const bool clause = what == expected<g::end_of_rule>;
  if (is("&") && what == expected<g::declaration>) return "what two classes share is a - (a - b)";
  if (is("!") && what.find("expression") == std::string_view::npos) return "negation is written not(x)";
  if (is("[") && what.find("pattern") != std::string_view::npos)
    return "in a pattern attributes are written by name: axes = [0]";
  if (is("@")) return "a matrix product is dot(x, w)";
  if (is("?")) return "what may be left out is written x?";
  if (is("&")) return "conditions are joined by 'and'";
  if (is("||")) return "conditions are joined by 'or'";
  if (is("!")) return "a condition is negated by 'not'";
  if (is("=") && before == '=') return "equality is written '=='";
  if (is(">") && (before == '-' || before == '=')) return "what it becomes stands behind 'to'";
  if (!clause) return {};
  if (is(".")) return "an operator is written in front, exp(x), and a result behind it, top_k(x).values";
  if (is("=>")) return "what it becomes stands behind 'to'";
  if (is("|>")) return "'|>' joins the segments of a fuse rule";
  if (is("=")) return "equality is written '=='";
  return {};
}

Diagnostic stop_diagnostic(const SourcePtr& source, const Scan& scan, const Stop& stop) {
  const std::string& text = source->text;
  auto at = static_cast<std::size_t>(stop.place - text.data());
  while (at > 0 && at < text.size() && is_word(text[at]) && is_word(text[at - 1])) --at;  // reading may stop in a word
  const std::string before = token_before(text, scan, at);
  Diagnostic result;
  result.message = std::string("expected ") + stop.what;
  if (printable(before)) result.message += " after '" + before + "'";
  if (at == text.size()) {
    result.message += ", but the file ends";
    std::size_t end = at;
    while (end > 0 && !scan.significant[end - 1]) --end;
    result.span = {source, static_cast<std::uint32_t>(end), static_cast<std::uint32_t>(end)};
    return result;
  }
  const std::string found = token_at(text, at);
  if (printable(found) && found != " ") result.message += ", found '" + found + "'";
  result.span = {source, static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(at + found.size())};
  const bool behind_clause = stop.what == expected<g::end_of_rule>;
  if (text.compare(at, 3, "///") == 0 && stop.what == expected<g::declaration>) {
    result.suggestion = "documentation stands first, in front of allow(...)";
  } else if (text.compare(at, 2, "//") == 0) {
    result.suggestion = "a comment behind other text starts with '#'";
  } else if (stop.what == expected<g::declaration> && (found == "+" || found == ",")) {
    result.suggestion = "classes are joined by '|'";
  } else if (!is_word(found[0])) {
    result.suggestion = other_spelling(text, at, stop.what);
  } else if (declaration_word(text, scan, at).empty()) {
    // Only where a keyword could stand: the words are those of the message.
    std::vector<std::string> words;
    std::string word;
    for (const char* c = stop.what;; ++c) {
      if (is_word(*c))
        word += *c;
      else if (word.size() > 1)
        words.push_back(std::exchange(word, {}));
      else
        word.clear();
      if (*c == 0) break;
    }
    if (behind_clause) result.suggestion = found == "as" ? "(a + b) as c names the whole" : clause_meant(found);
    if (behind_clause && found == "along") result.suggestion = "in a pattern it is broadcast(v, dims = [1])";
    const std::string near = nearest(found, words);
    if (result.suggestion.empty() && !near.empty() && near != found) result.suggestion = "did you mean '" + near + "'?";
    if (result.suggestion.empty() && behind_clause && before == "{")
      result.suggestion = "a pattern stands behind 'match'";
  }
  return result;
}

bool starts_line(const std::string& text, std::size_t at) {
  while (at > 0 && (text[at - 1] == ' ' || text[at - 1] == '\t')) --at;
  return at == 0 || text[at - 1] == '\n';
}

/// The next line that starts with a word of a declaration.
std::size_t next_declaration(const std::string& text, const Scan& scan, std::size_t at) {
  while ((at = text.find('\n', at)) != std::string::npos) {
    at = text.find_first_not_of(" \t\r", at + 1);
    if (at == std::string::npos) break;
    if (!declaration_word(text, scan, at).empty()) return at;
  }
  return text.size();
}

/// Where parsing can go on after an error at `stop` in the declaration that starts at `begin`: there, when it is where
/// another declaration starts, else the next line that starts with a word of one.
std::size_t resume(const std::string& text, const Scan& scan, std::size_t begin, std::size_t stop) {
  const std::string_view word = declaration_word(text, scan, stop);
  if (stop > begin && !word.empty() && word != "///" && starts_line(text, stop)) return stop;
  return next_declaration(text, scan, stop);
}

/// What the declarations that start between two places declare, as far as their first words tell.
void note_unread(const std::string& text, const Scan& scan, std::size_t begin, std::size_t end, ast::File& file) {
  for (std::size_t at = begin; at < end; at = next_declaration(text, scan, at)) {
    const std::string_view word = declaration_word(text, scan, at);
    file.unread_include |= word == "include";
    if (word != "op" && word != "opclass") continue;
    std::size_t name = at + word.size();
    while (name < text.size() && !scan.significant[name]) ++name;
    if (name < text.size()) file.unread_names.push_back(token_at(text, name));
  }
}

}  // namespace

Scan scan_source(const SourcePtr& source) {
  const std::string& text = source->text;
  Scan scan;
  scan.significant.assign(text.size() + 1, false);
  int depth = 0;
  bool line_start = true;
  bool too_deep = false;
  const auto skip_line = [&](std::size_t& i) {
    while (i + 1 < text.size() && text[i + 1] != '\n') ++i;
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n') {
      line_start = true;
      continue;
    }
    if (c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f') continue;
    const bool first = std::exchange(line_start, false);
    if (c == '#') {
      skip_line(i);
    } else if (c == '/' && text.compare(i, 3, "///") == 0) {
      const std::size_t begin = i;
      skip_line(i);
      for (std::size_t k = begin; k <= i; ++k) scan.significant[k] = true;
    } else if (first && text.compare(i, 2, "//") == 0) {
      skip_line(i);
    } else if (c == '"') {
      scan.significant[i] = true;
      while (i + 1 < text.size() && text[i + 1] != '\n') {
        scan.significant[++i] = true;
        if (text[i] == '"') break;
      }
    } else {
      scan.significant[i] = true;
      if (c == '(' || c == '[' || c == '{') ++depth;
      if (c == ')' || c == ']' || c == '}') --depth;
      if (depth > kDeepest && !too_deep) {
        too_deep = true;
        const auto at = static_cast<std::uint32_t>(i);
        scan.errors.push_back({Severity::kError,
                               Span{source, at, at + 1},
                               "brackets nested deeper than " + std::to_string(kDeepest),
                               {},
                               {}});
      }
    }
  }
  return scan;
}

namespace {

/// Reads one declaration after the other.
class FileReader {
 public:
  FileReader(const SourcePtr& source, const Scan& scan)
      : source_(source),
        text_(source->text),
        scan_(scan),
        reader_(source, scan),
        parsed_{{source, 0, {}, {}, false}, {}} {}

  Parsed run() {
    std::size_t at = 0;
    while (at < text_.size()) at = read_from(at);
    note_unread(text_, scan_, at, text_.size(), parsed_.file);
    if (!open_blocks_.empty() && parsed_.errors.empty()) report_open_block();
    while (!open_blocks_.empty()) close_block();
    for (auto& d : reader_.take_errors()) parsed_.errors.push_back(std::move(d));
    return std::move(parsed_);
  }

 private:
  /// Up to the end, or to where reading can go on after an error.
  std::size_t read_from(std::size_t begin) {
    Input in(text_.data() + begin, text_.data() + text_.size(), source_->name);
    std::size_t start = begin;
    try {
      if (begin == 0) peg::parse<g::start_of_file>(in);
      while (!in.empty()) {
        start = static_cast<std::size_t>(in.current() - text_.data());
        // A brace that closes nothing may belong to a block whose first line was not read.
        const bool closes = !open_blocks_.empty() || !parsed_.errors.empty();
        if (closes && peg::parse<g::ruleset_close>(in)) {
          if (!open_blocks_.empty()) close_block();
          continue;
        }
        TreeNode tree;
        peg::parse<g::item, peg::nothing, Control>(in, tree.children);
        auto& items = parsed_.file.items;
        ast::Item item = reader_.item(tree);
        if (reader_.incomplete()) {
          auto& unread = parsed_.file.unread_names;
          if (const auto* op = std::get_if<ast::OpDecl>(&item.what)) unread.push_back(op->name.text);
          if (const auto* set = std::get_if<ast::ClassDecl>(&item.what)) unread.push_back(set->name.text);
          continue;
        }
        items.push_back(std::move(item));
        const auto* block = std::get_if<ast::Ruleset>(&items.back().what);
        if (block != nullptr && block->block) open_blocks_.push_back(items.size() - 1);
      }
    } catch (const Stop& stop) {
      parsed_.errors.push_back(stop_diagnostic(source_, scan_, stop));
      const std::size_t next = resume(text_, scan_, start, static_cast<std::size_t>(stop.place - text_.data()));
      note_unread(text_, scan_, start, next, parsed_.file);
      return next;
    }
    return text_.size();
  }

  void close_block() {
    auto& items = parsed_.file.items;
    std::get<ast::Ruleset>(items[open_blocks_.back()].what).items =
        static_cast<std::uint32_t>(items.size() - open_blocks_.back() - 1);
    open_blocks_.pop_back();
  }

  void report_open_block() {
    std::size_t last = text_.size();
    while (last > 0 && !scan_.significant[last - 1]) --last;
    const auto end = static_cast<std::uint32_t>(last);
    parsed_.errors.push_back({Severity::kError,
                              {source_, end, end},
                              "expected '}' at the end of the ruleset, but the file ends",
                              {{parsed_.file.items[open_blocks_.back()].span, "the ruleset begins here"}},
                              {}});
  }

  const SourcePtr& source_;
  const std::string& text_;
  const Scan& scan_;
  TreeReader reader_;
  Parsed parsed_;
  std::vector<std::size_t> open_blocks_;
};

}  // namespace

Parsed parse_declarations(const SourcePtr& source) {
  Parsed unread{{source, 0, {}, {}, true}, {}};
  if (source->text.size() > (std::size_t{1} << 26)) {
    unread.errors.push_back({Severity::kError, Span{source, 0, 0}, "a rule file above 64 MiB", {}, {}});
    return unread;
  }
  const Scan scan = scan_source(source);
  if (!scan.errors.empty()) {
    unread.errors = scan.errors;
    return unread;
  }
  return FileReader(source, scan).run();
}

Result<ast::File> parse_rules(const SourcePtr& source) {
  Parsed parsed = parse_declarations(source);
  if (!parsed.errors.empty()) return std::unexpected(Error{ErrorKind::kInput, std::move(parsed.errors)});
  return std::move(parsed.file);
}

}  // namespace fusewright::rule
