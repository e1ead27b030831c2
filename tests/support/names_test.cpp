#include "fusewright/support/names.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include "fusewright/support/result.hpp"

using namespace fusewright;

TEST_CASE("a glob describes the whole name", "[names]") {
  CHECK(glob_matches("conv*.w", "conv1.w"));
  CHECK(glob_matches("*", ""));
  CHECK(glob_matches("a?c", "abc"));
  CHECK(glob_matches("*a*b", "xaybab"));
  CHECK_FALSE(glob_matches("a?c", "ac"));
  CHECK_FALSE(glob_matches("conv*", "a.conv1"));
  CHECK_FALSE(glob_matches("", "a"));
}

TEST_CASE("a glob of many stars is matched in square time", "[names]") {
  std::string stars;
  for (int i = 0; i < 1000; ++i) stars += "*a";
  CHECK_FALSE(glob_matches(stars + "b", std::string(5000, 'a')));
}

TEST_CASE("an unknown name is answered with the near one, else with those there are", "[names]") {
  CHECK(unknown_name("input", "imgae", {"image", "mask"}) == "the model has no input 'imgae'; did you mean 'image'?");
  CHECK(unknown_name("input", "zzz", {"image", "mask"}) == "the model has no input 'zzz' (there are 'image', 'mask')");
  CHECK(unknown_name("input", "zzz", {}) == "the model has no input 'zzz', and no other");
  CHECK(unknown_name("input", "zzz", std::vector<std::string>(100, "image")).size() < 200);
}

TEST_CASE("names of any length are compared in no time", "[names]") {
  CHECK(nearest(std::string(1'000'000, 'a'), {std::string(1'000'000, 'b')}).empty());
  CHECK(nearest("a", {std::string(100'000'000, 'a')}).empty());
}

TEST_CASE("what a terminal would obey is printed as text, and very long names are cut", "[names]") {
  Diagnostic diagnostic;
  diagnostic.message = "no input 'a\x1b[2J" + std::string(1, '\0') + "b" + std::string(100'000, 'x') + "'";
  const std::string printed = print_diagnostic(diagnostic);
  CHECK(printed.find("a\\x1b[2J\\x00b") != std::string::npos);
  CHECK(printed.size() < 3000);
  CHECK(printed.ends_with("x'\n"));
}

TEST_CASE("an error of very many diagnostics shows the first of them", "[names]") {
  Error error;
  for (int i = 0; i < 1000; ++i) error.diagnostics.push_back({Severity::kError, {}, "wrong", {}, {}});
  const std::string printed = print_error(error);
  CHECK(printed.ends_with("and 950 more errors\n"));
  CHECK(std::count(printed.begin(), printed.end(), '\n') == 51);
}
