#include "graphviz.hpp"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <thread>

namespace fusewright::cli {

namespace {

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
// Files without a name, so that a drawing of any size passes without pipes to keep from blocking.
using File = std::unique_ptr<std::FILE, Close>;

constexpr int kNoProgram = 127;

/// What the child of `parent` does: becomes `dot -Tsvg` on these two files. Between fork and exec nothing may allocate.
[[noreturn]] void become_dot(int in, int out, pid_t parent) {
  // However this program ends, its child ends with it. One that has ended before this line is no parent any more.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent || dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0) _exit(kNoProgram - 1);
  execlp("dot", "dot", "-Tsvg", nullptr);
  _exit(kNoProgram);
}

/// Waits for the child, so many seconds at most, and ends its process group if it takes longer.
/// @returns its status, as of waitpid; nothing where time is over.
std::optional<int> wait_for(pid_t child, std::chrono::duration<double> most) {
  const auto end = std::chrono::steady_clock::now() + most;
  int status = 0;
  for (;;) {
    const pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended == child) return status;
    if (std::chrono::steady_clock::now() >= end) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  kill(-child, SIGKILL);
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return std::nullopt;
}

}  // namespace

Result<std::optional<std::string>> draw_svg(const std::string& dot, double seconds) {
  const File in(std::tmpfile()), out(std::tmpfile());
  const auto no_room = [] {
    return fail(ErrorKind::kResource, fmt::format("--svg: no room for the drawing: {}", std::strerror(errno)));
  };
  if (in == nullptr || out == nullptr) return no_room();
  if (std::fwrite(dot.data(), 1, dot.size(), in.get()) != dot.size() || std::fflush(in.get()) != 0) return no_room();
  lseek(fileno(in.get()), 0, SEEK_SET);
  const pid_t parent = getpid(), child = fork();
  if (child < 0) return no_room();
  if (child == 0) {
    setpgid(0, 0);
    become_dot(fileno(in.get()), fileno(out.get()), parent);
  }
  setpgid(child, child);  // whichever of the two comes first
  const std::optional<int> status = wait_for(child, std::chrono::duration<double>(seconds));
  if (!status) return std::nullopt;
  if (WIFEXITED(*status) && WEXITSTATUS(*status) == kNoProgram)
    return fail("--svg needs Graphviz: there is no program 'dot' in PATH (--dot prints what it reads)");
  if (WIFSIGNALED(*status)) return fail(fmt::format("--svg: 'dot' is ended by signal {}", WTERMSIG(*status)));
  if (WEXITSTATUS(*status) != 0) return fail(fmt::format("--svg: 'dot' ends with status {}", WEXITSTATUS(*status)));
  std::string svg;
  lseek(fileno(out.get()), 0, SEEK_SET);
  std::array<char, 65536> buffer;
  for (std::size_t n = 0; (n = std::fread(buffer.data(), 1, buffer.size(), out.get())) > 0;)
    svg.append(buffer.data(), n);
  return svg;
}

}  // namespace fusewright::cli
