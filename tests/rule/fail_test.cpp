#include <cstdlib>
#include <fstream>

#include "fusewright/rule/lint.hpp"
#include "tests/rule/helpers.hpp"

using namespace fusewright;
using namespace fusewright::rule;
using namespace fusewright::rule::testing;

namespace {

/// What a file says in lines that start with "#| ".
std::string expected_in(const std::string& text) {
  std::string expected;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("#|")) expected += line.size() > 3 ? line.substr(3) + "\n" : "\n";
  }
  return expected;
}

/// What is said of a file that is loaded from disk, so that includes are looked for; names are without the folder.
std::string said_of(const std::string& path) {
  const auto set = load_rules({path}, ops::OpTable::builtin());
  std::string said;
  if (!set) {
    said = print_error(set.error());
  } else {
    for (const auto& finding : lint_rules(*set)) {
      if (!finding.lint.empty()) said += print_finding(finding);
    }
  }
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  for (std::size_t at; (at = said.find(folder)) != std::string::npos;) said.erase(at, folder.size());
  return said;
}

/// Writes what is said where it is expected, to be read before it is believed.
void update(const std::string& path) {
  std::istringstream lines(read_text(path));
  std::string kept;
  for (std::string line; std::getline(lines, line);)
    if (!line.starts_with("#|")) kept += line + "\n";
  std::ofstream(path) << kept;
  std::istringstream said(said_of(path));
  for (std::string line; std::getline(said, line);) kept += line.empty() ? "#|\n" : "#| " + line + "\n";
  std::ofstream(path) << kept;
}

void check_folder(const std::string& folder) {
  for (const auto& path : files_in(folder)) {
    INFO(path);
    if (std::getenv("FUSEWRIGHT_UPDATE_EXPECTED") != nullptr) update(path);
    CHECK(said_of(path) == expected_in(read_text(path)));
  }
}

}  // namespace

TEST_CASE("every broken rule file gives exactly the diagnostics it states", "[rule]") {
  REQUIRE(files_in("tests/fail").size() > 30);
  check_folder("tests/fail");
}

TEST_CASE("every rule file that looks wrong gives exactly the warnings it states", "[rule]") {
  check_folder("tests/lint");
  std::string all;
  for (const auto& path : files_in("tests/lint")) all += read_text(path);
  for (const LintInfo& lint : lints()) {
    INFO("no case of " << lint.name);
    CHECK(all.find("[" + std::string(lint.name) + "]") != std::string::npos);
  }
}

TEST_CASE("the reference describes every lint, and no other", "[rule]") {
  const std::string text = read_text(source_path("grammar/LANGUAGE.md"));
  std::set<std::string> described, known;
  std::istringstream lines(text.substr(text.find("\n## Lints")));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("| `")) described.insert(line.substr(3, line.find('`', 3) - 3));
  }
  for (const LintInfo& lint : lints()) known.insert(std::string(lint.name));
  CHECK(described == known);
}

TEST_CASE("the rule library has nothing that looks wrong", "[rule]") {
  const auto set = load_rules({source_path("rules")}, ops::OpTable::builtin());
  REQUIRE(set.has_value());
  for (const auto& finding : lint_rules(*set)) {
    if (!finding.lint.empty()) FAIL_CHECK(print_finding(finding));
  }
}

TEST_CASE("rule files that were damaged give errors with a place and never a crash", "[rule]") {
  std::uint64_t state = 42;
  const auto random = [&](std::uint64_t below) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (state >> 33) % below;
  };
  const std::string pieces[] = {"(",    ")",  "{", "}",      "[",    "]",     "+",  "|",     "|>",
                                "as",   "?",  "~", "..",     "x",    "1e999", "\"", "along", "99999999999999999999",
                                "\xff", "= ", ":", "match ", "fold", "#",     "//", "_"};
  for (const auto& path : files_in("rules")) {
    const std::string text = read_text(path);
    for (int round = 0; round < 60; ++round) {
      std::string damaged = text;
      for (std::uint64_t edits = 1 + random(3); edits-- > 0;) {
        const std::size_t at = random(damaged.size());
        switch (random(3)) {
          case 0: damaged.erase(at, 1 + random(12)); break;
          case 1: damaged.insert(at, pieces[random(std::size(pieces))]); break;
          default: damaged.insert(at, damaged.substr(random(damaged.size()), random(40))); break;
        }
      }
      const std::string errors = errors_of(damaged, "damaged.fuse");
      if (errors.empty()) continue;  // harmless damage, in a comment say
      CHECK(errors.find("damaged.fuse:") != std::string::npos);
      CHECK(errors.find("something else") == std::string::npos);
    }
  }
}
