#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <random>

#include <google/protobuf/text_format.h>
#include <onnx/onnx_pb.h>

#include "fusewright/frontend/onnx/import.hpp"
#include "tests/frontend_onnx/table.hpp"

namespace fusewright::frontend_onnx {
namespace {

namespace fs = std::filesystem;
namespace pb = google::protobuf;

const char* const kSamples[] = {
    R"(ir_version: 8 opset_import { version: 17 } graph { name: "convolutions"
  input { name: "x" type { tensor_type { elem_type: 1 shape { dim { dim_value: 1 } dim { dim_value: 3 } dim { dim_value: 8 } dim { dim_param: "w" } } } } }
  output { name: "y" type { tensor_type { elem_type: 1 } } }
  initializer { name: "k" dims: 2 dims: 3 dims: 1 dims: 1 data_type: 1 float_data: [1, 2, 3, 4, 5, 6] }
  initializer { name: "s" dims: 2 data_type: 7 int64_data: [1, -1] }
  node { op_type: "Conv" input: ["x", "k"] output: "c" attribute { name: "strides" type: INTS ints: [2, 2] } attribute { name: "pads" type: INTS ints: [0, 0, 1, 1] } attribute { name: "group" type: INT i: 1 } }
  node { op_type: "Relu" input: "c" output: "r" }
  node { op_type: "MaxPool" input: "r" output: "m" attribute { name: "kernel_shape" type: INTS ints: [2, 2] } attribute { name: "ceil_mode" type: INT i: 1 } }
  node { op_type: "Pad" input: ["m", "p"] output: "q" attribute { name: "mode" type: STRING s: "reflect" } }
  initializer { name: "p" dims: 8 data_type: 7 int64_data: [0, 0, 1, 1, 0, 0, 1, 1] }
  node { op_type: "Reshape" input: ["q", "s"] output: "f" }
  node { op_type: "Softmax" input: "f" output: "y" attribute { name: "axis" type: INT i: -1 } }
})",
    R"(ir_version: 7 opset_import { version: 13 } graph { name: "shapes"
  input { name: "x" type { tensor_type { elem_type: 1 shape { dim { dim_value: 4 } dim { dim_value: 6 } } } } }
  input { name: "i" type { tensor_type { elem_type: 7 shape { dim { dim_value: 3 } } } } }
  output { name: "y" } output { name: "z" } output { name: "l" }
  initializer { name: "two" dims: 1 data_type: 7 raw_data: "\002\000\000\000\000\000\000\000" }
  node { op_type: "Shape" input: "x" output: "s" }
  node { op_type: "Gather" input: ["s", "one"] output: "n" attribute { name: "axis" type: INT i: 0 } }
  node { op_type: "Constant" output: "one" attribute { name: "value" type: TENSOR t { dims: 1 data_type: 7 int64_data: 1 } } }
  node { op_type: "Concat" input: ["two", "n", "two"] output: "t" attribute { name: "axis" type: INT i: 0 } }
  node { op_type: "Reshape" input: ["x", "t"] output: "r" }
  node { op_type: "Slice" input: ["r", "one", "n", "one"] output: "v" }
  node { op_type: "Tile" input: ["v", "t"] output: "y" }
  node { op_type: "Split" input: "x" output: ["a", "b"] attribute { name: "axis" type: INT i: 1 } }
  node { op_type: "Einsum" input: ["a", "b"] output: "e" attribute { name: "equation" type: STRING s: "ij,kj->ik" } }
  node { op_type: "GatherElements" input: ["e", "g"] output: "z" attribute { name: "axis" type: INT i: 1 } }
  node { op_type: "ConstantOfShape" input: "t2" output: "g" attribute { name: "value" type: TENSOR t { dims: 1 data_type: 7 int64_data: 2 } } }
  initializer { name: "t2" dims: 2 data_type: 7 int64_data: [4, 2] }
  node { op_type: "OneHot" input: ["i", "depth", "values"] output: "h" attribute { name: "axis" type: INT i: -1 } }
  initializer { name: "depth" data_type: 7 int64_data: 5 }
  initializer { name: "values" dims: 2 data_type: 1 float_data: [0, 1] }
  node { op_type: "Resize" input: ["e4", "", "scales"] output: "l" attribute { name: "mode" type: STRING s: "linear" } }
  initializer { name: "scales" dims: 4 data_type: 1 float_data: [1, 1, 2, 0.5] }
  node { op_type: "Unsqueeze" input: ["e", "axes"] output: "e4" }
  initializer { name: "axes" dims: 2 data_type: 7 int64_data: [0, -1] }
})",
    R"(ir_version: 8 opset_import { version: 17 } graph { name: "control"
  input { name: "x" type { tensor_type { elem_type: 1 shape { dim { dim_value: 3 } dim { dim_value: 4 } } } } }
  output { name: "y" } output { name: "o" }
  initializer { name: "trips" data_type: 7 int64_data: 3 }
  initializer { name: "yes" data_type: 9 int32_data: 1 }
  node { op_type: "Loop" input: ["trips", "yes", "x"] output: ["last", "all"] attribute { name: "body" type: GRAPH g { name: "b"
    input { name: "it" type { tensor_type { elem_type: 7 shape { } } } } input { name: "go" type { tensor_type { elem_type: 9 shape { } } } } input { name: "v" }
    output { name: "go2" } output { name: "d" } output { name: "d2" }
    node { op_type: "Identity" input: "go" output: "go2" } node { op_type: "Add" input: ["v", "x"] output: "d" } node { op_type: "Neg" input: "d" output: "d2" } } } }
  node { op_type: "If" input: "yes" output: "y" attribute { name: "then_branch" type: GRAPH g { name: "t" output: { name: "last" } } }
    attribute { name: "else_branch" type: GRAPH g { name: "e" output { name: "n" } node { op_type: "Neg" input: "x" output: "n" } } } }
  node { op_type: "LayerNormalization" input: ["x", "w"] output: "o" attribute { name: "axis" type: INT i: -1 } attribute { name: "epsilon" type: FLOAT f: 1e-5 } }
  initializer { name: "w" dims: 4 data_type: 1 data_location: EXTERNAL external_data { key: "location" value: "data.bin" } external_data { key: "offset" value: "4" } external_data { key: "length" value: "16" } }
})"};

/// Changes one field somewhere in a message: numbers to unpleasant ones, names to other names, entries of lists gone,
/// doubled or exchanged.
class Mutator {
 public:
  explicit Mutator(std::uint32_t seed) : rng_(seed) {}
  std::size_t below(std::size_t n) { return rng_() % n; }

  void operator()(pb::Message& message) {
    std::vector<pb::Message*> all;
    collect(message, all);
    for (std::size_t tries = 0; tries < 20; ++tries) {
      pb::Message& chosen = *all[below(all.size())];
      std::vector<const pb::FieldDescriptor*> fields;
      chosen.GetReflection()->ListFields(chosen, &fields);
      if (fields.empty()) continue;
      change(chosen, *fields[below(fields.size())]);
      return;
    }
  }

 private:
  void collect(pb::Message& message, std::vector<pb::Message*>& into) {
    into.push_back(&message);
    const pb::Reflection& r = *message.GetReflection();
    std::vector<const pb::FieldDescriptor*> fields;
    r.ListFields(message, &fields);
    for (const auto* field : fields) {
      if (field->type() == pb::FieldDescriptor::TYPE_STRING || field->type() == pb::FieldDescriptor::TYPE_BYTES) {
        if (!field->is_repeated()) names_.push_back(r.GetString(message, field));
        for (int i = 0; field->is_repeated() && i < r.FieldSize(message, field); ++i)
          names_.push_back(r.GetRepeatedString(message, field, i));
      }
      if (field->cpp_type() != pb::FieldDescriptor::CPPTYPE_MESSAGE) continue;
      if (!field->is_repeated()) collect(*r.MutableMessage(&message, field), into);
      for (int i = 0; field->is_repeated() && i < r.FieldSize(message, field); ++i)
        collect(*r.MutableRepeatedMessage(&message, field, i), into);
    }
  }

  std::int64_t number() {
    constexpr std::int64_t kUnpleasant[] = {
        -1, 0, 1, 2, 3, 7, -2, 16, 100, 65536, std::int64_t{1} << 31, -4096, INT64_MAX, INT64_MIN, 10, 11, 13, 9, 5, 4};
    return kUnpleasant[below(std::size(kUnpleasant))];
  }
  std::string name() {
    const std::string odd[] = {"",     "../../etc/passwd", "/etc/passwd", "-1", "99999999999999999999",
                               "a\0b", "\xff\x1b[2J"};
    return below(4) == 0 ? odd[below(std::size(odd))] : names_[below(names_.size())];
  }

  void change(pb::Message& message, const pb::FieldDescriptor& field) {
    const pb::Reflection& r = *message.GetReflection();
    const int size = field.is_repeated() ? r.FieldSize(message, &field) : 0;
    if (field.is_repeated() && below(2) == 0) {
      const int at = static_cast<int>(below(static_cast<std::size_t>(size)));
      r.SwapElements(&message, &field, at, size - 1);
      if (below(2) == 0) r.RemoveLast(&message, &field);
      return;
    }
    const int at = size == 0 ? 0 : static_cast<int>(below(static_cast<std::size_t>(size)));
    switch (field.cpp_type()) {
      case pb::FieldDescriptor::CPPTYPE_INT64:
        set(message, field, at, &pb::Reflection::SetInt64, &pb::Reflection::SetRepeatedInt64, number());
        break;
      case pb::FieldDescriptor::CPPTYPE_INT32:
        set(message, field, at, &pb::Reflection::SetInt32, &pb::Reflection::SetRepeatedInt32,
            static_cast<std::int32_t>(number()));
        break;
      case pb::FieldDescriptor::CPPTYPE_FLOAT:
        set(message, field, at, &pb::Reflection::SetFloat, &pb::Reflection::SetRepeatedFloat,
            static_cast<float>(number()) / 3);
        break;
      case pb::FieldDescriptor::CPPTYPE_ENUM:
        set(message, field, at, &pb::Reflection::SetEnumValue, &pb::Reflection::SetRepeatedEnumValue,
            static_cast<int>(below(15)));
        break;
      case pb::FieldDescriptor::CPPTYPE_STRING:
        if (field.is_repeated())
          r.SetRepeatedString(&message, &field, at, name());
        else
          r.SetString(&message, &field, name());
        break;
      default: r.ClearField(&message, &field);
    }
  }

  template <class Set, class SetRepeated, class T>
  void set(pb::Message& message, const pb::FieldDescriptor& field, int at, Set one, SetRepeated repeated, T value) {
    const pb::Reflection& r = *message.GetReflection();
    if (field.is_repeated())
      (r.*repeated)(&message, &field, at, value);
    else
      (r.*one)(&message, &field, value);
  }

  std::mt19937 rng_;
  std::vector<std::string> names_;
};

}  // namespace

TEST_CASE("a model that is nearly right is a graph that holds together, or one error with its place", "[onnx]") {
  std::string folder = (fs::temp_directory_path() / "fusewright_onnx_XXXXXX").string();
  REQUIRE(mkdtemp(folder.data()) != nullptr);
  const std::string path = folder + "/m.onnx";
  std::ofstream(folder + "/data.bin", std::ios::binary) << std::string(32, '\0');
  ImportOptions options;
  options.dims["*"] = 8;
  const auto load = [&](const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
    return import_onnx(path, test_table(), options);
  };

  std::vector<::onnx::ModelProto> samples;
  for (const char* text : kSamples) {
    REQUIRE(pb::TextFormat::ParseFromString(text, &samples.emplace_back()));
    const auto graph = load(samples.back().SerializeAsString());
    if (!graph) FAIL(print_error(graph.error()));
  }
  Mutator mutate(22);
  int imported = 0;
  for (int i = 0; i < 3000; ++i) {
    ::onnx::ModelProto model = samples[mutate.below(samples.size())];
    for (std::size_t changes = 1 + mutate.below(2); changes > 0; --changes) mutate(model);
    std::string bytes = model.SerializeAsString();
    if (mutate.below(8) == 0) bytes.resize(mutate.below(bytes.size() + 1));
    if (mutate.below(8) == 0 && !bytes.empty())
      bytes[mutate.below(bytes.size())] ^= static_cast<char>(1 << mutate.below(8));
    const auto graph = load(bytes);
    INFO("model " << i << ":\n" << model.DebugString());
    if (graph) {
      const Status status = graph::verify(*graph);
      if (!status) FAIL(print_error(status.error()));
      ++imported;
    } else if (graph.error().diagnostics.size() != 1 || !graph.error().diagnostics[0].span.valid() ||
               graph.error().kind == ErrorKind::kCheckFailed) {
      FAIL(print_error(graph.error()));
    }
  }
  CHECK(imported > 100);
  fs::remove_all(folder);
}

}  // namespace fusewright::frontend_onnx
