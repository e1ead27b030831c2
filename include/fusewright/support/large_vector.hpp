#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <type_traits>
#include <utility>

namespace fusewright {

/// Memory blocks that grow: from kPage on whole pages of 2 MiB where the system has them, which move to a larger place
/// without a copy and without a second page for what is there already.
namespace pages {
inline constexpr std::size_t kPage = std::size_t{2} << 20;

/// A size for a block that has to grow to so many bytes at least: below kPage, or a multiple of it.
std::size_t next_size(std::size_t old_bytes, std::size_t least);
/// @param used  bytes at the front that are kept.
/// Errors: std::bad_alloc, which leaves the old block as it was.
void* grow(void* block, std::size_t old_bytes, std::size_t used, std::size_t new_bytes);
void release(void* block, std::size_t bytes) noexcept;
}  // namespace pages

/// An array of plain values for what is read here and there and may become very long: neither the first touch nor the
/// address of an element costs a walk through page tables, and growing costs next to nothing. Of a long one only what
/// was ever used is memory.
template <class T>
class LargeVector {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

  static constexpr std::size_t kFirst = 16;

 public:
  using value_type = T;

  LargeVector() = default;
  LargeVector(std::size_t count, const T& value) { assign(count, value); }
  LargeVector(LargeVector&& other) noexcept { swap(other); }
  LargeVector& operator=(LargeVector&& other) noexcept {
    LargeVector taken(std::move(other));
    swap(taken);
    return *this;
  }
  ~LargeVector() { pages::release(data_, capacity_bytes_); }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  /// Memory that its elements took up at most, since it was made.
  std::size_t bytes() const { return std::max(most_, size_) * sizeof(T); }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  T& back() { return data_[size_ - 1]; }
  const T& back() const { return data_[size_ - 1]; }

  void push_back(const T& value) {
    const T kept = value;  // it may be an element
    if (size_ == capacity_) grow_to(size_ + 1);
    data_[size_++] = kept;
  }
  void pop_back() { shrink_to(size_ - 1); }
  /// Elements of another array.
  template <std::input_iterator It>
  void append(It first, It last) {
    const auto count = static_cast<std::size_t>(last - first);
    reserve(size_ + count);
    std::copy(first, last, data_ + size_);
    size_ += count;
  }
  void resize(std::size_t count, const T& value = T()) {
    if (count <= size_) return shrink_to(count);
    reserve(count);
    std::fill(data_ + size_, data_ + count, value);
    size_ = count;
  }
  void assign(std::size_t count, const T& value) {
    shrink_to(0);
    resize(count, value);
  }
  void clear() { shrink_to(0); }
  /// Room for that many: until then nothing fails or moves.
  void reserve(std::size_t count) {
    if (count > capacity_) grow_to(count);
  }
  void reserve_more(std::size_t count) { reserve(size_ + count); }

 private:
  void swap(LargeVector& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(most_, other.most_);
    std::swap(capacity_, other.capacity_);
    std::swap(capacity_bytes_, other.capacity_bytes_);
  }
  void shrink_to(std::size_t count) {
    most_ = std::max(most_, size_);
    size_ = count;
  }
  void grow_to(std::size_t count) {
    const std::size_t bytes = pages::next_size(capacity_bytes_, std::max(count, kFirst) * sizeof(T));
    data_ = static_cast<T*>(pages::grow(data_, capacity_bytes_, size_ * sizeof(T), bytes));
    capacity_bytes_ = bytes;
    capacity_ = bytes / sizeof(T);
  }

  T* data_ = nullptr;
  std::size_t size_ = 0, capacity_ = 0, capacity_bytes_ = 0;
  std::size_t most_ = 0;  // size before it shrank
};

}  // namespace fusewright
