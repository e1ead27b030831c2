#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <new>
#include <vector>

namespace fusewright {

/// Memory for arrays that are read here and there: from 2 MiB on in pages of that size where the system has them, so
/// that neither the first touch nor the address of an element costs a walk through page tables.
template <class T>
struct HugePages {
  using value_type = T;
  static constexpr std::size_t kPage = std::size_t{2} << 20;

  HugePages() = default;
  template <class U>
  HugePages(const HugePages<U>&) {}

  T* allocate(std::size_t count) {
    const std::size_t bytes = count * sizeof(T);
    if (bytes < kPage) return static_cast<T*>(::operator new(bytes));
    void* memory = ::operator new(bytes, std::align_val_t(kPage));
    madvise(memory, bytes, MADV_HUGEPAGE);  // a wish: without it the pages are small
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t count) {
    if (count * sizeof(T) < kPage)
      ::operator delete(memory);
    else
      ::operator delete(memory, std::align_val_t(kPage));
  }
  bool operator==(const HugePages&) const = default;
};

template <class T>
using LargeVector = std::vector<T, HugePages<T>>;

}  // namespace fusewright
