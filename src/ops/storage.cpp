#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "fusewright/ops/tensor.hpp"

namespace fusewright::ops {
namespace {

constexpr std::size_t kAlignment = 64;

class Allocation final : public Storage {
 public:
  Allocation(std::byte* data, std::size_t size) : data_(data), size_(size) {}
  Allocation(const Allocation&) = delete;
  Allocation& operator=(const Allocation&) = delete;
  ~Allocation() override { std::free(data_); }
  std::byte* data() override { return data_; }
  std::size_t size() const override { return size_; }

 private:
  std::byte* data_;
  std::size_t size_;
};

class Mapping final : public Storage {
 public:
  Mapping(std::byte* data, std::size_t size) : data_(data), size_(size) {}
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() override {
    if (size_ > 0) munmap(data_, size_);
  }
  std::byte* data() override { return data_; }
  std::size_t size() const override { return size_; }

 private:
  std::byte* data_;
  std::size_t size_;
};

// The number in a file of the kernel's, behind `key` where it is one of many; nothing where there is none ("max").
std::optional<std::size_t> number_in(const char* path, std::string_view key = {}) {
  std::ifstream file(path);
  for (std::string word; !key.empty() && word != key;)
    if (!(file >> word)) return std::nullopt;
  std::size_t number = 0;
  if (!(file >> number)) return std::nullopt;
  return number;
}

// What can be touched without the kernel ending a program for it: memory is promised far beyond what there is.
std::size_t free_memory() {
  std::size_t free = std::numeric_limits<std::size_t>::max();
  if (const auto kib = number_in("/proc/meminfo", "MemAvailable:")) free = *kib * 1024;
  const auto most = number_in("/sys/fs/cgroup/memory.max"), used = number_in("/sys/fs/cgroup/memory.current");
  if (most && used) free = std::min(free, *most - std::min(*most, *used));
  return free;
}

}  // namespace

Result<std::shared_ptr<Storage>> allocate_storage(std::size_t bytes) {
  constexpr std::size_t kLarge = std::size_t{1} << 28;
  if (bytes >= kLarge && bytes > free_memory())
    return fail(ErrorKind::kResource, "no memory for " + std::to_string(bytes) + " bytes");
  // Whole cache lines, and never none, so that kernels may read the last vector in full.
  const std::size_t rounded = (bytes / kAlignment + 1) * kAlignment;
  auto* data = static_cast<std::byte*>(std::aligned_alloc(kAlignment, rounded));
  if (data == nullptr) return fail(ErrorKind::kResource, "no memory for " + std::to_string(bytes) + " bytes");
  std::memset(data, 0, rounded);
  return std::make_shared<Allocation>(data, bytes);
}

Result<std::shared_ptr<Storage>> map_file(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return fail("cannot open '" + path + "': " + std::strerror(errno));
  struct stat info = {};
  if (fstat(file, &info) != 0 || !S_ISREG(info.st_mode)) {
    close(file);
    return fail("'" + path + "' is not a regular file");
  }
  const auto size = static_cast<std::size_t>(info.st_size);
  if (size == 0) {  // mmap refuses an empty range
    close(file);
    return std::make_shared<Mapping>(nullptr, 0);
  }
  void* data = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
  const int reason = errno;
  close(file);
  if (data == MAP_FAILED) return fail(ErrorKind::kResource, "cannot map '" + path + "': " + std::strerror(reason));
  return std::make_shared<Mapping>(static_cast<std::byte*>(data), size);
}

}  // namespace fusewright::ops
