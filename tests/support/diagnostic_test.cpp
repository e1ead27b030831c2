#include "fusewright/support/diagnostic.hpp"

#include <catch2/catch.hpp>

#include "fusewright/support/result.hpp"

using namespace fusewright;

namespace {

SourcePtr text(std::string content) {
  return std::make_shared<const SourceText>(SourceText{"a.fuse", std::move(content)});
}

Result<int> parse(bool good) {
  if (!good) return fail("not good");
  return 7;
}
Result<int> twice(bool good) {
  FW_TRY(const int once, parse(good));
  return 2 * once;
}

}  // namespace

TEST_CASE("a diagnostic shows file, line, column, the line and a caret under the place", "[diagnostic]") {
  const SourcePtr source = text("op f(x) = x\nop g(x) = redce(x)\n");
  Diagnostic diagnostic{
      Severity::kError, {source, 22, 27}, "there is no operator 'redce'", {}, "did you mean 'reduce'?"};
  diagnostic.notes.push_back({{source, 0, 2}, "the first one"});
  CHECK(print_diagnostic(diagnostic) ==
        "a.fuse:2:11: error: there is no operator 'redce'\n"
        "  op g(x) = redce(x)\n"
        "            ^~~~~\n"
        "  did you mean 'reduce'?\n"
        "a.fuse:1:1: note: the first one\n"
        "  op f(x) = x\n"
        "  ^~\n");
}

TEST_CASE("a diagnostic without a place is one line", "[diagnostic]") {
  CHECK(print_diagnostic({Severity::kWarning, {}, "careful", {}, ""}) == "warning: careful\n");
}

TEST_CASE("a place at or behind the end of a text is shown at its end", "[diagnostic]") {
  const SourcePtr source = text("ab");
  CHECK(print_diagnostic({Severity::kError, {source, 2, 2}, "more is wanted", {}, ""}) ==
        "a.fuse:1:3: error: more is wanted\n  ab\n    ^\n");
  CHECK(print_diagnostic({Severity::kError, {source, 90, 99}, "m", {}, ""}).starts_with("a.fuse:1:3: error: m\n"));
}

TEST_CASE("a very long line is cut around the place", "[diagnostic]") {
  const SourcePtr source = text(std::string(100'000, 'x'));
  CHECK(print_diagnostic({Severity::kError, {source, 50'000, 50'001}, "here", {}, ""}).size() < 1000);
}

TEST_CASE("nearest finds slips of the pen and nothing far away", "[diagnostic]") {
  const std::vector<std::string> words = {"reduce_sum", "reduce_max", "relu", "add"};
  CHECK(nearest("reduce_smu", words) == "reduce_sum");
  CHECK(nearest("rleu", words) == "relu");
  CHECK(nearest("ad", words) == "add");
  CHECK(nearest("convolution", words).empty());
  CHECK(nearest("Relu", {"celu", "relu", "selu"}) == "relu");  // as other systems write it
}

TEST_CASE("an error passes through callers and gathers context and place", "[result]") {
  CHECK(twice(true).value() == 14);
  const Result<int> failed = twice(false);
  REQUIRE_FALSE(failed.has_value());
  const SourcePtr source = text("model");
  const Error told = with_context(failed.error(), "node 'a'", {source, 0, 5});
  CHECK(print_error(told) == "a.fuse:1:1: error: node 'a': not good\n  model\n  ^~~~~\n");
  CHECK(with_place(told, {}).diagnostics[0].span.valid());
  CHECK(with_place(failed.error(), {source, 1, 2}).diagnostics[0].span.begin == 1);
}
