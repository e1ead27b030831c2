#include "terminal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>

#include "commands.hpp"

namespace fusewright::cli {

using Json = nlohmann::ordered_json;

namespace {

bool coloured(std::FILE* stream) {
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  return isatty(fileno(stream)) != 0 && (no_color == nullptr || *no_color == '\0') &&
         (term == nullptr || std::string_view(term) != "dumb");
}

/// Shows the phase while it lasts; a thread of its own, since phases do not call back in between.
class Progress {
 public:
  Progress() : thread_([this](const std::stop_token& stop) { show(stop); }) {}
  ~Progress() {
    thread_.request_stop();
    changed_.notify_all();
    thread_.join();
    clear();
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void begin(const std::string& phase) {
    const std::lock_guard lock(mutex_);
    phase_ = phase;
    if (phase.empty()) clear();
  }

 private:
  using Clock = std::chrono::steady_clock;

  void show(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, stop, std::chrono::milliseconds(200), [] { return false; }) &&
           !stop.stop_requested()) {
      const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
      if (phase_.empty() || seconds < 1) continue;
      fmt::print(stderr, "\r\033[K[{:.0f} s] {}", seconds, phase_);
      std::fflush(stderr);
      shown_ = true;
    }
  }
  void clear() {
    if (shown_) std::fputs("\r\033[K", stderr);
    std::fflush(stderr);
    shown_ = false;
  }

  Clock::time_point start_ = Clock::now();
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::string phase_;
  bool shown_ = false;
  std::jthread thread_;  // last: it uses the others
};

std::string paint_severities(std::string text) {
  static constexpr std::pair<const char*, Colour> kWords[] = {
      {"error:", Colour::kRed}, {"warning:", Colour::kYellow}, {"note:", Colour::kCyan}};
  std::string out;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    for (const auto& [word, colour] : kWords)
      if (const std::size_t at = line.find(word); at == 0 || (at != std::string::npos && line[at - 1] == ' ')) {
        line.replace(at, std::string_view(word).size(), paint(stderr, colour, word));
        break;
      }
    out += line + '\n';
    begin = end + 1;
  }
  return out;
}

std::string_view name(Severity severity) {
  switch (severity) {
    case Severity::kNote: return "note";
    case Severity::kWarning: return "warning";
    case Severity::kError: return "error";
  }
  return "";
}

void add_place(Json& json, const Span& span) {
  if (!span.valid()) return;
  json["file"] = span.source->name;
  if (span.source->text.empty()) return;  // binary: no lines
  const LineColumn at = line_column(span);
  json["line"] = at.line;
  json["column"] = at.column;
  const LineColumn end = line_column({span.source, std::max(span.begin, span.end), span.end});
  json["end_line"] = end.line;
  json["end_column"] = end.column;
}

int exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kInput:
    case ErrorKind::kUnsupported: return kBadInput;
    case ErrorKind::kResource: return kNoResources;
    case ErrorKind::kCheckFailed: return kWrong;
  }
  return kBadInput;
}

}  // namespace

std::string paint(std::FILE* stream, Colour colour, std::string_view text) {
  if (!coloured(stream)) return std::string(text);
  static constexpr const char* kCodes[] = {"1;31", "1;32", "1;33", "1;36", "1"};
  return fmt::format("\033[{}m{}\033[0m", kCodes[static_cast<int>(colour)], text);
}

Json to_json(const std::vector<Diagnostic>& diagnostics) {
  Json list = Json::array();
  for (const Diagnostic& d : diagnostics) {
    Json item = {{"severity", name(d.severity)}, {"message", d.message}};
    add_place(item, d.span);
    if (!d.suggestion.empty()) item["suggestion"] = d.suggestion;
    for (const Note& note : d.notes) {
      Json n = {{"message", note.message}};
      add_place(n, note.span);
      item["notes"].push_back(std::move(n));
    }
    list.push_back(std::move(item));
  }
  return list;
}

int report(const Error& error, bool json) {
  std::fputs(paint_severities(print_error(error)).c_str(), stderr);
  if (json) {
    Json object = {{"error", error.diagnostics.front().message}};
    add_place(object, error.diagnostics.front().span);
    object["exit_code"] = exit_code(error.kind);
    object["diagnostics"] = to_json(error.diagnostics);
    print_json(object);
  }
  return exit_code(error.kind);
}

void print_json(const Json& json, int indent) {
  const std::string text = json.dump(indent, ' ', false, Json::error_handler_t::replace) + '\n';
  std::fwrite(text.data(), 1, text.size(), stdout);
}

void print_warning(const std::string& text) { std::fputs(paint_severities(text).c_str(), stderr); }

void open_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(stream, F_GETFD) == -1 && errno == EBADF)  // the other way round, so that using it is an error
      (void)open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

Status finish_output() {
  errno = 0;  // stays so where it was an earlier write that failed
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return {};
  const std::string why = errno == 0 ? "" : fmt::format(": {}", std::strerror(errno));
  return fail(ErrorKind::kResource, "cannot write to standard output" + why);
}

std::function<void(const std::string&)> progress_line() {
  if (isatty(STDERR_FILENO) == 0) return {};
  return [line = std::make_shared<Progress>()](const std::string& phase) { line->begin(phase); };
}

}  // namespace fusewright::cli
