#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backends/x86/x86.hpp"

namespace fusewright::backend_x86 {

/// Code of one launch: runs iterations [begin, end) of its parallel loop.
using LaunchFunction = void (*)(void* const* buffers, void* scratch, std::int64_t begin, std::int64_t end);

/// Objects loaded into this process; their code goes away with the loader.
class Loader {
 public:
  /// @param outside functions that the objects may call, by name, besides memcpy, memmove and memset.
  static Result<std::unique_ptr<Loader>> make(const std::vector<std::pair<std::string, void*>>& outside = {});
  ~Loader();

  Status add(std::string object);
  Result<LaunchFunction> find(const std::string& symbol);
  Result<void*> find_address(const std::string& symbol);

 private:
  struct Jit;
  explicit Loader(std::unique_ptr<Jit> jit);
  std::unique_ptr<Jit> jit_;
};

}  // namespace fusewright::backend_x86
