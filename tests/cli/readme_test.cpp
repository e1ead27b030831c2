#include <catch2/catch.hpp>
#include <sstream>

#include "program.hpp"

// What the README tells people to type.

using namespace fusewright::tests;

namespace {

/// The lines between the fences that begin with this one.
std::vector<std::string> blocks(const std::string& fence) {
  std::istringstream text(read((source_dir() / "README.md").string()));
  std::vector<std::string> found;
  bool inside = false, wanted = false;
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with("```")) {
      inside = !inside;
      wanted = inside && line == fence;
      if (wanted) found.emplace_back();
    } else if (wanted) {
      found.back() += line + "\n";
    }
  }
  return found;
}

/// The block with these words in it.
std::string block_with(const std::string& words) {
  for (const std::string& block : blocks("```"))
    if (block.find(words) != std::string::npos) return block;
  FAIL("the README has no block with '" << words << "'");
  return {};
}

}  // namespace

TEST_CASE("every command of the README does what it should", "[cli][readme]") {
  Scratch scratch;
  for (const char* name : {"examples", "rules"})
    std::filesystem::create_directory_symlink(source_dir() / name, scratch.file(name));
  std::filesystem::create_directories(scratch.file("build"));
  std::filesystem::create_symlink(FUSEWRIGHT_PROGRAM, scratch.file("build/fusewright"));
  scratch.write("my-rules/shrink.fuse", block_with("\nrewrite "));
  std::size_t commands = 0;
  for (const std::string& block : blocks("```sh")) {
    std::istringstream lines(block);
    for (std::string line; std::getline(lines, line);) {
      REQUIRE(line.starts_with("build/fusewright "));
      ++commands;
      scratch.write("command", "set -o pipefail\ncd " + scratch.file("") + "\n" + line + "\n");
      const std::string command = "bash " + scratch.file("command") + " >" + scratch.file("log") + " 2>&1 </dev/null";
      const int status = std::system(command.c_str());
      INFO(line << "\n" << read(scratch.file("log")));
      CHECK(status == 0);
    }
  }
  CHECK(commands >= 10);
}

TEST_CASE("the audit that the README shows is what audit prints", "[cli][readme]") {
  const Ran ran = run("audit " + example("digits/model.onnx") + " --dim batch=200 --device-file x86-avx2");
  REQUIRE(ran.code == 0);
  INFO(ran.out);
  CHECK(ran.out.find("\n" + block_with("ends at\n") + "\n") != std::string::npos);
}

TEST_CASE("the README's rule without its first guard is refuted by a u8", "[cli][readme]") {
  Scratch scratch;
  std::string rules = block_with("\nrewrite ");
  const std::string guard = "is_float(x), ";
  REQUIRE(rules.find(guard) != std::string::npos);
  rules.erase(rules.find(guard), guard.size());
  const Ran ran = run("prove " + scratch.write("shrink.fuse", rules) + " --rule soft-threshold-twice");
  INFO(ran.out);
  CHECK(ran.code == 1);
  CHECK(ran.out.find("refuted") != std::string::npos);
  CHECK(ran.out.find("x: u8") != std::string::npos);
}
