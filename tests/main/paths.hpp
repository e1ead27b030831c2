#pragma once

#include <cstdlib>
#include <filesystem>
#include <optional>

namespace fusewright::tests {

/// Root of the source tree.
inline std::filesystem::path source_dir() { return FUSEWRIGHT_SOURCE_DIR; }

/// Folder of the model corpora: $FUSEWRIGHT_CORPORA, else a folder beside the source tree.
/// @returns nothing where there is none; a test that needs one then says so with WARN and ends.
inline std::optional<std::filesystem::path> corpora_dir() {
  const char* chosen = std::getenv("FUSEWRIGHT_CORPORA");
  const std::filesystem::path dir =
      chosen != nullptr ? std::filesystem::path(chosen) : source_dir() / "../shared/corpora";
  if (!std::filesystem::is_directory(dir)) return std::nullopt;
  return std::filesystem::canonical(dir);
}

}  // namespace fusewright::tests
