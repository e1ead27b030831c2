#include "tests/interpret/helpers.hpp"

#include "fusewright/interpret/inputs.hpp"

using namespace fusewright;
using namespace fusewright::interpret::testing;

namespace {

double mean(const Numbers& x) {
  double sum = 0;
  for (const double value : x) sum += value;
  return sum / static_cast<double>(x.size());
}
double deviation(const Numbers& x) {
  const double center = mean(x);
  double sum = 0;
  for (const double value : x) sum += (value - center) * (value - center);
  return std::sqrt(sum / static_cast<double>(x.size()));
}

}  // namespace

TEST_CASE("made-up inputs have the stated distributions", "[interpret]") {
  const Numbers floats = numbers(get(interpret::make_input(Type::tensor(DType::kF32, {100, 100}), 1, 0)));
  CHECK(std::fabs(mean(floats)) < 0.05);  // five standard errors
  CHECK(std::fabs(deviation(floats) - 1) < 0.05);
  std::vector<int> counts(8, 0);
  for (const std::int64_t value : whole(get(interpret::make_input(Type::tensor(DType::kS32, {8000}), 1, 0))))
    ++counts.at(static_cast<std::size_t>(value));
  for (const int count : counts) CHECK(std::abs(count - 1000) < 150);
  CHECK(std::fabs(mean(numbers(get(interpret::make_input(Type::tensor(DType::kPred, {10000}), 1, 0)))) - 0.5) < 0.025);
}

TEST_CASE("made-up inputs depend on seed, index and position alone", "[interpret]") {
  const auto make = [](std::int64_t n, std::uint64_t seed, std::uint64_t index) {
    return numbers(get(interpret::make_input(Type::tensor(DType::kF32, {n}), seed, index)));
  };
  CHECK(make(10, 3, 4) == make(10, 3, 4));
  CHECK(make(10, 3, 4) != make(10, 3, 5));
  CHECK(make(10, 3, 4) != make(10, 4, 4));
  Numbers longer = make(20, 3, 4);
  longer.resize(10);
  CHECK(longer == make(10, 3, 4));
}

TEST_CASE("made-up weights are scaled by their fan-in", "[interpret]") {
  const auto spread = [](const Shape& shape) {
    return deviation(numbers(get(interpret::random_weight(Type::tensor(DType::kF32, shape), 1, 0))));
  };
  CHECK(spread({128, 64, 3, 3}) == Approx(std::sqrt(2.0 / (64 * 9))).epsilon(0.03));  // OIHW
  CHECK(spread({3, 3, 64, 128}) == Approx(std::sqrt(2.0 / (64 * 9))).epsilon(0.03));  // HWIO
  CHECK(spread({512, 256}) == Approx(std::sqrt(2.0 / 512)).epsilon(0.03));
  for (const double value : numbers(get(interpret::random_weight(Type::tensor(DType::kF32, {1000}), 1, 0)))) {
    CHECK(value >= 0.5);
    CHECK(value <= 2);
  }
}

TEST_CASE("inputs that cannot be made are refused", "[interpret]") {
  CHECK_THAT(message(interpret::make_input(Type::tensor(DType::kF32, {Dim::symbol("n")}), 0, 0)),
             Catch::Contains("not bound"));
  CHECK_THAT(message(interpret::make_input(Type::token(), 0, 0)), Catch::Contains("token"));
  CHECK_THAT(message(interpret::make_input(Type::tensor(DType::kC64, {2}), 0, 0)), Catch::Contains("complex"));
}
