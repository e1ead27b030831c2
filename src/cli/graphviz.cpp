#include "graphviz.hpp"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace fusewright::cli {

namespace {

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
// Files without a name, so that a drawing of any size passes without pipes to keep from blocking.
using File = std::unique_ptr<std::FILE, Close>;

/// Runs `dot -Tsvg` on these two files. @returns its exit status, or 127 where there is no such program.
int run_dot(std::FILE* in, std::FILE* out) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, fileno(in), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, fileno(out), STDOUT_FILENO);
  std::array<std::string, 2> words{"dot", "-Tsvg"};
  std::array<char*, 3> arguments{words[0].data(), words[1].data(), nullptr};
  pid_t child = 0;
  const int failed = posix_spawnp(&child, "dot", &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return 127;
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

}  // namespace

Result<std::string> draw_svg(const std::string& dot) {
  const File in(std::tmpfile()), out(std::tmpfile());
  const auto no_room = [] {
    return fail(ErrorKind::kResource, fmt::format("--svg: no room for the drawing: {}", std::strerror(errno)));
  };
  if (in == nullptr || out == nullptr) return no_room();
  if (std::fwrite(dot.data(), 1, dot.size(), in.get()) != dot.size() || std::fflush(in.get()) != 0) return no_room();
  lseek(fileno(in.get()), 0, SEEK_SET);
  const int status = run_dot(in.get(), out.get());
  if (status == 127)
    return fail("--svg needs Graphviz: there is no program 'dot' in PATH (--dot prints what it reads)");
  if (status != 0) return fail(fmt::format("--svg: 'dot' ends with status {}", status));
  std::string svg;
  lseek(fileno(out.get()), 0, SEEK_SET);
  std::array<char, 65536> buffer;
  for (std::size_t n = 0; (n = std::fread(buffer.data(), 1, buffer.size(), out.get())) > 0;)
    svg.append(buffer.data(), n);
  return svg;
}

}  // namespace fusewright::cli
