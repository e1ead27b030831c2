#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "program.hpp"

using namespace fusewright::tests;
using nlohmann::json;

namespace {

std::int64_t bytes_of(const json& report) {
  std::int64_t bytes = 0;
  for (const json& group : report["groups"]) bytes += group["bytes"].get<std::int64_t>();
  return bytes;
}

std::string module_of(const std::string& body) {
  return "HloModule m\n"
         "sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }\n"
         "greatest { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] maximum(a, b) }\n"
         "ENTRY main {\n" +
         body + "}\n";
}

json checked(const std::string& arguments) {
  const Ran ran = run("run " + arguments + " --check --json");
  INFO(ran.err);
  REQUIRE(ran.code == 0);
  json report = ran.json();
  CHECK(report["check"]["ok"] == true);
  return report;
}

}  // namespace

TEST_CASE("an elementwise expression becomes one kernel that reads and writes each tensor once", "[cli]") {
  const json fused = checked(example("elementwise.hlo"));
  CHECK(fused["kernels"] == 1);
  CHECK(bytes_of(fused) == 12'000'000);
  CHECK(fused["unfused"]["kernels"] == 3);
  const json single = checked(example("elementwise.hlo") + " --no-fuse");
  CHECK(single["kernels"] == 3);
  CHECK(bytes_of(single) == 28'000'000);
}

TEST_CASE("two functions of one tensor are one kernel with two outputs", "[cli]") {
  Scratch scratch;
  const std::string model = scratch.write(
      "m.hlo", module_of("  x = f32[100,70] parameter(0)\n  a = f32[100,70] sine(x)\n  b = f32[100,70] cosine(x)\n"
                         "  ROOT t = (f32[100,70], f32[100,70]) tuple(a, b)\n"));
  const json report = checked(model);
  CHECK(report["kernels"] == 1);
  CHECK(bytes_of(report) == 3 * 100 * 70 * 4);
}

TEST_CASE("a squared difference is summed without being stored, along any axes", "[cli]") {
  const auto [axes, out, elements] =
      GENERATE(table<std::string, std::string, std::int64_t>({{"1", "48", 48}, {"0", "1000", 1000}, {"0,1", "", 1}}));
  Scratch scratch;
  const std::string model =
      scratch.write("m.hlo", module_of("  x = f32[48,1000] parameter(0)\n  c = f32[1000] parameter(1)\n  cb = "
                                       "f32[48,1000] broadcast(c), dimensions={1}\n"
                                       "  d = f32[48,1000] subtract(x, cb)\n  s = f32[48,1000] multiply(d, d)\n  z = "
                                       "f32[] constant(0)\n  ROOT r = f32[" +
                                       out + "] reduce(s, z), dimensions={" + axes + "}, to_apply=sum\n"));
  const json report = checked(model);
  CHECK(report["groups"].size() == 1);
  CHECK(bytes_of(report) == (48 * 1000 + 1000 + elements) * 4);
}

TEST_CASE("softmax written out is one kernel for short, uneven and long rows", "[cli]") {
  const auto [rows, columns] =
      GENERATE(table<int, int>({{33, 37}, {6, 1000}, {1, 16384}, {3, 16384}, {32, 16384}, {16, 70001}}));
  const std::string full = "f32[" + std::to_string(rows) + "," + std::to_string(columns) + "]",
                    kept = "f32[" + std::to_string(rows) + "]";
  Scratch scratch;
  const std::string model = scratch.write(
      "m.hlo",
      module_of("  x = " + full + " parameter(0)\n  low = f32[] constant(-inf)\n  z = f32[] constant(0)\n  m = " +
                kept + " reduce(x, low), dimensions={1}, to_apply=greatest\n  mb = " + full +
                " broadcast(m), dimensions={0}\n  d = " + full + " subtract(x, mb)\n  e = " + full +
                " exponential(d)\n  s = " + kept + " reduce(e, z), dimensions={1}, to_apply=sum\n  sb = " + full +
                " broadcast(s), dimensions={0}\n  ROOT o = " + full + " divide(e, sb)\n"));
  const json report = checked(model);
  CHECK(report["kernels"] == 1);
  CHECK(bytes_of(report) == 2LL * rows * columns * 4);
}

TEST_CASE("the trained network classifies as well after fusion, and its normalisation is folded away", "[cli]") {
  const std::string model = example("digits/model.onnx");
  CHECK(read(model).find("BatchNormalization") != std::string::npos);
  const std::string arguments =
      model + " --input 0=" + example("digits/images.npy") + " --labels " + example("digits/labels.npy");
  const json fused = checked(arguments), single = checked(arguments + " --no-fuse");
  CHECK(fused["accuracy"].get<double>() > 0.95);
  CHECK(fused["accuracy"] == single["accuracy"]);
  CHECK(fused["kernels"].get<int>() < single["kernels"].get<int>() / 3);
  std::size_t convolutions = 0;
  for (const json& group : fused["groups"]) {
    if (group["kind"] != "conv") continue;
    ++convolutions;
    CHECK(std::any_of(group["rewrites"].begin(), group["rewrites"].end(),
                      [](const json& use) { return use["exactness"] == "reassociating"; }));
  }
  CHECK(convolutions == 4);
}

TEST_CASE("the encoder block is at most twelve kernels and meets the stored output", "[cli]") {
  const json report = checked(example("encoder/model.hlo") + " --data " + example("encoder"));
  CHECK(report["kernels"].get<int>() <= 12);
  std::multiset<std::string> recognised;
  for (const json& group : report["groups"])
    for (const json& r : group["recognised"]) recognised.insert(r["op"]);
  for (const char* op : {"layer_norm", "softmax", "gelu"}) {
    INFO(op);
    CHECK(recognised.contains(op));
  }
}

TEST_CASE("a stored output that is not met is a failure", "[cli]") {
  Scratch scratch;
  std::filesystem::copy(example("encoder"), scratch.file("data"));
  std::string bytes = read(scratch.file("data/output_0.npy"));
  bytes[bytes.size() - 2] ^= 0x40;
  scratch.write("data/output_0.npy", bytes);
  const Ran ran = run("run " + example("encoder/model.hlo") + " --data " + scratch.file("data"));
  CHECK(ran.code == 1);
  CHECK(ran.err.find("output 0") != std::string::npos);
}

TEST_CASE("the same command gives the same audit and the same bits, with any number of threads", "[cli]") {
  const std::string model = example("encoder/model.hlo");
  const Ran first = run("audit " + model + " --json --threads 1"),
            second = run("audit " + model + " --json --threads 2");
  REQUIRE(first.code == 0);
  CHECK(first.out == second.out);
  Scratch scratch;
  REQUIRE(run("run " + model + " --threads 1 --output " + scratch.file("a")).code == 0);
  REQUIRE(run("run " + model + " --threads 2 --output " + scratch.file("b")).code == 0);
  CHECK(read(scratch.file("a/output_0.npy")) == read(scratch.file("b/output_0.npy")));
}

TEST_CASE("an operator that a rule file declares fuses with nothing rebuilt", "[cli]") {
  Scratch scratch;
  scratch.write(
      "rules/twice_tanh.fuse",
      "/// A made-up activation.\nop bend(x) = tanh(x) * ~1.5 + x\n\n"
      "/// Two bends in a row are told apart from everything else.\nfuse bends kernel(loop) {\n  match "
      "(elementwise | movement | composite)+ as body\n"
      "  test alone { x: f32[64]  match bend(x)  kernels 1 }\n  reject { x: f32[8, 8]  match reduce_sum(x, axes = "
      "[0]) }\n}\n");
  const Ran tested = run("test " + scratch.file("rules"));
  INFO(tested.out << tested.err);
  CHECK(tested.code == 0);
  CHECK(tested.out == "ok     test   bends/alone\nok     reject bends/2\n2 passed, 0 failed\n");
  const std::string model = scratch.write(
      "m.hlo", module_of("  x = f32[64,64] parameter(0)\n  t = f32[64,64] tanh(x)\n  k = f32[] constant(1.5)\n"
                         "  kb = f32[64,64] broadcast(k), dimensions={}\n  m = f32[64,64] multiply(t, kb)\n"
                         "  ROOT o = f32[64,64] add(m, x)\n"));
  CHECK(checked(model + " --rules " + scratch.file("rules"))["kernels"] == 1);
}

TEST_CASE("a false rule is found by the check, though every kernel computes what it says", "[cli]") {
  Scratch scratch;
  const std::string rules =
      scratch.write("lie.fuse", "/// Not true.\nrewrite lie exactness(bitexact) {\n  match log(x)\n  to x\n}\n");
  const std::string model =
      scratch.write("m.hlo", module_of("  x = f32[64] parameter(0)\n  e = f32[64] exponential(x)\n  l = f32[64] "
                                       "log(e)\n  ROOT o = f32[64] sine(l)\n"));
  CHECK(run("run " + model + " --check").code == 0);
  const Ran ran = run("run " + model + " --check --rules " + rules);
  CHECK(ran.code == 1);
  CHECK(ran.err.find("against the model as imported") != std::string::npos);
}

TEST_CASE("a rule that is false by one part in ten thousand is found", "[cli]") {
  Scratch scratch;
  const std::string rules = scratch.write(
      "lie.fuse", "/// Nearly true.\nrewrite lie exactness(bitexact) {\n  match log(exp(x))\n  to x * 1.0001\n}\n");
  const std::string model =
      scratch.write("m.hlo", module_of("  x = f32[64] parameter(0)\n  e = f32[64] exponential(x)\n  l = f32[64] "
                                       "log(e)\n  ROOT o = f32[64] sine(l)\n"));
  CHECK(run("run " + model + " --check").code == 0);
  const Ran ran = run("run " + model + " --check --rules " + rules);
  CHECK(ran.code == 1);
  CHECK(ran.err.find("rounding moves it by") != std::string::npos);
}

TEST_CASE("a sum, a product and a convolution over nothing are zero", "[cli]") {
  Scratch scratch;
  const std::string model = scratch.write(
      "m.hlo",
      "HloModule m\nadd { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) }\n"
      "ENTRY e {\n  x = f32[9,0] parameter(0)\n  y = f32[0,8] parameter(1)\n"
      "  image = f32[1,3,2,0] parameter(2)\n  w = f32[4,3,1,2] parameter(3)\n"
      "  many = f32[3,2,3,0,2] parameter(4)\n  zero = f32[] constant(0)\n  n = f32[9,0] negate(x)\n"
      "  d = f32[9,8] dot(n, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
      "  c = f32[1,4,2,2] convolution(image, w), window={size=1x2 pad=0_0x1_2}, dim_labels=bf01_oi01->bf01\n"
      "  s = f32[2,3,2] reduce(many, zero), dimensions={0,3}, to_apply=add\n"
      "  ROOT t = (f32[9,8], f32[1,4,2,2], f32[2,3,2]) tuple(d, c, s)\n}\n");
  for (const char* options : {" --check", " --check --no-fuse", " --check --device sim"}) {
    const Ran ran = run("run " + model + options);
    INFO(options << "\n" << ran.err);
    CHECK(ran.code == 0);
  }
}

TEST_CASE("a batch of nothing runs", "[cli]") {
  CHECK(run("run " + example("digits/model.onnx") + " --dim batch=0").code == 0);
}

TEST_CASE("every example in the rule library comes out as it says", "[cli]") {
  const Ran ran = run("test " + (source_dir() / "rules").string());
  INFO(ran.out);
  CHECK(ran.code == 0);
}

TEST_CASE("bad input is one clear error with its place and exit code 2", "[cli]") {
  Scratch scratch;
  const auto refused = [](const std::string& arguments, const std::string& what) {
    const Ran ran = run(arguments);
    INFO(arguments << "\n" << ran.out << ran.err);
    CHECK(ran.code == 2);
    CHECK(ran.err.find(what) != std::string::npos);
  };
  refused("run " + scratch.file("none.onnx"), "none.onnx: no such file");
  refused("run " + scratch.file(""), "is a folder");
  const std::string whole = read(example("digits/model.onnx"));
  refused("run " + scratch.write("cut.onnx", whole.substr(0, whole.size() / 2)), "cut.onnx");
  refused("run " + scratch.write("empty.onnx", ""), "empty.onnx");
  refused(
      "run " + scratch.write("shape.hlo", module_of("  x = f32[4,5] parameter(0)\n  ROOT y = f32[5,4] negate(x)\n")),
      "shape.hlo:6:12");
  refused("run " + scratch.write("op.hlo", module_of("  x = f32[4] parameter(0)\n  ROOT y = f32[4] negat(x)\n")),
          "negat");
  refused("run " + example("elementwise.hlo") + " --rules " +
              scratch.write("bad.fuse", "rewrite r {\n  match add(x\n  to x\n}\n"),
          "bad.fuse:");
  refused("run " + example("digits/model.onnx"), "batch");
  refused("run " + example("elementwise.hlo") + " --device gpuu", "gpuu");
  refused("run " + example("elementwise.hlo") + " --input 0=" + scratch.write("x.npy", "not an array"), "x.npy");
  refused("run " + example("elementwise.hlo") + " --input 0=" + example("digits/labels.npy"), "f32[1000,1000]");
  refused("run " + example("elementwise.hlo") + " --limit nodes=-1", "--limit");
  refused("run " + example("elementwise.hlo") + " --exactness sloppy", "sloppy");
  refused("run", "model is required");
  refused("frobnicate", "no command 'frobnicate'");
}

TEST_CASE("help and version are there for the program and each command", "[cli]") {
  CHECK(run("--version").code == 0);
  for (const std::string command : {"", "run", "bench", "audit", "print", "check", "test"}) {
    const Ran ran = run(command + " --help");
    CHECK(ran.code == 0);
    CHECK(ran.out.size() > 100);
  }
}

TEST_CASE("a check counts elements to which the model itself overflows, and does not compare them", "[cli]") {
  Scratch scratch;
  const std::string rules = scratch.write("r.fuse",
                                          "rewrite root-of-square exactness(approximate(1e-6)) {\n"
                                          "  match sqrt(x * x)  where is_float(x)  to abs(x)\n}\n");
  const std::string model = scratch.write(
      "m.hlo",
      module_of("  x = f32[5] parameter(0)\n  c = f32[] constant(1e30)\n  y = f32[5] broadcast(c), dimensions={}\n"
                "  a = f32[5] multiply(x, y)\n  b = f32[5] multiply(a, a)\n  ROOT r = f32[5] sqrt(b)\n"));
  const std::string arguments = model + " --rules " + rules + " --exactness bitexact,approximate";
  const json report = checked(arguments);
  CHECK(report["check"]["not_compared"] == 5);
  CHECK(report["check"]["end_to_end_error"] == 0);
  const Ran text = run("run " + arguments + " --check");
  CHECK(text.out.find("differ from the reference by 0") != std::string::npos);
  CHECK(text.out.find("5 elements of the outputs not compared") != std::string::npos);
}
