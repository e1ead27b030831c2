#include "backends/x86/cache.hpp"

#include <llvm/Support/xxhash.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "fusewright/support/file.hpp"

namespace fusewright::backend_x86 {

namespace fs = std::filesystem;

namespace {

/// In front of the object in its file: a file cut short or overwritten is found out.
struct Header {
  char magic[8] = {'F', 'W', 'O', 'B', 'J', '0', '1', '\n'};
  std::uint64_t length = 0;
  std::uint64_t checksum = 0;
};

Header header_of(const std::string& bytes) {
  Header header;
  header.length = bytes.size();
  header.checksum = llvm::xxh3_64bits(llvm::StringRef(bytes));
  return header;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string folder_of(const std::string& setting) {
  std::string folder = setting.empty() ? variable("FUSEWRIGHT_CACHE") : setting;
  if (folder == "off") return "";
  if (!folder.empty()) return folder;
  // As the XDG rules have it: only absolute paths count.
  if (const std::string base = variable("XDG_CACHE_HOME"); base.starts_with('/')) return base + "/fusewright";
  if (const std::string home = variable("HOME"); home.starts_with('/')) return home + "/.cache/fusewright";
  return "";
}

}  // namespace

Cache::Cache(const std::string& setting) : folder_(folder_of(setting)) {
  if (folder_.empty()) return;
  std::error_code error;
  const bool made = fs::create_directories(folder_, error);
  if (error)
    folder_.clear();
  else if (made)
    fs::permissions(folder_, fs::perms::owner_all, error);  // what is in it gets executed
}

std::optional<std::string> Cache::load(const std::string& key) const {
  if (folder_.empty()) return std::nullopt;
  std::ifstream file(folder_ + "/" + key + ".o", std::ios::binary);
  if (!file) return std::nullopt;
  std::ostringstream contents;
  contents << file.rdbuf();
  const std::string all = std::move(contents).str();
  if (all.size() < sizeof(Header)) return std::nullopt;
  std::string bytes = all.substr(sizeof(Header));
  const Header expected = header_of(bytes);
  if (std::memcmp(all.data(), &expected, sizeof(Header)) != 0) return std::nullopt;
  return bytes;
}

void Cache::store(const std::string& key, const std::string& bytes) const {
  if (folder_.empty()) return;
  const Header header = header_of(bytes);
  // A cache that cannot be written is no error: the object is made again.
  (void)write_file(folder_ + "/" + key + ".o", {{reinterpret_cast<const char*>(&header), sizeof(Header)}, bytes});
}

}  // namespace fusewright::backend_x86
