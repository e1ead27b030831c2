#include "fusewright/support/large_vector.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <ranges>
#include <vector>

using fusewright::LargeVector;
namespace pages = fusewright::pages;

TEST_CASE("a large vector keeps its elements while it grows into large pages and beyond", "[support]") {
  LargeVector<std::uint32_t> v, other;
  const std::size_t page = pages::kPage / sizeof(std::uint32_t);
  for (std::uint32_t i = 0; i < 5 * page; ++i) {
    v.push_back(i);
    if (i % 3 == 0) other.push_back(~i);  // so that neither can grow where it stands for ever
  }
  CHECK(reinterpret_cast<std::uintptr_t>(v.data()) % pages::kPage == 0);
  CHECK(std::ranges::equal(v, std::views::iota(0U, static_cast<std::uint32_t>(5 * page))));
  CHECK(other[page] == ~static_cast<std::uint32_t>(3 * page));
  v.resize(10);
  v.resize(12, 7);
  CHECK((v.size() == 12 && v[9] == 9 && v[10] == 7 && v.back() == 7));
  v.pop_back();
  v.append(other.begin(), other.begin() + 2);
  CHECK((v.size() == 13 && v[11] == ~0U && v.back() == ~3U));
}

TEST_CASE("of a long vector only what was used counts as memory, also after it was cleared", "[support]") {
  LargeVector<std::uint64_t> v;
  v.reserve(100 * pages::kPage);
  CHECK(v.bytes() == 0);
  v.resize(1000, 1);
  v.clear();
  CHECK((v.empty() && v.bytes() == 8000));
}

TEST_CASE("a vector that is moved from is empty, and no memory is freed twice", "[support]") {
  std::vector<LargeVector<std::uint8_t>> all(3);
  all[1].resize(3 * pages::kPage, 1);
  LargeVector<std::uint8_t> taken = std::move(all[1]);
  all.resize(20);
  CHECK((taken.size() == 3 * pages::kPage && taken.back() == 1));
  taken = LargeVector<std::uint8_t>(5, 2);
  CHECK((taken.size() == 5 && taken[4] == 2));
}
