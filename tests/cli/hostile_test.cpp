// Wrong options, wrong files and a user who loses patience.
#include <catch2/catch.hpp>
#include <cstdlib>

#include "program.hpp"

using namespace fusewright::tests;
using Catch::Matchers::Contains;

namespace {

const std::string kDigits = example("digits/model.onnx");
const std::string kElementwise = example("elementwise.hlo");

void refused(const std::string& arguments, const std::string& message) {
  const Ran ran = run(arguments);
  INFO(arguments);
  CHECK(ran.code == 2);
  CHECK_THAT(ran.err, Contains(message));
}

}  // namespace

TEST_CASE("options that name nothing of the model say what there is", "[cli]") {
  for (const std::string& model : {kDigits, kElementwise}) {
    refused("audit " + model + " --freeze 'nosuch*'", "--freeze: the model has no input");
    refused("audit " + model + " --shape nosuch=1", "--shape: the model has no input 'nosuch' (there are '");
    refused("audit " + model + " --input nosuch=" + example("digits/images.npy"),
            "--input: the model has no input 'nosuch' (there are '");
    refused("audit " + model + " --input 7=" + example("digits/images.npy"), "--input: the model has no input '7'");
    refused("audit " + model + " --dim nosuch=1", "--dim");
    refused("audit " + model + " --data ''", "--data: expected a value");
  }
}

TEST_CASE("numbers that are none, or out of range, are refused with the range", "[cli]") {
  for (const char* seed : {"-1", "x", "1.5", "18446744073709551616"})
    refused("run " + kElementwise + " --seed " + seed, "is not a whole number from 0 to 2^64 - 1");
  for (const char* tolerance : {"-1", "nan", "inf", "1e400"})
    refused("run " + kElementwise + " --rtol " + tolerance, "is not a number from 0 on");
  CHECK(run("audit " + kElementwise + " --seed 18446744073709551615").code == 0);
}

TEST_CASE("a shape that no machine could hold is bad input", "[cli]") {
  Scratch scratch;
  const std::string model = scratch.write("m.hlo",
                                          "HloModule m\nENTRY e {\n  x = f32[9223372036854775807] parameter(0)\n  ROOT "
                                          "y = f32[9223372036854775807] negate(x)\n}\n");
  refused("audit " + model, "m.hlo:3:");
}

TEST_CASE("files that are not what they should be are named, and devices are not read", "[cli]") {
  Scratch scratch;
  refused("audit " + kElementwise + " --device-file " + kDigits, "model.onnx is not valid JSON, near byte 1");
  refused("run " + kDigits + " --input 0=/dev/zero", "'/dev/zero' is not a regular file");
  refused("check /dev/zero", "cannot read the rule file /dev/zero");
  refused("check " + scratch.file(""), "has no rule files");
  std::filesystem::create_symlink("/dev/zero", scratch.file("m.hlo"));
  refused("audit " + scratch.file("m.hlo"), "m.hlo' is not a regular file");
  refused("compile " + kElementwise + " -o ''", "expected a value");
}

TEST_CASE("a folder of data without any is refused", "[cli]") {
  Scratch scratch;
  refused("run " + kElementwise + " --data " + scratch.file(""), "the folder has no input_N or output_N");
  refused("run " + kElementwise + " --data " + scratch.file("none"), "no such folder");
  refused("run " + kElementwise + " --data " + kElementwise, "is not a folder");
}

TEST_CASE("a machine that the kernels are not for is refused, a name of none says what there is", "[cli]") {
  Scratch scratch;
  refused("run " + kElementwise + " --device-file h200", "'h200' describes a GPU, the kernels are for a CPU");
  refused("run " + kElementwise + " --device sim --device-file x86-avx2", "the kernels are for a GPU");
  refused("compile " + kElementwise + " --device-file a100 -o " + scratch.file("out"), "the kernels are for a CPU");
  CHECK(run("audit " + kElementwise + " --device-file h200").code == 0);
  refused("audit " + kElementwise + " --device-file h20", "did you mean 'h200'?");
  refused("audit " + kElementwise + " --device-file " + scratch.file(""), "cannot read device file");
}

TEST_CASE("names that are no UTF-8 do not break JSON", "[cli]") {
  Scratch scratch;
  const std::string model = scratch.write("m\xff.hlo", read(kElementwise));
  for (const std::string& command :
       std::vector<std::string>{"run", "audit", "print", "compile -o " + scratch.file("out\xff")}) {
    const Ran ran = run(command + " --json " + model);
    INFO(command << ran.err);
    REQUIRE(ran.code == 0);
    CHECK(ran.json()["model"].get<std::string>().ends_with("m\xef\xbf\xbd.hlo"));
  }
}

TEST_CASE("output that does not arrive is an error, and never goes into another file", "[cli]") {
  Scratch scratch;
  const auto shell = [&](const std::string& command) {
    const int status = std::system((FUSEWRIGHT_PROGRAM " " + command + " 2>" + scratch.file("err")).c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  };
  const std::string egraph = example("egraph.json"), model = scratch.write("m.hlo", read(kElementwise));
  for (const std::string& command : std::vector<std::string>{"--help", "extract " + egraph, "extract --json " + egraph,
                                                             "audit " + model, "audit --json " + model}) {
    INFO(command);
    CHECK(shell(command + " >/dev/full") == 3);
    CHECK(shell(command + " >&-") == 3);
    CHECK_THAT(read(scratch.file("err")), Contains("error: cannot write to standard output"));
  }
  CHECK(read(model) == read(kElementwise));
}

TEST_CASE("however little memory there is, the program answers or says that there is too little", "[cli]") {
#if defined(__SANITIZE_ADDRESS__)
  WARN("not tried: the sanitizer wants all addresses");
#else
  Scratch scratch;
  const auto limited = [&](int mebibytes, const std::string& command) {
    const std::string all = "ulimit -c 0; ulimit -v " + std::to_string(1024 * mebibytes) +
                            " && exec " FUSEWRIGHT_PROGRAM " " + command + " >/dev/null 2>" + scratch.file("err");
    const int status = std::system(all.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  };
  int least = 64;  // for the libraries alone
  while (least < 1024 && limited(least, "--version") != 0) least += 4;
  const std::string command = "audit " + example("encoder/model.hlo");
  int fewest = 0, most = 0;
  for (int mebibytes = least; mebibytes < least + 120; mebibytes += mebibytes < least + 40 ? 1 : 8) {
    const int code = limited(mebibytes, command);
    INFO("of " << least << " at least, " << mebibytes << " MiB: " << code << ", " << read(scratch.file("err")));
    CHECK((code == 0 || code == 3));
    if (code == 3) CHECK_THAT(read(scratch.file("err")), Contains("memory") || Contains("unavailable"));
    code == 0 ? ++most : ++fewest;
  }
  CHECK(fewest > 0);
  CHECK(most > 0);
#endif
}

TEST_CASE("Ctrl-C and kill end a run soon, with the shell's code and no half-written file", "[cli]") {
  Scratch scratch;
  const std::string model =
      scratch.write("m.hlo",
                    "HloModule m\nENTRY e {\n  x = f32[1500,1500] parameter(0)\n  ROOT y = f32[1500,1500] dot(x, x), "
                    "lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n");
  const std::string out = scratch.file("out");
  const auto [name, code] = GENERATE(table<std::string, int>({{"INT", 130}, {"TERM", 143}}));
  const std::string command = "timeout --preserve-status -k 10 -s " + name + " 1 " FUSEWRIGHT_PROGRAM " bench " +
                              model + " --repeats 1000000 --output " + out + " >" + scratch.file("log") + " 2>&1";
  const int status = std::system(command.c_str());
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == code);  // 137 where `timeout` had to use force
  CHECK_FALSE(std::filesystem::exists(out));
}

TEST_CASE("Ctrl-C ends extract with the best choice so far", "[cli]") {
  // 400 classes that ask for one of three others each: too many ways to try them all.
  nlohmann::json egraph;
  std::uint32_t random = 1;
  for (int i = 0; i < 100; ++i)
    egraph["nodes"]["p" + std::to_string(i)] = {
        {"op", "p"}, {"cost", 1}, {"children", nlohmann::json::array()}, {"eclass", "P" + std::to_string(i)}};
  for (int i = 0; i < 400; ++i) {
    const std::string name = std::to_string(i);
    for (int k = 0; k < 3; ++k) {
      random = random * 1103515245 + 12345;
      egraph["nodes"]["r" + name + "_" + std::to_string(k)] = {
          {"op", "r"}, {"cost", 0}, {"children", {"p" + std::to_string(random / 256 % 100)}}, {"eclass", "R" + name}};
    }
    egraph["root_eclasses"].push_back("R" + name);
  }
  Scratch scratch;
  const std::string file = scratch.write("hard.json", egraph.dump()), out = scratch.file("out");
  const std::string command =
      "timeout --preserve-status -k 10 -s INT 2 " FUSEWRIGHT_PROGRAM " extract " + file + " --time 600 --json >" + out;
  const int status = std::system(command.c_str());
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  const nlohmann::json answer = nlohmann::json::parse(read(out));
  CHECK(answer["stop"] == "cancelled");
  CHECK(answer["choices"].size() > 400);
}
