#include <malloc.h>

#include <cstdint>
#include <cstdlib>
#include <new>

#include "tests/egraph/invariants.hpp"
#include "tests/saturate/helpers.hpp"

// Memory that runs out inside saturation, at every place where it can.

namespace {

// Smaller allocations never fail: a std::variant of GCC 12's library does not survive a copy that fails.
constexpr std::size_t kSmall = 256;

/// Which allocations of this thread fail.
struct Failing {
  std::uint64_t asked = 0;               // since the count was set to 0
  std::uint64_t at = ~std::uint64_t{0};  // this one, and
  bool on = false;                       // all that follow it
  std::int64_t held = 0;                 // bytes, as far as this thread's go
  std::int64_t most = INT64_MAX;         // of `held`
  std::int64_t peak = 0;
};
thread_local Failing failing;

}  // namespace

void* operator new(std::size_t bytes) {
  const bool counts = bytes >= kSmall;
  if (counts) ++failing.asked;
  const bool fails = counts && (failing.asked == failing.at || (failing.on && failing.asked > failing.at) ||
                                failing.held + static_cast<std::int64_t>(bytes) > failing.most);
  void* const memory = fails ? nullptr : std::malloc(bytes > 0 ? bytes : 1);
  if (memory == nullptr) throw std::bad_alloc();
  failing.held += static_cast<std::int64_t>(malloc_usable_size(memory));
  failing.peak = std::max(failing.peak, failing.held);
  return memory;
}
void operator delete(void* memory) noexcept {
  if (memory != nullptr) failing.held -= static_cast<std::int64_t>(malloc_usable_size(memory));
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept { ::operator delete(memory); }

namespace fusewright::saturate {
namespace {

/// Rules of all kinds: numbers, guards, folding, several roots; and a model on which they do something in each round.
struct Subject {
  std::shared_ptr<const rule::RuleSet> rules = rules_of(R"(
    rewrite add-zero { match x + 0 to x }
    rewrite mul-one { match x * 1 to x }
    rewrite double exactness(approximate(0.1)) { match x + x to 2 * x }
    rewrite assoc exactness(reassociating) { match a + (b + c) to (a + b) + c }
    rewrite fold-scale exactness(reassociating) { match (x * a) * b where constant(a, b) to x * fold(a * b) }
    rewrite distribute exactness(factoring) { match a * (b + c) to a * b + a * c }
    rewrite exp-of-sum exactness(approximate(0.1)) { match exp(a + b) to exp(a) * exp(b) }
  )");
  Model model{rules};
  Options options = all_exactness();

  Subject() {
    for (const char* name : {"x", "y", "z"}) model.input(name, f32({4}));
    model.constant("k", *ops::make_tensor(ops::DType::kF32, {4}));
    model.finish({model.eval("exp((x + 0) + (y + z)) * 1"), model.eval("(x * k) * 2 + (x * k) * 2"),
                  model.eval("k * (exp(y) + exp(z))")});
    options.limits.iterations = 4;
  }
  Result<Saturated> run() const {
    try {
      return saturate(model.graph, rules, options);
    } catch (const std::bad_alloc&) {
      failing = {.held = failing.held};
      return fail(ErrorKind::kResource, "no memory even to begin");
    }
  }
};

/// Whatever was missed, what is there is right: @returns whether memory ended it.
bool check_outcome(const Subject& subject, Saturated& s) {
  egraph::Invariants(s.imported.egraph).check();
  check_replays(s);
  const auto out = egraph::to_graph(subject.model.graph, s.imported, egraph::select_smallest(s.imported));
  REQUIRE(out.has_value());
  return std::ranges::any_of(s.trace.stop_reasons,
                             [](const StopReason& r) { return r.kind == StopReason::Kind::kMemory; });
}

}  // namespace

TEST_CASE("an allocation that fails inside saturation, whichever it is, ends it with what was found so far",
          "[saturate]") {
  const Subject subject;
  failing.asked = 0;
  const auto whole = subject.run();
  const std::uint64_t all = failing.asked;
  REQUIRE(whole.has_value());
  std::size_t ended = 0, got_far = 0;
  for (std::uint64_t at = 1; at <= all; at += 1 + at / 40) {
    INFO("allocation " << at << " of " << all);
    failing.asked = 0;
    failing.at = at;
    auto result = subject.run();
    failing.at = ~std::uint64_t{0};
    if (!result) {
      REQUIRE(result.error().kind == ErrorKind::kResource);
      continue;
    }
    REQUIRE(check_outcome(subject, *result));
    ++ended;
    got_far += result->trace.applications > whole->trace.applications / 2 ? 1 : 0;
  }
  CHECK(ended > 50);
  CHECK(got_far > 10);
}

TEST_CASE("when all memory is gone saturation ends with an error, and nothing is broken", "[saturate]") {
  const Subject subject;
  failing.asked = 0;
  REQUIRE(subject.run().has_value());
  std::size_t refused = 0;
  const std::uint64_t all = failing.asked;
  for (std::uint64_t at = 1; at <= all; at += 1 + at / 10) {
    INFO("all allocations from " << at << " of " << all);
    failing.asked = 0;
    failing.at = at;
    failing.on = true;
    auto result = subject.run();
    failing.at = ~std::uint64_t{0};
    failing.on = false;
    if (result) {
      check_outcome(subject, *result);
    } else {
      REQUIRE(result.error().kind == ErrorKind::kResource);
      ++refused;
    }
  }
  CHECK(refused > 10);
}

TEST_CASE("saturation in less memory than it wants ends with what was found so far", "[saturate]") {
  const Subject subject;
  const std::int64_t before = failing.held;
  failing.peak = failing.held;  // below zero where another thread made what this one freed
  REQUIRE(subject.run().has_value());
  const std::int64_t wanted = failing.peak - before;
  std::size_t ended = 0;
  for (int tenths = 1; tenths < 10; ++tenths) {
    INFO(tenths << " tenths of " << wanted << " bytes");
    failing.most = failing.held + (std::int64_t{1} << 20) + (wanted - (std::int64_t{1} << 20)) * tenths / 10;
    auto result = subject.run();
    failing.most = INT64_MAX;
    if (!result) {
      CHECK(result.error().kind == ErrorKind::kResource);
      CHECK(tenths < 5);  // not even the model
      continue;
    }
    ended += check_outcome(subject, *result) ? 1 : 0;
  }
  CHECK(ended > 3);
}

}  // namespace fusewright::saturate
