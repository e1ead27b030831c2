#include "fusewright/driver/profile.hpp"

#include <nlohmann/json.hpp>

#include "kernels.hpp"

namespace fusewright {

namespace {

/// Eight seconds: one before saturation, four and a half in it, two in extraction, half a one in nothing.
driver::Compilation compilation() {
  driver::Compilation c;
  c.phases = {{"rules", 1}, {"saturate", 4.5}, {"extract", 2}};
  c.parts = {{"group", 0.5}, {"bound", 1.5}};
  auto saturated = saturate::saturate(graph::make_graph(library()->table, "nothing"), library(), {});
  REQUIRE(saturated.has_value());
  c.saturated = *std::move(saturated);
  saturate::Trace& trace = c.saturated->trace = {};
  trace.import_seconds = 0.5;
  saturate::IterationTrace& round = trace.iterations.emplace_back();
  round.index_seconds = 0.25;
  round.match_seconds = 1;
  round.apply_seconds = 1.5;
  round.rebuild_seconds = 0.75;
  trace.seconds = 4;  // half a second of it outside of rounds
  for (const auto& [name, search, apply] : {std::tuple("cheap", 0.25, 0.25), std::tuple("idle", 0.0, 0.0),
                                            std::tuple("dear", 0.75, 1.25), std::tuple("as cheap", 0.5, 0.0)}) {
    saturate::RuleTrace& rule = trace.rules.emplace_back();
    rule.name = name;
    rule.match_seconds = search;
    rule.seconds = apply;
  }
  return c;
}

}  // namespace

TEST_CASE("a profile counts each moment once, and says what it does not account for", "[driver]") {
  const driver::Profile profile = driver::profile_of(compilation(), 8);
  CHECK(profile.accounted() == Approx(7.5 / 8));
  std::vector<std::string> names;
  for (const driver::ProfileEntry& e : profile.entries)
    names.push_back(std::string(static_cast<std::size_t>(e.depth), '-') + e.name);
  CHECK(names == std::vector<std::string>{"rules", "saturate", "-e-graph of the model", "-round 1", "--index",
                                          "--search", "--apply", "--rebuild", "-begin and end", "extract", "-group",
                                          "-bound"});
  // What is deeper lies inside of what it is a part of.
  for (std::size_t i = 1; i < profile.entries.size(); ++i) {
    const driver::ProfileEntry& e = profile.entries[i];
    for (std::size_t k = i; k-- > 0;) {
      if (profile.entries[k].depth >= e.depth) continue;
      CHECK(e.start >= profile.entries[k].start);
      CHECK(e.start + e.seconds <= Approx(profile.entries[k].start + profile.entries[k].seconds));
      break;
    }
  }
  names.clear();
  for (const saturate::RuleTrace& rule : profile.rules) names.push_back(rule.name);
  CHECK(names == std::vector<std::string>{"dear", "as cheap", "cheap"});
  CHECK(driver::print_profile(profile).find("accounted for: 93.8 %") != std::string::npos);
  double rules = 0;
  for (const auto& e : nlohmann::json::parse(driver::trace_events(profile))["traceEvents"])
    if (e["ph"] == "X" && e["cat"] == "rewrite" && e.contains("args")) rules += e["dur"].get<double>();
  CHECK(rules == Approx(3e6));
}

}  // namespace fusewright
