#include "fusewright/rule/format.hpp"

#include "fusewright/rule/tokens.hpp"
#include "tests/main/mutate.hpp"
#include "tests/rule/helpers.hpp"

using namespace fusewright;
using namespace fusewright::rule;
using namespace fusewright::rule::testing;

namespace {

std::string format(const std::string& text) {
  const auto formatted = format_rules(source(text));
  if (!formatted) FAIL(print_error(formatted.error()));
  return *formatted;
}

std::vector<std::string> comments(const std::string& text) {
  std::vector<std::string> found;
  for (const Token& token : tokenize(text))
    if (token.comment()) found.emplace_back(token.text(text));
  return found;
}

/// The declarations of the library and of the broken files, one or a few in each text.
std::vector<std::string> paragraphs() {
  std::vector<std::string> found;
  for (const std::string& folder : {"rules", "tests/fail"}) {
    for (const std::string& path : files_in(folder)) {
      const std::string text = read_text(path);
      for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find("\n\n", at), text.size());
        found.push_back(text.substr(at, end + 1 - at));
        at = end + 2;
      }
    }
  }
  return found;
}

/// Formats what parses, holds it against what it was, and says whether it parses.
bool holds(const std::string& text) {
  const auto file = parse_rules(source(text));
  if (!file) return false;
  const std::string once = format(text);
  INFO("text:\n" << text << "\nformatted:\n" << once);
  CHECK(format(once) == once);
  CHECK(print_rules(parse(once)) == print_rules(*file));
  CHECK(comments(once) == comments(text));
  std::istringstream lines(once);
  for (std::string line; std::getline(lines, line);)
    if (!line.empty() && (line.back() == ' ' || line.back() == '\t')) FAIL("a line ends in a blank: " << line);
  return true;
}

}  // namespace

TEST_CASE("the library stands as it is formatted", "[rule]") {
  for (const std::string& path : files_in("rules")) {
    INFO(path);
    const std::string text = read_text(path);
    CHECK(format(text) == text);
  }
}

TEST_CASE("formatting any rule file keeps its meaning and its comments, and twice is once", "[rule]") {
  const std::vector<std::string> samples = paragraphs();
  for (const std::string& sample : samples) holds(sample);
  tests::Mutator mutate(samples, 7);
  int parsed = 0;
  for (int i = 0; i < 2500; ++i) {
    const std::string text = samples[mutate.below(samples.size())] + "\n" + samples[mutate.below(samples.size())];
    parsed += holds(mutate(text)) ? 1 : 0;
  }
  CHECK(parsed > 400);
}

TEST_CASE("any comment and any line end may stand between any two tokens", "[rule]") {
  const std::vector<std::string> samples = paragraphs();
  tests::Mutator random({}, 11);
  int parsed = 0;
  for (int i = 0; i < 1500; ++i) {
    std::string text = samples[random.below(samples.size())];
    const std::vector<Token> tokens = tokenize(text);
    for (int k = 0; k < 2 && !tokens.empty(); ++k) {
      const Token& token = tokens[random.below(tokens.size())];
      static const std::string kPieces[] = {"  # here\n", "\n# above\n", "\n\n\n", "\n  // above\n\n", " ", "\r\n"};
      text.insert(std::min<std::size_t>(token.end, text.size()), kPieces[random.below(std::size(kPieces))]);
    }
    parsed += holds(text) ? 1 : 0;
  }
  CHECK(parsed > 800);
}

TEST_CASE("comments may stand between all tokens at once", "[rule]") {
  int parsed = 0;
  for (const std::string& sample : paragraphs()) {
    for (const std::string comment : {"  # here %\n", "\n# above %\n", "  # here %\n  // above %\n\n"}) {
      for (const std::size_t step : {1U, 2U, 3U, 7U}) {
        std::string text = sample;
        const std::vector<Token> tokens = tokenize(text);
        for (std::size_t i = tokens.size(); i > 0; i -= std::min(i, step))
          text.insert(std::min<std::size_t>(tokens[i - 1].end, text.size()), comment);
        parsed += holds(text) ? 1 : 0;
      }
    }
  }
  CHECK(parsed > 1000);
}

TEST_CASE("alternatives with comments stand below one another, each behind its comment", "[rule]") {
  CHECK(format("rewrite r {\n match (\n# a\nrelu # b\n# c\n|gelu|\n abs # d\n# e\n)(x) as act to act(x)}") ==
        "rewrite r {\n  match (\n         # a\n         relu  # b\n         # c\n         | gelu\n"
        "         | abs  # d\n        # e\n        )(x) as act\n  to act(x)\n}\n");
  CHECK(
      format("rewrite r {\n match x where\n# a\nrank(x) == 1 # b\n# c\nor rank(x) == 2\nto x }") ==
      "rewrite r {\n  match x\n  where\n        # a\n        rank(x) == 1  # b\n        # c\n        or rank(x) == 2\n"
      "  to x\n}\n");
}

TEST_CASE("a rule file is laid out in the one way", "[rule]") {
  CHECK(format("") == "");
  CHECK(format("\n\n# only a comment  \n\n\n") == "# only a comment\n");
  CHECK(format("op f( x,y? ;axis=-1,axes : ints ) ->( a,b ){let t=x**2 ; a=t+ -y[-1], b=x//2}") ==
        "op f(x, y?; axis = -1, axes: ints) -> (a, b) {\n  let t = x ** 2\n  a = t + -y[-1]\n  b = x // 2\n}\n");
  CHECK(format("opclass c=elementwise-{add,mul}|movement where operands==1,not commutative") ==
        "opclass c = elementwise - {add, mul} | movement where operands == 1, not commutative\n");
  CHECK(
      format("rewrite a-b exactness( approximate( 1e-6 ),factoring ){match(exp|log)(x)as act*~0.5[+b]?where rank(x)==2 "
             "to act(x)/2,fold{x}+fold(x)}") ==
      "rewrite a-b exactness(approximate(1e-6), factoring) {\n  match (exp | log)(x) as act * ~0.5 [+ b]?\n"
      "  where rank(x) == 2\n  to act(x) / 2, fold { x } + fold(x)\n}\n");
  CHECK(
      format(
          "fuse f{match (elementwise|movement)*as head|>{exp,log}{1,3}|>conv(x,w)+|>relu ? times{2 , 8} sharing x}") ==
      "fuse f {\n  match (elementwise | movement)* as head |> {exp, log}{1,3} |> conv(x, w)+ |> relu? times {2,8} "
      "sharing "
      "x\n}\n");
  CHECK(format("ruleset s{op f(x)=x\n\n\n\n/// g\nop g(x...)}") ==
        "ruleset s {\n  op f(x) = x\n\n  /// g\n  op g(x...)\n}\n");
}

TEST_CASE("an example stays on its line where it was written on one and fits", "[rule]") {
  const auto rule = [](const std::string& example) { return "rewrite r {\n  match x\n  to x\n  " + example + "\n}\n"; };
  const std::string one = rule("test a-b { x: const f32[2, n]  let y = x  match y  to x, y  kernels 1 }");
  CHECK(format(one) == one);
  const std::string broken = rule("test {\n    x: f32[2]  y: f32[2]\n    z: f32[2]\n    match x\n  }");
  CHECK(format(broken) == broken);
  CHECK(format(rule("reject because rank(x)==2{x:pred[],y:f32[1];match not(x)}")) ==
        rule("reject because rank(x) == 2 { x: pred[]  y: f32[1]  match not(x) }"));
  CHECK(format(rule("test {\n\n    x: f32[2]\n\n    match x }")) == rule("test {\n    x: f32[2]\n\n    match x\n  }"));
}

TEST_CASE("what is too long for a line is broken at its loosest operators", "[rule]") {
  const std::string name(50, 'a');
  CHECK(format("op f(x) = " + name + " + " + name + " * " + name) ==
        "op f(x) = " + name + " +\n          " + name + " * " + name + "\n");
  CHECK(format("op f(x) = g(" + name + ", " + name + ", " + name + ")") ==
        "op f(x) = g(" + name + ", " + name + ",\n            " + name + ")\n");
  CHECK(format("fuse f { match " + name + " |> " + name + " |> " + name + " }") ==
        "fuse f {\n  match " + name + "\n        |> " + name + "\n        |> " + name + "\n}\n");
}

TEST_CASE("line ends and a byte order mark stay what they are; a syntax error is an error", "[rule]") {
  CHECK(format("op f(x)=x\r\nop g(x)=x # h\r\n") == "op f(x) = x\r\nop g(x) = x  # h\r\n");
  CHECK(format("\xef\xbb\xbfop f(x)=x") == "\xef\xbb\xbfop f(x) = x\n");
  const auto broken = format_rules(source("op f(x = x"));
  REQUIRE_FALSE(broken);
  CHECK(broken.error().kind == ErrorKind::kInput);
}
