#include <stdlib.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "fusewright/cost/device.hpp"
#include "fusewright/driver/compile.hpp"
#include "fusewright/driver/rule_tests.hpp"
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
