#include "fusewright/support/dim.hpp"

#include <catch2/catch.hpp>
#include <limits>

using fusewright::Dim;

namespace {

const Dim n = Dim::symbol("n");
const Dim m = Dim::symbol("m");

}  // namespace

TEST_CASE("dims with the same polynomial are equal however they were computed", "[dim]") {
  CHECK((n + Dim(1)) * (n - Dim(1)) == n * n - Dim(1));
  CHECK(n * m == m * n);
  CHECK((n * m).hash() == (m * n).hash());
  CHECK(n - n == Dim(0));
  CHECK((n - n).is_constant());
  CHECK(n != m);
  CHECK(n != Dim(1));
}

TEST_CASE("dims print as people write polynomials", "[dim]") {
  CHECK(Dim(-3).to_string() == "-3");
  CHECK((Dim(2) * n - Dim(1)).to_string() == "2*n - 1");
  CHECK((Dim(0) - n).to_string() == "-n");
  CHECK((n * n + m).to_string() == "n*n + m");
}

TEST_CASE("floor division is exact where the divisor divides every term", "[dim]") {
  CHECK(floor_div(Dim(-7), Dim(2)) == Dim(-4));
  CHECK(floor_div(Dim(7), Dim(-2)) == Dim(-4));
  CHECK(floor_div(Dim(4) * n + Dim(8), Dim(4)) == n + Dim(2));
  CHECK(floor_div(Dim(12) * n * m, Dim(3) * m) == Dim(4) * n);
  CHECK(floor_div(n, n) == Dim(1));
}

TEST_CASE("a division that is not exact is evaluated once its symbols are bound", "[dim]") {
  const Dim half = floor_div(n + Dim(1), Dim(2)) + Dim(1);
  CHECK_FALSE(half.is_constant());
  CHECK(half.symbols() == std::vector<std::string>{"n"});
  CHECK(half.to_string() == "floordiv(n + 1, 2) + 1");
  CHECK(half.substitute({{"n", 224}}) == Dim(113));
  CHECK(half.substitute({{"m", 1}}) == half);
  CHECK(floor_div(half, m).substitute({{"n", 6}, {"m", 3}}) == Dim(1));
  CHECK_FALSE(floor_div(n, Dim(0)).substitute({{"n", 4}}).is_constant());
}

TEST_CASE("dims out of range stay at the end of the range", "[dim]") {
  const Dim most(std::numeric_limits<std::int64_t>::max());
  CHECK(most + Dim(1) == most);
  CHECK(most * Dim(2) == most);
  CHECK(most * Dim(-2) == Dim(std::numeric_limits<std::int64_t>::min()));
  CHECK((Dim(1) - most - Dim(5)) == Dim(std::numeric_limits<std::int64_t>::min()));
}

TEST_CASE("squaring a dim again and again stays small", "[dim]") {
  Dim power = n + m + Dim(1);
  for (int i = 0; i < 60; ++i) power = power * power;
  CHECK(power.to_string().size() < 100'000);
  CHECK_FALSE(power.is_constant());
  const Dim seventeen = (n + Dim(1)) * (n + Dim(1)) * (n + Dim(1));
  CHECK(seventeen.substitute({{"n", 2}}) == Dim(27));
}
