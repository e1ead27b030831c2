#include <algorithm>
#include <catch2/catch.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "watched.hpp"

// docs/JSON.md against what the commands print.

using namespace fusewright::tests;
using nlohmann::json;

namespace {

using Paths = std::set<std::string>;

/// Leaves: "groups[].name". Keys of `phases` and `choices` are free, and so is what follows below `skip`.
void collect(const json& value, const std::string& at, Paths& out) {
  if (value.is_object()) {
    for (const auto& [key, inner] : value.items())
      collect(inner, (at.empty() ? "" : at + ".") + (at == "phases" || at == "choices" ? "*" : key), out);
  } else if (value.is_array()) {
    for (const json& inner : value) collect(inner, at + "[]", out);
  } else {
    out.insert(at);
  }
}

struct Section {
  Paths always, sometimes;
};

/// The first cells of the tables below a heading, up to the next one.
Section documented(const std::string& heading) {
  std::istringstream text(read((source_dir() / "docs/JSON.md").string()));
  Section section;
  bool inside = false;
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with("#")) inside = line == heading;
    if (!inside || !line.starts_with("| `")) continue;
    const std::string cell = line.substr(1, line.find(" |", 2) - 1);
    const bool optional = cell.find("*?*") != std::string::npos;
    const std::regex quoted("`([^`]+)`");
    for (std::sregex_iterator at(cell.begin(), cell.end(), quoted), end; at != end; ++at)
      (optional ? section.sometimes : section.always).insert((*at)[1]);
  }
  REQUIRE_FALSE(section.always.empty());
  return section;
}

Section joined(const Section& a, const Section& b) {
  Section out = a;
  out.always.insert(b.always.begin(), b.always.end());
  out.sometimes.insert(b.sometimes.begin(), b.sometimes.end());
  return out;
}

/// Every field printed is documented; every field that is always there was printed by one of them.
void check_printed(const Section& section, const std::vector<json>& objects) {
  Paths seen;
  for (const json& object : objects) {
    Paths paths;
    collect(object, "", paths);
    for (const std::string& path : paths) {
      INFO("undocumented: " << path);
      CHECK((section.always.contains(path) || section.sometimes.contains(path)));
    }
    seen.insert(paths.begin(), paths.end());
  }
  for (const std::string& path : section.always) {
    INFO("never printed: " << path);
    CHECK(seen.contains(path));
  }
}

void check_section(const Section& section, const std::vector<std::string>& commands, int code = 0) {
  std::vector<json> objects;
  for (const std::string& command : commands) {
    const Ran ran = run(command);
    INFO(command << "\n" << ran.err);
    REQUIRE(ran.code == code);
    objects.push_back(ran.json());
  }
  check_printed(section, objects);
}

const std::string kDigits = example("digits/model.onnx") + " --dim batch=8 --json";

// A limit is reached, a tensor is only a view of another, a rule is refused by a guard.
std::string view_model(const Scratch& scratch) {
  return scratch.write("view.hlo",
                       "HloModule m\nENTRY e {\n  x = f32[8,8] parameter(0)\n  y = f32[8,8] exponential(x)\n"
                       "  z = f32[64] reshape(y)\n  ROOT t = (f32[8,8], f32[64]) tuple(y, z)\n}\n");
}

}  // namespace

TEST_CASE("the JSON of run and bench is as documented", "[cli][json]") {
  Scratch scratch;
  const std::string view = view_model(scratch) + " --limit nodes=1 --json";
  const Section section = documented("## run");
  check_section(section, {"run " + kDigits, "run " + kDigits + " --check --no-fuse", "run " + view,
                          "run " + example("encoder/model.hlo") + " --json --check --data " + example("encoder"),
                          "run " + view + " --device sim"});
  check_section(joined(section, documented("## bench")),
                {"bench " + kDigits + " --repeats 2", "bench " + view + " --repeats 2 --no-fuse",
                 "bench " + view + " --repeats 2"});
}

TEST_CASE("the JSON of audit is as documented", "[cli][json]") {
  Scratch scratch;
  const Section overview = documented("## audit");
  check_section(overview, {"audit " + kDigits, "audit " + example("encoder/model.hlo") + " --json",
                           "audit " + view_model(scratch) + " --json --limit nodes=1"});

  Section group = documented("### audit --group");
  const std::string prefix = "groups[].";
  for (const Paths* from : {&overview.always, &overview.sometimes})
    for (const std::string& path : *from)
      if (path.starts_with(prefix))
        (from == &overview.always ? group.always : group.sometimes).insert(path.substr(prefix.size()));
  for (const char* other : {"inputs[]", "outputs[]", "bound_by", "cuts_before[]"}) group.always.erase(other);
  Paths cuts;
  for (const Paths* from : {&group.always, &group.sometimes})
    for (const std::string& path : *from)
      if (path.starts_with("cuts[].")) cuts.insert(path);
  for (const std::string& path : cuts) group.sometimes.insert("cuts_before" + path.substr(4));
  check_section(group, {"audit " + kDigits + " --group 1", "audit " + kDigits + " --group 5"});

  Section why = documented("### audit --why");
  why.always.erase("cuts[]");
  why.sometimes.insert(cuts.begin(), cuts.end());
  check_section(why, {"audit " + kDigits + " --why global_pool", "audit " + kDigits + " --why stem_conv",
                      "audit " + example("elementwise.hlo") + " --json --why add"});
}

TEST_CASE("the JSON of check, test, fmt, compile and print is as documented", "[cli][json]") {
  Scratch scratch;
  const std::string rules = (source_dir() / "rules/fusion.fuse").string();
  const std::string halves =
      scratch.write("halves.fuse",
                    "rewrite halves exactness(reassociating) {\n  match x / 2\n  where is_float(x)\n"
                    "  to x * 0.5\n  test { x: f32[4]  match x / 2  to x * 0.5 }\n"
                    "  reject { x: f32[4]  match x / 3 }\n}\n");
  const std::string slips = scratch.write("slips.fuse",
                                          "rewrite slip exactness(factoring) {\n  match -(-x)\n  where rank(x) == 1, "
                                          "rank(x) == 2\n  to x\n}\n");
  check_section(documented("## check"), {"check " + rules + " --json", "check " + slips + " --json"});
  check_section(documented("## test"), {"test " + halves + " --json"});
  check_section(documented("## extract"), {"extract " + (source_dir() / "examples/egraph.json").string() + " --json"});
  check_section(documented("## calibrate"), {"calibrate --time 0 --threads 2 --json"});
  check_section(documented("## fmt"), {"fmt --check " + rules + " --json"});
  check_section(documented("## compile"),
                {"compile " + view_model(scratch) + " --json --limit nodes=1 -o " + scratch.file("out")});
  check_section(documented("## print"), {"print " + kDigits, "print " + kDigits + " --after"});
}

TEST_CASE("the JSON of prove is as documented", "[cli][json]") {
  Scratch scratch;
  const std::string wrong = scratch.write("wrong.fuse",
                                          "rewrite wrong exactness(reassociating) {\n  match x + 0\n  to x + x\n}\n"
                                          "op twice(x) = x + x\n");
  check_section(documented("## prove"), {"prove " + wrong + " --json"}, 1);
}

TEST_CASE("the JSON of watch is as documented", "[cli][json]") {
  Scratch scratch;
  const std::string file = scratch.write("rules/mine.fuse", "# nothing yet\n");
  Watched watch({example("elementwise.hlo"), "--rules", scratch.file("rules"), "--json"});
  std::vector<json> events{watch.event()};
  for (const char* text : {"fuse elementwise kernel(loop) {\n  match exp+ as body\n}\n", "fuse\n", "# nothing\n"}) {
    scratch.write("rules/mine.fuse", text);
    events.push_back(watch.event_of(file));
  }
  const Section errors = documented("## Errors");
  Section section = documented("## watch");
  section.always.erase("diagnostics[]");
  for (const Paths* from : {&errors.always, &errors.sometimes})
    for (const std::string& path : *from)
      if (path.starts_with("diagnostics[].")) section.sometimes.insert(path);
  for (const std::string& path : Paths(section.sometimes))
    if (const std::string added = "added[]."; path.starts_with(added))
      for (const char* list : {"removed[].", "changed[].before.", "changed[].after."})
        section.sometimes.insert(list + path.substr(added.size()));
  check_printed(section, events);
}

TEST_CASE("warnings are data too, and end with 1 only where that is asked for", "[cli][json]") {
  Scratch scratch;
  const std::string slip =
      scratch.write("slip.fuse",
                    "rewrite slip exactness(approximate(0.1)) {\n  match exp(log(x))\n"
                    "  where rank(x) == 1, rank(x) == 2\n  to x\n"
                    "  test { x: f32[2]  match exp(log(x)) }\n  reject { x: f32[2]  match x }\n}\n");
  const Ran plain = run("check " + slip + " --json");
  CHECK(plain.code == 0);
  CHECK(plain.err.find("[impossible-guard]") != std::string::npos);
  const json warnings = plain.json()["warnings"];
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0]["lint"] == "impossible-guard");
  CHECK(warnings[0]["severity"] == "warning");
  CHECK(warnings[0]["line"] == 3);
  CHECK(warnings[0]["column"] == 23);
  CHECK(warnings[0]["end_line"] == 3);
  CHECK(warnings[0]["end_column"] == 35);
  CHECK(warnings[0]["notes"][0]["column"] == 9);
  CHECK(run("check " + slip + " --strict").code == 1);
  CHECK(run("check " + (source_dir() / "rules").string() + " --strict").code == 0);
}

TEST_CASE("the JSON of errors is as documented, and their text goes to stderr all the same", "[cli][json]") {
  Scratch scratch;
  const Section section = documented("## Errors");
  const std::string bad = scratch.write("bad.fuse", "rewrite r {\n  match ad(x, y)\n  to x\n}\n");
  check_section(section,
                {"run " + scratch.file("none.onnx") + " --json", "check --json " + bad,
                 "run " + example("elementwise.hlo") + " --jsn --json", "frobnicate --json"},
                2);
  const Ran ran = run("check --json " + bad);
  CHECK(ran.json()["line"] == 2);
  CHECK(ran.json()["column"] == 9);
  CHECK(ran.err.find("bad.fuse:2:9: error:") != std::string::npos);
  CHECK(run("check " + bad).out.empty());
}

TEST_CASE("a number that JSON has no form for is a string", "[cli][json]") {
  Scratch scratch;
  // A difference that may be zero as far as rounding goes: nothing bounds the quotient.
  const std::string model =
      scratch.write("m.hlo",
                    "HloModule m\nENTRY e {\n  x = f32[8] parameter(0)\n  k = f32[] constant(1e8)\n"
                    "  b = f32[8] broadcast(k), dimensions={}\n  s = f32[8] add(x, b)\n  t = f32[8] subtract(s, b)\n"
                    "  u = f32[8] exponential(t)\n  o = f32[8] subtract(u, u)\n  ROOT y = f32[8] divide(x, o)\n}\n");
  const Ran ran = run("run " + model + " --check --json");
  REQUIRE(ran.code == 0);
  CHECK(ran.json()["check"]["bound"] == "inf");
}
