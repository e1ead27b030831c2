#include "tests/main/mutate.hpp"
#include "tests/rule/helpers.hpp"

namespace fusewright::rule::testing {

namespace {

const std::vector<std::string> kSamples = {
    R"(# A comment.
opclass pointy = elementwise - {div, rem} where operands == 2
opclass wide = pointy | {broadcast, reshape}

/// What it does.
op mish2(x; slope = 0.5) = x * tanh(softplus2(x)) * slope
op softplus2(x) = log1p(exp(x))
op rms2(x, scale?; epsilon = 1e-6) -> (y, square) {
  let last = rank(x) - 1
  let mean_square = reduce_sum(x * x, axes = [last]) / size(x, [last])
  let scaled = x * rsqrt(mean_square + epsilon) along range(0, last)
  y = scaled * scale if present(scale) else scaled
  square = mean_square
}

/// Two reshapes are one.
rewrite reshape-twice exactness(bitexact) {
  match reshape(reshape(x), shape = s)
  to reshape(x, shape = s)
  test { x: f32[6]  match reshape(reshape(x, [2, 3]), [3, 2])  to reshape(x, [3, 2]) }
  reject { x: f32[2, 3]  match reshape(transpose(x, [1, 0]), [2, 3]) }
}

rewrite scale-fold exactness(reassociating) {
  match conv(x, w) as c * broadcast(s, dims = [feature(c)])
  where constant(w, s), dtype(w) == dtype(c)
  to conv(x, fold(w * s along out_feature(c)), ..c)
}
)",
    R"(ruleset extra

rewrite halves exactness(approximate(1e-6)) {
  match (exp | log | tanh)(x) as act * ~0.5 [+ bias]?
  where rank(x) >= 1 and not (dtype(x) == f64), shape(x)[0] != 4
  let y = act(x)
  to y / 2 + (bias ?? 0)
}

fuse rows kernel(row) {
  match elementwise* as prologue |> reduce_sum(y, axes = a) as r |> elementwise{0,3} as epilogue
  where single_use(r)
}

fuse tail requires target(x86) {
  match conv(x, w) as c |> elementwise+ as last
}
)"};

}  // namespace

TEST_CASE("a rule file that is nearly right is read, or an error with its place", "[rule]") {
  for (const std::string& sample : kSamples) check(sample);
  std::vector<std::string> samples = kSamples;
  for (const std::string& path : files_in("rules")) samples.push_back(read_text(path));
  tests::Mutator mutate(samples, 21);
  int checked = 0, parsed = 0;
  for (int i = 0; i < 500; ++i) {
    const std::string text = mutate(samples[mutate.below(samples.size())]);
    INFO("text " << i << ":\n" << text);
    const auto wrong = [&](const Error& error) {
      const bool placed = !error.diagnostics.empty() && error.diagnostics[0].span.valid();
      if (!placed || error.kind != ErrorKind::kInput) FAIL(print_error(error));
    };
    const auto file = parse_rules(source(text));
    if (!file) {
      wrong(file.error());
      continue;
    }
    ++parsed;
    const std::string printed = print_rules(*file);
    const auto again = parse_rules(source(printed));
    if (!again) FAIL("printed:\n" << printed << "\n" << print_error(again.error()));
    if (print_rules(*again) != printed) FAIL("printed:\n" << printed << "\nthen:\n" << print_rules(*again));
    const auto set = check_rules({*file}, ops::OpTable::builtin());
    if (!set)
      wrong(set.error());
    else
      ++checked;
  }
  CHECK(parsed > 30);
  CHECK(checked > 5);
}

TEST_CASE("an op whose body leaves a result open is an error, also where classes look into bodies", "[rule]") {
  CHECK(errors_of("op cube(x) { let s = x * x  y = s * x }").find("cube has no result 'y'") != std::string::npos);
  CHECK(errors_of("op two(x) -> (y, z) { y = x }").find("does not say what its result 'z' is") != std::string::npos);
}

}  // namespace fusewright::rule::testing
