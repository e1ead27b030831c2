#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>

#include "program.hpp"

// `fusewright watch`: saves of rule files, as editors make them.

using namespace fusewright::tests;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

/// The program while it runs, its output read line by line.
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
      REQUIRE(read(from_, &c, 1) == 1);
    }
    return text;
  }
  json event() { return json::parse(line()); }
  /// The next event that tells of this file; a save may be seen in two steps.
  json event_of(const std::string& file) {
    for (;;) {
      const json found = event();
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

// Instead of the library's: nothing elementwise fuses but what this names.
const std::string kNarrow = "fuse elementwise kernel(loop) {\n  match exp+ as body\n}\n";

}  // namespace

TEST_CASE("watch says what each save changes, and keeps the last plan over an error", "[cli]") {
  Scratch scratch;
  const std::string file = scratch.write("rules/mine.fuse", "# nothing yet\n");
  Watched watch({example("elementwise.hlo"), "--rules", scratch.file("rules"), "--json"});
  const json first = watch.event();
  CHECK(first["event"] == "plan");
  CHECK(first["before"].is_null());
  CHECK(first["after"]["kernels"] >= 1);
  CHECK(first["added"].empty());

  scratch.write("rules/mine.fuse", kNarrow);
  const json narrowed = watch.event_of(file);
  INFO(narrowed.dump(2));
  CHECK(narrowed["before"] == first["after"]);
  CHECK(narrowed["after"]["kernels"] > first["after"]["kernels"]);
  REQUIRE(narrowed["added"].size() + narrowed["changed"].size() > 0);
  for (const json& group : narrowed["added"])
    for (const char* field : {"name", "fuse_rule", "rewrites", "nodes", "bytes", "seconds_estimated"})
      CHECK(group.contains(field));

  scratch.write("rules/mine.fuse", "fuse elementwise kernel(loop) {\n  match exp+ as\n}\n");
  const json broken = watch.event_of(file);
  CHECK(broken["event"] == "error");
  CHECK(broken["kept"] == true);
  CHECK(broken["diagnostics"][0]["line"] == 3);

  // As many editors save: another file, renamed to the name.
  scratch.write("rules/.mine.fuse.swp", kNarrow);
  fs::rename(scratch.file("rules/.mine.fuse.swp"), file);
  const json mended = watch.event_of(file);
  CHECK(mended["after"] == narrowed["after"]);
  CHECK((mended["added"].empty() && mended["removed"].empty() && mended["changed"].empty()));

  // A new folder with a file, and a file that is deleted.
  scratch.write("rules/deep/more.fuse", "op twice(x) = x + x\n");
  const std::string deep = scratch.file("rules/deep/more.fuse");
  CHECK(watch.event_of(deep)["after"] == narrowed["after"]);
  fs::remove(file);
  const json back = watch.event_of(file);
  CHECK(back["after"] == first["after"]);
  CHECK(back["removed"].size() + back["changed"].size() > 0);
  fs::remove(deep);  // none is left
  CHECK(watch.event_of(deep)["after"] == first["after"]);
  CHECK(watch.end(SIGINT) == 130);
}

TEST_CASE("watch prints text, and ends at once where the model cannot be read", "[cli]") {
  Scratch scratch;
  scratch.write("rules/mine.fuse", kNarrow);
  Watched watch({example("elementwise.hlo"), "--rules", scratch.file("rules")});
  CHECK(watch.line().find(" kernels, ") != std::string::npos);
  scratch.write("rules/mine.fuse", "# nothing\n");
  std::string text = watch.line();
  CHECK(text.find("saved: ") == 0);
  while (text.find(" kernels, ") == std::string::npos) text += watch.line();
  CHECK(text.find(" -> ") != std::string::npos);
  CHECK(text.find("rules") != std::string::npos);
  CHECK(watch.end(SIGINT) == 130);

  const Ran none = run("watch nowhere.onnx --rules " + scratch.file("rules"));
  CHECK(none.code == 2);
  CHECK(none.err.find("nowhere.onnx") != std::string::npos);
}
