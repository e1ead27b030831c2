#include <catch2/catch.hpp>
#include <sstream>

#include "program.hpp"

// How the program is called: help, mistakes, limits.

using namespace fusewright::tests;
using nlohmann::json;

namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::size_t widest_line(const std::string& text) {
  std::size_t widest = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) widest = std::max(widest, line.size());
  return widest;
}

const std::vector<std::string> kCommands{"run", "bench", "audit", "print", "compile", "check",    "fmt",
                                         "lsp", "test",  "prove", "watch", "extract", "calibrate"};
const std::string kElementwise = example("elementwise.hlo");

}  // namespace

TEST_CASE("help of the program and of each command has examples and fits 80 columns", "[cli]") {
  const Ran whole = run("--help");
  CHECK(whole.code == 0);
  CHECK(widest_line(whole.out) <= 80);
  for (const std::string& command : kCommands) {
    CHECK(has(whole.out, "  " + command + " "));
    const Ran ran = run(command + " --help");
    CHECK(ran.code == 0);
    CHECK(has(ran.out, "Usage: fusewright " + command));
    CHECK(has(ran.out, "Examples:\n  fusewright " + command));
    INFO(ran.out);
    CHECK(widest_line(ran.out) <= 80);
  }
  const Ran version = run("--version");
  CHECK(version.code == 0);
  CHECK(version.out.starts_with("fusewright "));
}

TEST_CASE("a mistake on the command line is named, with what was probably meant", "[cli]") {
  const auto refused = [](const std::string& arguments, const std::string& what) {
    const Ran ran = run(arguments);
    INFO(arguments << "\n" << ran.err);
    CHECK(ran.code == 2);
    CHECK(ran.out.empty());
    CHECK(has(ran.err, what));
    CHECK(has(ran.err, "error: "));
  };
  refused("", "a command is missing");
  refused("adit model.hlo", "did you mean 'audit'?");
  refused("run", "model is required");
  refused("run " + kElementwise + " --chek", "did you mean '--check'?");
  refused("run " + kElementwise + " --tread=2", "did you mean '--threads'?");
  refused("run " + kElementwise + " other.hlo", "unexpected argument 'other.hlo'");
  refused("run " + kElementwise + " --threads many", "--threads");
  refused("run " + kElementwise + " --threads -1", "--threads");
  refused("run " + kElementwise + " --device cpv", "did you mean 'cpu'?");
  refused("run " + kElementwise + " --exactness reasociating", "did you mean 'reassociating'?");
  refused("run " + kElementwise + " --limit node=5", "did you mean 'nodes'?");
  refused("run " + kElementwise + " --limit nodes", "expected NAME=VALUE");
  refused("run " + kElementwise + " --limit nodes=many", "is not an amount");
  refused("run " + kElementwise + " --limit nodes=1.5", "--limit nodes: '1.5' is not a whole number");
  refused("run " + kElementwise + " --limit bytes=0.5", "--limit bytes: '0.5' is not a whole number");
  refused("run " + kElementwise + " --shape x=3,-1", "'-1' is not a size");
  refused("run " + kElementwise + " --rtol -1", "--rtol");
  refused("audit " + kElementwise + " --check", "no option '--check'");
  refused("audit " + kElementwise + " --group 7", "the model has no group '7'");
  refused("audit " + kElementwise + " --group log_add_epx_0", "did you mean 'log_add_exp_0'?");
  refused("audit " + kElementwise + " --why ad", "did you mean 'add'?");
  refused("audit " + kElementwise + " --why add --group 0", "--why");
  refused("--jsn", "a command is missing before '--jsn'");
  refused("--versio", "did you mean '--version'?");
  refused("run " + kElementwise + " -- --check", "unexpected argument '--check'");
  refused("run " + kElementwise + " --seed 1 --seed 2", "--seed is given 2 times");
  refused("run " + kElementwise + " --exactness all", "--exactness: there is no exactness 'all'");
  refused("run " + kElementwise + " --input 0=", "expected NAME=FILE.npy or INDEX=FILE.npy");
  const std::string digits = example("digits/model.onnx");
  refused("run " + digits + " --dim batch=3 --dim batch=4", "--dim: 'batch' is given two values");
  refused("run " + digits + " --shape image=3,1,8,8 --shape image=4,1,8,8", "--shape: 'image' is given two values");
  refused("run " + kElementwise + " --limit nodes=3,nodes=4", "--limit: 'nodes' is given two values");
  refused("run " + kElementwise + " --input 0=a.npy --input 0=b.npy", "--input: '0' is given two values");
  refused("compile " + kElementwise, "--output is required");
  refused("bench " + kElementwise + " --repeats 0", "--repeats");
}

TEST_CASE("each limit ends the search with a plan, and says so", "[cli]") {
  for (const std::string limit : {"nodes=1", "iterations=1", "seconds=0", "bytes=1"}) {
    INFO(limit);
    const Ran ran = run("run " + example("encoder/model.hlo") + " --check --json --limit " + limit);
    REQUIRE(ran.code == 0);
    CHECK(ran.json()["check"]["ok"] == true);
    const json report = ran.json();
    const json& reasons = report["stop_reasons"];
    REQUIRE_FALSE(reasons.empty());
    INFO(reasons.dump());
    const std::string name = limit.substr(0, limit.find('='));
    CHECK(std::any_of(reasons.begin(), reasons.end(), [&](const json& reason) {
      const std::string text = reason;
      return has(text, name) || has(text, name.substr(0, name.size() - 1)) || (name == "seconds" && has(text, " s "));
    }));
  }
  const Ran several =
      run("audit " + example("encoder/model.hlo") + " --limit nodes=1000000,seconds=60 --limit bytes=1e12");
  CHECK(several.code == 0);
  CHECK_FALSE(has(several.out, "stopped"));
}

TEST_CASE("a run is planned within --memory, or there is no plan", "[cli]") {
  const auto total = [](const Ran& ran) { return json::parse(ran.out)["memory"]["total"].get<std::int64_t>(); };
  const std::string audit = "audit " + kElementwise;
  const Ran free = run(audit + " --json");
  REQUIRE(free.code == 0);
  const std::string least = std::to_string(total(free));
  const Ran fits = run(audit + " --json --memory " + least + "b");
  REQUIRE(fits.code == 0);
  CHECK(total(fits) == total(free));
  CHECK(run(audit + " --memory 1.5GiB").code == 0);
  const Ran small = run(audit + " --memory 10kB");
  CHECK(small.code == 3);
  CHECK(has(small.err, "no plan was found that needs at most 10000 bytes"));
  CHECK(run(audit + " --memory '2 gb'").code == 0);
  CHECK(run(audit + " --memory 1e9").code == 0);
  for (const std::string wrong : {"-5", "0", "0.5B", "many", "4XB", "MB", "b", "1e", "1.5.5MB", "nan", "1e19"}) {
    const Ran ran = run(audit + " --memory " + wrong);
    INFO(wrong << ": " << ran.err);
    CHECK(ran.code == 2);
    CHECK(has(ran.err, "--memory: '" + wrong + "' is not a size from 1 byte on, as in 500MB or 2GiB"));
  }
  const Ran both = run(audit + " --memory 1GB --no-fuse");
  CHECK(both.code == 2);
  CHECK(has(both.err, "--no-fuse"));
}

TEST_CASE("outputs are read at 80 columns and without escapes where they are no terminal", "[cli]") {
  for (const std::string& arguments :
       {"run " + example("encoder/model.hlo") + " --check", "bench " + kElementwise + " --repeats 2",
        "audit " + example("encoder/model.hlo"), "check " + (source_dir() / "rules").string()}) {
    const Ran ran = run(arguments);
    INFO(arguments << "\n" << ran.out);
    CHECK(ran.code == 0);
    CHECK(widest_line(ran.out) <= 80);
    CHECK_FALSE(has(ran.out + ran.err, "\033"));
  }
}

TEST_CASE("a tuple's fields are written in order, and read back by number", "[cli]") {
  Scratch scratch;
  const std::string model =
      scratch.write("m.hlo",
                    "HloModule m\nENTRY e {\n  x = f32[4] parameter(0)\n  a = f32[4] negate(x)\n  b = f32[4] abs(x)\n"
                    "  ROOT t = (f32[4], f32[4], f32[4]) tuple(a, b, x)\n}\n");
  const std::string folder = scratch.file("new/folder");
  REQUIRE(run("run " + model + " --output " + folder).code == 0);
  CHECK(std::filesystem::exists(folder + "/output_2.npy"));
  CHECK_FALSE(std::filesystem::exists(folder + "/output_3.npy"));
  // What was put in comes out again as output 2; the stored outputs are met by the same input.
  std::filesystem::copy(folder + "/output_2.npy", folder + "/input_0.npy");
  CHECK(run("run " + model + " --data " + folder).code == 0);
  CHECK(run("run " + model + " --data " + folder + " --rtol 0 --atol 0").code == 0);
  std::filesystem::copy(folder + "/output_1.npy", folder + "/output_0.npy",
                        std::filesystem::copy_options::overwrite_existing);
  CHECK(run("run " + model + " --data " + folder).code == 1);
}

TEST_CASE("a folder that cannot be written is an error that names it", "[cli]") {
  Scratch scratch;
  const std::string file = scratch.write("file", "");
  for (const std::string& arguments :
       {"compile " + kElementwise + " -o " + file, "compile " + kElementwise + " -o /proc/none",
        "run " + kElementwise + " --output " + file}) {
    const Ran ran = run(arguments);
    INFO(arguments << "\n" << ran.err);
    CHECK(ran.code == 2);
    CHECK((has(ran.err, file) || has(ran.err, "/proc/none")));
  }
}
