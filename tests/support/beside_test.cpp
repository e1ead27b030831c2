#include "fusewright/support/beside.hpp"

#include <catch2/catch.hpp>
#include <memory>
#include <new>
#include <thread>

using namespace fusewright;

TEST_CASE("a function beside the caller gives its value or its exception where it is asked", "[beside]") {
  auto value = beside([] { return std::make_unique<int>(7); });
  auto failure = beside([]() -> int { throw std::bad_alloc(); });
  auto thread = beside([] { return std::this_thread::get_id(); });
  CHECK(*value.get() == 7);
  CHECK_THROWS_AS(failure.get(), std::bad_alloc);
  CHECK(thread.get() != std::this_thread::get_id());
}
