#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>

#include "backends/nvptx/nvptx.hpp"

namespace fusewright::backend_nvptx {

namespace fs = std::filesystem;

namespace {

/// A folder that goes away with what is in it.
class Scratch {
 public:
  Scratch() {
    std::string name = (fs::temp_directory_path() / "fusewright-XXXXXX").string();
    if (mkdtemp(name.data()) != nullptr) folder_ = name;
  }
  ~Scratch() {
    std::error_code ignored;
    if (!folder_.empty()) fs::remove_all(folder_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  bool made() const { return !folder_.empty(); }
  std::string operator/(const char* name) const { return folder_ + "/" + name; }

 private:
  std::string folder_;
};

std::string read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Runs the program with its output, both kinds, in a file. No shell: paths may hold anything.
int run(const std::vector<std::string>& words, const std::string& output) {
  const pid_t child = fork();
  if (child == 0) {
    std::vector<char*> argv;
    for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    if (std::freopen(output.c_str(), "w", stdout) == nullptr) _exit(127);
    dup2(1, 2);
    execv(argv[0], argv.data());
    _exit(127);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

// Lines like these, for each entry:
//   Compiling entry function 'name' for 'sm_90'
//   0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
//   Used 10 registers, used 1 barriers, 8192 bytes smem, 400 bytes cmem[0]
std::vector<EntryReport> read_report(const std::string& text) {
  static const std::regex entry("Compiling entry function '([^']+)'");
  static const std::regex spills("([0-9]+) bytes stack frame, ([0-9]+) bytes spill stores, ([0-9]+) bytes spill loads");
  static const std::regex registers("Used ([0-9]+) registers");
  static const std::regex shared("([0-9]+) bytes smem");
  std::vector<EntryReport> out;
  std::istringstream lines(text);
  std::smatch m;
  for (std::string line; std::getline(lines, line);) {
    if (std::regex_search(line, m, entry)) out.push_back({.name = m[1]});
    if (out.empty()) continue;
    if (std::regex_search(line, m, spills)) {
      out.back().stack_bytes = std::stoll(m[1]);
      out.back().spill_stores = std::stoll(m[2]);
      out.back().spill_loads = std::stoll(m[3]);
    }
    if (std::regex_search(line, m, registers)) out.back().registers = std::stoll(m[1]);
    if (std::regex_search(line, m, shared)) out.back().shared_bytes = std::stoll(m[1]);
  }
  return out;
}

}  // namespace

Result<std::string> find_ptxas() {
  std::vector<std::string> folders;
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"})
    if (const char* home = std::getenv(name)) folders.push_back(std::string(home) + "/bin");
  if (const char* path = std::getenv("PATH")) {
    std::istringstream parts(path);
    for (std::string part; std::getline(parts, part, ':');) folders.push_back(part);
  }
  folders.emplace_back("/usr/local/cuda/bin");
  for (const std::string& folder : folders)
    if (const std::string path = folder + "/ptxas"; access(path.c_str(), X_OK) == 0) return path;
  return fail(ErrorKind::kUnsupported,
              "no CUDA toolkit: ptxas was not found through CUDA_HOME, PATH or /usr/local/cuda");
}

Result<Cubin> run_ptxas(const std::string& ptx, const std::string& sm) {
  FW_TRY(const std::string ptxas, find_ptxas());
  const Scratch scratch;
  if (!scratch.made()) return fail(ErrorKind::kResource, "no temporary folder can be made for ptxas");
  const std::string source = scratch / "kernel.ptx", target = scratch / "kernel.cubin", log = scratch / "log";
  std::ofstream(source, std::ios::binary) << ptx;
  const int code = run({ptxas, "-v", "-arch=" + sm, source, "-o", target}, log);
  const std::string said = read(log);
  if (code != 0) return fail(fmt::format("ptxas ended with {} for {}: {}", code, sm, said));
  return Cubin{read(target), read_report(said)};
}

}  // namespace fusewright::backend_nvptx
