#include <catch2/catch.hpp>

#include <cmath>

#include "fusewright/interpret/evaluate.hpp"
#include "fusewright/interpret/inputs.hpp"
#include "tests/frontend_onnx/model.hpp"

namespace fusewright::frontend_onnx {
namespace {

using Catch::Matchers::Contains;

::onnx::NodeProto& vendor_node(Model& model, const std::string& type, const std::vector<std::string>& inputs,
                               const std::vector<std::string>& outputs = {"y"}) {
  auto& node = model.node(type, inputs, outputs);
  node.set_domain("com.microsoft");
  return node;
}

void set_float(::onnx::NodeProto& node, const std::string& name, float value) {
  auto* attribute = node.add_attribute();
  attribute->set_name(name);
  attribute->set_type(::onnx::AttributeProto::FLOAT);
  attribute->set_f(value);
}
void set_text(::onnx::NodeProto& node, const std::string& name, const std::string& value) {
  auto* attribute = node.add_attribute();
  attribute->set_name(name);
  attribute->set_type(::onnx::AttributeProto::STRING);
  attribute->set_s(value);
}
void set_ints(::onnx::NodeProto& node, const std::string& name, const std::vector<std::int64_t>& values) {
  auto* attribute = node.add_attribute();
  attribute->set_name(name);
  attribute->set_type(::onnx::AttributeProto::INTS);
  for (const auto value : values) attribute->add_ints(value);
}

std::vector<double> results_of(const Model& model) {
  const auto graph = load(model);
  INFO(error_of(graph));
  REQUIRE(graph.has_value());
  std::vector<ops::Tensor> inputs;
  for (const graph::Port& port : graph->inputs) {
    auto tensor = interpret::random_weight(port.type, 3, inputs.size());
    REQUIRE(tensor.has_value());
    inputs.push_back(*std::move(tensor));
  }
  const auto results = interpret::evaluate(*graph, inputs);
  REQUIRE(results.has_value());
  std::vector<double> out;
  for (const ops::Tensor& result : *results)
    for (std::int64_t i = 0; i < result.elements(); ++i) out.push_back(ops::get_double(result, i));
  return out;
}

// Two ways of writing one thing, of the same inputs.
void check_equal(const Model& a, const Model& b) {
  const auto x = results_of(a), y = results_of(b);
  REQUIRE(x.size() == y.size());
  REQUIRE_FALSE(x.empty());
  for (std::size_t i = 0; i < x.size(); ++i) CHECK(x[i] == Approx(y[i]).margin(1e-6).epsilon(1e-5));
}

Model inputs(const std::vector<std::vector<std::string>>& shapes) {
  Model model;
  for (std::size_t i = 0; i < shapes.size(); ++i) model.input(std::string(1, static_cast<char>('a' + i)), shapes[i]);
  model.output("y");
  return model;
}

}  // namespace

TEST_CASE("fused products and convolutions are the standard ones and what stands around them", "[onnx]") {
  Model fused = inputs({{"3", "2", "4"}, {"2", "5", "4"}});
  auto& node = vendor_node(fused, "FusedMatMul", {"a", "b"});
  set_attr(node, "transBatchA", 1);
  set_attr(node, "transB", 1);
  set_float(node, "alpha", 0.5F);
  Model plain = inputs({{"3", "2", "4"}, {"2", "5", "4"}});
  set_ints(plain.node("Transpose", {"a"}, {"at"}), "perm", {1, 0, 2});
  set_ints(plain.node("Transpose", {"b"}, {"bt"}), "perm", {0, 2, 1});
  plain.floats("half", {0.5F}).node("MatMul", {"at", "bt"}, {"m"});
  plain.node("Mul", {"m", "half"}, {"y"});
  check_equal(fused, plain);

  const std::vector<std::vector<std::string>> shapes = {
      {"1", "3", "5", "5"}, {"4", "3", "3", "3"}, {"4"}, {"1", "4", "3", "3"}};
  Model conv = inputs(shapes);
  set_text(vendor_node(conv, "FusedConv", {"a", "b", "c", "d"}), "activation", "Relu");
  Model apart = inputs(shapes);
  apart.node("Conv", {"a", "b", "c"}, {"conv"});
  apart.node("Add", {"conv", "d"}, {"sum"});
  apart.node("Relu", {"sum"}, {"y"});
  check_equal(conv, apart);

  set_text(vendor_node(conv, "FusedConv", {"a", "b", "c", "d"}, {"z"}), "activation", "Fancy");
  CHECK_THAT(error_of(conv), Contains("activation 'Fancy' is not supported"));
}

TEST_CASE("a normalisation of a sum gives the sum as well", "[onnx]") {
  const std::vector<std::vector<std::string>> shapes = {{"2", "3", "8"}, {"2", "3", "8"}, {"8"}, {"8"}, {"8"}};
  Model fused = inputs(shapes);
  vendor_node(fused, "SkipLayerNormalization", {"a", "b", "c", "d", "e"}, {"y", "", "", "sum"});
  fused.output("sum");
  Model plain = inputs(shapes);
  plain.node("Add", {"a", "b"}, {"ab"});
  plain.node("Add", {"ab", "e"}, {"sum"});
  plain.node("LayerNormalization", {"sum", "c", "d"}, {"y"});
  plain.output("sum");
  check_equal(fused, plain);
}

TEST_CASE("a normalisation older than the standard one has the type of its scale, which may have unit axes in front",
          "[onnx]") {
  Model old(16);
  old.input("x", {"2", "3", "4"}, TensorProto::FLOAT16).input("s", {"1", "1", "4"}).output("y");
  old.node("LayerNormalization", {"x", "s"}, {"y"});
  const auto graph = load(old);
  INFO(error_of(graph));
  REQUIRE(graph.has_value());
  CHECK(ops::to_string(graph->outputs[0].type) == "f32[2,3,4]");
}

TEST_CASE("attention is three products, split into heads", "[onnx]") {
  const std::vector<std::vector<std::string>> shapes = {{"2", "3", "8"}, {"8", "24"}, {"24"}};
  Model fused = inputs(shapes);
  set_attr(vendor_node(fused, "Attention", {"a", "b", "c"}), "num_heads", 2);
  Model plain = inputs(shapes);
  plain.ints("parts", {8, 8, 8}).ints("heads", {2, 3, 2, 4}).ints("joined", {2, 3, 8}).floats("scale", {0.5F});
  plain.node("MatMul", {"a", "b"}, {"m"});
  plain.node("Add", {"m", "c"}, {"all"});
  set_attr(plain.node("Split", {"all", "parts"}, {"q", "k", "v"}), "axis", 2);
  for (const std::string name : {"q", "k", "v"}) {
    plain.node("Reshape", {name, "heads"}, {name + "1"});
    set_ints(plain.node("Transpose", {name + "1"}, {name + "2"}), "perm",
             name == "k" ? std::vector<std::int64_t>{0, 2, 3, 1} : std::vector<std::int64_t>{0, 2, 1, 3});
  }
  plain.node("MatMul", {"q2", "k2"}, {"scores"});
  plain.node("Mul", {"scores", "scale"}, {"scaled"});
  set_attr(plain.node("Softmax", {"scaled"}, {"weights"}), "axis", -1);
  plain.node("MatMul", {"weights", "v2"}, {"out"});
  set_ints(plain.node("Transpose", {"out"}, {"out1"}), "perm", {0, 2, 1, 3});
  plain.node("Reshape", {"out1", "joined"}, {"y"});
  check_equal(fused, plain);

  auto& node = vendor_node(fused, "Attention", {"a", "b", "c"}, {"z"});
  set_attr(node, "num_heads", 3);
  CHECK_THAT(error_of(fused), Contains("its heads do not divide"));
}

TEST_CASE("heads that share keys and values are those with the keys and values repeated", "[onnx]") {
  const std::vector<std::vector<std::string>> shapes = {{"1", "3", "8"}, {"1", "3", "4"}, {"1", "3", "4"}};
  Model grouped = inputs(shapes);
  grouped.initializer("last", {1}, TensorProto::INT32).add_int32_data(2);
  grouped.initializer("total", {}, TensorProto::INT32).add_int32_data(3);
  auto& node = vendor_node(grouped, "GroupQueryAttention", {"a", "b", "c", "", "", "last", "total"});
  set_attr(node, "num_heads", 4);
  set_attr(node, "kv_num_heads", 2);
  Model repeated = inputs(shapes);
  repeated.ints("apart", {1, 3, 2, 1, 2}).ints("wide", {1, 3, 2, 2, 2}).ints("flat", {1, 3, 8});
  for (const std::string name : {"b", "c"}) {
    repeated.node("Reshape", {name, "apart"}, {name + "1"});
    repeated.node("Expand", {name + "1", "wide"}, {name + "2"});
    repeated.node("Reshape", {name + "2", "flat"}, {name + "3"});
  }
  auto& plain = vendor_node(repeated, "MultiHeadAttention", {"a", "b3", "c3"});
  set_attr(plain, "num_heads", 4);
  set_attr(plain, "unidirectional", 1);
  check_equal(grouped, repeated);
  set_attr(vendor_node(grouped, "GroupQueryAttention", {"a", "b", "c", "", "", "last", "total"}, {"z"}), "num_heads",
           3);
  CHECK_THAT(error_of(grouped), Contains("kv_num_heads"));
}

TEST_CASE("a token behind its cache sees what it would have seen in one prompt", "[onnx]") {
  const std::vector<std::vector<std::string>> shapes = {
      {"2", "3", "8"}, {"2", "3", "4"}, {"2", "3", "4"}, {"8", "1"}, {"8", "1"}};
  const auto attend = [](Model& model, const std::vector<std::string>& operands,
                         const std::vector<std::string>& results, const std::string& last, std::int32_t total) {
    model.initializer(last + "total", {}, TensorProto::INT32).add_int32_data(total);
    auto& lengths = model.initializer(last, {2}, TensorProto::INT32);
    for (int b = 0; b < 2; ++b) lengths.add_int32_data(total - 1);
    std::vector<std::string> all = operands;
    for (const std::string& name : {last, last + "total", std::string("d"), std::string("e")}) all.push_back(name);
    auto& node = vendor_node(model, "GroupQueryAttention", all, results);
    set_attr(node, "num_heads", 4);
    set_attr(node, "kv_num_heads", 2);
    set_attr(node, "do_rotary", 1);
  };
  const auto slice = [](Model& model, const std::string& from, const std::string& to, const std::string& name) {
    model.node("Slice", {name, from, to, "axis"}, {name + from});
  };
  Model prompt = inputs(shapes);
  prompt.ints("two", {2}).ints("three", {3}).ints("axis", {1});
  attend(prompt, {"a", "b", "c", "", ""}, {"all"}, "last", 3);
  prompt.node("Slice", {"all", "two", "three", "axis"}, {"y"});
  Model token = inputs(shapes);
  token.ints("zero", {0}).ints("two", {2}).ints("three", {3}).ints("axis", {1});
  for (const std::string name : {"a", "b", "c"}) {
    slice(token, "zero", "two", name);
    slice(token, "two", "three", name);
  }
  attend(token, {"azero", "bzero", "czero", "", ""}, {"first", "keys", "values"}, "before", 2);
  attend(token, {"atwo", "btwo", "ctwo", "keys", "values"}, {"y"}, "last", 3);
  check_equal(prompt, token);
}

TEST_CASE("a convolution whose channels stand last is one between two transposes", "[onnx]") {
  const std::vector<std::vector<std::string>> shapes = {{"1", "5", "6", "3"}, {"4", "3", "3", "3"}, {"4"}};
  Model fused = inputs(shapes);
  vendor_node(fused, "NhwcConv", {"a", "b", "c"});
  Model apart = inputs(shapes);
  set_ints(apart.node("Transpose", {"a"}, {"first"}), "perm", {0, 3, 1, 2});
  apart.node("Conv", {"first", "b", "c"}, {"conv"});
  set_ints(apart.node("Transpose", {"conv"}, {"y"}), "perm", {0, 2, 3, 1});
  check_equal(fused, apart);
}

TEST_CASE("whole numbers of several scales are put together in one", "[onnx]") {
  const auto parts = [] {
    Model model;
    model.input("a", {"2", "3"}, TensorProto::UINT8).input("b", {"2", "1"}, TensorProto::UINT8).output("y");
    for (const auto& [name, scale] : std::vector<std::pair<std::string, float>>{{"s", 0.5F}, {"sa", 0.25F}, {"sb", 2}})
      model.initializer(name, {}).add_float_data(scale);
    for (const auto& [name, zero] : std::vector<std::pair<std::string, int>>{{"z", 10}, {"za", 3}, {"zb", 128}})
      model.initializer(name, {}, TensorProto::UINT8).add_int32_data(zero);
    return model;
  };
  Model fused = parts();
  set_attr(vendor_node(fused, "QLinearConcat", {"s", "z", "a", "sa", "za", "b", "sb", "zb"}), "axis", 1);
  Model apart = parts();
  apart.node("DequantizeLinear", {"a", "sa", "za"}, {"x"});
  apart.node("DequantizeLinear", {"b", "sb", "zb"}, {"w"});
  set_attr(apart.node("Concat", {"x", "w"}, {"xw"}), "axis", 1);
  apart.node("QuantizeLinear", {"xw", "s", "z"}, {"y"});
  check_equal(fused, apart);
}

TEST_CASE("weights of four bits have their first number in the low half of a byte", "[onnx]") {
  Model model;
  model.input("x", {"1", "4"}).output("y");
  auto& weights = model.initializer("w", {1, 2, 1}, TensorProto::UINT8);
  for (const int byte : {0x21, 0x98}) weights.add_int32_data(byte);  // 1 2 | 8 9
  auto& scales = model.initializer("s", {2});
  for (const float scale : {2.0F, 10.0F}) scales.add_float_data(scale);
  auto& node = vendor_node(model, "MatMulNBits", {"x", "w", "s"});
  for (const auto& [name, value] :
       std::vector<std::pair<std::string, std::int64_t>>{{"K", 4}, {"N", 1}, {"bits", 4}, {"block_size", 2}})
    set_attr(node, name, value);
  const auto graph = load(model);
  INFO(error_of(graph));
  REQUIRE(graph.has_value());
  ops::Tensor x = *ops::make_tensor(ops::DType::kF32, {1, 4});
  for (int i = 0; i < 4; ++i)
    x.mutable_as<float>()[static_cast<std::size_t>(i)] = std::pow(100.0F, static_cast<float>(i));
  const auto results = interpret::evaluate(*graph, std::vector{x});
  REQUIRE(results.has_value());
  // The zero point is 8 where none is given: -7 and -6 times 2, 0 and 1 times 10.
  CHECK(ops::get_double((*results)[0], 0) == -14 - 1200 + 0 + 10'000'000);
}

}  // namespace fusewright::frontend_onnx
