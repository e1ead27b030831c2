#pragma once

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/main/paths.hpp"

namespace fusewright::tests {

struct Ran {
  int code = -1;
  std::string out, err;
  nlohmann::json json() const { return nlohmann::json::parse(out); }
};

/// A folder of its own for one test, gone afterwards.
class Scratch {
 public:
  Scratch() {
    std::string name = (std::filesystem::temp_directory_path() / "fusewright-test-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~Scratch() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  std::string file(const std::string& name) const { return (path_ / name).string(); }
  std::string write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << text;
    return file(name);
  }

 private:
  std::filesystem::path path_;
};

inline std::string read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Runs the program with these arguments, as a shell would split them.
inline Ran run(const std::string& arguments) {
  Scratch scratch;
  const std::string command = "FUSEWRIGHT_CACHE=off " FUSEWRIGHT_PROGRAM " " + arguments + " >" + scratch.file("out") +
                              " 2>" + scratch.file("err") + " </dev/null";
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read(scratch.file("out")), read(scratch.file("err"))};
}

inline std::string example(const std::string& name) { return (source_dir() / "examples" / name).string(); }

}  // namespace fusewright::tests
