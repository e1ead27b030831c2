#pragma once

#include <optional>
#include <string>

namespace fusewright::backend_x86 {

/// Compiled objects on disk, by key. Nothing that goes wrong with the disk is an error: then there is no cached object.
class Cache {
 public:
  /// @param setting as Options::cache.
  explicit Cache(const std::string& setting);

  /// The bytes stored under this key; nothing when there are none or they are damaged.
  std::optional<std::string> load(const std::string& key) const;
  /// Readers and other writers see the whole object or none.
  void store(const std::string& key, const std::string& bytes) const;

 private:
  std::string folder_;  // empty: off
};

}  // namespace fusewright::backend_x86
