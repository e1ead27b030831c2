#include <catch2/catch.hpp>

#include "fusewright/frontend/onnx/tensor_io.hpp"
#include "fusewright/interpret/evaluate.hpp"
#include "tests/frontend_onnx/model.hpp"
#include "tests/main/paths.hpp"

namespace fusewright::frontend_onnx {

using Catch::Matchers::Contains;

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

TEST_CASE("a length of integers is an integer", "[onnx]") {
  Model model(13);
  model.ints("x", {3, 4, -5}).output("y").node("ReduceL2", {"x"}, {"y"});
  const auto graph = load(model);
  INFO(error_of(graph));
  REQUIRE(graph.has_value());
  const auto results = interpret::evaluate(*graph, {});
  REQUIRE(results.has_value());
  CHECK((*results)[0].dtype == ops::DType::kS64);
  CHECK(ops::get_int((*results)[0], 0) == 7);  // of 7.07
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

}  // namespace fusewright::frontend_onnx
