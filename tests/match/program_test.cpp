#include <catch2/catch.hpp>

#include "fusewright/match/program.hpp"
#include "fusewright/rule/check.hpp"
#include "fusewright/rule/parse.hpp"

namespace fusewright::match {
namespace {

rule::RuleSet rules_of(const std::string& text) {
  const auto source = std::make_shared<const SourceText>(SourceText{"test.fuse", text});
  auto file = rule::parse_rules(source);
  if (!file) FAIL(print_error(file.error()));
  auto rules = rule::check_rules({*file}, ops::OpTable::builtin());
  if (!rules) FAIL(print_error(rules.error()));
  return *std::move(rules);
}

Result<Program> compile(const rule::RuleSet& rules) {
  std::vector<RuleId> all;
  for (std::size_t i = 0; i < rules.rewrites.size(); ++i) all.push_back(RuleId(i));
  return compile_program(*rules.table, rules.rewrites, all);
}

}  // namespace

TEST_CASE("patterns with a common beginning share its instructions", "[match]") {
  const rule::RuleSet rules = rules_of(R"(
    rewrite exp-of-log { match exp(log(x)) to x }
    rewrite exp-of-neg { match exp(neg(x)) to exp(x) }
    rewrite neg-of-neg { match neg(neg(x)) to x })");
  const auto program = compile(rules);
  REQUIRE(program.has_value());
  CHECK(program->roots.size() == 2);
  CHECK(program->patterns.size() == 3);
  CHECK(print_program(*rules.table, *program) ==
        "n0 = exp in r0\n"
        "  r1 = operand 0 of n0\n"
        "    n1 = log in r1\n"
        "      r2 = operand 0 of n1\n"
        "        pattern 0\n"
        "    n1 = neg in r1\n"
        "      r2 = operand 0 of n1\n"
        "        pattern 1\n"
        "n0 = neg in r0\n"
        "  r1 = operand 0 of n0\n"
        "    n1 = neg in r1\n"
        "      r2 = operand 0 of n1\n"
        "        pattern 2\n");
}

TEST_CASE("one name twice is one class, an attribute twice is one value", "[match]") {
  const rule::RuleSet rules = rules_of(R"(
    rewrite twice { match reduce_sum(x, axes = a) / reduce_max(x, axes = a) to reduce_max(x, axes = a) })");
  const auto program = compile(rules);
  REQUIRE(program.has_value());
  const std::string text = print_program(*rules.table, *program);
  CHECK(text.find("n2.axes is n1.axes") != std::string::npos);
  CHECK(text.find("r4 is r3") != std::string::npos);
}

TEST_CASE("roots that are written alike are one part, joined by what they share", "[match]") {
  const rule::RuleSet rules = rules_of(R"(
    rewrite pair { match reduce_sum(x, axes = a) as p, reduce_sum(x, axes = b) as q to p, q }
    rewrite other { match reduce_sum(x, axes = a) as p, reduce_max(x, axes = a) as q to p, q })");
  const auto program = compile(rules);
  REQUIRE(program.has_value());
  CHECK(program->parts.size() == 2);
  CHECK_FALSE(program->patterns[0].alike);
  CHECK(program->patterns[1].alike);
  CHECK(print_program(*rules.table, *program) ==
        "n0 = reduce_sum in r0\n"
        "  r1 = operand 0 of n0\n"
        "    part 0\n"
        "n0 = reduce_max in r0\n"
        "  r1 = operand 0 of n0\n"
        "    part 1\n"
        "pattern 0 = part 0 and part 1 where r1 of it is r1, n0.axes of it is n0.axes\n"
        "pattern 1 = part 0 and part 0 where r1 of it is r1\n");
}

}  // namespace fusewright::match
