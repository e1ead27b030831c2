#include <catch2/catch.hpp>

#include "tests/prove/verdicts.hpp"

namespace fusewright::prove {
namespace {

std::string rewrite(const std::string& sides) { return "rewrite r { match " + sides + " }"; }

constexpr const char* kTwice = "reverse(reverse(x, axes = [0]), axes = [0])";

}  // namespace

TEST_CASE("numbers that solve what guards say of a constant are tried", "[prove]") {
  const std::string broken =
      GENERATE("x * c  where splat(c), value(c) * value(c) == value(c) + 2  to x + x",
               "x * c  where splat(c), value(c) * value(c) * value(c) - 6 * value(c) * value(c) + 11 * value(c) == 6, "
               "value(c) > 1, dtype(x) == f32  to x + x",
               "x + c  where splat(c), value(c) > 5, value(c) < 6, dtype(x) == f32  to x",
               "max(x, c)  where splat(c), value(c) < -1e38, dtype(x) == f32  to x",
               "and(x, c)  where splat(c), value(c) % 64 == 63, value(c) > 100, dtype(x) == s32  to x",
               "x * c + x * d  where splat(c), splat(d), value(c) + value(d) == 77, dtype(x) == s32  to x * 76");
  INFO(broken);
  CHECK(refuted(rewrite(broken)));
}

TEST_CASE("a constant of a bit-exact rule may be infinite", "[prove]") {
  const std::string rule = "max(x * c, y * c)  where splat(c), value(c) > 0, dtype(x) == f32";
  CHECK(refuted(rewrite(rule + "  to max(x, y) * c")));
  CHECK(holds(rewrite(rule + ", value(c) < inf, value(c) * value(c) == 1  to max(x, y)")));
}

TEST_CASE("a proof covers every number that guards let a constant be", "[prove]") {
  const std::string rule = "select(p, x - c, x - c)  where splat(c), dtype(x) == f32, ";
  const Verdict settled = verdict_of(rewrite(rule + "value(c) * value(c) == 1  to x - c"));
  CHECK(settled.kind == Verdict::Kind::kProved);
  // Any number: what is shown of a table is not shown.
  const Verdict open = verdict_of(rewrite(rule + "value(c) > 0  to x - c"));
  CHECK(open.kind == Verdict::Kind::kExhausted);
  CHECK(open.theory.empty());
}

TEST_CASE("extents are those that guards let pass, and the verdict says that no smaller ones are", "[prove]") {
  const std::string guard = GENERATE("dim(x, 0) > 6", "dim(x, 0) == 65", "dim(x, 0) * dim(x, 0) == 8 * dim(x, 0)",
                                     "dim(x, -1) == 12", "size(x) == 130", "shape(x) == [17]");
  INFO(guard);
  const std::string given = "  where rank(x) == 1, " + guard + "  to x";
  CHECK(refuted(rewrite("reverse(x, axes = [0])" + given)));
  const Verdict v = verdict_of(rewrite(kTwice + given));
  CHECK(sure(v));
  CHECK(v.space.starts_with("no instance is smaller: "));
  // Two extents that solve an equation.
  CHECK(
      refuted(rewrite("transpose(x, perm = [1, 0])  where dim(x, 0) * dim(x, 1) == 20, dim(x, 0) + 1 == dim(x, 1)  "
                      "to reshape(x, [dim(x, 1), dim(x, 0)])")));
}

TEST_CASE("a verdict says of how many terms not every way to match was tried", "[prove]") {
  const Verdict v =
      verdict_of(rewrite("((a + b) * (c + d)) * ((e + f) * (g + h))  where dtype(a) == s32  to (a + b) * ((c + d) * "
                         "((e + f) * (g + h)))"));
  CHECK(sure(v));
  CHECK(v.space.find("match in more than 16 ways") != std::string::npos);
}

TEST_CASE("more than four axes are tried where a rule demands them", "[prove]") {
  CHECK(refuted(
      rewrite("transpose(x, perm = p)  where rank(x) >= 5, p[0] == 0, shape(x) == permute(shape(x), p)  to x")));
  CHECK(holds(rewrite("reverse(reverse(x, axes = a), axes = a)  where rank(x) == 5  to x")));
  CHECK(
      refuted("rewrite r exactness(reassociating) { match conv(x, w, strides = s) as c  where len(s) == 3, dtype(x) "
              "== f32  to conv(x, w, strides = [1, 1, 1], ..c) }"));
  CHECK(
      refuted("rewrite r exactness(reassociating) { match reduce_sum(x * 2, axes = a)  where rank(x) == 6, dtype(x) "
              "== f32  to reduce_sum(x, axes = a) * 3 }"));
}

TEST_CASE("a value that is used twice is walked once", "[prove]") {
  constexpr int kSteps = 14;
  const auto chain = [](const std::string& first, const std::string& op) {
    std::string out = "(" + first + " as y0)";
    for (int i = 0; i < kSteps; ++i)
      out = "((" + out + op + "y" + std::to_string(i) + ") as y" + std::to_string(i + 1) + ")";
    return out;
  };
  const auto exact = [](const std::string& c, const std::string& sides) {
    return "rewrite r exactness(" + c + ") { match " + sides + " }";
  };
  CHECK(holds(exact("reassociating", chain("exp(x)", " * ") + " * z  where dtype(x) == f32  to (y13 * z) * y13")));
  CHECK(holds(exact("bitexact", chain("abs(x)", " * ") + " * z  where dtype(x) == s32  to y13 * (z * y13)")));
  CHECK(holds(exact("reassociating", chain("abs(x)", " + ") + "  where dtype(x) == f32  to 16384 * y0")));
  CHECK(holds(exact("bitexact", "transpose(" + chain("exp(x)", " * ") +
                                    ", perm = p)  where dtype(x) == f32  to transpose(y13, perm = p) * transpose(y13, "
                                    "perm = p)")));
  const Verdict v = verdict_of(exact("bitexact", chain("exp(x)", " * ") + "  where dtype(x) == f32  to y13"));
  REQUIRE(v.kind == Verdict::Kind::kRefuted);
  CHECK(v.counterexample->reject.size() < 1000);  // and written once
  CHECK(v.counterexample->reject.find("let v") != std::string::npos);
}

}  // namespace fusewright::prove
