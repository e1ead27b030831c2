#include "tests/rule/helpers.hpp"

using namespace fusewright;
using namespace fusewright::rule;
using namespace fusewright::rule::testing;

namespace {

/// The tokens of a rule file without what the printer lays out afresh: blanks, comments, separators, round brackets,
/// and `where`, which comes out once for each condition.
std::vector<std::string> tokens(const std::string& text) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < text.size();) {
    const auto word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.'; };
    if (text[i] == '#' || (text[i] == '/' && text.compare(i, 3, "///") == 0)) {
      const std::size_t end = std::min(text.find('\n', i), text.size());
      if (text[i] == '/') {
        std::string line = text.substr(i, end - i);
        line.erase(line.find_last_not_of(" ") + 1);
        out.push_back(line);
      }
      i = end;
    } else if (word(text[i])) {
      std::size_t end = i;
      while (end < text.size() && word(text[end])) ++end;
      if (text.compare(i, end - i, "where") != 0) out.push_back(text.substr(i, end - i));
      i = end;
    } else {
      if (std::string(" \n\t,;()").find(text[i]) == std::string::npos) out.push_back(text.substr(i, 1));
      ++i;
    }
  }
  return out;
}

/// Where two token lists part; empty when they are the same.
std::string difference(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  const auto [at, other] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  if (at == a.end() && other == b.end()) return {};
  std::string text;
  for (auto it = at - std::min<std::ptrdiff_t>(6, at - a.begin()); it != a.end() && it <= at; ++it) text += *it + " ";
  return text + "/ " + (other == b.end() ? "end" : *other);
}

const char* const kSample = R"(
ruleset sample
include "other.fuse"
/// A formula.
/// Two lines.
op f(x, y?; axis = -1, axes: ints, more?: floats) -> (a, b) {
  let t = x ** 2 ** 3 - (x - x) - x
  a = t if present(y) and not rank(x) == 2 else -t * (x + 1)
  b = (b ?? x) along [0, axis] + shape(x)[1:2][:3][0] // 2
}
op g(x...)
opclass c = elementwise - (add | mul) | movement where operands == 1 and not commutative
rewrite r exactness(approximate(0.01), factoring) requires target(x86, sm-90) {
  match ((add(x, 1.5) | -(x * y)) [+ b]?) as z
  match select(x + 1 >= -x ** 2, (x == y) as m, ((x ** -y) ** 3 - (-x) ** 0.5) * (x < y))
  match and(x != 1, (x > y | x <= (x > y)))
  where dtype(x) in [f32, f16], rank(x) not in [1, 2] or constant(x)
  let n = fold(w * s along 0)
  to top_k(x, k = n).values
  test named { x: const f32[2, n]  match x  to x  kernels 1 }
  reject because rank(x) == 2 { x: pred[]  match not(x) }
}
fuse k kernel(loop) {
  match (elementwise | movement)* as head |> conv(x, w, _?) as c |> (exp | log){1,3} |> (relu | gelu)? times {2} sharing x
  where single_use(c)
  no_duplicate c, head
}
ruleset inner {
  op h(x) = ~0.5 * x
}
)";

}  // namespace

TEST_CASE("every rule file of the library survives printing and parsing", "[rule]") {
  for (const auto& path : files_in("rules")) {
    INFO(path);
    const std::string text = read_text(path);
    const std::string printed = print_rules(parse(text));
    CHECK(print_rules(parse(printed)) == printed);
    CHECK(difference(tokens(printed), tokens(text)) == "");
  }
}

TEST_CASE("a file with every construct survives printing and parsing", "[rule]") {
  const std::string printed = print_rules(parse(kSample));
  INFO(printed);
  CHECK(print_rules(parse(printed)) == printed);
  CHECK(difference(tokens(printed), tokens(kSample)) == "");
}

TEST_CASE("operators bind as the language says", "[rule]") {
  const auto value = [](const std::string& text) {
    const auto file = parse("op f(x) = " + text);
    const std::string printed = print_rules(file);
    return printed.substr(printed.find("= ") + 2, printed.size() - printed.find("= ") - 3);
  };
  CHECK(value("(x + (x * x))") == "x + x * x");
  CHECK(value("x - (x - x)") == "x - (x - x)");
  CHECK(value("((x - x) - x)") == "x - x - x");
  CHECK(value("x ** (x ** x)") == "x**x**x");
  CHECK(value("(x ** x) ** x") == "(x**x)**x");
  CHECK(value("-(x ** x)") == "-x**x");
  CHECK(value("(-x) ** x") == "(-x)**x");
  CHECK(value("(x ?? 0) + 1") == "(x ?? 0) + 1");
  CHECK(value("x * (x along 0)") == "x * x along 0");
  CHECK(value("not (x == x) and x") == "not x == x and x");
  CHECK(value("(x if x else x) if x else x") == "(x if x else x) if x else x");
}

TEST_CASE("comments stand behind a hash, and behind slashes only at the start of a line", "[rule]") {
  CHECK(errors_of("// first\nop f(x) = x // 2 # half\n  // another\n# last").empty());
  CHECK(errors_of("").empty());
  CHECK(errors_of("# only a comment").empty());
  const std::string behind = errors_of("op f(x) = exp(x) // the exponential of x");
  CHECK(behind.find("test.fuse:1:") == 0);
}

TEST_CASE("one slip is one error, and all declarations are read", "[rule]") {
  const std::string errors = errors_of("op f(x = exp(x)\n\nop g(x) = x\nop h(x) = (x\nop i(x) = x\n");
  CHECK(std::count(errors.begin(), errors.end(), '^') == 2);
  CHECK(errors.find("test.fuse:1:8: error:") != std::string::npos);
  CHECK(errors.find("test.fuse:5:1: error:") != std::string::npos);
}

TEST_CASE("no nesting and no chain is too long to be an error instead of a crash", "[rule]") {
  const auto repeat = [](const std::string& part, int times) {
    std::string text;
    for (int i = 0; i < times; ++i) text += part;
    return text;
  };
  CHECK(errors_of("op f(x) = " + repeat("(", 50) + "x" + repeat(")", 50)).empty());
  for (const std::string& text :
       {"op f(x) = " + repeat("(", 100000) + "x", "op f(x) = " + repeat("exp(", 100000) + "x" + repeat(")", 100000),
        "op f(x) = x" + repeat(" + x", 100000), "op f(x) = " + repeat("-", 100000) + "x",
        "op f(x) = " + repeat("not ", 100000) + "x", "op f(x) = x" + repeat("[0]", 100000),
        "op f(x) = x" + repeat(" ** x", 100000), "op f(x) = x" + repeat(" if x else x", 100000),
        "opclass c = add" + repeat(" | mul", 100000), "rewrite r { match x" + repeat(" + x", 100000) + " to x }",
        "rewrite r { match x" + repeat(" [+ x]?", 100000) + " to x }",
        "rewrite r { match " + repeat("-", 100000) + "x to x }", repeat("ruleset a {\n", 100000),
        "rewrite r { match " + repeat("[", 100000) + " }"}) {
    CHECK_FALSE(errors_of(text).empty());
  }
}

TEST_CASE("a file too long to be one of rules is refused as a whole", "[rule]") {
  const Parsed parsed = parse_declarations(source(std::string((1U << 26) + 1, ' ')));
  REQUIRE(parsed.errors.size() == 1);
  CHECK(parsed.errors[0].message == "a rule file above 64 MiB");
  CHECK(parsed.file.unread_include);
}

TEST_CASE("after a syntax error reading goes on at the next declaration, and says what it could not read", "[rule]") {
  const Parsed parsed = parse_declarations(
      source("/// Broken.\nop f(x) = x +\nop g(x) = f(x)\nruleset s {\n  opclass c = {\n  op h(x) = g(x)\n}\n"));
  CHECK(parsed.errors.size() == 2);
  CHECK(parsed.file.items.size() == 3);
  CHECK(parsed.file.unread_names == std::vector<std::string>{"f", "c"});
  // What is made of it is not reported as missing.
  const auto set = check_rules({parsed.file}, ops::OpTable::builtin(), parsed.errors);
  REQUIRE_FALSE(set.has_value());
  CHECK(set.error().diagnostics.size() == 2);
}

TEST_CASE("one operator in parentheses that is applied prints as it was", "[rule]") {
  const std::string text = "rewrite r {\n  match (exp)(x)\n  to x\n}\n";
  CHECK(print_rules(parse(text)) == text);
  CHECK(print_rules(parse("opclass c = elementwise - {exp}\n")) == "opclass c = elementwise - exp\n");
}
