#include "watch_files.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

namespace fusewright::cli {

namespace fs = std::filesystem;

namespace {

// A save is a file that was written and closed, or one that was renamed to the name.
constexpr std::uint32_t kEvents = IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_CREATE | IN_ONLYDIR;

std::string absolute(const std::string& path) {
  std::error_code error;
  std::string whole = fs::absolute(path, error).lexically_normal().generic_string();
  if (whole.size() > 1 && whole.ends_with('/')) whole.pop_back();
  return whole;
}

bool is_below(const std::string& path, const std::string& folder) {
  return path.starts_with(folder) && path.size() > folder.size() && path[folder.size()] == '/';
}

}  // namespace

FileWatch::~FileWatch() {
  if (events_ >= 0) close(events_);
}

Status FileWatch::watch_folder(const std::string& path) {
  const int watch = inotify_add_watch(events_, path.c_str(), kEvents);
  if (watch < 0) {
    if (errno == ENOENT || errno == ENOTDIR || errno == EACCES) return {};  // gone again, or not ours to see
    return fail(ErrorKind::kResource, fmt::format("cannot watch the folder {}: {}", path, std::strerror(errno)));
  }
  std::erase_if(folders_, [&](const Folder& folder) { return folder.watch == watch || folder.path == path; });
  folders_.push_back({watch, path});
  return {};
}

Status FileWatch::add(const std::vector<std::string>& paths) {
  if (events_ < 0) events_ = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (events_ < 0) return fail(ErrorKind::kResource, fmt::format("cannot watch files: {}", std::strerror(errno)));
  for (const std::string& path : paths) {
    const std::string root = absolute(path);
    if (std::find(roots_.begin(), roots_.end(), root) == roots_.end()) roots_.push_back(root);
  }
  for (const std::string& root : roots_) {
    FW_TRY_STATUS(watch_folder(fs::path(root).parent_path().generic_string()));
    std::error_code error;
    if (!fs::is_directory(root, error)) continue;
    FW_TRY_STATUS(watch_folder(root));
    for (fs::recursive_directory_iterator it(root, error), end; !error && it != end; it.increment(error))
      if (it->is_directory(error)) FW_TRY_STATUS(watch_folder(it->path().generic_string()));
  }
  return {};
}

/// A root, or a rule file within one.
bool FileWatch::concerns(const std::string& path) const {
  return std::any_of(roots_.begin(), roots_.end(), [&](const std::string& root) {
    return path == root || (is_below(path, root) && path.ends_with(".fuse"));
  });
}

Status FileWatch::read_events(std::set<std::string>& changed) {
  alignas(inotify_event) char buffer[1 << 14];
  for (ssize_t got = 0; (got = read(events_, buffer, sizeof buffer)) > 0;) {
    for (const char* at = buffer; at < buffer + got;) {
      const auto* event = reinterpret_cast<const inotify_event*>(at);
      at += sizeof(inotify_event) + event->len;
      const auto folder =
          std::find_if(folders_.begin(), folders_.end(), [&](const Folder& f) { return f.watch == event->wd; });
      if ((event->mask & IN_Q_OVERFLOW) != 0) changed.insert(roots_.begin(), roots_.end());
      if (folder == folders_.end() || event->len == 0) continue;
      const std::string path = (folder->path == "/" ? "" : folder->path) + "/" + event->name;
      std::error_code error;
      const bool unwritten =
          (event->mask & IN_CREATE) != 0 && fs::is_regular_file(path, error) && fs::is_empty(path, error);
      if ((event->mask & IN_ISDIR) != 0 &&
          std::any_of(roots_.begin(), roots_.end(), [&](const std::string& root) { return is_below(path, root); })) {
        if ((event->mask & (IN_DELETE | IN_MOVED_FROM)) != 0) changed.insert(path);
        FW_TRY_STATUS(add({}));
        // Files may have been written before the folder was looked at.
        for (fs::recursive_directory_iterator it(path, error), end; !error && it != end; it.increment(error))
          if (it->path().extension() == ".fuse") changed.insert(it->path().generic_string());
      } else if (!unwritten && concerns(path)) {
        changed.insert(path);
      }
    }
  }
  return add({});
}

Result<std::vector<std::string>> FileWatch::wait() {
  constexpr int kQuiet = 10, kMostRounds = 20;  // milliseconds; an editor's save is several events
  std::set<std::string> changed;
  for (int rounds = 0;; rounds += changed.empty() ? 0 : 1) {
    pollfd poll_events{events_, POLLIN, 0};
    const int ready = rounds == kMostRounds ? 0 : poll(&poll_events, 1, changed.empty() ? -1 : kQuiet);
    if (ready < 0 && errno != EINTR) return fail(ErrorKind::kResource, fmt::format("poll: {}", std::strerror(errno)));
    if (ready > 0) {
      FW_TRY_STATUS(read_events(changed));
    } else if (ready == 0) {
      return std::vector<std::string>(changed.begin(), changed.end());
    }
  }
}

}  // namespace fusewright::cli
