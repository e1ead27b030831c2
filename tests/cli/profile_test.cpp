#include <algorithm>
#include <catch2/catch.hpp>
#include <regex>

#include "program.hpp"

using namespace fusewright::tests;
using nlohmann::json;

namespace {

const std::string kEncoder = example("encoder/model.hlo");

/// Of what lies in the trace on one track: the time of each stretch that holds no other.
double leaves(const json& events) {
  double sum = 0;
  for (const json& e : events) {
    if (e["tid"] != 1 || e["ph"] != "X") continue;
    const double from = e["ts"], until = from + e["dur"].get<double>();
    const bool has_parts = std::ranges::any_of(events, [&](const json& other) {
      return &other > &e && other["tid"] == 1 && other["ph"] == "X" && other["ts"] >= from - 1 &&
             other["ts"].get<double>() + other["dur"].get<double>() <= until + 1 && other["dur"] < e["dur"];
    });
    if (!has_parts) sum += e["dur"].get<double>();
  }
  return sum;
}

}  // namespace

// A busy machine may put the program aside between two phases; on a quiet one the parts are above 98 %.
constexpr double kMost = 0.7;

TEST_CASE("the profile says where the time went, by phase and by rewrite", "[cli]") {
  const Scratch scratch;
  const std::string trace = scratch.file("trace.json");
  const Ran ran = run("audit " + kEncoder + " --json --profile --trace " + trace);
  REQUIRE(ran.code == 0);
  std::smatch found;
  REQUIRE(std::regex_search(ran.err, found, std::regex("accounted for: ([0-9.]+) %")));
  const double accounted = std::stod(found[1]);
  const json events = json::parse(read(trace))["traceEvents"];
  CHECK(accounted >= 100 * kMost);
  CHECK(accounted <= 100.1);
  CHECK_NOTHROW(ran.json());
  for (const char* name : {"rules", "import", "saturate", "round 1", "search", "apply", "rebuild", "extract", "group",
                           "windows", "bound", "audit"}) {
    INFO(name);
    CHECK(ran.err.find(name) != std::string::npos);
    CHECK(std::ranges::any_of(events, [&](const json& e) { return e["name"] == name; }));
  }
  double whole = 0;
  for (const json& e : events)
    if (e["ph"] == "X" && e["tid"] == 1) whole = std::max(whole, e["ts"].get<double>() + e["dur"].get<double>());
  CHECK(leaves(events) >= kMost * whole);
  CHECK(std::ranges::any_of(events, [](const json& e) { return e["ph"] == "X" && e["tid"] == 2; }));
}

TEST_CASE("run takes --profile too, and a trace that cannot be written is an error", "[cli]") {
  const Ran ran = run("run " + kEncoder + " --profile --trace /nowhere/trace.json");
  CHECK(ran.code != 0);
  CHECK(ran.err.find("codegen") != std::string::npos);
  CHECK(ran.err.find("/nowhere/trace.json") != std::string::npos);
}

TEST_CASE("print --egraph draws the e-graph: every live node, or so many and how many not", "[cli]") {
  const Ran ran = run("print " + kEncoder + " --egraph");
  REQUIRE(ran.code == 0);
  CHECK(ran.out.starts_with("digraph egraph {"));
  CHECK(ran.out.find("cluster_") != std::string::npos);
  CHECK(ran.out.find("style=dashed") != std::string::npos);  // what rules made
  CHECK(run("print " + kEncoder + " --egraph --no-fuse").code == 2);
  CHECK(run("print " + kEncoder + " --egraph --before").code == 2);
}

TEST_CASE("print --svg asks Graphviz, and says so where that is missing", "[cli]") {
  const std::string path = std::getenv("PATH");
  setenv("PATH", "/nowhere", 1);
  const Ran missing = run("print " + kEncoder + " --before --svg");
  setenv("PATH", path.c_str(), 1);
  CHECK(missing.code == 2);
  CHECK(missing.err.find("Graphviz") != std::string::npos);
  if (std::system("dot -V 2>/dev/null") != 0) {
    WARN("no program 'dot' of Graphviz: what it draws is not looked at");
    return;
  }
  const Ran drawn = run("print " + kEncoder + " --before --svg");
  CHECK(drawn.code == 0);
  CHECK(drawn.out.find("<svg") != std::string::npos);
}
