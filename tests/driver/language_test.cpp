#include <stdlib.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "fusewright/cost/device.hpp"
#include "fusewright/driver/compile.hpp"
#include "fusewright/driver/rule_tests.hpp"
#include "fusewright/prove/prove.hpp"
#include "fusewright/prove/report.hpp"
#include "fusewright/rule/lint.hpp"

// The examples of grammar/LANGUAGE.md do what the page says of them.

using namespace fusewright;

namespace {

struct Block {
  std::string kind;  // "fuse", "fuse-fails", or nothing
  std::string text;
  int line = 0;
};

std::vector<Block> blocks_of(const std::string& path) {
  std::ifstream in(path);
  std::vector<Block> blocks;
  bool inside = false;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.starts_with("```")) {
      inside = !inside;
      if (inside) blocks.push_back({line.substr(3), {}, number});
    } else if (inside) {
      blocks.back().text += line + "\n";
    }
  }
  return blocks;
}

/// A file in a folder of its own.
class ExampleFile {
 public:
  explicit ExampleFile(const std::string& text) {
    std::string pattern = (std::filesystem::temp_directory_path() / "language-XXXXXX").string();
    REQUIRE(mkdtemp(pattern.data()) != nullptr);
    folder_ = pattern;
    std::ofstream(path()) << text;
  }
  ~ExampleFile() { std::filesystem::remove_all(folder_); }
  ExampleFile(const ExampleFile&) = delete;
  ExampleFile& operator=(const ExampleFile&) = delete;
  std::string path() const { return folder_ + "/example.fuse"; }
  std::string without_folder(std::string text) const {
    for (std::size_t at; (at = text.find(folder_ + "/")) != std::string::npos;) text.erase(at, folder_.size() + 1);
    return text;
  }

 private:
  std::string folder_;
};

std::string expected_of(const std::string& text) {
  std::string expected;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("#| ")) expected += line.substr(3) + "\n";
  }
  return expected;
}

std::shared_ptr<const rule::RuleSet> rules_of(const ExampleFile& file) {
  const auto rules = driver::load_rules({file.path()}, true);
  if (!rules) FAIL(print_error(rules.error()));
  return *rules;
}

std::vector<driver::RuleTestResult> results_of(const ExampleFile& file) {
  const auto device = cost::load_device(driver::devices_folder() + "/x86-avx2.json");
  REQUIRE(device.has_value());
  auto results = driver::run_rule_tests(rules_of(file), *device, {file.path()});
  if (!results) FAIL(print_error(results.error()));
  return *std::move(results);
}

void check_works(const std::string& text) {
  const ExampleFile file(text);
  for (const rule::Finding& finding : rule::lint_rules(*rules_of(file))) {
    const bool here = finding.diagnostic.span.valid() && finding.diagnostic.span.source->name == file.path();
    if (here && !finding.lint.empty()) FAIL_CHECK(rule::print_finding(finding));
  }
  for (const driver::RuleTestResult& result : results_of(file)) {
    INFO(result.name << ": " << result.reason);
    CHECK(result.passed);
  }
}

/// Whether an operator without a body stands in an expression. Recursion as deep as the rule's text.
bool makes_symbol(const ops::OpTable& table, const rule::ExprPtr& expr) {
  if (expr == nullptr) return false;  // the open end of a range
  const ops::OpId op = expr->kind == ops::Expr::Kind::kCall ? table.find(expr->text) : ops::OpId();
  if (op.valid() && table[op].op_class == ops::OpClass::kUninterpreted) return true;
  return std::ranges::any_of(expr->args, [&](const rule::ExprPtr& arg) { return makes_symbol(table, arg); }) ||
         std::ranges::any_of(expr->named, [&](const auto& arg) { return makes_symbol(table, arg.second); });
}

/// Searches the rewrites of a block for counterexamples; those that make an operator without a body are left out, for
/// their right side has no value. Gives the number of those searched.
int check_not_refuted(const std::string& text) {
  // The solver was at it for ten minutes without a verdict.
  static const std::set<std::string> kLong = {"conv-statistics"};
  const ExampleFile file(text);
  const auto rules = rules_of(file);
  prove::Options options;
  options.budget.terms_per_level = 300;
  for (const rule::RewriteRule& rule : rules->rewrites) {
    if (!rule.span.valid() || rule.span.source->name != file.path()) continue;
    if (rule.origin != rule::RewriteRule::Origin::kWritten || kLong.contains(rule.name)) continue;
    const bool symbol = std::ranges::any_of(rule.variants, [&](const rule::RewriteVariant& variant) {
      return std::ranges::any_of(variant.to, [&](const auto& to) { return makes_symbol(*rules->table, to); });
    });
    if (!symbol) options.only.push_back(rule.name);
  }
  if (options.only.empty()) return 0;
  const auto verdicts = prove::prove(rules, options);
  if (!verdicts) FAIL(print_error(verdicts.error()));
  for (const prove::Verdict& verdict : *verdicts) {
    INFO(prove::to_text({verdict}));
    CHECK(verdict.kind != prove::Verdict::Kind::kRefuted);
  }
  return static_cast<int>(verdicts->size());
}

void check_fails(const std::string& text) {
  const ExampleFile file(text);
  const auto rules = driver::load_rules({file.path()}, true);
  REQUIRE_FALSE(rules.has_value());
  CHECK(file.without_folder(print_error(rules.error())) == expected_of(text));
}

}  // namespace

TEST_CASE("every example of the language reference does what it says", "[driver]") {
  int working = 0, failing = 0;
  for (const Block& block : blocks_of(std::string(FUSEWRIGHT_SOURCE_DIR) + "/grammar/LANGUAGE.md")) {
    INFO("LANGUAGE.md:" << block.line);
    if (block.kind == "fuse") {
      ++working;
      check_works(block.text);
    } else if (block.kind == "fuse-fails") {
      ++failing;
      check_fails(block.text);
    } else {
      CHECK(block.kind.empty());
    }
  }
  CHECK(working >= 9);
  CHECK(failing >= 2);
}

TEST_CASE("no rewrite of the language reference is refuted", "[driver]") {
  int searched = 0;
  for (const Block& block : blocks_of(std::string(FUSEWRIGHT_SOURCE_DIR) + "/grammar/LANGUAGE.md")) {
    INFO("LANGUAGE.md:" << block.line);
    if (block.kind == "fuse") searched += check_not_refuted(block.text);
  }
  CHECK(searched >= 9);
}

TEST_CASE("examples of a rule for one target run on every machine", "[driver]") {
  check_works(R"(
/// The tangent is odd.
/// Source: any table of functions.
rewrite tan-is-odd exactness(bitexact) requires target(nvptx) {
  match -tan(-x)
  to tan(x)
  test { x: f32[4]  match -tan(-x)  to tan(x) }
  reject { x: f32[4]  match -tan(x) }
}
)");
}

TEST_CASE("an attribute may be told by one that stands further on in the pattern", "[driver]") {
  check_works(R"(
/// A tangent is taken of fewer elements.
/// Source: none.
rewrite tangent-of-columns exactness(bitexact) {
  match tan(reduce_max(x, axes = axes_except(x, [f])) * broadcast(y, dims = [f], shape = s) / 3)
  to tan(broadcast(y, dims = [f], shape = s) * reduce_max(x, axes = axes_except(x, [f])) / 3)
  test {
    x: f32[4, 5]  y: f32[5]
    match tan(reduce_max(x, axes = [0]) * broadcast(y, dims = [1], shape = [3, 5]) / 3)
  }
  reject because axes == axes_except(x, [f]) {
    x: f32[5, 5]  y: f32[5]
    match tan(reduce_max(x, axes = [1]) * broadcast(y, dims = [1], shape = [3, 5]) / 3)
  }
}
)");
}

TEST_CASE("a name of a segment's operand stands for one value, and a segment's for what it gives", "[driver]") {
  check_works(R"(
/// A product and what it was made of.
/// Source: none.
allow(shadowed, "counted apart")
fuse product-and-operand kernel(contract) {
  match dot(x, w) as p |> add(p, x)
  test { x: f32[64, 64]  w: f32[64, 64]  match dot(x, w, lhs_contract = [1], rhs_contract = [0]) + x  kernels 1 }
  test swapped { x: f32[64, 64]  w: f32[64, 64]  match x + dot(x, w, lhs_contract = [1], rhs_contract = [0])  kernels 1 }
  reject { x: f32[64, 64]  y: f32[64, 64]  w: f32[64, 64]  match dot(x, w, lhs_contract = [1], rhs_contract = [0]) + y }
}

/// An exponential less itself, scaled: the difference is from the exponential to something else.
/// Source: none.
allow(shadowed, "counted apart")
fuse from-exponential kernel(loop) {
  match exp(_) as e |> abs(e) as a |> sub(e, a)
  test { x: f32[64]  let e = exp(x)  match e - abs(e)  kernels 1 }
  reject other-way { x: f32[64]  let e = exp(x)  match abs(e) - e }
}
)");
}

TEST_CASE("axes of reductions are found in whatever order they are written", "[driver]") {
  check_works(R"(
/// A tangent behind a sum.
/// Source: none.
rewrite tangent-of-sum exactness(bitexact) {
  match tan(reduce_sum(x, axes = [2, 1]))
  to tan(reduce_sum(x, axes = [1, 2]) * 1)
  test { x: f32[2, 3, 4]  match tan(reduce_sum(x, axes = [1, 2])) }
  test other-way { x: f32[2, 3, 4]  match tan(reduce_sum(x, axes = [2, 1])) }
  reject { x: f32[2, 3, 4]  match tan(reduce_sum(x, axes = [0, 1])) }
}

/// And counted from the end.
/// Source: none.
rewrite tangent-of-maximum exactness(bitexact) {
  match tan(reduce_max(x, axes = [-1, -2]))
  to tan(reduce_max(x, axes = [-2, -1]) * 1)
  test { x: f32[2, 3, 4]  match tan(reduce_max(x, axes = [1, 2])) }
  reject because axes == [-1, -2] { x: f32[2, 3, 4]  match tan(reduce_max(x, axes = [0, 1])) }
}
)");
}

TEST_CASE("a rule of one result leaves a node alone of which others are read", "[driver]") {
  check_works(R"(
/// The greatest of all is the maximum.
/// Source: none.
rewrite top-of-all exactness(bitexact) {
  match top_k(x, k = 1, axis = a, largest = true).values
  where is_integer(x), dim(x, a) > 0
  to reshape(reduce_max(x, axes = [a]), shape = replace(shape(x), a, 1))
  test { x: s32[4]  match -top_k(x, k = 1, axis = 0).values  to -reshape(reduce_max(x, axes = [0]), [1]) }
  reject places { x: s32[4]  match -top_k(x, k = 1, axis = 0).indices }
  reject beside-what-is-read { x: s32[4]  let unused = -top_k(x, k = 1, axis = 0).values  match -x }
}
)");
}

TEST_CASE("a reject fails whose pattern matches, though the right side has no meaning there", "[driver]") {
  const ExampleFile file(R"(
/// Wrong for the shapes of the example.
/// Source: none.
rewrite sum-of-sums exactness(reassociating) {
  match reduce_sum(tan(x), axes = [0])
  to reshape(reduce_sum(tan(x), axes = [0]), shape = [3])
  test { x: f32[2, 3]  match reduce_sum(tan(x), axes = [0]) }
  reject { x: f32[2, 4]  match reduce_sum(tan(x), axes = [0]) }
}
)");
  const auto results = results_of(file);
  REQUIRE(results.size() == 2);
  CHECK(results[0].passed);
  CHECK_FALSE(results[1].passed);
  CHECK(results[1].reason.find("its pattern matches: 1 of its matches came to nothing") != std::string::npos);
}

TEST_CASE("a reject that names no guard fails where the pattern matches and a guard refuses", "[driver]") {
  const ExampleFile file(R"(
/// Source: none.
rewrite absolute-of-two exactness(bitexact) {
  match exp(abs(x))
  where rank(x) == 2
  to exp(max(x, -x))
  test { x: f32[2, 2]  match exp(abs(x)) }
  reject no-reason { x: f32[2]  match exp(abs(x)) }
  reject no-match { x: f32[2]  match exp(sign(x)) }
}
)");
  std::vector<std::string> reasons;
  for (const auto& result : results_of(file)) reasons.push_back(result.reason);
  CHECK(reasons == std::vector<std::string>{"", "its pattern matches: guard `rank(x) == 2` refused 1 matches", ""});
}

TEST_CASE("an example of a fuse rule shows a kernel that the rule admits and its template takes", "[driver]") {
  const ExampleFile file(R"(
/// One kernel, and not the rule's: there is no sum.
fuse sum-tail kernel(reduce) {
  match reduce_sum |> elementwise* as t
  test { x: f32[64]  match exp(x)  kernels 1 }
  test sum { x: f32[64]  match exp(reduce_sum(x, axes = [0]))  kernels 1 }
  reject { x: f32[64]  match exp(x) }
}

/// Admitted, but a product is not sorted.
fuse sorted-product kernel(sort) {
  match dot(x, w)
  test { x: f32[8, 16]  w: f32[16, 8]  match dot(x, w, lhs_contract = [1], rhs_contract = [0])  kernels 1 }
  reject { x: f32[8]  match exp(x) }
}

/// The library's rule gives the kernel its name; this one makes it, too.
fuse twin kernel(loop) {
  match exp |> elementwise*
  test { x: f32[64]  match abs(exp(x))  kernels 1 }
  reject { x: f32[64]  match abs(exp(x)) }
}
)");
  std::vector<std::string> reasons;
  for (const auto& result : results_of(file)) reasons.push_back(result.reason);
  const std::string none = "the rule admits no kernel of the plan";
  CHECK(reasons == std::vector<std::string>{none, "", none, "", "", "", "the rule admits the kernel exp_abs_0"});
}

TEST_CASE("what extents without a number leave open refuses a rule, and only that", "[driver]") {
  const ExampleFile file(R"(
op vendor_cut(x)

/// Source: none.
rewrite above exactness(bitexact) {
  match vendor_cut(x)
  where dim(x, 0) > 1
  to exp(x)
  test { x: f32[2, 3]  match vendor_cut(x) }
  reject because dim(x, 0) > 1 { x: f32[n, 3]  match vendor_cut(x) }
}

/// Source: none.
rewrite apart exactness(bitexact) {
  match vendor_cut(x)
  where dim(x, 0) != dim(x, 1), not (dim(x, 1) == dim(x, 0))
  to exp(x)
  test { x: f32[2, 3]  match vendor_cut(x) }
  test one-more {
    x: f32[n]  y: f32[1]
    let z = concat(x, y, axis = 0)
    match vendor_cut(broadcast(z, shape = shape(x) + shape(z), dims = [1]))
  }
  reject unknown because dim(x, 0) != dim(x, 1) { x: f32[n, m]  match vendor_cut(x) }
}

/// Source: none.
rewrite either exactness(bitexact) {
  match vendor_cut(x)
  where dim(x, 0) == 1 or dim(x, 1) == 1
  to exp(x)
  test left { x: f32[n, 1]  match vendor_cut(x) }
  test right { x: f32[1, n]  match vendor_cut(x) }
  reject because dim(x, 0) == 1 or dim(x, 1) == 1 { x: f32[n, 2]  match vendor_cut(x) }
}
)");
  for (const auto& result : results_of(file)) {
    INFO(result.name << ": " << result.reason);
    CHECK(result.passed);
  }
}
