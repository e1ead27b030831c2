#include <catch2/catch.hpp>

#include <set>

#include "fusewright/frontend/onnx/tensor_io.hpp"
#include "fusewright/interpret/evaluate.hpp"
#include "tests/frontend_onnx/model.hpp"
#include "tests/main/paths.hpp"

namespace fusewright::frontend_onnx {

using Catch::Matchers::Contains;

TEST_CASE("dims come from --dim, --shape, given tensors and '*'", "[onnx]") {
  const auto shape_of = [](const ImportOptions& options) {
    auto graph = load(relu_of({"batch", "3"}), options);
    REQUIRE(graph.has_value());
    return ops::to_string(graph->outputs[0].type);
  };
  ImportOptions options;
  options.dims["batch"] = 4;
  CHECK(shape_of(options) == "f32[4,3]");
  options.dims = {{"*", 5}};
  CHECK(shape_of(options) == "f32[5,3]");
  options.shapes["x"] = {6, 3};
  CHECK(shape_of(options) == "f32[6,3]");
  options = {};
  options.inputs["0"] = std::make_shared<const ops::Tensor>(*ops::make_tensor(ops::DType::kF32, {7, 3}));
  CHECK(shape_of(options) == "f32[7,3]");
}

TEST_CASE("shape arithmetic is evaluated at load", "[onnx]") {
  Model model;
  model.input("x", {"n", "4", "6"}).ints("zero", {0}).ints("minus", {-1}).output("y");
  model.node("Shape", {"x"}, {"s"});
  model.node("Gather", {"s", "zero"}, {"n"});
  model.node("Concat", {"n", "minus"}, {"target"});
  set_attr(*model.proto.mutable_graph()->mutable_node(2), "axis", 0);
  model.node("Reshape", {"x", "target"}, {"y"});
  ImportOptions options;
  options.dims["n"] = 3;
  auto graph = load(model, options);
  REQUIRE(graph.has_value());
  CHECK(ops::to_string(graph->outputs[0].type) == "f32[3,24]");
  CHECK(operators_of(*graph) == std::multiset<std::string>{"parameter", "reshape"});
}

TEST_CASE("an initialiser that is an input is a constant below IR version 4, and an input with a default from then on",
          "[onnx]") {
  const auto build = [](std::int64_t ir) {
    Model model(13, ir);
    model.input("w", {"3"}).input("x", {"3"}).floats("w", {1, 2, 3}).output("y").node("Add", {"x", "w"}, {"y"});
    return model;
  };
  auto old = load(build(3));
  REQUIRE(old.has_value());
  CHECK(old->inputs.size() == 1);
  CHECK(old->skipped_inputs == std::vector<std::int64_t>{0});
  auto young = load(build(4));
  REQUIRE(young.has_value());
  REQUIRE(young->inputs.size() == 2);
  CHECK(young->inputs[0].name == "w");
  REQUIRE(young->inputs[0].fallback.has_value());
  CHECK((*young->inputs[0].fallback)->as<float>()[2] == 3);
  CHECK(young->skipped_inputs == std::vector<std::int64_t>{0});
  ImportOptions options;
  options.freeze = {"w*"};
  CHECK(load(build(4), options)->inputs.size() == 1);
}

TEST_CASE("stored inputs count all inputs where there is one for each, else those without an initialiser", "[onnx]") {
  const auto value = [](std::vector<float> values) {
    ops::Tensor tensor = *ops::make_tensor(ops::DType::kF32, {3});
    for (std::size_t i = 0; i < values.size(); ++i)
      ops::set_double(tensor, static_cast<std::int64_t>(i), static_cast<double>(values[i]));
    return std::make_shared<const ops::Tensor>(std::move(tensor));
  };
  for (const std::int64_t ir : {3, 8}) {
    Model model(13, ir);
    model.input("w", {"3"}).input("x", {"n"}).floats("w", {1, 2, 3}).output("y").node("Add", {"x", "w"}, {"y"});
    ImportOptions options;
    const auto weight = [&] {
      const auto graph = load(model, options);
      REQUIRE(graph.has_value());
      if (ir >= 4) return (*graph->inputs[0].fallback)->as<float>()[2];
      for (const graph::Node& node : graph->nodes)
        if (const auto* constant = node.attrs.find("value"))
          return std::get<ops::TensorHandle>(*constant)->as<float>()[2];
      return -1.0F;
    };
    options.data[0] = value({5, 5, 5});
    CHECK(weight() == 3);  // one tensor for two inputs: x, which takes its extent
    options.data[1] = value({7, 7, 7});
    if (ir < 4) CHECK(weight() == 5);
    CHECK(load(model, options).has_value());
    options.data[2] = value({7, 7, 7});
    CHECK_THAT(error_of(model, options), Contains("input_2 is of no input: the model has 2, 1 of them"));
    options.data = {{1, value({7, 7, 7})}};
    CHECK_THAT(error_of(model, options), Contains("input_1 is of no input"));
    options.data = {};
    options.inputs["w"] = value({4, 4, 4});
    options.inputs["0"] = value({5, 5, 5});
    if (ir < 4) CHECK(weight() == 4);
    options.inputs["1"] = value({5, 5, 5});
    CHECK_THAT(error_of(model, options), Contains("no input '1'"));
  }
}

TEST_CASE("an input whose value is given can be a shape", "[onnx]") {
  Model model;
  model.input("x", {"2", "6"}).input("s", {"2"}, TensorProto::INT64).output("y").node("Reshape", {"x", "s"}, {"y"});
  CHECK_THAT(error_of(model), Contains("its shape 's' must be known when the model is loaded"));
  ImportOptions options;
  options.inputs["s"] = std::make_shared<const ops::Tensor>(ops::vector_tensor({3, 4}));
  auto graph = load(model, options);
  REQUIRE(graph.has_value());
  CHECK(graph->inputs.size() == 2);
  CHECK(ops::to_string(graph->outputs[0].type) == "f32[3,4]");
}

TEST_CASE("nodes that do not stand in order are put in order", "[onnx]") {
  Model model;
  model.input("x", {"4"}).output("c");
  model.node("Exp", {"b"}, {"c"});
  model.node("Relu", {"x"}, {"a"});
  model.node("Neg", {"a"}, {"b"});
  auto graph = load(model);
  REQUIRE(graph.has_value());
  CHECK(graph::verify(*graph).has_value());
}

TEST_CASE("a composite operator becomes one node that knows its source", "[onnx]") {
  Model model;
  model.input("x", {"2", "3", "4", "4"})
      .floats("s", {1, 2, 3})
      .output("y")
      .node("BatchNormalization", {"x", "s", "s", "s", "s"}, {"y"});
  auto graph = load(model);
  REQUIRE(graph.has_value());
  CHECK(operators_of(*graph).count("batch_norm") == 1);
  const graph::Node& node = (*graph)[graph->entry_computation().results[0].node];
  REQUIRE(node.sources.size() == 1);
  CHECK(graph->sources[node.sources[0].index].name == "the_BatchNormalization");
  CHECK(graph->sources[node.sources[0].index].op == "BatchNormalization");
}

TEST_CASE("functions of the model are inlined with the attributes of their call", "[onnx]") {
  Model model;
  auto* function = model.proto.add_functions();
  function->set_name("Scaled");
  function->set_domain("acme");
  function->add_input("a");
  function->add_output("r");
  function->add_attribute("size");
  function->add_opset_import()->set_version(17);
  auto* constant = function->add_node();
  constant->set_op_type("Constant");
  constant->add_output("c");
  auto* value = constant->add_attribute();
  value->set_name("value_float");
  value->set_ref_attr_name("size");
  value->set_type(::onnx::AttributeProto::FLOAT);
  auto* mul = function->add_node();
  mul->set_op_type("Mul");
  mul->add_input("a");
  mul->add_input("c");
  mul->add_output("r");
  model.input("x", {"2"}).output("z");
  for (const auto& [from, to, size] : {std::tuple{"x", "y", 3.0f}, std::tuple{"y", "z", 5.0f}}) {
    auto& call = model.node("Scaled", {from}, {to});
    call.set_domain("acme");
    call.add_attribute()->set_name("size");
    call.mutable_attribute(0)->set_type(::onnx::AttributeProto::FLOAT);
    call.mutable_attribute(0)->set_f(size);
  }
  auto graph = load(model);
  REQUIRE(graph.has_value());
  ops::Tensor x = *ops::make_tensor(ops::DType::kF32, {2});
  x.mutable_as<float>()[1] = 2;
  const auto results = interpret::evaluate(*graph, std::vector{x});
  REQUIRE(results.has_value());
  CHECK((*results)[0].as<float>()[1] == 30);

  auto* again = function->add_node();  // a function that calls itself
  again->set_op_type("Scaled");
  again->set_domain("acme");
  again->add_input("r");
  again->add_output("s");
  again->add_attribute()->set_name("size");
  again->mutable_attribute(0)->set_ref_attr_name("size");
  again->mutable_attribute(0)->set_type(::onnx::AttributeProto::FLOAT);
  CHECK_THAT(error_of(model), Contains("deep"));
}

TEST_CASE("replaced weights are used from the start", "[onnx]") {
  Model model;
  model.input("x", {"3"}).floats("w", {1, 2, 3}).output("y").node("Add", {"x", "w"}, {"y"});
  ImportOptions options;
  options.replace_weight = [](const std::string& name, const ops::Type& type) -> std::optional<ops::Tensor> {
    CHECK(name == "w");
    CHECK(ops::to_string(type) == "f32[3]");
    return *ops::make_tensor(ops::DType::kF32, {3});
  };
  auto graph = load(model, options);
  REQUIRE(graph.has_value());
  const auto results = interpret::evaluate(*graph, std::vector{*ops::make_tensor(ops::DType::kF32, {3})});
  REQUIRE(results.has_value());
  CHECK((*results)[0].as<float>()[2] == 0);
}

TEST_CASE("a chain of 100,000 nodes imports", "[onnx]") {
  Model model;
  model.input("v0", {"4"});
  for (int i = 0; i < 100000; ++i) model.node("Sin", {"v" + std::to_string(i)}, {"v" + std::to_string(i + 1)});
  model.output("v100000");
  auto graph = load(model);
  REQUIRE(graph.has_value());
  CHECK(graph->nodes.size() == 100001);
}

TEST_CASE("the trained example keeps its batch normalisations", "[onnx]") {
  ImportOptions options;
  options.dims["batch"] = 2;
  auto graph = import_onnx((tests::source_dir() / "examples/digits/model.onnx").string(), test_table(), options);
  INFO(error_of(graph));
  REQUIRE(graph.has_value());
  CHECK(graph::verify(*graph).has_value());
  CHECK(operators_of(*graph).count("batch_norm") > 0);
}

TEST_CASE("models in daily use import", "[onnx]") {
  const auto corpora = tests::corpora_dir();
  if (!corpora) {
    WARN("no corpora folder: real models are skipped");
    return;
  }
  for (const auto& folder : {"onnx-backend/light", "onnx-real/magika", "onnx-real/basic-pitch", "onnx-real/ppocr"}) {
    for (const auto& entry : fs::directory_iterator(*corpora / folder)) {
      if (entry.path().extension() != ".onnx") continue;
      ImportOptions options;
      if (entry.path().filename() == "det.onnx")
        options.shapes["x"] = {1, 3, 320, 320};
      else if (entry.path().filename() == "rec.onnx")
        options.shapes["x"] = {1, 3, 48, 320};
      else
        options.dims["*"] = 1;
      auto graph = import_onnx(entry.path().string(), test_table(), options);
      INFO(entry.path() << ": " << error_of(graph));
      REQUIRE(graph.has_value());
      CHECK(graph::verify(*graph).has_value());
    }
  }
}

TEST_CASE("models made to test fusions import, or say what is not supported", "[onnx]") {
  const auto corpora = tests::corpora_dir();
  if (!corpora) {
    WARN("no corpora folder: the fusion models are skipped");
    return;
  }
  int imported = 0, unsupported = 0, refused = 0;
  ImportOptions options;
  options.dims["*"] = 4;
  for (const auto& entry : fs::recursive_directory_iterator(*corpora / "onnx-fusion")) {
    if (entry.path().extension() != ".onnx") continue;
    auto graph = import_onnx(entry.path().string(), test_table(), options);
    if (graph) {
      CHECK(graph::verify(*graph).has_value());
      ++imported;
    } else {
      ++(graph.error().kind == ErrorKind::kUnsupported ? unsupported : refused);
    }
  }
  INFO(imported << " imported, " << unsupported << " not supported, " << refused << " refused");
  CHECK(imported >= 220);
}

}  // namespace fusewright::frontend_onnx
