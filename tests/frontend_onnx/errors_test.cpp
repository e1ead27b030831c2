#include <catch2/catch.hpp>

#include <limits>

#include "fusewright/frontend/onnx/tensor_io.hpp"
#include "fusewright/interpret/evaluate.hpp"
#include "tests/frontend_onnx/model.hpp"
#include "tests/main/paths.hpp"

namespace fusewright::frontend_onnx {

using Catch::Matchers::Contains;

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

}  // namespace fusewright::frontend_onnx
