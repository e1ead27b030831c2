#include "fusewright/rule/lint.hpp"
#include "tests/rule/helpers.hpp"

// Conditions over numbers, lists and texts that can never hold, and ones like them that can.

using namespace fusewright;
using namespace fusewright::rule;
using namespace fusewright::rule::testing;

namespace {

bool never_holds(const std::string& conditions) {
  const RuleSet set = check(
      "op f(x, y; a: int, b: int, r: float, p: ints, m: string)\n"
      "rewrite one {\n  match f(x, y, a = a, b = b, r = r, p = p, m = m)\n  where " +
      conditions + "\n  to x\n}\n");
  return std::ranges::any_of(lint_rules(set), [](const Finding& f) { return f.lint == "impossible-guard"; });
}

}  // namespace

TEST_CASE("conditions that can never hold are found", "[rule]") {
  for (const char* conditions : {
           "contains([1, 2], 3)",
           "rank(x) % 2 == 3",
           "min(rank(x), 2) > 2",
           "max(rank(x), 2) < 2",
           "abs(rank(x)) < 0",
           "abs(a) < 0",
           "abs(a) == 1, a == 3",
           "rank(x) in [1, 3], rank(x) in [2, 4]",
           "rank(x) % 2 == 0, rank(x) % 2 == 1",
           "rank(x) % 4 == 1, rank(x) % 2 == 0",
           "rank(x) % 2 == 0, rank(x) >= 3, rank(x) < 4",
           "rank(x) % 2 == 1, rank(x) in [2, 4]",
           "rank(x) // 2 == 1, rank(x) > 3",
           "a // 2 == 1, a < 2",
           "p == [0, 1], contains(p, 3)",
           "p == [0, 1], p[0] == 1",
           "p[0:2] == [1, 2], p[0:1] == [3]",
           "p[0] == 2, p == [1, 3]",
           "shape(x) == [2, 3], rank(x) == 3",
           "shape(x) == [2, 3], dim(x, 1) == 4",
           "dim(x, 0) == dim(y, 0), dim(y, 0) == 3, dim(x, 0) == 4",
           "shape(x)[1:] == shape(y)[1:], dim(x, 1) == 3, dim(y, 1) == 4",
           "shape(x) == shape(y), dim(x, 1) == 3, dim(y, 1) == 4",
           "shape(x) == shape(y), rank(x) == 2, rank(y) == 3",
           "rank(x) == 1, dim(x, 1) == 3",
           "rank(x) == 2, dim(x, -1) == 3, dim(x, 1) == 4",
           R"(m == "a", m == "b")",
           R"(m in ["a", "b"], m == "c")",
           "dtype(x) in [f32, f16], dtype(x) in [s32]",
           "dtype(x) == dtype(y), dtype(x) in [f32], dtype(y) in [f16]",
           "is_float(x), dtype(x) in [s32, s8]",
           "is_float(x) and is_integer(x)",
           "bits(x) == 24",
           "bits(x) < 4",
           "2 * rank(x) + 2 * rank(y) == 5",
           "rank(x) + rank(y) > 5, rank(x) < 2, rank(y) < 3",
           "len(p) == 2, p[3] == 1",
           "prod([2, 3]) == 5",
           "sum([1, 2]) != 3",
           "max([1, 2]) == 1",
           "[1, 2][0] == 2",
           "rank(x) in []",
           "not rank(x) in [0, 1], rank(x) < 2",
           "rank(x) != 0, rank(x) != 1, rank(x) < 2",
           "rank(x) == 1 or rank(x) == 2, rank(x) == 3 or rank(x) == 4",
           "rank(x) / 2 == 3, rank(x) == 5",
           "min(rank(x), rank(y)) == 3, rank(x) < 3",
           "max(rank(x), rank(y)) <= 1, rank(y) > 1",
           "dim(x, 0) % 8 == 0, dim(x, 0) == 12",
           "dim(x, 0) % 8 == 0, dim(x, 0) < 8, dim(x, 0) > 0",
           "dim(x, 0) % 8 == 9",
           "len(p[1:]) == 2, len(p) == 2",
           "p[1:] == [1, 2], len(p) == 2",
           "p[0:1] == [0], p[0] != 0",
           "a == 2, a % 2 == 1",
           "a in [1, 2], a in [3, 4]",
           "a in [1, 2], a not in [1, 2]",
           "contains([1, 2], a), a > 2",
           "dtype(x) in [f32, f16], bits(x) == 64",
           "dtype(x) not in [f32], dtype(x) == f32",
           "shape(x) + [1] == [2, 3], rank(x) == 2",
           "len(shape(x)) == 1, dim(x, 0) == 2, shape(x) == [3]",
           "broadcasts_to(x, y), not broadcasts_to(x, y)",
           "floor(r) > r",
           "ceil(r) < r",
           "size(x) < 0",
           "[rank(x), 2] == [1, 3]",
           "min(shape(x)) > max(shape(x))",
           "a < b, b < a",
           "a % 3 == 1, b % 3 == 2, a == b",
           "true == false",
           "1 > 2",
           "not true",
           "a == 1, b == 2, a + b == 4",
           "a * 2 == 3",
           "sum(shape(x)) < 0",
           "rank(x) ** 2 == 3, rank(x) == 2",
           "p == [0], p == [1]",
           "p == [0, 1], len(p) == 3",
           "reversed(p) == [1, 0], p == [1, 0]",
       }) {
    INFO(conditions);
    CHECK(never_holds(conditions));
  }
}

TEST_CASE("conditions that can hold are not taken for ones that cannot", "[rule]") {
  for (const char* conditions : {
           "contains([1, 2], 2)",
           "rank(x) % 2 == 1",
           "min(rank(x), 2) == 2",
           "rank(x) in [1, 3], rank(x) in [3, 4]",
           "rank(x) % 4 == 1, rank(x) % 2 == 1",
           "p == [0, 1], contains(p, 1)",
           "p[0:2] == [1, 2], p[0:1] == [1]",
           "shape(x)[1:] == shape(y)[1:], dim(x, 0) == 3, dim(y, 0) == 4",
           "rank(x) == 1 or dim(x, 1) == 3",
           R"(m in ["a", "b"], m == "b")",
           "abs(a) == 3, a < 0",
           "a // 2 == 1, a == 3",
           "a % 2 == 1, a < 0",
           "dim(x, 0) % 8 == 0, dim(x, 0) == 16",
           "min(rank(x), rank(y)) == 3, rank(x) == 4",
           "shape(x) + [1] == [2, 3, 1]",
           "len(p[1:]) == 2, len(p) == 3",
           "a + b == 4, a - b == 2",
           "rank(x) == 2, dim(x, -1) == 3, dim(x, 0) == 4",
           "2 * a + 4 * b == 6",
           "a // 2 == 0 - 1, a == 0 - 1",
           "r > 0.5, r < 0.75",
           "r % 1 == 0.5",
           "a * b == 6, a == 2, b == 3",
       }) {
    INFO(conditions);
    CHECK_FALSE(never_holds(conditions));
  }
}
