#include "fusewright/region/index_map.hpp"

#include <catch2/catch.hpp>
#include <random>

#include "fusewright/region/access.hpp"
#include "make_region.hpp"

using namespace fusewright;
using namespace fusewright::region;
using Ints = std::vector<std::int64_t>;

namespace {

std::int64_t floor_of(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

std::int64_t value(const IndexExpr& e, const Ints& point) {
  switch (e->kind) {
    case IndexNode::Kind::kConstant: return e->value;
    case IndexNode::Kind::kDim: return point[static_cast<std::size_t>(e->value)];
    case IndexNode::Kind::kRuntime: return 0;
    case IndexNode::Kind::kAdd: return value(e->a, point) + value(e->b, point);
    case IndexNode::Kind::kMul: return value(e->a, point) * e->value;
    case IndexNode::Kind::kFloorDiv: return floor_of(value(e->a, point), e->value);
    case IndexNode::Kind::kMod: return value(e->a, point) - e->value * floor_of(value(e->a, point), e->value);
    case IndexNode::Kind::kClamp: return std::clamp<std::int64_t>(value(e->a, point), 0, e->value);
  }
  return 0;
}

/// Every point of a domain, last dim fastest.
std::vector<Ints> points(const Ints& domain) {
  std::vector<Ints> all{{}};
  for (const std::int64_t extent : domain) {
    std::vector<Ints> longer;
    for (const Ints& p : all)
      for (std::int64_t i = 0; i < extent; ++i) {
        longer.push_back(p);
        longer.back().push_back(i);
      }
    all = std::move(longer);
  }
  return all;
}

IndexExpr random_expr(std::mt19937& rng, std::size_t dims, int depth) {
  const auto pick = [&](int n) { return static_cast<int>(rng() % static_cast<unsigned>(n)); };
  if (depth == 0) return pick(4) == 0 ? index_constant(pick(7) - 3) : index_dim(pick(static_cast<int>(dims)));
  const IndexExpr a = random_expr(rng, dims, depth - 1);
  switch (pick(5)) {
    case 0: return a * (pick(9) - 2);
    case 1: return floor_div(a, 1 + pick(6));
    case 2: return floor_mod(a, 1 + pick(6));
    case 3: return clamp(a, pick(5));
    default: return a + random_expr(rng, dims, depth - 1);
  }
}

}  // namespace

TEST_CASE("simplified index expressions have the same values, and ranges hold", "[region]") {
  std::mt19937 rng(5);
  for (int round = 0; round < 400; ++round) {
    IndexMap map;
    for (const unsigned most : {5U, 7U, 4U}) map.domain.push_back(1 + static_cast<std::int64_t>(rng() % most));
    const IndexExpr e = random_expr(rng, map.domain.size(), 4);
    const IndexExpr simple = simplify(e, map);
    const Range range = range_of(simple, map);
    INFO(to_string(e) << " -> " << to_string(simple));
    for (const Ints& p : points(map.domain)) {
      REQUIRE(value(simple, p) == value(e, p));
      REQUIRE(value(simple, p) >= range.low);
      REQUIRE(value(simple, p) <= range.high);
    }
  }
}

TEST_CASE("a reshape that is undone leaves the plain offset", "[region]") {
  const auto [from, to] = GENERATE(table<Ints, Ints>(
      {{{6, 4}, {3, 8}}, {{2, 3, 4}, {4, 6}}, {{24}, {2, 3, 4}}, {{5, 1, 7}, {35}}, {{8, 9}, {2, 4, 3, 3}}}));
  const IndexMap back = compose(reshape_map(from, to), reshape_map(to, from));
  CHECK(to_string(linearize(back, from)) == to_string(linearize(identity_map(from), from)));
  CHECK(is_bijective(reshape_map(from, to), to));
}

TEST_CASE("a reshape that joins and splits axes at once is undone through a division", "[region]") {
  // Of channel-first images the group and the place in it, from a linear number: what group normalisation reads.
  IndexMap map;
  map.domain = {8, 196};
  const IndexExpr number = simplify(index_dim(0) * 196 + index_dim(1), map);
  const IndexExpr channel = simplify(floor_div(number, 49), map);
  map.results = {simplify(floor_div(channel, 16), map), simplify(floor_mod(channel, 16), map),
                 simplify(floor_mod(floor_div(number, 7), 7), map), simplify(floor_mod(number, 7), map)};
  const IndexMap group = compose(map, reshape_map({2, 16, 7, 7}, {2, 4, 196}));
  IndexMap of_group = group;
  of_group.results.pop_back();
  CHECK(to_string(linearize(of_group, {2, 4})) == "d0");
}

TEST_CASE("moves read the element that their meaning says", "[region]") {
  tests::RegionMaker m;
  const ValueId x = m.capture({3, 4, 5}), fill = m.capture({});
  const ValueId turned = m.op("transpose", {x}, {5, 3, 4}, {{"perm", Ints{2, 0, 1}}});
  const ValueId cut =
      m.op("slice", {x}, {1, 2, 2}, {{"starts", Ints{2, 1, 0}}, {"limits", Ints{3, 4, 5}}, {"strides", Ints{1, 2, 3}}});
  const ValueId flipped = m.op("reverse", {x}, {3, 4, 5}, {{"axes", Ints{1}}});
  const ValueId padded = m.op("pad", {x, fill}, {4, 9, 5},
                              {{"low", Ints{1, 0, -1}}, {"high", Ints{0, 2, 1}}, {"interior", Ints{0, 1, 0}}});
  const auto at = [&](ValueId v, const Ints& p) {
    const IndexMap map = *operand_map(m.region, v, 0);
    Ints out;
    for (const IndexExpr& e : map.results) out.push_back(value(e, p));
    for (const Constraint& c : map.constraints)
      if (value(c.expr, p) < c.low || value(c.expr, p) > c.high) return Ints{};
    return out;
  };
  CHECK(at(turned, {4, 2, 1}) == Ints{2, 1, 4});
  CHECK(at(cut, {0, 1, 1}) == Ints{2, 3, 3});
  CHECK(at(flipped, {1, 0, 2}) == Ints{1, 3, 2});
  CHECK(at(padded, {0, 0, 0}).empty());
  CHECK(at(padded, {1, 2, 0}) == Ints{0, 1, 1});
  CHECK(at(padded, {1, 3, 0}).empty());
  CHECK(at(padded, {3, 6, 3}) == Ints{2, 3, 4});
  CHECK(at(padded, {3, 6, 4}).empty());
  CHECK(at(padded, {3, 8, 0}).empty());
}

TEST_CASE("axes that every access walks as one become one loop", "[region]") {
  tests::RegionMaker m;
  const ValueId x = m.capture({4, 5, 6}), bias = m.capture({6}), row = m.capture({4});
  const ValueId b = m.op("broadcast", {bias}, {4, 5, 6}, {{"dims", Ints{2}}});
  const ValueId r = m.op("broadcast", {row}, {4, 5, 6}, {{"dims", Ints{0}}});
  const ValueId alone = m.op("exp", {x}, {4, 5, 6}), biased = m.op("add", {x, b}, {4, 5, 6}),
                both = m.op("add", {biased, r}, {4, 5, 6});
  const auto loops = [&](ValueId v) { return *collapse_domain(m.region, {{v, identity_map({4, 5, 6})}}); };
  CHECK(loops(alone) == Ints{120});
  CHECK(loops(biased) == Ints{20, 6});
  CHECK(loops(both) == Ints{4, 5, 6});
}

TEST_CASE("bytes count each element of an input once, and of a slice what it reads", "[region]") {
  tests::RegionMaker m;
  const ValueId x = m.capture({100, 10}), y = m.capture({100, 10});
  const ValueId sum = m.op("add", {m.op("mul", {x, x}, {100, 10}), m.op("exp", {x}, {100, 10})}, {100, 10});
  m.region.outputs = {sum};
  CHECK(planned_bytes(m.region) == 2 * 1000 * 4);  // y is not read
  const ValueId part =
      m.op("slice", {y}, {10, 10}, {{"starts", Ints{0, 0}}, {"limits", Ints{10, 10}}, {"strides", Ints{1, 1}}});
  m.region.outputs = {sum, m.op("neg", {part}, {10, 10})};
  CHECK(planned_bytes(m.region) == (2 * 1000 + 2 * 100) * 4);
}
