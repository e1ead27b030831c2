#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <regex>
#include <thread>

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

namespace {

/// A program `dot` that is this shell script, first in PATH while this lives.
class FakeDot {
 public:
  explicit FakeDot(const std::string& script) : path_(std::getenv("PATH")) {
    const std::string dot = scratch.write("bin/dot", "#!/bin/sh\n" + script);
    std::filesystem::permissions(dot, std::filesystem::perms::owner_all);
    setenv("PATH", (scratch.file("bin") + ":" + path_).c_str(), 1);
  }
  ~FakeDot() { setenv("PATH", path_.c_str(), 1); }
  const Scratch scratch;

 private:
  std::string path_;
};

}  // namespace

TEST_CASE("what Graphviz does not lay out in time is drawn in part, with how much and why", "[cli]") {
  const FakeDot dot("n=$(grep -c tooltip)\nif [ $n -gt 40 ]; then sleep 1000; fi\necho \"<svg>$n</svg>\"\n");
  const Ran ran = run("print " + kEncoder + " --before --svg");
  INFO(ran.err);
  CHECK(ran.code == 0);
  const std::string nodes = std::to_string(std::stoi(ran.out.substr(5)));
  CHECK(ran.err.find("warning: --svg: the first " + nodes + " of ") != std::string::npos);
  CHECK(ran.err.find(" nodes are drawn: 'dot' does not lay out ") != std::string::npos);
}

TEST_CASE("Graphviz ends when the program is ended", "[cli]") {
  const FakeDot dot("echo $$ > \"$(dirname \"$0\")/pid\"\nexec sleep 1000\n");
  const auto [name, code] = GENERATE(table<std::string, int>({{"INT", 130}, {"TERM", 143}, {"KILL", 137}}));
  const std::string command =  // once it draws
      "FUSEWRIGHT_CACHE=off " FUSEWRIGHT_PROGRAM " print " + kEncoder + " --before --svg >/dev/null & p=$!; cd " +
      dot.scratch.file("bin") + "; until [ -s pid ]; do sleep 0.05; done; kill -" + name + " $p; wait $p";
  const int status = std::system(("exec 2>/dev/null; " + command).c_str());
  CHECK(WEXITSTATUS(status) == code);
  const std::string stat = "/proc/" + std::to_string(std::stoi(read(dot.scratch.file("bin/pid")))) + "/stat";
  const auto runs = [&] {
    const std::string state = read(stat);  // one that has ended may stand there as Z until it is waited for
    return !state.empty() && state.find(") Z ") == std::string::npos;
  };
  for (int tries = 0; runs() && tries < 200; ++tries) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  CHECK_FALSE(runs());
}
