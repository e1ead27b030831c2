#include <cstdlib>
#include <ctime>

#include "fusewright/rule/lint.hpp"
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

rewrite siblings {
  match dot(x, constant() as a, lhs_contract = [1], rhs_contract = [0]) as p,
        dot(x, constant() as b, lhs_contract = [1], rhs_contract = [0]) as q
  where rank(x) == 2, dtype(p) == dtype(q)
  let wide = dot(x, fold(concat(a, b, axis = 1)), ..p)
  to slice(wide, [0, 0], [dim(x, 0), dim(a, 1)], [1, 1]), q
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

namespace {

enum class Came { kUnread, kWrong, kChecked };

/// Reads, prints, checks and lints one text. Fails where an error has no place, or printing changes a file.
Came take(const std::string& text) {
  static const ops::OpTable table = ops::OpTable::builtin();
  const auto wrong = [&](const Error& error) {
    if (error.diagnostics.empty() || error.kind != ErrorKind::kInput) FAIL(print_error(error) << "\nin:\n" << text);
    for (const Diagnostic& d : error.diagnostics) {
      if (!d.span.valid()) FAIL(print_diagnostic(d) << "\nin:\n" << text);
    }
  };
  Parsed parsed = parse_declarations(source(text));
  if (!parsed.errors.empty()) {
    const auto set = check_rules({parsed.file}, table, parsed.errors);
    if (set) FAIL("errors were lost in:\n" << text);
    wrong(set.error());
    return Came::kUnread;
  }
  const std::string printed = print_rules(parsed.file);
  const auto again = parse_rules(source(printed));
  if (!again) FAIL("printed:\n" << printed << "\n" << print_error(again.error()));
  if (print_rules(*again) != printed) FAIL("printed:\n" << printed << "\nthen:\n" << print_rules(*again));
  const auto set = check_rules({parsed.file}, table);
  if (!set) {
    wrong(set.error());
    return Came::kWrong;
  }
  (void)lint_rules(*set);
  return Came::kChecked;
}

std::vector<std::string> all_samples() {
  std::vector<std::string> samples = kSamples;
  for (const std::string folder : {"rules", "tests/lint", "tests/fail"}) {
    for (const std::string& path : files_in(folder)) samples.push_back(read_text(path));
  }
  return samples;
}

}  // namespace

TEST_CASE("a rule file that is nearly right is read, or an error with its place", "[rule]") {
  for (const std::string& sample : kSamples) check(sample);
  const std::vector<std::string> samples = all_samples();
  tests::Mutator mutate(samples, 21);
  int checked = 0, parsed = 0;
  for (int i = 0; i < 500; ++i) {
    const Came came = take(mutate(samples[mutate.below(samples.size())]));
    parsed += came != Came::kUnread ? 1 : 0;
    checked += came == Came::kChecked ? 1 : 0;
  }
  CHECK(parsed > 30);
  CHECK(checked > 5);
}

// In blocks of 10,000 texts of one declaration or two, short ones more often. FUSEWRIGHT_FUZZ is the number of blocks,
// FUSEWRIGHT_FUZZ_SEED the first; the same block gives the same texts. FUSEWRIGHT_FUZZ_LAST is a file that always holds
// the last text.
TEST_CASE("any number of rule files that are nearly right", "[.][slow]") {
  const auto number = [](const char* name, unsigned otherwise) {
    const char* text = std::getenv(name);
    return text == nullptr ? otherwise : static_cast<unsigned>(std::strtoul(text, nullptr, 10));
  };
  std::vector<std::string> samples;
  for (const std::string& sample : all_samples()) {
    for (std::size_t at = 0; at < sample.size();) {
      const std::size_t end = std::min(sample.find("\n\n", at), sample.size());
      samples.push_back(sample.substr(at, end - at) + "\n");
      at = end + 2;
    }
  }
  const char* last = std::getenv("FUSEWRIGHT_FUZZ_LAST");
  const unsigned seed = number("FUSEWRIGHT_FUZZ_SEED", 1), blocks = number("FUSEWRIGHT_FUZZ", 1);
  for (unsigned block = seed; block < seed + blocks; ++block) {
    tests::Mutator mutate(samples, block);
    const auto declaration = [&] {
      const std::string &a = samples[mutate.below(samples.size())], &b = samples[mutate.below(samples.size())];
      return mutate(a.size() < b.size() ? a : b);
    };
    for (int i = 0; i < 10'000; ++i) {
      std::string text = declaration();
      if (mutate.below(8) == 0) text += declaration();
      if (last != nullptr) std::ofstream(last) << text;
      const std::clock_t start = std::clock();
      take(text);
      const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
      if (seconds > 2) FAIL_CHECK("block " << block << " took " << seconds << " s for:\n" << text);
    }
    std::printf("block %u\n", block);
    std::fflush(stdout);
  }
}

TEST_CASE("signs in a row are read once each", "[rule]") {
  const auto rule = [](const std::string& to) {
    return "rewrite r exactness(approximate(1e-3)) {\n  match exp(x)\n  to " + to + "x\n}\n";
  };
  std::string nots;
  for (int i = 0; i < 60; ++i) nots += "not ";
  for (const std::string& text : {rule(std::string(60, '-')), rule(nots)}) CHECK(take(text) == Came::kChecked);
  const std::string many(100, '-');  // more than brackets may be nested
  CHECK(take("rewrite r exactness(reassociating) {\n  match exp(" + many + "x) - -1\n  to x\n}\n") != Came::kUnread);
}

TEST_CASE("an op whose body leaves a result open is an error, also where classes look into bodies", "[rule]") {
  CHECK(errors_of("op cube(x) { let s = x * x  y = s * x }").find("cube has no result 'y'") != std::string::npos);
  CHECK(errors_of("op two(x) -> (y, z) { y = x }").find("does not say what its result 'z' is") != std::string::npos);
}

}  // namespace fusewright::rule::testing
