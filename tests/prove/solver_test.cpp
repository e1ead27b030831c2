#include <catch2/catch.hpp>

#include "fusewright/rule/check.hpp"
#include "fusewright/rule/parse.hpp"
#include "src/prove/smt.hpp"
#include "src/prove/smt_sums.hpp"

namespace fusewright::prove {
namespace {

/// What the solver says of the only rewrite in the text.
std::string theory_of(const std::string& body) {
  const std::string text = "rewrite r exactness(reassociating) { " + body + " }";
  auto file = rule::parse_rules(std::make_shared<const SourceText>(SourceText{"test.fuse", text}));
  if (!file) FAIL(print_error(file.error()));
  auto set = rule::check_rules({*file}, ops::OpTable::builtin());
  if (!set) FAIL(print_error(set.error()));
  auto rule = compile_lone(*set, 0);
  if (!rule) FAIL(print_error(rule.error()));
  return prove_by_solver(*set, *rule);
}

/// A lemma and slips of it: the first is proved, none of the others is.
void holds_but_not(const std::string& lemma, const std::vector<std::string>& slips) {
  INFO(lemma);
  CHECK(theory_of(lemma).starts_with("reals"));
  for (const std::string& slip : slips) {
    INFO(slip);
    CHECK(theory_of(slip).empty());
  }
}

}  // namespace

TEST_CASE("a sum of sums by terms is the sum of both", "[prove]") {
  const std::string left = "match reduce_sum(x, axes = a) + reduce_sum(y, axes = a) where shape(x) == shape(y) ";
  holds_but_not(left + "to reduce_sum(x + y, axes = a)",
                {left + "to reduce_sum(x - y, axes = a)", left + "to reduce_sum(x * y, axes = a)",
                 left + "to reduce_sum(x + x, axes = a)", left + "to reduce_sum(x, axes = a) + y"});
}

TEST_CASE("a factor that no summed axis has stands before the sum", "[prove]") {
  const std::string left =
      "match reduce_sum(x * broadcast(s, dims = [0], shape = r), axes = [1]) where rank(x) == 2, r == shape(x) ";
  holds_but_not(
      left + "to reduce_sum(x, axes = [1]) * s",
      {left + "to reduce_sum(x, axes = [1]) / s", left + "to reduce_sum(x, axes = [1]) + s",
       "match reduce_sum(x * broadcast(s, dims = [1], shape = r), axes = [1]) where rank(x) == 2, r == shape(x), "
       "dim(x, 0) == dim(x, 1) to reduce_sum(x, axes = [1]) * s"});
}

TEST_CASE("what no summed axis has is summed by its number", "[prove]") {
  z3::context context;
  Sums sums(context);
  const z3::expr k = context.int_const("k"), x = context.real_const("x"), n = context.int_const("n");
  const z3::expr f = context.function("f", context.int_sort(), context.real_sort())(k);
  for (int extent = 1; extent <= 4; ++extent)
    CHECK(z3::eq(sums.sum({{k, context.int_val(extent)}}, x).simplify(), (x * extent).simplify()));
  CHECK(z3::eq(sums.sum({{k, n}}, x).simplify(), (x * z3::to_real(n)).simplify()));
  CHECK_FALSE(z3::eq(sums.sum({{k, n}}, f).simplify(), (f * z3::to_real(n)).simplify()));
}

TEST_CASE("sums of sums are one sum in any order", "[prove]") {
  const std::string left = "match reduce_sum(reduce_sum(x, axes = [1]), axes = [0]) where rank(x) == 2 ";
  holds_but_not(left + "to reduce_sum(x, axes = [0, 1])", {left + "to reduce_sum(x * x, axes = [0, 1])"});
  holds_but_not(left + "to reduce_sum(reduce_sum(x, axes = [0]), axes = [0])",
                {left + "to reduce_sum(reduce_sum(-x, axes = [0]), axes = [0])"});
}

TEST_CASE("a product of sums is not the sum of products", "[prove]") {
  CHECK(
      theory_of("match reduce_sum(x, axes = [0]) * reduce_sum(y, axes = [0]) where rank(x) == 1, shape(x) == shape(y) "
                "to reduce_sum(x * y, axes = [0])")
          .empty());
}

TEST_CASE("contractions are linear in their weights", "[prove]") {
  const std::string dot =
      "match dot(x, w) as d * broadcast(s, dims = [last], shape = r)\n"
      "let free = axes_except(w, d.rhs_batch + d.rhs_contract)\n"
      "where constant(w, s), len(free) == 1, last == rank(d) - 1, dtype(w) == dtype(d), r == shape(d) ";
  holds_but_not(dot + "to dot(x, fold(w * s along free), ..d)", {dot + "to dot(x, fold(w / s along free), ..d)"});
  const std::string conv =
      "match conv(x, w) as c * broadcast(s, dims = [feature(c)], shape = r)\n"
      "where constant(w, s), dtype(w) == dtype(c), r == shape(c) ";
  CHECK(theory_of(conv + "to conv(x, fold(w + s along out_feature(c)), ..c)").empty());
}

}  // namespace fusewright::prove
