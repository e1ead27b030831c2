#include <tao/pegtl/contrib/analyze.hpp>

#include "grammar/hlo_grammar.hpp"
#include "tests/frontend_hlo/hlo.hpp"

using namespace fusewright;
using namespace fusewright::tests;

TEST_CASE("the HLO grammar has no rule that can loop without progress", "[hlo]") {
  namespace g = grammar::hlo;
  CHECK(tao::pegtl::analyze<g::file>() == 0);
  CHECK(tao::pegtl::analyze<g::value::integers>() == 0);
  CHECK(tao::pegtl::analyze<g::value::names>() == 0);
  CHECK(tao::pegtl::analyze<g::value::slices>() == 0);
  CHECK(tao::pegtl::analyze<g::value::padding>() == 0);
  CHECK(tao::pegtl::analyze<g::value::window>() == 0);
  CHECK(tao::pegtl::analyze<g::value::dim_labels>() == 0);
  CHECK(tao::pegtl::analyze<g::literal::value>() == 0);
}

TEST_CASE("HLO is read with and without percent signs, operand types and signatures", "[hlo]") {
  const std::vector<std::string> texts = {
      "HloModule m\nENTRY main {\n x = f32[2] parameter(0)\n ROOT e = f32[2] exponential(x)\n}\n",
      "HloModule m, is_scheduled=true\n\nENTRY %main (x: f32[2]) -> f32[2] {\n %x = f32[2]{0} parameter(0)\n"
      " ROOT %e = f32[2]{0} exponential(f32[2]{0} %x), metadata={op_name=\"a}b\" source_line=7}\n}\n",
      "main {\n x = f32[2] parameter(0)\n e = f32[2] exponential(x)\n}",
      "# comment\n// another\nmain { /* in line */ x = f32[2] parameter(0) e = f32[2] exponential( /*index=0*/ x ) }",
      "HloModule m, entry_computation_layout={(f32[2]{0:T(8,128)S(1)})->f32[2]{0}}\n\nFileNames\n1 \"a.py\"\n\n"
      "StackFrames\n1 {file_location_id=1 parent_frame_id=1}\n\nENTRY main {\n x = f32[2]{0:T(128)E(4)S(2)} "
      "parameter(0)\n"
      " ROOT e = f32[2]{0} exponential(x),\n   backend_config={\"a\":{\"b\":[\"1\",\"2\"]}},\n   "
      "sharding={devices=[2]<=[2]}\n}, execution_thread=\"t\"\n",
      "m {\n x = f32[2] parameter(0)\n ROOT e = exponential(x)\n}",
  };
  for (const std::string& text : texts) {
    INFO(text);
    const graph::Graph graph = import_text(text);
    CHECK(count_op(graph, "exp") == 1);
    CHECK(graph.inputs.size() == 1);
    CHECK(ops::to_string(graph.outputs[0].type) == "f32[2]");
  }
}

TEST_CASE("a file holds several modules", "[hlo]") {
  const std::string one = "HloModule a\nENTRY m { ROOT c = f32[] constant(1) }\n";
  const auto graphs = frontend_hlo::import_hlo(
      hlo_source("// RUN: x\n" + one + "// -----\n\n" + one + "// -----\n// CHECK: y\n"), builtin_table());
  REQUIRE(graphs.has_value());
  CHECK(graphs->size() == 2);
}

TEST_CASE("the last computation is the entry and the last instruction the root where none is marked", "[hlo]") {
  CHECK(values_of(import_text("a { ROOT x = f32[] constant(1) }\nb { y = f32[] constant(2) z = f32[] constant(3) }")) ==
        std::vector<std::vector<double>>{{3}});
}

TEST_CASE("literals are read in all their forms", "[hlo]") {
  const auto values = [](const std::string& type, const std::string& literal) {
    return values_of(import_text("m { ROOT c = " + type + " constant(" + literal + ") }"))[0];
  };
  const double inf = std::numeric_limits<double>::infinity();
  CHECK(values("f32[]", "-1.5e-3") == std::vector<double>{-1.5e-3f});
  CHECK(values("f32[3]", "{inf, -inf, 0.1}") == std::vector<double>{inf, -inf, 0.1f});
  CHECK(std::isnan(values("f32[]", "nan")[0]));
  CHECK(values("pred[4]", "{true, false, 1, 0}") == std::vector<double>{1, 0, 1, 0});
  CHECK(values("s32[2,2]", "{ { 1, -2 }, /*i0=1*/ { 3, 4 } }") == std::vector<double>{1, -2, 3, 4});
  CHECK(values("s8[2,0]", "{{}, {}}").empty());
  CHECK(values("bf16[]", "1.001e-05") == std::vector<double>{0.0000100135803222656250});
  CHECK(values("u64[]", "18446744073709551615")[0] == 18446744073709551615.0);
}

TEST_CASE("a NaN keeps its payload from text to text", "[hlo]") {
  const std::string text = export_text(import_text("m { ROOT c = f32[3] constant({nan(0x400001), -nan, nan}) }"));
  CHECK(text.find("{nan(0x400001), -nan, nan}") != std::string::npos);
}

TEST_CASE("literals that do not fit are refused where they stand", "[hlo]") {
  const auto refused = [](const std::string& type, const std::string& literal) {
    return error_of("m { ROOT c = " + type + " constant(" + literal + ") }");
  };
  CHECK_THAT(refused("s8[]", "300"), Catch::Contains("test.hlo:1:28: error: '300' is not a value of s8\n"));
  CHECK_THAT(refused("s32[]", "1.5"), Catch::Contains("'1.5' is not a value of s32"));
  CHECK_THAT(refused("u8[]", "-1"), Catch::Contains("'-1' is not a value of u8"));
  CHECK_THAT(refused("f32[]", "1e60"), Catch::Contains("'1e60' is not a value of f32"));
  CHECK_THAT(refused("f32[3]", "1"), Catch::Contains("the literal does not fit its shape f32[3]"));
  CHECK_THAT(refused("f32[3]", "{1, 2}"), Catch::Contains("the literal does not fit its shape f32[3]"));
  CHECK_THAT(refused("f32[2,2]", "{1, 2, 3, 4}"), Catch::Contains("the literal does not fit its shape f32[2,2]"));
  CHECK_THAT(refused("f32[2]", "{{1}, {2}}"), Catch::Contains("the literal does not fit its shape f32[2]"));
  CHECK_THAT(refused("f32[2]", "{1, x}"), Catch::Contains("this is not a literal of type f32[2]"));
  CHECK_THAT(refused("c64[]", "(1, 2)"), Catch::Contains("complex literals are not supported"));
}

TEST_CASE("texts that end too early or hold something else say what is missing", "[hlo]") {
  CHECK_THAT(error_of(""), Catch::Contains("there is no HLO module in this file"));
  CHECK_THAT(error_of("HloModule a\n"), Catch::Contains("the module has no computation"));
  CHECK_THAT(error_of("m {"),
             Catch::Contains("test.hlo:1:4: error: expected an instruction 'name = shape opcode(...)'"));
  CHECK_THAT(error_of("m {\n a = f32[2] parameter(0)\n"),
             Catch::Contains("expected an instruction 'name = shape opcode(...)' or '}'"));
  CHECK_THAT(error_of("m {\n a = f32[2 parameter(0)\n}"),
             Catch::Contains("test.hlo:2:12: error: expected a dimension or ']'"));
  CHECK_THAT(error_of("m {\n a = f32[2] parameter(x)\n}"), Catch::Contains("expected the parameter's number"));
  CHECK_THAT(error_of("m {\n a = f32[2] parameter(0), 3\n}"), Catch::Contains("expected an attribute 'name=value'"));
  CHECK_THAT(error_of("m {\n a = f32[] constant({1)\n}"), Catch::Contains("expected '}'"));
  CHECK_THAT(error_of("m {\n a = f32[] constant(1), b=\"x\n}"), Catch::Contains("this string is not closed"));
  CHECK_THAT(error_of("m { /* "), Catch::Contains("this comment is not closed by '*/'"));
  CHECK_THAT(error_of("# x\nhlo_module {\n  name: \"main\"\n}"),
             Catch::Contains("this is a protobuf text dump, not HLO text"));
  CHECK_THAT(error_of("ENTRY m"), Catch::Contains("expected '{' and the computation's instructions"));
  CHECK_THAT(error_of("+"), Catch::Contains("expected 'HloModule' or a computation"));
  CHECK_THAT(error_of("m { a = f32[99999999999999999999] parameter(0) }"), Catch::Contains("the number is too large"));
}

TEST_CASE("text nested without end is an error, not a crash", "[hlo]") {
  const std::string deep(100000, '{');
  CHECK_THAT(error_of("m { a = f32[] constant(" + deep + ") }"), Catch::Contains("nested deeper than"));
  CHECK_THAT(error_of("m { a = f32[] constant(1), b=" + deep + " }"), Catch::Contains("nested deeper than"));
  CHECK_THAT(error_of("m { a = " + std::string(100000, '(') + " tuple() }"), Catch::Contains("nested deeper than"));
}
