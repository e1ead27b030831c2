#include "fusewright/support/large_vector.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <new>

namespace fusewright::pages {
namespace {

/// Fresh pages at an address that is a multiple of their size: only there the system makes large ones.
void* map(std::size_t bytes) {
  void* const memory = mmap(nullptr, bytes + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  auto* const begin = static_cast<std::byte*>(memory);
  const std::size_t before = (kPage - reinterpret_cast<std::uintptr_t>(begin) % kPage) % kPage;
  if (before > 0) munmap(begin, before);
  munmap(begin + before + bytes, kPage - before);
  madvise(begin + before, bytes, MADV_HUGEPAGE);  // a wish: without it the pages are small
  return begin + before;
}

}  // namespace

std::size_t next_size(std::size_t old_bytes, std::size_t least) {
  // Between these sizes the system gives memory as it is touched, but what is copied is touched twice.
  constexpr std::size_t kSmall = std::size_t{32} << 10;
  const std::size_t grown = old_bytes >= kPage ? old_bytes + old_bytes / 2 : old_bytes * (old_bytes < kSmall ? 2 : 4);
  const std::size_t bytes = std::max(grown, least);
  return bytes < kPage ? bytes : (bytes + kPage - 1) / kPage * kPage;
}

void* grow(void* block, std::size_t old_bytes, std::size_t used, std::size_t new_bytes) {
  if (old_bytes < kPage) {
    void* const larger = new_bytes < kPage ? ::operator new(new_bytes) : map(new_bytes);
    if (used > 0) std::memcpy(larger, block, used);
    release(block, old_bytes);
    return larger;
  }
  if (mremap(block, old_bytes, new_bytes, 0) != MAP_FAILED) return block;
  void* const place = map(new_bytes);
  void* const larger = mremap(block, old_bytes, new_bytes, MREMAP_MAYMOVE | MREMAP_FIXED, place);
  if (larger == MAP_FAILED) {
    munmap(place, new_bytes);
    throw std::bad_alloc();
  }
  return larger;
}

void release(void* block, std::size_t bytes) noexcept {
  if (bytes >= kPage)
    munmap(block, bytes);
  else
    ::operator delete(block);
}

}  // namespace fusewright::pages
