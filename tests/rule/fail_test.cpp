#include "tests/rule/helpers.hpp"

using namespace fusewright;
using namespace fusewright::rule;
using namespace fusewright::rule::testing;

// Each file of tests/fail ends in the diagnostics that it must give, in lines that start with "#| ".
TEST_CASE("every broken rule file gives exactly the diagnostics it states", "[rule]") {
  const auto files = files_in("tests/fail");
  REQUIRE(files.size() > 30);
  for (const auto& path : files) {
    const std::string name = std::filesystem::path(path).filename().string();
    const std::string text = read_text(path);
    std::string expected;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("#|")) expected += line.size() > 3 ? line.substr(3) + "\n" : "\n";
    }
    // Loaded from disk, so that includes are looked for; the folder in front of the name is cut off.
    const auto set = load_rules({path}, ops::OpTable::builtin());
    std::string is;
    if (!set) {
      is = print_error(set.error());
    } else {
      for (const auto& warning : set->warnings) is += print_diagnostic(warning);
    }
    const std::string folder = path.substr(0, path.size() - name.size());
    for (std::size_t at; (at = is.find(folder)) != std::string::npos;) is.erase(at, folder.size());
    INFO(name);
    CHECK(is == expected);
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
