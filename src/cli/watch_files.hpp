#pragma once

#include <set>
#include <string>
#include <vector>

#include "fusewright/support/result.hpp"

namespace fusewright::cli {

/// Waits for files to be saved, made, renamed or deleted.
class FileWatch {
 public:
  FileWatch() = default;
  ~FileWatch();
  FileWatch(const FileWatch&) = delete;
  FileWatch& operator=(const FileWatch&) = delete;

  /// Looks at these files, and at all rule files in these folders and below, besides what it looks at already. What
  /// does not exist is looked for in its folder. Errors: kResource where the system watches no more files.
  Status add(const std::vector<std::string>& paths);
  /// Waits until something happens to one of them and then all is quiet.
  /// @returns the paths, sorted.
  Result<std::vector<std::string>> wait();

 private:
  struct Folder {
    int watch = -1;
    std::string path;
  };
  Status watch_folder(const std::string& path);
  Status read_events(std::set<std::string>& changed);
  bool concerns(const std::string& path) const;

  int events_ = -1;
  std::vector<Folder> folders_;
  std::vector<std::string> roots_;  ///< as given, absolute
};

}  // namespace fusewright::cli
