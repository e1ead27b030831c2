#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <csignal>
#include <string>
#include <vector>

#include "program.hpp"

namespace fusewright::tests {

/// `fusewright watch` while it runs, its output read line by line.
class Watched {
 public:
  explicit Watched(const std::vector<std::string>& arguments) {
    int from[2];
    REQUIRE(pipe2(from, O_CLOEXEC) == 0);
    std::vector<const char*> words{"fusewright", "watch"};
    for (const std::string& argument : arguments) words.push_back(argument.c_str());
    words.push_back(nullptr);
    program_ = fork();
    if (program_ == 0) {
      dup2(from[1], STDOUT_FILENO);
      close(STDERR_FILENO);
      execv(FUSEWRIGHT_PROGRAM, const_cast<char* const*>(words.data()));
      _exit(127);
    }
    close(from[1]);
    from_ = from[0];
  }
  ~Watched() {
    if (program_ > 0) end(SIGKILL);
    close(from_);
  }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

  std::string line() {
    std::string text;
    for (char c = 0; c != '\n'; text += c) {
      pollfd ready{from_, POLLIN, 0};
      REQUIRE(poll(&ready, 1, 60'000) == 1);
      REQUIRE(::read(from_, &c, 1) == 1);
    }
    return text;
  }
  nlohmann::json event() { return nlohmann::json::parse(line()); }
  /// The next event that tells of this file; a save may be seen in two steps.
  nlohmann::json event_of(const std::string& file) {
    for (;;) {
      const nlohmann::json found = event();
      const std::vector<std::string> files = found["files"];
      if (std::find(files.begin(), files.end(), file) != files.end()) return found;
    }
  }
  int end(int signal) {
    kill(program_, signal);
    int status = 0;
    waitpid(program_, &status, 0);
    program_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t program_ = -1;
  int from_ = -1;
};

}  // namespace fusewright::tests
