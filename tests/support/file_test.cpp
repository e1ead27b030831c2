#include "fusewright/support/file.hpp"

#include <sys/resource.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

using namespace fusewright;
namespace fs = std::filesystem;

namespace {

struct Folder {
  fs::path path = fs::temp_directory_path() / ("fusewright-file-test-" + std::to_string(getpid()));
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
  std::size_t files() const { return static_cast<std::size_t>(std::distance(fs::directory_iterator(path), {})); }
};

std::string contents(const fs::path& path) {
  std::ostringstream out;
  out << std::ifstream(path).rdbuf();
  return out.str();
}

}  // namespace

TEST_CASE("a file is written whole, over an older one, and alone", "[file]") {
  const Folder folder;
  const fs::path path = folder.path / "out";
  REQUIRE(write_file(path, {"first, ", "and longer"}));
  CHECK(contents(path) == "first, and longer");
  REQUIRE(write_file(path, {"second", ""}));
  CHECK(contents(path) == "second");
  CHECK(folder.files() == 1);
}

TEST_CASE("a write that fails leaves the older file and nothing else", "[file]") {
  const Folder folder;
  const fs::path path = folder.path / "out";
  REQUIRE(write_file(path, {"old"}));
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{16, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  const Status written = write_file(path, {std::string(100, 'x')});
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  REQUIRE_FALSE(written);
  CHECK(written.error().kind == ErrorKind::kResource);
  CHECK(contents(path) == "old");
  CHECK(folder.files() == 1);
}

TEST_CASE("a file that cannot be written is named with the reason", "[file]") {
  const Folder folder;
  const Status nowhere = write_file(folder.path / "no" / "such" / "out", {"x"});
  REQUIRE_FALSE(nowhere);
  CHECK(nowhere.error().kind == ErrorKind::kInput);
  CHECK(print_error(nowhere.error()).find("no/such/out': No such file or directory") != std::string::npos);
  const Status over_folder = write_file(folder.path, {"x"});
  REQUIRE_FALSE(over_folder);
  CHECK(fs::is_directory(folder.path));
  CHECK(folder.files() == 0);
}
