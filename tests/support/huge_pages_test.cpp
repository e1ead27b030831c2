#include "fusewright/support/huge_pages.hpp"

#include <catch2/catch.hpp>
#include <cstdint>
#include <numeric>

using fusewright::HugePages;
using fusewright::LargeVector;

TEST_CASE("a large vector keeps its elements while it grows into large pages", "[support]") {
  LargeVector<std::uint32_t> v;
  const std::size_t count = 3 * HugePages<std::uint32_t>::kPage / sizeof(std::uint32_t);
  for (std::uint32_t i = 0; i < count; ++i) v.push_back(i);
  CHECK(reinterpret_cast<std::uintptr_t>(v.data()) % HugePages<std::uint32_t>::kPage == 0);
  LargeVector<std::uint32_t> expected(count);
  std::iota(expected.begin(), expected.end(), 0U);
  CHECK((v == expected));
  v.resize(10);
  v.shrink_to_fit();
  CHECK(v.back() == 9);
}
