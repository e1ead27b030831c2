#include <catch2/catch.hpp>

#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "backends/math/math_bitcode.hpp"
#include "backends/math/math_native.hpp"

namespace {

namespace fs = std::filesystem;
using namespace std::string_literals;

/// A folder of its own for the files of one test.
class Folder {
 public:
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "fusewright-math-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  Folder(const Folder&) = delete;
  ~Folder() { fs::remove_all(path_); }

  std::string operator/(const char* name) const { return (path_ / name).string(); }

  std::string write(const char* name, std::span<const unsigned char> bytes) const {
    std::ofstream(*this / name, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return *this / name;
  }

 private:
  fs::path path_;
};

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Whether the tools are there; a test that lacks one says so and ends.
bool have(std::initializer_list<const char*> tools) {
  for (const char* tool : tools) {
    if (std::system(("command -v "s + tool + " >/dev/null 2>&1").c_str()) != 0) {
      WARN(tool << " is not installed");
      return false;
    }
  }
  return true;
}

bool run(const std::string& command) { return std::system(command.c_str()) == 0; }

struct Signature {
  std::string name, type;
  int arity;
};

/// Every function and its LLVM type, widest vectors last.
std::vector<Signature> signatures(bool vectors) {
  static constexpr struct {
    const char *suffix, *type;
    bool vector;
  } kShapes[] = {{"f32", "float", false},         {"f64", "double", false},         {"f32x4", "<4 x float>", true},
                 {"f32x8", "<8 x float>", true},  {"f32x16", "<16 x float>", true}, {"f64x2", "<2 x double>", true},
                 {"f64x4", "<4 x double>", true}, {"f64x8", "<8 x double>", true}};
  std::vector<Signature> result;
  for (const auto& function : fusewright::math::avx2_functions()) {
    for (const auto& shape : kShapes) {
      if (vectors || !shape.vector) {
        result.push_back({"fw_"s + function.name + "_" + shape.suffix, shape.type, function.arity});
      }
    }
  }
  return result;
}

void check_module(std::span<const unsigned char> bitcode, bool vectors) {
  if (!have({"llvm-dis-22"})) return;
  const Folder folder;
  folder.write("math.bc", bitcode);
  REQUIRE(run("llvm-dis-22 " + folder / "math.bc" + " -o " + folder / "math.ll"));
  const std::string text = read(folder / "math.ll");
  for (const Signature& s : signatures(vectors)) {
    const std::string line = "define linkonce_odr hidden " + s.type + " @" + s.name + "(" + s.type + " %0" +
                             (s.arity == 2 ? ", " + s.type + " %1) " : ") ");
    INFO(line);
    CHECK(text.find(line) != std::string::npos);
  }
  CHECK(text.find("\"target-") == std::string::npos);
  CHECK(text.find("vector-width\"") == std::string::npos);
  CHECK_FALSE(std::regex_search(text, std::regex("\ndeclare [^@]*@(?!llvm\\.)")));
  CHECK_FALSE(std::regex_search(text, std::regex("\\b(fast|reassoc|contract|nnan|ninf|nsz|arcp|afn) ")));
}

/// A module with one function for each of the library's, that loads arguments, calls it and stores the result.
std::string callers(const std::vector<Signature>& functions, const std::string& attributes) {
  std::ostringstream out;
  for (const Signature& s : functions) {
    const std::string more = s.arity == 2 ? ", " + s.type : "";
    out << "declare " << s.type << " @" << s.name << "(" << s.type << more << ")\n"
        << "define void @call_" << s.name << "(ptr %p, ptr %q) #0 {\n"
        << "  %a = load " << s.type << ", ptr %p, align 4\n"
        << "  %r = call " << s.type << " @" << s.name << "(" << s.type << " %a" << (s.arity == 2 ? more + " %a" : "")
        << ")\n"
        << "  store " << s.type << " %r, ptr %q, align 4\n  ret void\n}\n";
  }
  out << "attributes #0 = { " << attributes << " }\n";
  return out.str();
}

}  // namespace

TEST_CASE("the x86 bitcode has every function at every width, with vectors by value", "[math]") {
  check_module(fusewright::math::x86_bitcode(), true);
}

TEST_CASE("the nvptx bitcode has every function for scalars", "[math]") {
  check_module(fusewright::math::nvptx_bitcode(), false);
}

TEST_CASE("x86 bitcode is inlined into callers for AVX2 and for AVX-512, all but the rarest part", "[math]") {
  if (!have({"llvm-link-22", "opt-22", "llc-22"})) return;
  const Folder folder;
  folder.write("math.bc", fusewright::math::x86_bitcode());
  for (const std::string features : {"", "+avx512f,+avx512bw,+avx512dq,+avx512vl"}) {
    const bool wide = !features.empty();
    const std::string base = "\"target-cpu\"=\"x86-64-v3\"";
    std::ofstream(folder / "callers.ll") << callers(signatures(true),
                                                    wide ? base + " \"target-features\"=\"" + features + "\"" : base);
    REQUIRE(run("llvm-link-22 --only-needed " + folder / "callers.ll" + " " + folder / "math.bc" + " -o " +
                folder / "linked.bc"));
    REQUIRE(run("opt-22 -passes=always-inline,globaldce -S " + folder / "linked.bc" + " -o " + folder / "inlined.ll"));
    const std::string text = read(folder / "inlined.ll");
    CHECK(text.find("@call_fw_exp_f32x16") != std::string::npos);
    CHECK(text.find("@fw_") == std::string::npos);
    const std::string machine = "-mcpu=x86-64-v3" + (wide ? " -mattr=" + features : "");
    REQUIRE(run("llc-22 -O1 " + machine + " " + folder / "inlined.ll" + " -o " + folder / "out.s"));
    const std::string assembly = read(folder / "out.s");
    const std::regex call("\tcallq?\t(\\S+)");
    for (std::sregex_iterator at(assembly.begin(), assembly.end(), call), end; at != end; ++at)
      CHECK_THAT((*at)[1].str(), Catch::Contains("reduce_far_lanes"));
    CHECK((assembly.find("%zmm") != std::string::npos) == wide);
  }
}

TEST_CASE("ptxas accepts the nvptx bitcode, and nothing in it may be contracted", "[math]") {
  if (!have({"llc-22"})) return;
  const Folder folder;
  folder.write("math.bc", fusewright::math::nvptx_bitcode());
  REQUIRE(run("llc-22 -mcpu=sm_80 " + folder / "math.bc" + " -o " + folder / "math.ptx"));
  const std::string ptx = read(folder / "math.ptx");
  CHECK(ptx.find(".extern") == std::string::npos);
  CHECK_FALSE(std::regex_search(
      ptx, std::regex("\t(call|add\\.f|sub\\.f|mul\\.f|div\\.(full|approx)|sqrt\\.approx|[a-z.]*\\.ftz)")));
  if (!have({"ptxas"})) return;
  CHECK(run("ptxas -arch=sm_80 " + folder / "math.ptx" + " -o " + folder / "math.cubin"));
}
