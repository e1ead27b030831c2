#include <catch2/catch.hpp>

#include "tests/prove/verdicts.hpp"

namespace fusewright::prove {
namespace {

std::string wide(const std::string& name, const std::string& dtype) {
  return "convert(" + name + ", dtype = " + dtype + ")";
}

/// a * b + c, or a + b + c, computed in one dtype and rounded to another at the end.
std::string three(const std::string& first, const std::string& in, const std::string& to) {
  return "convert(" + wide("a", in) + first + wide("b", in) + " + " + wide("c", in) + ", dtype = " + to + ")";
}

std::string rewrite(const std::string& sides) { return "rewrite r { match " + sides + " }"; }

}  // namespace

TEST_CASE("what rounds once is told from what rounds twice by one in a hundred thousand numbers", "[prove]") {
  const std::string dtype = GENERATE("f16", "bf16");
  const std::string first = GENERATE(" * ", " + ");
  const std::string given = "  where dtype(a) == " + dtype + ", dtype(b) == " + dtype + ", dtype(c) == " + dtype;
  INFO(dtype << first);
  const Verdict v = verdict_of(rewrite(three(first, "f64", dtype) + given + "  to " + three(first, "f32", dtype)));
  CHECK(v.kind == Verdict::Kind::kRefuted);
  // In one element, so that it can be pasted.
  CHECK(v.counterexample->reject.find(dtype + "[]") != std::string::npos);
  CHECK(v.counterexample->values.find("c = [") != std::string::npos);
}

TEST_CASE("a format of twice as many bits rounds a single operation innocuously", "[prove]") {
  const std::string operation = GENERATE("/", "*", "+");
  const std::string dtype = GENERATE("f16", "bf16");
  CHECK(holds(rewrite("convert(" + wide("a", "f32") + operation + wide("b", "f32") + ", dtype = " + dtype +
                      ")  where dtype(a) == " + dtype + ", dtype(b) == " + dtype + "  to a " + operation + " b")));
  CHECK(holds(rewrite("convert(sqrt(" + wide("a", "f32") + "), dtype = " + dtype + ")  where dtype(a) == " + dtype +
                      "  to sqrt(a)")));
}

TEST_CASE("many random values are tried of each dtype, and all of few bits", "[prove]") {
  const std::string broken = GENERATE(
      "floor(x / 10)  where dtype(x) == f32  to floor(x * 0.1)",
      "x / 10  where dtype(x) == u16  to convert(shr_logical(convert(x, dtype = u32) * 26215, 18), dtype = u16)",
      "convert(a, dtype = f32)  where dtype(a) == s64  to convert(convert(a, dtype = f64), dtype = f32)",
      "convert(reduce_sum(convert(x, dtype = f64), axes = a), dtype = f16)  where dtype(x) == f16  to "
      "convert(reduce_sum(convert(x, dtype = f32), axes = a), dtype = f16)");
  INFO(broken);
  CHECK(refuted(rewrite(broken)));
  CHECK(
      holds(rewrite("x / 10  where dtype(x) == u16  to convert(shr_logical(convert(x, dtype = u32) * 52429, 19), dtype "
                    "= u16)")));
}

TEST_CASE("what a formula loses where another one cancels is found between the special values", "[prove]") {
  CHECK(
      refuted("rewrite r exactness(approximate(1e-6)) { match max(x + 3, 0) / 6  where dtype(x) == f32  to max(x / 6 "
              "+ 0.5, 0) }"));
  CHECK(
      holds("rewrite r exactness(reassociating) { match max(x + 3, 0) / 6  where dtype(x) == f32  to max(x / 6 + "
            "0.5, 0) }"));
}

}  // namespace fusewright::prove
