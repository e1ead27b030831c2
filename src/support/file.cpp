#include "fusewright/support/file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace fusewright {

namespace {

bool write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(file, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) return false;
    if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

std::unexpected<Error> failed(const std::string& path) {
  const bool disk = errno == ENOSPC || errno == EDQUOT || errno == EFBIG || errno == EIO;
  return fail(disk ? ErrorKind::kResource : ErrorKind::kInput, "cannot write '" + path + "': " + std::strerror(errno));
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

}  // namespace

Status write_file(const std::string& path, std::initializer_list<std::string_view> parts) {
  static std::atomic<unsigned> count{0};  // of this process, which may write one file from two threads
  const std::string unfinished = path + "." + std::to_string(getpid()) + "." + std::to_string(count++);
  // A file without a name is gone with the program. Not every file system has them.
  int file = open(folder_of(path).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  const bool nameless = file >= 0;
  if (!nameless) file = open(unfinished.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0666);
  if (file < 0) return failed(path);

  bool done = true;
  for (const std::string_view part : parts) done = done && write_all(file, part);
  const std::string itself = "/proc/self/fd/" + std::to_string(file);
  if (nameless) done = done && linkat(AT_FDCWD, itself.c_str(), AT_FDCWD, unfinished.c_str(), AT_SYMLINK_FOLLOW) == 0;
  done = done && std::rename(unfinished.c_str(), path.c_str()) == 0;
  Status status = done ? Status() : failed(path);
  if (close(file) != 0 && status) status = failed(path);
  if (!status) unlink(unfinished.c_str());
  return status;
}

}  // namespace fusewright
