#include <catch2/catch.hpp>

#include "program.hpp"

// The path to GPUs without one: kernels on the simulator, and as files.

using namespace fusewright::tests;
using nlohmann::json;

namespace {

json simulated(const std::string& arguments) {
  const Ran ran = run("run " + arguments + " --device sim --check --json");
  INFO(ran.err);
  REQUIRE(ran.code == 0);
  json report = ran.json();
  CHECK(report["check"]["ok"] == true);
  return report;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

bool ptxas_found() { return std::system("PATH=$PATH:/usr/local/cuda/bin command -v ptxas >/dev/null 2>&1") == 0; }

// Products, sums along either axis and over all, transposed reading, windows, sorted rows: extents fit no tile.
constexpr const char* kOddShapes =
    "HloModule odd\n"
    "sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) }\n"
    "greatest { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] maximum(a, b) }\n"
    "less { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = pred[] compare(a, b), direction=LT }\n"
    "ENTRY main {\n"
    "  x = f32[77,131] parameter(0)\n"
    "  y = f32[131,53] parameter(1)\n"
    "  z = f32[] constant(0)\n"
    "  d = f32[77,53] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
    "  c = f32[53] reduce(d, z), dimensions={0}, to_apply=sum\n"
    "  r = f32[77] reduce(d, z), dimensions={1}, to_apply=greatest\n"
    "  all = f32[] reduce(x, z), dimensions={0,1}, to_apply=sum\n"
    "  t = f32[131,77] transpose(x), dimensions={1,0}\n"
    "  e = f32[131,77] exponential(t)\n"
    "  w = f32[25,43] reduce-window(x, z), window={size=3x3 stride=3x3}, to_apply=greatest\n"
    "  s = f32[77,131] sort(x), dimensions={1}, to_apply=less\n"
    "  ROOT out = (f32[53], f32[77], f32[], f32[131,77], f32[25,43], f32[77,131]) tuple(c, r, all, e, w, s)\n"
    "}\n";

}  // namespace

TEST_CASE("the simulator counts each tensor of an elementwise kernel once", "[cli][device]") {
  const json report = simulated(example("elementwise.hlo"));
  CHECK(report["kernels"] == 1);
  CHECK(report["groups"][0]["bytes_counted"] == 12'000'000);
}

TEST_CASE("the example networks run on the simulator without a fault", "[cli][device]") {
  const json encoder = simulated(example("encoder/model.hlo") + " --data " + example("encoder"));
  CHECK(encoder["kernels"] <= 12);
  const json digits = simulated(example("digits/model.onnx") + " --input image=" + example("digits/images.npy") +
                                " --labels " + example("digits/labels.npy"));
  CHECK(digits["accuracy"] >= 0.99);
}

TEST_CASE("every GPU template runs on the simulator, fused and unfused", "[cli][device]") {
  Scratch scratch;
  const std::string model = scratch.write("m.hlo", kOddShapes);
  const json fused = simulated(model), single = simulated(model + " --no-fuse");
  CHECK(fused["kernels"] < single["kernels"]);
}

TEST_CASE("counts of the simulator do not depend on threads", "[cli][device]") {
  Scratch scratch;
  const std::string model = scratch.write("m.hlo", kOddShapes);
  const json one = simulated(model + " --threads 1"), two = simulated(model + " --threads 2");
  for (std::size_t g = 0; g < one["groups"].size(); ++g)
    CHECK(one["groups"][g]["bytes_counted"] == two["groups"][g]["bytes_counted"]);
}

TEST_CASE("without a GPU the cuda device says so", "[cli]") {
  const Ran ran = run("run " + example("elementwise.hlo") + " --device cuda");
  if (ran.code == 0) return;  // there is one
  CHECK(ran.code == 2);
  CHECK(has(ran.err, "no CUDA device"));
}

TEST_CASE("compile writes PTX that ptxas takes without spills, for every architecture", "[cli][device]") {
  Scratch scratch;
  const std::string digits = example("digits/model.onnx") + " --dim batch=16";
  for (const auto& [sm, model] : {std::pair<std::string, std::string>{"sm_80", digits},
                                  {"sm_90", example("encoder/model.hlo")},
                                  {"sm_100", digits},
                                  {"sm_120", digits}}) {
    const std::string folder = scratch.file(sm);
    const Ran ran = run("compile " + model + " --target nvptx:" + sm + " -o " + folder);
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    const json manifest = json::parse(read(folder + "/manifest.json"));
    CHECK(manifest["target"] == "nvptx:" + sm);
    REQUIRE_FALSE(manifest["kernels"].empty());
    for (const json& kernel : manifest["kernels"]) {
      const std::string ptx = folder + "/" + kernel["file"].get<std::string>();
      for (const json& launch : kernel["launches"])
        CHECK(has(read(ptx), ".entry " + launch["entry"].get<std::string>() + "("));
      if (!ptxas_found()) continue;
      const std::string log = scratch.file("log");
      const int code = std::system(
          ("PATH=$PATH:/usr/local/cuda/bin ptxas -v -arch=" + sm + " " + ptx + " -o /dev/null >" + log + " 2>&1")
              .c_str());
      INFO(read(log));
      CHECK(code == 0);
      CHECK(has(read(log), "0 bytes spill stores"));
    }
  }
  if (!ptxas_found()) WARN("no CUDA toolkit: ptxas was not run");
}

TEST_CASE("compile for x86 writes objects, and says what their functions need", "[cli][device]") {
  Scratch scratch;
  const std::string folder = scratch.file("x86");
  const Ran ran =
      run("compile " + example("digits/model.onnx") + " --dim batch=4 --target x86:avx2 --reference -o " + folder);
  INFO(ran.err);
  REQUIRE(ran.code == 0);
  const json manifest = json::parse(read(folder + "/manifest.json"));
  for (const json& kernel : manifest["kernels"]) {
    CHECK(read(folder + "/" + kernel["file"].get<std::string>()).starts_with("\177ELF"));
    CHECK(kernel["scratch_bytes"] >= 0);
    for (const json& launch : kernel["launches"]) CHECK(launch["iterations"] >= 1);
    for (const json& argument : kernel["arguments"]) {
      if (argument["role"] == "temporary") continue;
      CHECK(read(folder + "/" + argument["file"].get<std::string>()).size() == argument["bytes"]);
      if (argument["role"] == "output")
        CHECK(read(folder + "/" + argument["bounds"].get<std::string>()).size() ==
              4 * argument["elements"].get<std::size_t>());
    }
  }
}

TEST_CASE("targets that there are not are named", "[cli]") {
  Scratch scratch;
  for (const char* target : {"nvptx:sm_70", "arm", "x86:nothing"}) {
    const Ran ran = run("compile " + example("elementwise.hlo") + " --target " + target + " -o " + scratch.file("out"));
    CHECK(ran.code == 2);
    CHECK(has(ran.err, std::string(target).substr(std::string(target).find(':') + 1)));
  }
}
