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

}  // namespace

TEST_CASE("every command of the README does what it should", "[cli]") {
  Scratch scratch;
  for (const char* name : {"examples", "rules"})
    std::filesystem::create_directory_symlink(source_dir() / name, scratch.file(name));
  std::filesystem::create_directories(scratch.file("build"));
  std::filesystem::create_symlink(FUSEWRIGHT_PROGRAM, scratch.file("build/fusewright"));
  for (const std::string& block : blocks("```"))
    if (block.find("\nrewrite ") != std::string::npos) scratch.write("my-rules/shrink.fuse", block);
  REQUIRE(std::filesystem::exists(scratch.file("my-rules/shrink.fuse")));
  std::size_t commands = 0;
  for (const std::string& block : blocks("```sh")) {
    std::istringstream lines(block);
    for (std::string line; std::getline(lines, line);) {
      REQUIRE(line.starts_with("build/fusewright "));
      ++commands;
      const std::string command =
          "cd " + scratch.file("") + " && { " + line + "\n} >" + scratch.file("log") + " 2>&1 </dev/null";
      const int status = std::system(command.c_str());
      INFO(line << "\n" << read(scratch.file("log")));
      CHECK(status == 0);
    }
  }
  CHECK(commands >= 10);
}
