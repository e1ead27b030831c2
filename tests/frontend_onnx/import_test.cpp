#include <catch2/catch.hpp>

#include <functional>
#include <limits>
#include <set>

#include "fusewright/frontend/onnx/tensor_io.hpp"
#include "fusewright/interpret/evaluate.hpp"
#include "tests/frontend_onnx/model.hpp"
#include "tests/main/paths.hpp"

namespace fusewright::frontend_onnx {
namespace {

using Catch::Matchers::Contains;

std::multiset<std::string> operators_of(const graph::Graph& graph) {
  std::multiset<std::string> names;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) names.insert(graph.info(graph::NodeId(i)).name);
  return names;
}

Model relu_of(const std::vector<std::string>& dims) {
  Model model;
  model.input("x", dims).output("y").node("Relu", {"x"}, {"y"});
  return model;
}

}  // namespace

TEST_CASE("numbers beyond all range are refused or cut, never wrapped around", "[onnx]") {
  Model pad(13);
  pad.input("x", {"4"}).ints("p", {INT64_MIN, 0}).output("y").node("Pad", {"x", "p"}, {"y"});
  CHECK_THAT(error_of(pad), Contains("its pads are too large"));

  Model range;
  range.output("y").node("Range", {"start", "limit", "delta"}, {"y"});
  range.initializer("start", {}).add_float_data(0);
  range.initializer("limit", {}).add_float_data(-1e30F);
  range.initializer("delta", {}).add_float_data(1);
  const auto empty = load(range);
  REQUIRE(empty.has_value());
  CHECK(ops::to_string(empty->outputs[0].type) == "f32[0]");

  const float infinity = std::numeric_limits<float>::infinity();
  Model resize;
  resize.input("x", {"4"}).floats("roi", {-infinity, infinity}).ints("sizes", {4}).output("y");
  auto& node = resize.node("Resize", {"x", "roi", "", "sizes"}, {"y"});
  auto* mode = node.add_attribute();
  mode->set_name("coordinate_transformation_mode");
  mode->set_type(::onnx::AttributeProto::STRING);
  mode->set_s("tf_crop_and_resize");
  CHECK_THAT(error_of(resize), Contains("lead out of all range"));
}

TEST_CASE("a file that is missing, empty, a folder or no model is one error that names it", "[onnx]") {
  const Folder folder;
  CHECK_THAT(error_of(import_onnx((folder.path / "none.onnx").string(), test_table())), Contains("none.onnx"));
  CHECK_THAT(error_of(import_onnx(folder.write("e.onnx", ""), test_table())),
             Contains("e.onnx: error: the file is empty"));
  CHECK_THAT(error_of(import_onnx(folder.path.string(), test_table())), Contains("is a folder"));
  CHECK_THAT(error_of(import_onnx(folder.write("t.onnx", "hello, this is text"), test_table())), Contains("not a"));
  CHECK_THAT(error_of(import_onnx(folder.write("n.onnx", "\x08\x08"), test_table())), Contains("holds no graph"));
}

TEST_CASE("a model cut off anywhere, or with any byte changed, never crashes", "[onnx]") {
  Model model;
  model.input("x", {"2", "3"}).floats("w", {1, 2, 3}).output("y").node("Add", {"x", "w"}, {"y"});
  set_attr(model.node("Softmax", {"y"}, {"z"}), "axis", 1);
  const std::string bytes = model.proto.SerializeAsString();
  const Folder folder;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    CHECK_FALSE(import_onnx(folder.write("cut.onnx", bytes.substr(0, i)), test_table()).has_value());
    for (const int flip : {1, 0x80, 0xff}) {
      std::string changed = bytes;
      changed[i] = static_cast<char>(changed[i] ^ flip);
      (void)import_onnx(folder.write("changed.onnx", changed), test_table());
    }
  }
}

TEST_CASE("a dim that nothing binds is named with the options that bind it", "[onnx]") {
  CHECK_THAT(error_of(relu_of({"batch", "3"})),
             Contains("dim 'batch'") && Contains("--dim 'batch=N'") && Contains("--shape 'x="));
  CHECK_THAT(error_of(relu_of({"2", "?"})), Contains("dim 'x.dim1'"));
  CHECK_THAT(error_of(relu_of({"none", "3"})), Contains("dim 'x.dim0'"));
  CHECK_THAT(error_of(relu_of({"-1", "3"})), Contains("dim 'x.dim0'"));
  CHECK_THAT(error_of(relu_of({"-5", "3"})), Contains("negative extent -5"));
}

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

TEST_CASE("options that do not fit the model are errors", "[onnx]") {
  ImportOptions options;
  options.shapes["x"] = {2, 4};
  CHECK_THAT(error_of(relu_of({"batch", "3"}), options), Contains("axis 1 of input 'x' is 3 in the file"));
  options.shapes = {{"x", {2, 3, 4}}};
  CHECK_THAT(error_of(relu_of({"batch", "3"}), options), Contains("has 2 axes"));
  options.shapes = {{"y1", {2, 3}}};
  CHECK_THAT(error_of(relu_of({"2", "3"}), options), Contains("no input 'y1'"));
  options.shapes = {{"x", {2, 3}}};
  options.dims["batch"] = 4;
  CHECK_THAT(error_of(relu_of({"batch", "3"}), options), Contains("dim 'batch' is 4 by --dim, but 2"));
  options = {};
  options.dims["batsh"] = 4;
  CHECK_THAT(error_of(relu_of({"2", "3"}), options), Contains("no open dim 'batsh'"));
  options = {};
  options.inputs["x"] = std::make_shared<const ops::Tensor>(*ops::make_tensor(ops::DType::kS32, {2, 3}));
  CHECK_THAT(error_of(relu_of({"batch", "3"}), options), Contains("s32"));
}

TEST_CASE("one dim that two inputs give differently is an error that names both", "[onnx]") {
  Model model;
  model.input("a", {"n"}).input("b", {"n"}).output("y").node("Add", {"a", "b"}, {"y"});
  ImportOptions options;
  options.shapes = {{"b", {3}}};
  CHECK(load(model, options).has_value());  // binds the dim of the input before it
  options.shapes["a"] = {4};
  CHECK_THAT(error_of(model, options), Contains("input 'a'") && Contains("input 'b'"));
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

TEST_CASE("external data is mapped, and only from the model's folder", "[onnx]") {
  const Folder folder;
  std::ofstream(folder.path / "w.bin", std::ios::binary) << std::string(64, '\0');
  const auto result = [&](const std::string& location, const std::string& offset, const std::string& length) {
    Model model;
    model.input("x", {"4"}).output("y").node("Add", {"x", "w"}, {"y"});
    auto& tensor = model.initializer("w", {4});
    tensor.set_data_location(TensorProto::EXTERNAL);
    for (const auto& [key, value] : std::initializer_list<std::pair<std::string, std::string>>{
             {"location", location}, {"offset", offset}, {"length", length}}) {
      auto* entry = tensor.add_external_data();
      entry->set_key(key);
      entry->set_value(value);
    }
    return error_of(import_onnx(folder.write("m.onnx", model.proto.SerializeAsString()), test_table()));
  };
  CHECK(result("w.bin", "16", "16") == "(no error)");
  CHECK_THAT(result("w.bin", "56", "16"), Contains("has 64 bytes"));
  CHECK_THAT(result("w.bin", "-1", "16"), Contains("offset '-1'"));
  CHECK_THAT(result("w.bin", "99999999999999999999", "16"), Contains("offset"));
  CHECK_THAT(result("w.bin", "0", "8"), Contains("8 bytes where the shape needs 16"));
  CHECK_THAT(result("../w.bin", "0", "16"), Contains("leads out of"));
  CHECK_THAT(result("/etc/passwd", "0", "16"), Contains("absolute path"));
  CHECK_THAT(result("none.bin", "0", "16"), Contains("cannot open external data 'none.bin'"));
  fs::create_symlink("/etc/passwd", folder.path / "link.bin");
  CHECK_THAT(result("link.bin", "0", "16"), Contains("link that leads out"));
}

TEST_CASE("tensors whose sizes do not agree are refused before anything is allocated", "[onnx]") {
  const auto result = [](const std::vector<std::int64_t>& dims, const std::string& raw, int type = TensorProto::FLOAT) {
    Model model;
    model.input("x", {"4"}).output("y").node("Add", {"x", "w"}, {"y"});
    model.initializer("w", dims, type).set_raw_data(raw);
    return error_of(model);
  };
  CHECK_THAT(result({4}, std::string(12, '\0')), Contains("tensor 'w'") && Contains("12 bytes where f32[4] needs 16"));
  CHECK_THAT(result({-4}, ""), Contains("negative dim -4"));
  CHECK_THAT(result({std::int64_t{1} << 40, std::int64_t{1} << 40}, ""), Contains("tensor 'w'"));
  CHECK_THAT(result({std::int64_t{1} << 36}, ""), Contains("0 bytes where"));
  CHECK_THAT(result({4}, "", TensorProto::STRING), Contains("element type string is not supported"));
  CHECK_THAT(result({4}, "", 99), Contains("element type number 99"));
}

TEST_CASE("what is wrong in a graph is named with its node", "[onnx]") {
  Model cycle;
  cycle.input("x", {"4"}).output("a");
  cycle.node("Add", {"x", "b"}, {"a"});
  cycle.node("Relu", {"a"}, {"b"});
  CHECK_THAT(error_of(cycle), Contains("cycle") && Contains("the_Add"));

  Model twice = relu_of({"4"});
  twice.node("Abs", {"x"}, {"y"});
  CHECK_THAT(error_of(twice), Contains("'y' is made twice") && Contains("the_Relu") && Contains("the_Abs"));

  Model missing;
  missing.output("y").node("Relu", {"nowhere"}, {"y"});
  CHECK_THAT(error_of(missing), Contains("node 'the_Relu' (Relu)") && Contains("'nowhere'"));

  Model unknown;
  unknown.input("x", {"4"}).output("y").node("Frobnicate", {"x"}, {"y"}).set_domain("acme");
  CHECK_THAT(error_of(unknown),
             Contains("node 'the_Frobnicate' (acme.Frobnicate)") && Contains("domain 'acme'") && Contains("m.onnx"));
  CHECK(load(unknown).error().kind == ErrorKind::kUnsupported);

  Model newer = relu_of({"4"});
  newer.proto.mutable_opset_import(0)->set_version(4000);
  CHECK_THAT(error_of(newer), Contains("opset 4000"));

  Model shape;
  shape.input("a", {"4"}).input("b", {"5"}).output("y").node("Add", {"a", "b"}, {"y"});
  CHECK_THAT(error_of(shape), Contains("the_Add") && Contains("do not broadcast"));

  Model absent;
  absent.input("x", {"4"}).output("y").node("Concat", {"x"}, {"y"});
  CHECK_THAT(error_of(absent), Contains("attribute 'axis' is missing"));

  Model kind;
  auto& node = kind.input("x", {"4"}).output("y").node("Softmax", {"x"}, {"y"});
  node.add_attribute()->set_name("axis");
  node.mutable_attribute(0)->set_type(::onnx::AttributeProto::FLOAT);
  CHECK_THAT(error_of(kind), Contains("attribute 'axis' has the kind FLOAT where INT"));

  Model lost = relu_of({"4"});
  lost.output("z");
  CHECK_THAT(error_of(lost), Contains("output 'z' is made by no node"));
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

TEST_CASE("elements of 2, 4 and 8 bits are carried in wider dtypes", "[onnx]") {
  const auto values = [](int type, std::vector<std::uint8_t> bytes, std::int64_t count) {
    Model model(21);
    auto& tensor = model.initializer("w", {count}, TensorProto::INT8);
    tensor.set_data_type(type);
    for (const auto byte : bytes) tensor.add_int32_data(byte);
    model.floats("s", {1}).output("y").node("DequantizeLinear", {"w", "s"}, {"y"});
    const auto graph = load(model);
    INFO(error_of(graph));
    REQUIRE(graph.has_value());
    const auto results = interpret::evaluate(*graph, {});
    REQUIRE(results.has_value());
    std::vector<double> out;
    for (std::int64_t i = 0; i < count; ++i) out.push_back(ops::get_double((*results)[0], i));
    return out;
  };
  constexpr int kFloat8E4M3 = 17, kUint4 = 21, kInt4 = 22, kFloat4 = 23, kInt2 = 26;
  CHECK(values(kInt4, {0x8f, 0x07}, 3) == std::vector<double>{-1, -8, 7});  // the low half first
  CHECK(values(kUint4, {0x8f, 0x07}, 3) == std::vector<double>{15, 8, 7});
  CHECK(values(kInt2, {0b11100100}, 4) == std::vector<double>{0, 1, -2, -1});
  CHECK(values(kFloat4, {0x71, 0x0f}, 3) == std::vector<double>{0.5, 6, -6});
  CHECK(values(kFloat8E4M3, {0x7e, 0x01, 0xb8}, 3) == std::vector<double>{448, 0x1p-9, -1});
}

TEST_CASE("casts to narrow types round, wrap and saturate", "[onnx]") {
  const auto cast = [](int type, float x, std::int64_t saturate) {
    Model model(21);
    auto& node = model.input("x", {"1"}).output("y").node("Cast", {"x"}, {"y"});
    set_attr(node, "to", type);
    set_attr(node, "saturate", saturate);
    const auto graph = load(model);
    INFO(error_of(graph));
    REQUIRE(graph.has_value());
    ops::Tensor tensor = *ops::make_tensor(ops::DType::kF32, {1});
    tensor.mutable_as<float>()[0] = x;
    const auto results = interpret::evaluate(*graph, std::vector{tensor});
    REQUIRE(results.has_value());
    return ops::get_double((*results)[0], 0);
  };
  constexpr int kE4M3 = 17, kE5M2 = 19, kInt4 = 22, kFloat4 = 23;
  CHECK(cast(kE4M3, 17, 1) == 16);  // a tie goes to the even neighbour
  CHECK(cast(kE4M3, 19, 1) == 20);
  CHECK(cast(kE4M3, 0x1.8p-10f, 1) == 0x1p-9);  // subnormal
  CHECK(cast(kE4M3, -1000, 1) == -448);
  CHECK(std::isnan(cast(kE4M3, 1000, 0)));
  CHECK(std::isinf(cast(kE5M2, 1e6f, 0)));
  CHECK(cast(kE5M2, 1e6f, 1) == 57344);
  CHECK(cast(kInt4, 9, 1) == -7);
  CHECK(cast(kFloat4, 2.5f, 1) == 2);
}

TEST_CASE("a loop whose trips are known is unrolled, another one stays", "[onnx]") {
  const auto build = [](bool known) {
    Model model;
    model.input("x", {"2"}).output("y");
    if (known)
      model.ints("trips", {3});
    else
      model.input("trips", {"1"}, TensorProto::INT64);
    auto* body = model.node("Loop", {"trips", "", "x"}, {"y"}).add_attribute();
    body->set_name("body");
    body->set_type(::onnx::AttributeProto::GRAPH);
    auto* graph = body->mutable_g();
    for (const char* name : {"i", "going", "v"}) graph->add_input()->set_name(name);
    for (const char* name : {"going", "w"}) graph->add_output()->set_name(name);
    auto* one = graph->add_initializer();  // each turn reads it again
    one->set_name("half");
    one->set_data_type(TensorProto::FLOAT);
    const float half = 0.5f;
    one->set_raw_data(&half, sizeof half);
    auto* node = graph->add_node();
    node->set_op_type("Mul");
    node->add_input("v");
    node->add_input("half");
    node->add_output("w");
    return model;
  };
  const auto unrolled = load(build(true));
  INFO(error_of(unrolled));
  REQUIRE(unrolled.has_value());
  CHECK(operators_of(*unrolled).count("mul") == 3);
  CHECK(operators_of(*unrolled).count("loop") == 0);
  const auto kept = load(build(false));
  REQUIRE(kept.has_value());
  CHECK(operators_of(*kept).count("loop") == 1);
}

TEST_CASE("an image enlarged by a whole number is repeated, not looked up", "[onnx]") {
  Model model;
  model.input("x", {"1", "2", "3", "4"}).floats("scales", {1, 1, 2, 3}).output("y");
  model.node("Resize", {"x", "", "scales"}, {"y"});
  const auto graph = load(model);
  REQUIRE(graph.has_value());
  CHECK(operators_of(*graph).count("take") == 0);
  CHECK(ops::to_string(graph->outputs[0].type) == "f32[1,2,6,12]");
}

TEST_CASE("a grid of the image's own points samples the image", "[onnx]") {
  for (const char* mode : {"linear", "nearest", "cubic"}) {
    Model model(20);
    model.input("x", {"1", "1", "1", "3"}).output("y");
    auto& grid = model.initializer("grid", {1, 1, 3, 2});
    for (const float value : {-1.0f, 0.0f, 0.0f, 0.0f, 1.0f, 0.0f}) grid.add_float_data(value);
    auto& node = model.node("GridSample", {"x", "grid"}, {"y"});
    set_attr(node, "align_corners", 1);
    auto* attribute = node.add_attribute();
    attribute->set_name("mode");
    attribute->set_type(::onnx::AttributeProto::STRING);
    attribute->set_s(mode);
    const auto graph = load(model);
    INFO(error_of(graph));
    REQUIRE(graph.has_value());
    ops::Tensor x = *ops::make_tensor(ops::DType::kF32, {1, 1, 1, 3});
    for (std::int64_t i = 0; i < 3; ++i) ops::set_double(x, i, static_cast<double>(i + 5));
    const auto results = interpret::evaluate(*graph, std::vector{x});
    REQUIRE(results.has_value());
    for (std::int64_t i = 0; i < 3; ++i) CHECK(ops::get_double((*results)[0], i) == static_cast<double>(i + 5));
  }
}

TEST_CASE("pooling says where the greatest element lies", "[onnx]") {
  Model model;
  model.input("x", {"1", "2", "2", "2"}).output("at");
  auto& node = model.node("MaxPool", {"x"}, {"y", "at"});
  auto* kernel = node.add_attribute();
  kernel->set_name("kernel_shape");
  kernel->set_type(::onnx::AttributeProto::INTS);
  kernel->add_ints(2);
  kernel->add_ints(2);
  const auto graph = load(model);
  INFO(error_of(graph));
  REQUIRE(graph.has_value());
  ops::Tensor x = *ops::make_tensor(ops::DType::kF32, {1, 2, 2, 2});
  for (const auto& [i, value] : {std::pair{2, 3.0}, std::pair{3, 3.0}, std::pair{5, 1.0}}) ops::set_double(x, i, value);
  const auto results = interpret::evaluate(*graph, std::vector{x});
  REQUIRE(results.has_value());
  CHECK(ops::get_int((*results)[0], 0) == 2);  // the first of equal ones
  CHECK(ops::get_int((*results)[0], 1) == 5);  // counted through all channels
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

TEST_CASE("half floats are read from the bits in int32_data", "[onnx]") {
  TensorProto proto;
  proto.set_data_type(TensorProto::FLOAT16);
  proto.add_dims(2);
  proto.add_int32_data(0x3c00);
  proto.add_int32_data(0xc000);
  const Folder folder;
  auto tensor = read_tensor_pb(folder.write("t.pb", proto.SerializeAsString()));
  REQUIRE(tensor.has_value());
  CHECK(ops::get_double(*tensor, 0) == 1);
  CHECK(ops::get_double(*tensor, 1) == -2);
  proto.add_dims(5);
  CHECK_FALSE(read_tensor_pb(folder.write("t.pb", proto.SerializeAsString())).has_value());
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
