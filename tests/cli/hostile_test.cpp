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
  }
}

TEST_CASE("a seed below zero is refused", "[cli]") {
  refused("run " + kElementwise + " --seed -1", "--seed");
  CHECK(run("audit " + kElementwise + " --seed 18446744073709551615").code == 0);
}

TEST_CASE("a shape that no machine could hold is bad input", "[cli]") {
  Scratch scratch;
  const std::string model = scratch.write("m.hlo",
                                          "HloModule m\nENTRY e {\n  x = f32[9223372036854775807] parameter(0)\n  ROOT "
                                          "y = f32[9223372036854775807] negate(x)\n}\n");
  refused("audit " + model, "m.hlo:3:");
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
