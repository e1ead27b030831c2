#include "tests/interpret/helpers.hpp"

using namespace fusewright;
using namespace fusewright::interpret::testing;

namespace {

const Ints kNone = {};

// [2,3,4] and two index vectors for each of the first axis, some out of range.
Tensor cube() { return counting(DType::kS32, {2, 3, 4}, 100, 0); }
Tensor places() { return integers(DType::kS32, {2, 2, 2}, {1, 0, 5, 2, -1, 3, 0, 1}); }

Tensor scatter(const Tensor& x, const Ints& at, const Tensor& updates, const std::string& combiner) {
  const Tensor indices = integers(DType::kS64, {static_cast<std::int64_t>(at.size()), 1}, at);
  return node("scatter", {x, indices, updates},
              {{"update_window_dims", kNone},
               {"inserted_window_dims", Ints{0}},
               {"scatter_dims_to_operand_dims", Ints{0}},
               {"index_vector_dim", std::int64_t{1}},
               {"combiner", combiner}});
}

}  // namespace

TEST_CASE("take replaces an axis by the shape of the indices", "[interpret]") {
  const Tensor x = counting(DType::kF32, {3, 2}, 100, 0);
  const Tensor rows = node("take", {x, integers(DType::kS64, {2, 2}, {2, 0, -1, 1})}, {{"axis", std::int64_t{0}}});
  CHECK(rows.dims == Ints{2, 2, 2});
  CHECK(numbers(rows) == Numbers{4, 5, 0, 1, 4, 5, 2, 3});
  CHECK(numbers(node("take", {x, ints(DType::kS32, {1})}, {{"axis", std::int64_t{1}}})) == Numbers{1, 3, 5});
  CHECK(numbers(node("take", {x, ints(DType::kS32, {99, -99})}, {{"axis", std::int64_t{0}}})) == Numbers{4, 5, 0, 1});
  CHECK(message(try_node("take", {tensor(DType::kF32, {0}, {}), ints(DType::kS32, {0})},
                         {{"axis", std::int64_t{0}}})) == "take from an axis without elements");
}

TEST_CASE("take_along picks along one axis for each place", "[interpret]") {
  const Tensor x = counting(DType::kF32, {2, 3}, 100, 0);
  CHECK(numbers(node("take_along", {x, integers(DType::kS64, {2, 2}, {2, 0, -1, 1})}, {{"axis", std::int64_t{1}}})) ==
        Numbers{2, 0, 5, 4});
}

TEST_CASE("gather clamps its starts and walks batching dims together", "[interpret]") {
  const Tensor out = node("gather", {cube(), places()},
                          {{"offset_dims", Ints{2}},
                           {"collapsed_slice_dims", Ints{1}},
                           {"start_index_map", Ints{1, 2}},
                           {"operand_batching_dims", Ints{0}},
                           {"indices_batching_dims", Ints{0}},
                           {"index_vector_dim", std::int64_t{2}},
                           {"slice_sizes", Ints{1, 1, 2}}});
  CHECK(out.dims == Ints{2, 2, 2});
  CHECK(whole(out) == Ints{4, 5, 10, 11, 14, 15, 13, 14});  // by XLA
}

TEST_CASE("gather with an implicit index vector takes rows", "[interpret]") {
  const Tensor x = counting(DType::kF32, {3, 2}, 100, 0);
  const Tensor out = node("gather", {x, ints(DType::kS32, {2, 0})},
                          {{"offset_dims", Ints{1}},
                           {"collapsed_slice_dims", Ints{0}},
                           {"start_index_map", Ints{0}},
                           {"index_vector_dim", std::int64_t{1}},
                           {"slice_sizes", Ints{1, 2}}});
  CHECK(numbers(out) == Numbers{4, 5, 0, 1});
}

TEST_CASE("scatter drops what falls outside", "[interpret]") {
  const Tensor hundreds = counting(DType::kS32, {2, 2, 2}, 1, -100);
  const Tensor out = node("scatter", {cube(), places(), hundreds},
                          {{"update_window_dims", Ints{2}},
                           {"inserted_window_dims", Ints{1}},
                           {"scatter_dims_to_operand_dims", Ints{1, 2}},
                           {"input_batching_dims", Ints{0}},
                           {"indices_batching_dims", Ints{0}},
                           {"index_vector_dim", std::int64_t{2}},
                           {"combiner", std::string("add")}});
  Ints expected = whole(cube());
  for (const std::size_t at : {4, 5, 13, 14}) expected[at] += 100;  // by XLA
  CHECK(whole(out) == expected);
}

TEST_CASE("scatter combines what falls on one place", "[interpret]") {
  const Tensor x = vec(DType::kF32, {1, 2, 3});
  const Tensor updates = vec(DType::kF32, {10, 20, 30});
  CHECK(numbers(scatter(x, {0, 2, 0}, updates, "assign")) == Numbers{30, 2, 20});
  CHECK(numbers(scatter(x, {0, 2, 0}, updates, "add")) == Numbers{41, 2, 23});
  CHECK(numbers(scatter(x, {0, 2, 0}, updates, "mul")) == Numbers{300, 2, 60});
  CHECK(numbers(scatter(x, {0, 2, -1}, updates, "max")) == Numbers{10, 2, 20});
  CHECK(numbers(scatter(x, {0, 3, 0}, updates, "min")) == Numbers{1, 2, 3});
  CHECK(whole(scatter(ints(DType::kS8, {100, 0}), {0, 0, 1}, ints(DType::kS8, {100, 0, 5}), "add")) == Ints{-56, 5});
  // Sums round once.
  CHECK(numbers(scatter(vec(DType::kF32, {0x1p24}), {0, 0}, vec(DType::kF32, {1, 1}), "add")) == Numbers{0x1p24 + 2});
}
