#include "fusewright/prove/prove.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include "fusewright/prove/space.hpp"
#include "tests/prove/verdicts.hpp"

namespace fusewright::prove {
namespace {

using Kind = Verdict::Kind;

}  // namespace

TEST_CASE("two signs cancel for every number", "[prove]") {
  const Verdict v = verdict_of("rewrite two-signs { match -(-x)  to x }");
  CHECK(v.instances > 50);
  CHECK(v.refused == 0);
  CHECK(v.kind == Kind::kProved);
  CHECK(v.theory.find("IEEE") != std::string::npos);
}

TEST_CASE("zero added to a float is refuted by minus zero, smallest shape first", "[prove]") {
  const Verdict v = verdict_of("rewrite add-zero { match x + 0  to x }");
  REQUIRE(v.kind == Kind::kRefuted);
  CHECK(v.counterexample->reject == "reject { x: f32[]  match add(x, literal(0, f32, [])) }");
  CHECK(v.counterexample->values == "x = [-0]");
  CHECK(v.counterexample->reason == "element 0 of the right side is -0, of the left side 0");
}

TEST_CASE("guards are evaluated and what they refuse is counted", "[prove]") {
  const Verdict v = verdict_of("rewrite add-zero { match x + 0  where is_integer(x)  to x }");
  CHECK(sure(v));
  CHECK(v.instances > 0);
}

TEST_CASE("a rule's own numbers, ties and what narrower formats round are tried", "[prove]") {
  const std::string broken = GENERATE(
      "x > 0.5  where dtype(x) == f32  to x >= 0.5", "x > 1000  where dtype(x) == s32  to x >= 1000",
      "select(x == 77, y, x)  where dtype(x) == f32  to x", "x == 777  where is_integer(x), bits(x) == 16  to x != x",
      "round_even(x)  where dtype(x) == f32  to round_away(x)",
      "floor(x + 0.5)  where dtype(x) == f64  to round_away(x)",
      "convert(x, dtype = f32) < convert(y, dtype = f32)  where dtype(x) == s32, dtype(y) == s32  to x < y",
      "convert(convert(x, dtype = bf16), dtype = s16)  where dtype(x) == s16  to x",
      "convert(convert(x, dtype = f16), dtype = u16)  where dtype(x) == u16  to x",
      "convert(convert(x, dtype = f64), dtype = s64)  where dtype(x) == s64  to x",
      "floor(convert(x, dtype = f32) * 0.5)  where dtype(x) == s32  to convert(shr_arithmetic(x, 1), dtype = f32)",
      "convert(convert(x, dtype = f32), dtype = f16)  where dtype(x) == f64  to convert(x, dtype = f16)",
      "convert(convert(x, dtype = f16), dtype = bf16)  where dtype(x) == f32  to convert(x, dtype = bf16)");
  CHECK(refuted("rewrite r { match " + broken + " }"));
}

TEST_CASE("an approximation keeps within its error where its formula cancels, too", "[prove]") {
  const std::string rule = "rewrite r exactness(approximate(0.00001)) { match ";
  CHECK(refuted(rule + "expm1(x)  where dtype(x) == f32  to exp(x) - 1 }"));
  CHECK(refuted(rule + "log1p(x)  where dtype(x) == f32  to log(1 + x) }"));
  CHECK(refuted(rule + "tanh(x)  where dtype(x) == f32  to logistic(x * 2) * 2 - 1 }"));
  CHECK_FALSE(refuted(rule + "exp(x) - 1  where dtype(x) == f32  to expm1(x) }"));
  CHECK_FALSE(refuted(rule + "x / sqrt(y)  where dtype(x) == f32  to x * rsqrt(y) }"));
}

TEST_CASE("a class allows what it says and no regrouping", "[prove]") {
  const std::string allowed = GENERATE("contracting", "excess_precision", "approximate(1e-6)");
  const std::string rule = "rewrite r exactness(" + allowed + ") { match ";
  CHECK(refuted(rule + "(x + y) + z  where is_float(x)  to x + (y + z) }"));
  CHECK_FALSE(refuted(rule + "x * y + z  where is_float(x)  to z + y * x }"));
}

TEST_CASE("axes that are several of another tensor, and extents and ranks that only one condition names, are tried",
          "[prove]") {
  const std::string broken =
      GENERATE("reshape(transpose(x, perm = [1, 0]), shape = s)  where len(s) == 1  to reshape(x, shape = s)",
               "reshape(transpose(x, perm = [0, 2, 3, 1]), shape = s)  where len(s) == 2  to reshape(x, shape = s)",
               "reverse(x, axes = [0])  where rank(x) == 1, dim(x, 0) <= 1 or dim(x, 0) == 37  to x",
               "transpose(x, perm = p)  where rank(x) <= 1 or rank(x) == 5 and p[4] == 0  to x",
               "concat(x, y, axis = 0)  where rank(x) == 1, dim(x, 0) < 2  to concat(x, y, axis = 0) if dim(x, 0) + "
               "dim(y, 0) <= "
               "4 else concat(y, x, axis = 0)");
  CHECK(refuted("rewrite r { match " + broken + " }"));
}

TEST_CASE("operands whose dtype the result does not tell are tried in every dtype", "[prove]") {
  CHECK(
      refuted("rewrite r { match arg_max(abs(x), axis = a, dtype = t, last = l)  where is_integer(x)  "
              "to arg_max(max(x, -x), axis = a, dtype = t, last = l) }"));
  CHECK(
      refuted("rewrite r { match top_k(abs(x), k = k, axis = a, largest = l, dtype = t).indices  where is_integer(x)  "
              "to top_k(max(x, -x), k = k, axis = a, largest = l, dtype = t).indices }"));
}

TEST_CASE("what only looks as if it rounded is not refuted", "[prove]") {
  const std::string right =
      GENERATE("x > 10  where dtype(x) == s32  to x >= 11",
               "convert(convert(x, dtype = f32), dtype = s16)  where dtype(x) == s16  to x",
               "convert(convert(x, dtype = f32), dtype = f16)  where dtype(x) == s32  to convert(x, dtype = f16)");
  CHECK_FALSE(refuted("rewrite r { match " + right + " }"));
  // A power by a whole number is a product, at every rank.
  CHECK_FALSE(
      refuted("rewrite r exactness(reassociating) { match x ** 3  where is_float(x), rank(x) == 1  to x * x * x }"));
}

TEST_CASE("a conversion that rounds is refuted", "[prove]") {
  const std::string rule = "rewrite back { match convert(convert(x) as y, dtype = t)  where dtype(x) == t, ";
  CHECK(refuted(rule + "is_float(x), is_float(y)  to x }"));
  CHECK(holds(rule + "is_float(x), is_float(y), bits(y) > bits(x)  to x }"));
}

TEST_CASE("permutations are composed in the right order", "[prove]") {
  const std::string rule = "rewrite twice { match transpose(transpose(x, perm = p), perm = q)  to transpose(x, perm = ";
  CHECK(holds(rule + "permute(p, q)) }"));
  CHECK(refuted(rule + "permute(q, p)) }"));
  CHECK(refuted(rule + "p) }"));
}

TEST_CASE("sizes that are symbols are proved where only elements move", "[prove]") {
  const Verdict v = verdict_of(
      "rewrite r { match transpose(transpose(x, perm = p), perm = q)  to transpose(x, perm = permute(p, q)) }");
  CHECK(sure(v));
  CHECK(v.theory.find("symbolic extents") != std::string::npos);
  const Verdict merged = verdict_of("rewrite r { match reshape(reshape(x), shape = s)  to reshape(x, shape = s) }");
  CHECK(sure(merged));
  CHECK(merged.theory.empty());  // no symbol is a product of others
}

TEST_CASE("a factor moves into the weights along the right axis only", "[prove]") {
  const std::string rule =
      "rewrite fold exactness(reassociating) { match dot(x, w) as d * broadcast(s, dims = [last], shape = r)\n"
      "let free = axes_except(w, d.rhs_batch + d.rhs_contract)\n"
      "where constant(w, s), len(free) == 1, last == rank(d) - 1, shape(s)[0] == dim(d, last), dtype(w) == dtype(d)";
  CHECK(holds(rule + ", r == shape(d)  to dot(x, fold(w * s along free), ..d) }"));
  CHECK(refuted(rule + ", r == shape(d)  to dot(x, fold(w / s along free), ..d) }"));
}

TEST_CASE("reassociating allows rounding and nothing more", "[prove]") {
  CHECK(refuted("rewrite r { match (x + y) + z  to x + (y + z) }"));
  CHECK(holds("rewrite r exactness(reassociating) { match (x + y) + z  to x + (y + z) }"));
  CHECK(refuted("rewrite r exactness(reassociating) { match (x + y) + z  to x + (y - z) }"));
  CHECK(refuted("rewrite r exactness(reassociating) { match rsqrt(x * x + y)  to rsqrt(x * x) }"));
}

TEST_CASE("special values meet in two and in three operands", "[prove]") {
  CHECK(refuted("rewrite r exactness(reassociating) { match max(x + a, x + b)  where is_float(x)  to x + max(a, b) }"));
  const Verdict v = verdict_of("rewrite r { match max(x + a, x + b)  where is_float(x)  to x + max(a, b) }");
  REQUIRE(v.kind == Kind::kRefuted);
  CHECK(v.counterexample->values == "x = [inf], a = [-inf], b = [0]");
  CHECK(v.counterexample->reason == "element 0 of the right side is inf, of the left side nan");
  // Beside a broadcast, too, and where elements are folded.
  CHECK(
      refuted("rewrite r { match max(x + broadcast(a, dims = d, shape = r), x + broadcast(b, dims = d, shape = r))\n"
              "where shape(x) == [2, 1], len(d) == 1  to x + broadcast(max(a, b), dims = d, shape = r) }"));
  CHECK(
      refuted("rewrite r { match reduce_sum(x, axes = [0]) as s  where is_float(x), shape(x) == [2] "
              "to select(s == s, s, 1) }"));
}

TEST_CASE("regrouping changes no function", "[prove]") {
  const auto rule = [](const std::string& exactness, const std::string& sides) {
    return "rewrite r exactness(" + exactness + ") { match " + sides + " }";
  };
  const std::string sums = "exp(x) * exp(y)  where bits(x) >= 32, shape(x) == []  to exp(x + y)";
  const std::string roots = "sqrt(a * a)  where bits(a) >= 32, shape(a) == []  to abs(a)";
  for (const std::string& sides : {sums, roots}) {
    const Verdict v = verdict_of(rule("reassociating", sides));
    REQUIRE(v.kind == Kind::kRefuted);
    CHECK(v.counterexample->reason.find("exactness(approximate(RELATIVE ERROR)), not reassociating") !=
          std::string::npos);
    CHECK(holds(rule("approximate(1e-5)", sides)));
  }
  CHECK(holds(rule("reassociating", "exp(x) * (y * exp(x + x))  where shape(x) == []  to (exp(x) * y) * exp(2 * x)")));
  CHECK(refuted(rule("reassociating", "1 / (1 + exp(-x))  where is_float(x)  to logistic(x)")));
  CHECK(refuted(rule("reassociating", "a * x + b * x  where is_float(x)  to (a + b) * x")));
  CHECK(holds(rule("factoring", "a * x + b * x  where is_float(x), shape(x) == []  to (a + b) * x")));
}

TEST_CASE("a NaN that comes out whatever is rounded is held against the right side", "[prove]") {
  CHECK(refuted(
      "rewrite r exactness(reassociating) { match reduce_sum(log(x - broadcast(reduce_max(x, axes = [0]), dims = [], "
      "shape = s)), axes = [0])  where is_float(x), shape(x) == [2]  to reduce_sum(x, axes = [0]) }"));
}

TEST_CASE("a right side overflows only where the left side does", "[prove]") {
  const auto rule = [](const std::string& sides, const std::string& error = "1e-5") {
    return "rewrite r exactness(approximate(" + error + ")) { match " + sides + " }";
  };
  CHECK(refuted(rule("abs(a)  where is_float(a)  to sqrt(a * a)")));
  CHECK(
      refuted(rule("exp(x - broadcast(reduce_max(x, axes = [1]) as m, dims = [0], shape = s))  where rank(x) == 2, "
                   "is_float(x)  to exp(x) / exp(broadcast(m, dims = [0], shape = s))")));
  // Where x * x overflows, nothing is asked.
  CHECK(holds(rule("log(x * x)  where is_float(x), bits(x) >= 32  to 2 * log(abs(x))", "1e-3")));
}

TEST_CASE("values lie beyond the bounds that a rule is written with", "[prove]") {
  const std::string rule = "rewrite r exactness(reassociating) { match x * min(max(x + 3, 0), 6)  where is_float(x)  ";
  CHECK(holds(rule + "to min(max(x + 3, 0), 6) * x }"));
  CHECK(refuted(rule + "to x * min(max(x + 3, 0), 7) }"));
  CHECK(refuted(rule + "to x * min(max(x + 3, 0), 5) }"));
}

TEST_CASE("a number that need only be near is tried at both ends", "[prove]") {
  CHECK(refuted("rewrite r exactness(approximate(1e-5)) { match x * ~2.718 within 1  to x * 2.718 }"));
  CHECK(refuted("rewrite r exactness(approximate(1e-5)) { match tanh(x * ~0.7 within 0.1)  to tanh(x * 0.7) }"));
  CHECK(holds("rewrite r exactness(approximate(1e-5)) { match x * ~2.71828183  to x * 2.71828183 }"));
}

TEST_CASE("infinities and NaN reach operands of fewer elements than there are special values", "[prove]") {
  CHECK(refuted("rewrite r { match select(y == y, x, x + x)  where shape(x) == [3, 3], is_float(y)  to x }"));
}

TEST_CASE("narrow floats have axes of one element in ranks two and three", "[prove]") {
  for (const std::string shape : {"[2, 1]", "[1, 2, 2]"})
    CHECK(refuted("rewrite r { match x + x * y  where shape(x) == " + shape + ", bits(x) == 16, is_float(x)  to x }"));
}

TEST_CASE("a right side without a meaning is refuted", "[prove]") {
  const Verdict v = verdict_of("rewrite r { match reduce_sum(x, axes = a)  to reduce_sum(x, axes = a + a) }");
  REQUIRE(v.kind == Kind::kRefuted);
  CHECK(v.counterexample->reason.starts_with("the right side is not defined"));
}

TEST_CASE("a rule without instances is undecided", "[prove]") {
  const Verdict v = verdict_of("rewrite r { match custom_call(x)  to x }");
  CHECK(v.kind == Kind::kUndecided);
  CHECK(v.reason == "no instance of the space matches");
}

TEST_CASE("a rule that only empty tensors match is undecided", "[prove]") {
  for (const std::string exactness : {"bitexact", "reassociating"}) {
    const Verdict v =
        verdict_of("rewrite r exactness(" + exactness + ") { match exp(x) where size(x) == 0 to tanh(x) }");
    CHECK(v.kind == Kind::kUndecided);
    CHECK(v.reason == "no instance of the space that matches has an element to compare");
  }
  CHECK(holds("rewrite r exactness(bitexact) { match exp(x) where size(x) == 0 or rank(x) == 1 to exp(x) }"));
}

TEST_CASE("patterns have instances whatever makes their operands", "[prove]") {
  // Indices of any dtype, counted or written down.
  CHECK(holds(
      "rewrite r { match take(x, iota(shape = s, dtype = s32), axis = a) where len(s) == 1, s[0] == dim(x, a) to x }"));
  CHECK(refuted("rewrite r { match take(x, iota(shape = s, dtype = s32), axis = a) where s == [1] to x }"));
  CHECK(
      holds("rewrite r { match take(x, constant() as i, axis = a) where rank(i) == 0 to take(x, s64(i), axis = a) }"));
  CHECK(
      holds("rewrite r { match take_along(x, i, axis = a) where dtype(i) == u16 to take_along(x, s32(i), axis = a) }"));
  // Operators without operands.
  const auto scaled = verdicts_of(
      "op steps(; n: int) = iota(shape = [n], dtype = f32, axis = 0) * 0.5\n"
      "rewrite r { match exp(steps(n = k)) where k > 1 to steps(n = k) }");
  REQUIRE(scaled.size() == 2);
  CHECK(scaled[0].kind == Kind::kRefuted);
  CHECK(sure(scaled[1]));
  // Operands shorter than the result.
  const std::string swapped =
      "op swapped(a, b; axis = -1) = concat(b, a, axis = axis) rewrite r { match swapped(a, b, axis = n) to ";
  CHECK(sure(verdicts_of(swapped + "concat(b, a, axis = n) }")[0]));
  CHECK(verdicts_of(swapped + "concat(a, b, axis = n) }")[0].kind == Kind::kRefuted);
  // Dtypes, attributes and extents that the rule names.
  const std::string leaky =
      "op leaky(x; slope = 0.01) = select(x > 0, x, x * slope) rewrite r { match leaky(x, slope = s) where "
      "is_float(x), ";
  CHECK(sure(verdicts_of(leaky + "s == 0.125 to select(x > 0, x, x / 8) }")[0]));
  CHECK(verdicts_of(leaky + "s == 0.0 to max(x, 0) }")[0].kind == Kind::kRefuted);
  CHECK(holds("rewrite r { match arg_max(x, axis = a) as m where dtype(x) == f16 to arg_max(f32(x), ..m) }"));
  CHECK(holds("rewrite r { match dot(x, w, dtype = f32) as p where dtype(x) == bf16 to dot(f32(x), f32(w), ..p) }"));
  CHECK(
      holds("rewrite r { match reduce_precision(x, exponent_bits = 5, mantissa_bits = 3) as y where dtype(x) == f32"
            "            to reduce_precision(x, ..y) }"));
  CHECK(
      holds("rewrite r { match arg_max(-x, axis = a) as m where is_integer(x), bits(x) < 8, dtype(x) != s4"
            "            to arg_max(0 - x, ..m) }"));
  CHECK(holds("rewrite r { match exp(x) where shape(x) == [8, 16] to reshape(exp(reshape(x, [128])), [8, 16]) }"));
  CHECK(
      refuted("rewrite r { match reduce_sum(x, axes = a) where dim(x, 0) == 8, a == [0] to reduce_max(x, axes = a) }"));
  CHECK(holds(
      "rewrite r { match reduce_max(x, axes = [0, 1, 2]) to reduce_max(reduce_max(x, axes = [2]), axes = [0, 1]) }"));
}

TEST_CASE("several constants are tried with few numbers each and any of one", "[prove]") {
  const std::string match =
      "rewrite r exactness(reassociating) { match (x * a + b) * c + d"
      "  where is_float(x), splat(a), splat(b), splat(c), splat(d), ";
  const Verdict right = verdict_of(match +
                                   "abs(value(a)) >= 0.5, abs(value(c)) >= 0.5, abs(value(b)) < 5, abs(value(d)) < 5"
                                   "  to x * (a * c) + (b * c + d) }");
  INFO(to_text({right}));
  CHECK(sure(right));
  CHECK(right.space.find("of each constant but one") != std::string::npos);
  CHECK(refuted(match + "rank(x) == 0  to x * (a * c) + (b + d) }"));
  CHECK(refuted(match + "value(b) == 2 * value(c), value(d) == 10  to x * (a * c) + (b + d) }"));
}

TEST_CASE("each root of a rewrite of several is held against its own value", "[prove]") {
  const std::string rule = "rewrite r { match abs(x) as p, neg(x) as q  where is_float(x)  to ";
  const Verdict v = verdict_of(rule + "abs(q), -x }");
  CHECK(v.kind == Kind::kExhausted);
  CHECK(v.instances > 20);
  CHECK(refuted(rule + "q, -x }"));
  CHECK(refuted(rule + "abs(q), p }"));
  CHECK(verdict_of(rule + "abs(q), p }").counterexample->reject == "reject { x: f32[]  match abs(x), neg(x) }");
}

TEST_CASE("a name that no rule has is an error that names the nearest", "[prove]") {
  Options options;
  options.only = {"two-sings"};
  const auto verdicts = prove(rules_of("rewrite two-signs { match -(-x)  to x }"), options);
  REQUIRE_FALSE(verdicts);
  CHECK(verdicts.error().diagnostics[0].message == "there is no rule 'two-sings'; did you mean 'two-signs'?");
}

TEST_CASE("operators are tried with their bodies and recognised", "[prove]") {
  const Verdict v = verdict_of("op cube(x; scale = 1.0) = x * x * x * scale");
  CHECK(v.subject == Verdict::Subject::kOp);
  CHECK(sure(v));
}

TEST_CASE("what is searched in part is sampled, not exhausted", "[prove]") {
  Options options;
  options.budget = {2};
  const auto verdicts = prove(
      rules_of(
          "rewrite r { match transpose(transpose(x, perm = p), perm = q)  to transpose(x, perm = permute(p, q)) }"),
      options);
  REQUIRE(verdicts);
  const Verdict& v = (*verdicts)[0];
  INFO(v.space << v.reason);
  CHECK(v.space.find("(1 in ") != std::string::npos);
  CHECK(name(v.kind) == (v.theory.empty() ? "sampled" : "proved"));
}

TEST_CASE("a level is searched whole in the widest space that is small enough", "[prove]") {
  const Verdict v = verdict_of(
      "rewrite r { match transpose(transpose(x, perm = p), perm = q)  to transpose(x, perm = permute(p, q)) }");
  INFO(v.space);
  CHECK(v.space.find("rank 2 (extents 1-3, 3 dtypes): 108") != std::string::npos);
  CHECK(v.space.find("rank 3 (extents 1-2, 3 shapes, f32): 108") != std::string::npos);
}

TEST_CASE("a factor that the result is broadcast beyond is refuted", "[prove]") {
  CHECK(
      refuted("rewrite r exactness(reassociating) { match dot(x, w) as d * broadcast(s, dims = [last])\n"
              "let free = axes_except(w, d.rhs_batch + d.rhs_contract)\n"
              "where constant(w, s), len(free) == 1, last == rank(d) - 1, dtype(w) == dtype(d)\n"
              "to dot(x, fold(w * s along free), ..d) }"));
}

TEST_CASE("the regions of a fuse rule have the values of their nodes", "[prove]") {
  const Verdict v = verdict_of(
      "opclass pointwise = elementwise | movement\n"
      "fuse sums kernel(reduce) { match pointwise* as a |> reduction as r |> pointwise* as b }");
  CHECK(v.subject == Verdict::Subject::kFuse);
  CHECK(v.kind == Kind::kExhausted);
  CHECK(v.instances > 200);
}

TEST_CASE("a fuse rule that admits nothing of what is tried is sampled", "[prove]") {
  const std::string rule = "fuse r kernel(loop) { match {exp, tanh}+ as part where ";
  CHECK(sure(verdict_of(rule + "rank(part) < 9 }")));
  CHECK(verdict_of(rule + "not graph_output(part) }").kind == Kind::kSampled);
}

TEST_CASE("regions in which names say what is read are tried", "[prove]") {
  CHECK(sure(verdict_of("fuse f kernel(loop) { match exp(x) as e |> add(_, x) |> mul(e, _) }")));
  CHECK(sure(verdict_of("fuse f kernel(contract) { match dot(x, w) as p |> add(p, x) }")));
}

TEST_CASE("a fuse rule that admits nothing but empty tensors is sampled", "[prove]") {
  const Verdict v = verdict_of("fuse f kernel(loop) { match exp as e |> abs as a where dim(a, 0) == 0 }");
  INFO(to_text({v}));
  CHECK(v.kind == Kind::kSampled);
}

TEST_CASE("places that are themselves gathered are read", "[prove]") {
  CHECK(sure(verdict_of("fuse gathers kernel(loop) { match (take | take_along | gather)+ as body }")));
}

TEST_CASE("a counterexample can be pasted into the rule and is read back", "[prove]") {
  const std::string rule =
      "rewrite r exactness(reassociating) { match dot(transpose(a, perm = p), b) as d  to dot(a, b, ..d)\n";
  const Verdict v = verdict_of(rule + "}");
  REQUIRE(v.kind == Kind::kRefuted);
  CHECK(rules_of(rule + v.counterexample->reject + " }")->tests.size() == 1);
}

TEST_CASE("the sign of a zero is open only behind what chooses between zeros", "[prove]") {
  CHECK(holds("rewrite r { match max(x, y)  to max(y, x) }"));
  CHECK(holds("rewrite r { match exp(max(x, y))  to exp(max(y, x)) }"));
  CHECK(refuted("rewrite r { match exp(max(x, y)) * z + 0  where is_float(x)  to exp(max(x, y)) * z }"));
}

TEST_CASE("an operator is recognised only where it has the term's value", "[prove]") {
  const auto holds_as_operator = [](const std::string& text) {
    for (const Verdict& v : verdicts_of(text)) {
      INFO(to_text({v}));
      CHECK(sure(v));
    }
  };
  // A repeated operand, a number that stands twice, and an attribute that the body leaves out.
  holds_as_operator("op share(x) = x / reduce_sum(x, axes = [0])");
  holds_as_operator("op spread(x) = exp(x * 2 - reduce_max(x, axes = [0]) along [])");
  holds_as_operator("op bent(x; a = 1.0) = max(x, 0) + a * min(x / a, 0)");
  holds_as_operator("op first(x) = arg_max(x * 2, axis = 0)");
}

TEST_CASE("shipped rules are proved", "[prove]") {
  // Few and quick ones; `fusewright prove --strict rules/` takes all.
  Options options;
  options.only = {"neg-of-neg", "transpose-of-transpose", "reshape-of-reshape", "add-zero", "moves", "relu"};
  auto rules = rule::load_rules({std::string(FUSEWRIGHT_SOURCE_DIR) + "/rules"}, ops::OpTable::builtin());
  REQUIRE(rules);
  const auto verdicts = prove(std::make_shared<const rule::RuleSet>(*std::move(rules)), options);
  REQUIRE(verdicts);
  CHECK(verdicts->size() == options.only.size());
  INFO(to_text(*verdicts));
  CHECK(std::ranges::all_of(*verdicts, sure));
}

TEST_CASE("verdicts are handed on in the order of the report", "[prove]") {
  const auto rules = rules_of(
      "rewrite a { match -(-x)  where is_float(x)  to x }  rewrite b { match abs(abs(x))  to abs(x) }  "
      "rewrite c { match max(x, x)  to x }  op twice(x) = x + x  fuse d kernel(loop) { match (neg | abs)+ as body }");
  Options options;
  options.budget = {40};
  options.threads = 3;
  std::vector<std::string> handed;
  options.known = [&](const Verdict& v) { handed.push_back(v.rule); };
  const auto verdicts = prove(rules, options);
  REQUIRE(verdicts);
  CHECK(handed == std::vector<std::string>{"a", "b", "c", "twice", "d"});
  CHECK(handed == *names_to_prove(*rules, options));
}

TEST_CASE("every integer of four bits is tried", "[prove]") {
  const std::string rule = "rewrite back { match convert(convert(x) as y, dtype = t)  where dtype(x) == t, ";
  CHECK(refuted(rule + "dtype(x) == u4, dtype(y) == f8e5m2  to x }"));  // 9 has four digits, the float three
  CHECK(holds(rule + "dtype(x) == u4, dtype(y) == f8e4m3fn  to x }"));
}

TEST_CASE("every value of eight bits is tried where each element is computed by itself", "[prove]") {
  CHECK(refuted("rewrite r { match div(x, 10) where dtype(x) == u8 to u8(div(u32(x) * 103, 1024)) }"));
  CHECK(sure(verdict_of("rewrite r { match div(x, 10) where dtype(x) == u8 to u8(div(u32(x) * 205, 2048)) }")));
  CHECK(refuted(
      "rewrite r { match floor(convert(x, dtype = f32) * 0.1) where dtype(x) == u8 to floor(f32(x) * 0.0985) }"));
}

TEST_CASE("constants about the numbers that guards name are tried", "[prove]") {
  CHECK(refuted("rewrite r { match x * c where splat(c), abs(value(c)) == 1, dtype(x) == f32 to x }"));
  CHECK(refuted("rewrite r { match x * c where splat(c), value(c) * value(c) == 4, dtype(x) == f32 to x + x }"));
  CHECK(
      refuted("rewrite r { match x * c where splat(c), floor(value(c)) == value(c), value(c) > 0, value(c) < 20,"
              "  dtype(x) == f32 to select(c > 16, x, x * c) }"));
  CHECK(sure(verdict_of("rewrite r { match x * c where splat(c), value(c) == -1, is_float(x) to -x }")));
  CHECK(sure(verdict_of("rewrite r { match x * c where splat(c), value(c) == 37.5, is_float(x) to c * x }")));
}

TEST_CASE("what another formula loses at moderate numbers and between near ones counts", "[prove]") {
  for (const char* rule : {"match logistic(-x) where dtype(x) == f32 to 1 - logistic(x)",
                           "match log1p(exp(x)) where dtype(x) == f32 to log(1 + exp(x))",
                           "match exp(x - y) where dtype(x) == f32 to exp(x) / exp(y)",
                           "match (x - y) * (x + y) where dtype(x) == f32, shape(x) == shape(y) to x * x - y * y",
                           "match 1 / (x * (x + 1)) where dtype(x) == f32 to 1 / x - 1 / (x + 1)"}) {
    INFO(rule);
    CHECK(refuted(std::string("rewrite r exactness(approximate(1e-3)) { ") + rule + " }"));
  }
  CHECK(
      sure(verdict_of("rewrite r exactness(approximate(1e-3)) { match 1 / (1 + exp(-x)) where dtype(x) == f32"
                      "  to logistic(x) }")));
}

TEST_CASE("integers of 32 bits are tried where all dtypes are too many", "[prove]") {
  const auto verdicts =
      prove(rules_of("rewrite r exactness(reassociating) {"
                     "  match reduce_sum(div(reduce_sum(x, axes = a) as sum, c) as scaled, axes = b)"
                     "  where splat(c), value(c) > 0, bits(x) >= 32, shape(sum) == shape(scaled)"
                     "  to scaled(reduce_sum(x, axes = a + permute(axes_except(x, a), b)), value(c)) }"),
            {});
  REQUIRE(verdicts.has_value());
  CHECK(verdicts->at(0).kind == Kind::kRefuted);
}

TEST_CASE("an operator without a body on the right side leaves a rule undecided", "[prove]") {
  const Verdict verdict =
      verdict_of("op vendor(x)\nrewrite r { match exp(exp(x)) where dtype(x) == f32 to vendor(x) }");
  CHECK(verdict.kind == Verdict::Kind::kUndecided);
  CHECK_THAT(verdict.reason, Catch::Contains("'vendor', an operator without a body"));
}

TEST_CASE("numbers that a guard refuses make no terms", "[prove]") {
  const std::string rule = "rewrite r { match x * c  where is_float(x), splat(c), value(c) == 1";
  const Verdict v = verdict_of(rule + "  to x }");
  CHECK(sure(v));
  CHECK(v.refused == 0);
  CHECK(refuted(rule + " or value(c) == 2  to x }"));
}

TEST_CASE("one head of keys may serve several of queries", "[prove]") {
  const auto rules =
      rules_of("op heads(q, k, b) = reshape(q + b, shape = [dim(k, 0), dim(q, 0) // dim(k, 0), dim(k, 1)])");
  const ops::Type q = ops::Type::tensor(ops::DType::kF32, {2, 3}), k = ops::Type::tensor(ops::DType::kF32, {1, 3});
  const Sources uses = uses_of(*rules->table, rules->table->require("heads"), q, {true, true, true}, {});
  CHECK(std::ranges::any_of(uses.ways, [&](const Source& way) { return way.operands == std::vector{q, k, q}; }));
}

TEST_CASE("scatters have ways in every form", "[prove]") {
  const ops::OpTable table = ops::OpTable::builtin();
  Space space;
  space.extents = {2};
  const Sources found =
      sources_of(table, table.require("scatter"), ops::Type::tensor(ops::DType::kF32, {2, 3}), 0, 3, space);
  CHECK(found.all);
  for (const std::string combiner : {"assign", "add", "mul", "max", "min"})
    for (const std::int64_t dropped : {0, 1, 2})
      CHECK(std::ranges::any_of(found.ways, [&](const Source& way) {
        return way.attrs.get<std::string>("combiner") == combiner &&
               std::ssize(way.attrs.get<std::vector<std::int64_t>>("inserted_window_dims")) == dropped;
      }));
  CHECK(std::ranges::any_of(found.ways, [](const Source& way) {
    return !way.attrs.get<std::vector<std::int64_t>>("input_batching_dims").empty();
  }));
}

TEST_CASE("the same rules give the same report", "[prove]") {
  const std::string text =
      "rewrite a { match abs(abs(x))  to abs(x) }\n"
      "rewrite b { match max(x, y)  to x }\n";
  const auto report = [&] {
    std::vector<Verdict> verdicts = verdicts_of(text);
    for (Verdict& v : verdicts) v.seconds = 0;
    return to_text(verdicts) + to_json(verdicts).dump();
  };
  CHECK(report() == report());
}

}  // namespace fusewright::prove
