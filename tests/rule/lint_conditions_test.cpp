#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <random>

#include "fusewright/rule/lint.hpp"
#include "tests/rule/helpers.hpp"

using namespace fusewright;
using namespace fusewright::rule;
using namespace fusewright::rule::testing;

namespace {

/// Two tensors and two attributes, and what conditions on them say.
struct World {
  std::mt19937 rng;
  int rank[2] = {}, dtype[2] = {}, whole[2] = {};
  std::vector<int> shape[2], list;
  double real = 0;

  static constexpr const char* kDTypes[] = {"f16", "f32", "f64", "s8", "s32", "u8", "bf16"};
  static constexpr int kBits[] = {16, 32, 64, 8, 32, 8, 16};
  static constexpr bool kFloat[] = {true, true, true, false, false, false, true};

  explicit World(unsigned seed) : rng(seed) {
    for (int i = 0; i < 2; ++i) {
      rank[i] = below(5);
      dtype[i] = below(7);
      whole[i] = below(7) - 3;
      for (int n = 0; n < rank[i]; ++n) shape[i].push_back(below(3) + 1);
    }
    for (int n = below(4); n > 0; --n) list.push_back(below(5) - 2);
    real = below(9) * 0.25 - 1;
  }
  int below(int n) { return static_cast<int>(rng() % static_cast<unsigned>(n)); }

  static std::string text(const std::vector<int>& list) { return fmt::format("[{}]", fmt::join(list, ", ")); }

  std::pair<std::string, double> number() {
    const int i = below(2);
    const char* name = i == 0 ? "x" : "y";
    switch (below(11)) {
      case 0: return {fmt::format("rank({})", name), rank[i]};
      case 1: return {fmt::format("bits({})", name), kBits[dtype[i]]};
      case 2: return {i == 0 ? "a" : "b", whole[i]};
      case 3: return {"r", real};
      case 4: {
        const auto [p, m] = number();
        const auto [q, n] = number();
        const bool minus = below(2) == 0;
        return {fmt::format("({} {} {})", p, minus ? "-" : "+", q), minus ? m - n : m + n};
      }
      case 5: {
        const auto [p, m] = number();
        const auto [q, n] = number();
        const bool least = below(2) == 0;
        return {fmt::format("{}({}, {})", least ? "min" : "max", p, q), least ? std::min(m, n) : std::max(m, n)};
      }
      case 6: {
        const auto [p, m] = number();
        return {fmt::format("abs({})", p), std::abs(m)};
      }
      case 7: {
        const int by = below(4) + 1;
        const auto [p, m] = below(2) == 0 ? std::pair<std::string, double>(i == 0 ? "a" : "b", whole[i])
                                          : std::pair<std::string, double>(fmt::format("rank({})", name), rank[i]);
        const double quotient = std::floor(m / by);
        if (below(2) == 0) return {fmt::format("({} // {})", p, by), quotient};
        return {fmt::format("({} % {})", p, by), m - quotient * by};
      }
      case 8: {
        if (rank[i] == 0) return {fmt::format("rank({})", name), 0};
        const int at = below(2 * rank[i]) - rank[i];
        return {fmt::format("dim({}, {})", name, at), shape[i][(at + rank[i]) % rank[i]]};
      }
      case 9: {
        const int size = static_cast<int>(list.size());
        if (size == 0 || below(3) == 0) return {"len(l)", size};
        const int at = below(2 * size) - size;
        return {fmt::format("l[{}]", at), list[(at + size) % size]};
      }
      default: {
        const int n = below(9) - 4;
        return {std::to_string(n), n};
      }
    }
  }

  std::pair<std::string, bool> condition(int depth) {
    const int i = below(2);
    const char* name = i == 0 ? "x" : "y";
    switch (below(depth > 0 ? 12 : 9)) {
      case 0: return {fmt::format("dtype({}) == {}", name, kDTypes[dtype[1 - i]]), dtype[i] == dtype[1 - i]};
      case 1: {
        const int one = below(7), other = below(7);
        return {fmt::format("dtype({}) in [{}, {}]", name, kDTypes[one], kDTypes[other]),
                dtype[i] == one || dtype[i] == other};
      }
      case 2: return {fmt::format("is_float({})", name), kFloat[dtype[i]]};
      case 3: return {"dtype(x) == dtype(y)", dtype[0] == dtype[1]};
      case 4: {
        const auto [p, m] = number();
        const int one = below(5) - 1, other = below(5) - 1;
        const char* form = below(2) == 0 ? "{0} in [{1}, {2}]" : "contains([{1}, {2}], {0})";
        return {fmt::format(fmt::runtime(form), p, one, other), m == one || m == other};
      }
      case 5: return {fmt::format("shape({}) == {}", name, text(shape[1 - i])), shape[0] == shape[1]};
      case 6: {
        const bool skip = below(2) == 0;
        if (!skip) return {"shape(x) == shape(y)", shape[0] == shape[1]};
        const auto tail = [](const std::vector<int>& all) {
          return std::vector(all.begin() + (all.empty() ? 0 : 1), all.end());
        };
        return {"shape(x)[1:] == shape(y)[1:]", tail(shape[0]) == tail(shape[1])};
      }
      case 7: {
        std::vector<int> other = list;
        if (!other.empty() && below(2) == 0) other[0] = below(5) - 2;
        return {fmt::format("l == {}", text(other)), list == other};
      }
      case 9: {
        const auto [text, holds] = condition(depth - 1);
        return {fmt::format("not ({})", text), !holds};
      }
      case 10:
      case 11: {
        const auto [p, a] = condition(depth - 1);
        const auto [q, b] = condition(depth - 1);
        const bool both = below(2) == 0;
        return {fmt::format("({} {} {})", p, both ? "and" : "or", q), both ? a && b : a || b};
      }
      default: {
        const auto [p, m] = number();
        const auto [q, n] = number();
        switch (below(6)) {
          case 0: return {fmt::format("{} == {}", p, q), m == n};
          case 1: return {fmt::format("{} != {}", p, q), m != n};
          case 2: return {fmt::format("{} < {}", p, q), m < n};
          case 3: return {fmt::format("{} <= {}", p, q), m <= n};
          case 4: return {fmt::format("{} > {}", p, q), m > n};
          default: return {fmt::format("{} >= {}", p, q), m >= n};
        }
      }
    }
  }
};

}  // namespace

TEST_CASE("conditions that hold together are never said to be impossible", "[rule]") {
  std::size_t impossible = 0;
  for (unsigned seed = 0; seed < 800; ++seed) {
    World world(seed);
    std::string guards;
    bool hold = true;
    // Mostly those that hold in this world; a quarter are of any conditions.
    for (int n = 0; n < 6;) {
      const auto [text, holds] = world.condition(2);
      if (!holds && seed % 4 != 0) continue;
      hold = hold && holds;
      guards += (n++ == 0 ? "" : ", ") + text;
    }
    const std::string text =
        "op f(x, y; a: int, b: int, r: float, l: ints)\nrewrite one {\n  match f(x, y, a = a, b = b, r = r, l = l)\n  "
        "where " +
        guards + "\n  to x\n}\n";
    INFO(text);
    const RuleSet set = check(text);
    bool said = false;
    for (const Finding& finding : lint_rules(set)) said = said || finding.lint == "impossible-guard";
    if (hold) CHECK_FALSE(said);
    impossible += said ? 1 : 0;
  }
  CHECK(impossible > 20);  // of conditions that were put together without a look at the world
}

TEST_CASE("many conditions and long lists are linted in little time", "[rule]") {
  std::vector<int> numbers(2000);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int>(i);
  const std::string list = fmt::format("[{}]", fmt::join(numbers, ", "));
  std::string slices, rests;
  for (int i = 0; i < 40; ++i) {
    slices += fmt::format("{}p[{}:] == q[{}:], p[{}] == {}", i == 0 ? "" : ", ", i, i + 1, i, i);
    rests += fmt::format("{}a % {} == b % {} + dim(x, {})", i == 0 ? "" : ", ", i + 2, i + 3, i % 9);
  }
  for (const std::string& guards : {"a not in " + list + ", p == " + list + ", a in " + list, slices, rests}) {
    const RuleSet set = check(
        "op f(x; a: int, b: int, p: ints, q: ints)\nrewrite one {\n  match f(x, a = a, b = b, p = p, q = q)\n  where " +
        guards + "\n  to x\n}\n");
    CHECK(std::ranges::none_of(lint_rules(set), [](const Finding& f) { return f.lint == "impossible-match"; }));
  }
}
