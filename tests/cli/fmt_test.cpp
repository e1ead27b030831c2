#include <catch2/catch.hpp>

#include "program.hpp"

// `fusewright fmt`: what it writes, and what it leaves alone.

using namespace fusewright::tests;
namespace fs = std::filesystem;

namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

const std::string kWild = "op f(x)=x*2 # twice\n";
const std::string kTame = "op f(x) = x * 2  # twice\n";

}  // namespace

TEST_CASE("fmt lays out files and folders in place", "[cli]") {
  Scratch scratch;
  const std::string a = scratch.write("rules/a.fuse", kWild), b = scratch.write("rules/deep/b.fuse", kTame);
  scratch.write("rules/c.txt", kWild);
  fs::permissions(a, fs::perms::owner_read | fs::perms::owner_write);
  const auto before = fs::last_write_time(b);

  const Ran check = run("fmt --check " + scratch.file("rules"));
  CHECK(check.code == 1);
  CHECK(check.out == a + ": not formatted\n");
  CHECK(read(a) == kWild);

  CHECK(run("fmt --stdout " + a).out == kTame);
  CHECK(read(a) == kWild);

  CHECK(run("fmt " + scratch.file("rules")).code == 0);
  CHECK(read(a) == kTame);
  CHECK(fs::status(a).permissions() == (fs::perms::owner_read | fs::perms::owner_write));
  CHECK(read(scratch.file("rules/c.txt")) == kWild);
  CHECK(fs::last_write_time(b) == before);
  CHECK(run("fmt --check " + scratch.file("rules")).code == 0);
}

TEST_CASE("fmt leaves a file with a syntax error alone, formats the others and exits with 2", "[cli]") {
  Scratch scratch;
  const std::string bad = scratch.write("a.fuse", "op f(x = x\n"), good = scratch.write("b.fuse", kWild);
  const Ran ran = run("fmt " + bad + " " + good);
  CHECK(ran.code == 2);
  CHECK(has(ran.err, bad + ":1:8: error: expected"));
  CHECK(read(bad) == "op f(x = x\n");
  CHECK(read(good) == kTame);

  const auto report = run("fmt --check --json " + bad + " " + good).json()["files"];
  REQUIRE(report.size() == 2);
  CHECK(report[0]["diagnostics"][0]["line"] == 1);
  CHECK(report[1]["changed"] == false);
}

TEST_CASE("fmt follows links and refuses what it cannot read or write", "[cli]") {
  Scratch scratch;
  const std::string file = scratch.write("real.fuse", kWild), link = scratch.file("link.fuse");
  fs::create_symlink(file, link);
  CHECK(run("fmt " + link).code == 0);
  CHECK(fs::is_symlink(link));
  CHECK(read(file) == kTame);

  CHECK(run("fmt " + scratch.file("none.fuse")).code == 2);
  fs::create_directory(scratch.file("empty"));
  const Ran empty = run("fmt --check " + scratch.file("empty"));
  CHECK(empty.code == 2);
  CHECK(has(empty.err, "has no rule files"));
}
