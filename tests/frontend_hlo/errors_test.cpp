#include "tests/frontend_hlo/hlo.hpp"

using namespace fusewright;
using namespace fusewright::tests;

TEST_CASE("a declared shape that is not the inferred one is an error with both", "[hlo]") {
  CHECK(error_of("ENTRY m {\n  x = f32[2,3] parameter(0)\n  ROOT y = f32[3,2] add(x, x)\n}\n") ==
        "test.hlo:3:12: error: 'y' is declared f32[3,2], but this add gives f32[2,3]\n"
        "    ROOT y = f32[3,2] add(x, x)\n"
        "             ^~~~~~~~\n");
}

TEST_CASE("an unknown operand is named with the nearest that there is", "[hlo]") {
  CHECK(error_of("ENTRY m {\n  value = f32[2] parameter(0)\n  ROOT y = f32[2] add(valeu, value)\n}\n") ==
        "test.hlo:3:23: error: there is no instruction 'valeu' in 'm'\n"
        "    ROOT y = f32[2] add(valeu, value)\n"
        "                        ^~~~~\n"
        "  did you mean 'value'?\n");
}

TEST_CASE("an unknown opcode is named with the nearest that there is", "[hlo]") {
  CHECK(error_of("ENTRY m {\n  x = f32[2] parameter(0)\n  ROOT y = f32[2] multipy(x, x)\n}\n") ==
        "test.hlo:3:19: error: unknown opcode 'multipy'\n"
        "    ROOT y = f32[2] multipy(x, x)\n"
        "                    ^~~~~~~\n"
        "  did you mean 'multiply'?\n");
}

TEST_CASE("all errors of a module are reported, not just the first", "[hlo]") {
  const std::string error = error_of(
      "m {\n x = f32[2] parameter(0)\n a = f32[3] add(x, x)\n b = f32[2] multiply(x)\n ROOT t = (f32[3], f32[2]) "
      "tuple(a, b)\n}");
  CHECK_THAT(error, Catch::Contains("'a' is declared f32[3], but this add gives f32[2]"));
  CHECK_THAT(error, Catch::Contains("'multiply' takes 2 operands, not 1"));
  CHECK_THAT(error, !Catch::Contains("tuple"));
}

TEST_CASE("names that are there twice point to the first", "[hlo]") {
  const std::string error = error_of("m {\n x = f32[2] parameter(0)\n ROOT x = f32[2] add(x, x)\n}");
  CHECK_THAT(error, Catch::Contains("test.hlo:3:7: error: there are two instructions 'x' in 'm'"));
  CHECK_THAT(error, Catch::Contains("test.hlo:2:2: note: the first is here"));
  CHECK_THAT(error_of("m { ROOT x = f32[] constant(1) }\nm { ROOT x = f32[] constant(1) }"),
             Catch::Contains("there are two computations 'm'"));
  CHECK_THAT(error_of("m { ROOT x = f32[] constant(1) ROOT y = f32[] constant(1) }"),
             Catch::Contains("'m' has two roots"));
}

TEST_CASE("parameters are numbered without gaps", "[hlo]") {
  CHECK_THAT(error_of("m { x = f32[] parameter(0) y = f32[] parameter(2) ROOT z = f32[] add(x, y) }"),
             Catch::Contains("parameter 1 of 'm' is missing, it has 2"));
  CHECK_THAT(error_of("m { x = f32[] parameter(0) y = f32[] parameter(0) ROOT z = f32[] add(x, y) }"),
             Catch::Contains("there are two parameters 0"));
}

TEST_CASE("an operand must stand before its use", "[hlo]") {
  CHECK_THAT(error_of("m { a = f32[] negate(b) b = f32[] constant(1) }"),
             Catch::Contains("'b' is used before it is defined"));
  CHECK_THAT(error_of("m { x = f32[2] parameter(0) ROOT y = f32[2] negate(f32[3] x) }"),
             Catch::Contains("operand 'x' is f32[2], not f32[3]"));
}

TEST_CASE("computations that call themselves or do not exist are refused", "[hlo]") {
  CHECK_THAT(error_of("f { x = f32[] parameter(0) ROOT y = f32[] call(x), to_apply=g }\n"
                      "g { x = f32[] parameter(0) ROOT y = f32[] call(x), to_apply=f }\n"
                      "ENTRY m { x = f32[] parameter(0) ROOT y = f32[] call(x), to_apply=f }"),
             Catch::Contains("computation 'f' calls itself"));
  CHECK_THAT(error_of("reducer { ROOT x = f32[] parameter(0) }\nENTRY m { x = f32[] parameter(0) ROOT y = f32[] "
                      "call(x), to_apply=reduce }"),
             Catch::Contains("there is no computation 'reduce'") && Catch::Contains("did you mean 'reducer'?"));
  CHECK_THAT(error_of("f { ROOT x = f32[] parameter(0) }\nENTRY m { x = f32[] parameter(0) ROOT y = f32[] call(x, x), "
                      "to_apply=f }"),
             Catch::Contains("'y': computation 'f' has 1 parameters, not 2"));
  CHECK_THAT(
      error_of(
          "f { ROOT x = f32[3] parameter(0) }\nENTRY m { x = f32[] parameter(0) ROOT y = f32[3] call(x), to_apply=f }"),
      Catch::Contains("'x' is declared f32[3], but the argument is f32[]"));
}

TEST_CASE("a chain of calls that grows without end is stopped", "[hlo]") {
  std::string text = "f0 { ROOT x = f32[] parameter(0) }\n";
  for (int i = 1; i < 60; ++i) {
    const std::string callee = std::to_string(i - 1);
    text += "f" + std::to_string(i) + " { x = f32[] parameter(0) a = f32[] call(x), to_apply=f" + callee +
            " b = f32[] call(a), to_apply=f" + callee + " ROOT c = f32[] add(a, b) }\n";
  }
  CHECK_THAT(error_of(text), Catch::Contains("inlining the calls gives more than"));
  std::string chain = "f0 { ROOT x = f32[] parameter(0) }\n";
  for (int i = 1; i < 5000; ++i)
    chain += "f" + std::to_string(i) + " { x = f32[] parameter(0) ROOT a = f32[] call(x), to_apply=f" +
             std::to_string(i - 1) + " }\n";
  CHECK_THAT(error_of(chain), Catch::Contains("calls are nested deeper than"));
}

TEST_CASE("what is not supported is named", "[hlo]") {
  CHECK_THAT(error_of("m { x = f32[2] parameter(0) ROOT y = f32[2] all-reduce(x), replica_groups={} }"),
             Catch::Contains("test.hlo:1:45: error: 'all-reduce' is not supported: a collective"));
  CHECK_THAT(error_of("m { ROOT y = u32[] partition-id() }"), Catch::Contains("'partition-id' is not supported"));
  CHECK_THAT(error_of("m { x = f4e2m1fn[2] parameter(0) ROOT y = f32[2] convert(x) }"),
             Catch::Contains("element type 'f4e2m1fn' is not supported"));
}

TEST_CASE("what is not supported but not needed does no harm", "[hlo]") {
  CHECK(count_op(
            import_text(
                "m { x = f32[2] parameter(0) y = f32[2] all-reduce(x), replica_groups={} ROOT z = f32[2] negate(x) }"),
            "neg") == 1);
}

TEST_CASE("attributes that are missing or malformed are named", "[hlo]") {
  const std::string x = "m { x = f32[2,3] parameter(0) ROOT y = ";
  CHECK_THAT(error_of(x + "f32[3,2] transpose(x) }"),
             Catch::Contains("'transpose' needs the attribute 'dimensions', a list of integers such as {0,1}"));
  CHECK_THAT(error_of(x + "f32[3,2] transpose(x), dimensions={1,a} }"),
             Catch::Contains("'dimensions' should be a list of integers such as {0,1}"));
  CHECK_THAT(error_of(x + "pred[2,3] compare(x, x), direction=LESS }"),
             Catch::Contains("direction 'LESS' is not EQ, NE, LT, LE, GT or GE"));
  CHECK_THAT(error_of(x + "f32[2,3] slice(x), slice={[0:2], 0:3} }"),
             Catch::Contains("'slice' should be the range of each axis"));
  CHECK_THAT(error_of(x + "f32[2,3] get-tuple-element(x), index=0 }"), Catch::Contains("'x' is not a tuple"));
}

TEST_CASE("a file that is not there is one clear error", "[hlo]") {
  const auto missing = frontend_hlo::read_hlo_file("/nowhere/model.hlo");
  REQUIRE(!missing.has_value());
  CHECK(print_error(missing.error()) == "error: cannot open '/nowhere/model.hlo'\n");
  CHECK(!frontend_hlo::read_hlo_file("/").has_value());
}

TEST_CASE("elided constants can be looked at but not run, unless they are replaced", "[hlo]") {
  const std::string text = "m {\n x = f32[4] parameter(0)\n w = f32[4] constant({...})\n ROOT y = f32[4] add(x, w)\n}";
  const graph::Graph graph = import_text(text);
  const Status known = frontend_hlo::check_constants_known(graph);
  REQUIRE(!known.has_value());
  CHECK_THAT(print_error(known.error()),
             Catch::Contains("test.hlo:3:2: error: the values of constant 'w' are left out in the text ('{...}')"));
  frontend_hlo::ImportOptions options;
  options.replace_weight = [](const std::string& name, const ops::Type& type) -> std::optional<ops::Tensor> {
    CHECK(name == "w");
    return ops::make_tensor(type.dtype, ops::static_dims(type.shape)).value();
  };
  CHECK(frontend_hlo::check_constants_known(import_text(text, options)).has_value());
}

TEST_CASE("parameters are frozen and dims bound as the user says", "[hlo]") {
  const std::string text = "m { x = f32[?] parameter(0) w = f32[2] parameter(1) ROOT y = f32[?] add(x, w) }";
  CHECK_THAT(error_of(text),
             Catch::Contains("axis 0 of input 'x' is not known: bind it with --shape x=... or --dim '*=N'"));
  frontend_hlo::ImportOptions options;
  options.dims["*"] = 2;
  CHECK(import_text(text, options).inputs.size() == 2);
  options.freeze = {"w*"};
  CHECK_THAT(error_of(text, options), Catch::Contains("input 'w' is frozen but has no value"));
  options.inputs["1"] = std::make_shared<const ops::Tensor>(ops::make_tensor(ops::DType::kF32, {2}).value());
  const graph::Graph frozen = import_text(text, options);
  CHECK(frozen.inputs.size() == 1);
  CHECK(count_op(frozen, "constant") == 1);
  options.freeze = {"all"};
  options.inputs.clear();
  options.replace_weight = [](const std::string&, const ops::Type& type) -> std::optional<ops::Tensor> {
    return ops::make_tensor(type.dtype, ops::static_dims(type.shape)).value();
  };
  CHECK(import_text(text, options).inputs.empty());
  options.shapes["x"] = {3};
  CHECK_THAT(error_of(text, options), Catch::Contains("operands of add have shapes"));
}
