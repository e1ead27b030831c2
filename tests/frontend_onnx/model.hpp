#pragma once

// ONNX models written by tests.

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include <onnx/onnx_pb.h>

#include "fusewright/frontend/onnx/import.hpp"
#include "tests/frontend_onnx/table.hpp"

namespace fusewright::frontend_onnx {

namespace fs = std::filesystem;
using ::onnx::ModelProto;
using ::onnx::TensorProto;

/// A folder of its own for each test, removed at its end.
struct Folder {
  fs::path path;
  Folder() {
    std::string name = (fs::temp_directory_path() / "fusewright_onnx_XXXXXX").string();
    path = mkdtemp(name.data());
  }
  ~Folder() { fs::remove_all(path); }
  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path / name, std::ios::binary) << bytes;
    return (path / name).string();
  }
};

struct Model {
  ModelProto proto;
  Model(std::int64_t opset = 17, std::int64_t ir = 8) {
    proto.set_ir_version(ir);
    proto.add_opset_import()->set_version(opset);
    proto.mutable_graph()->set_name("g");
  }
  Model& input(const std::string& name, const std::vector<std::string>& dims, int type = TensorProto::FLOAT) {
    auto* input = proto.mutable_graph()->add_input();
    input->set_name(name);
    auto* tensor = input->mutable_type()->mutable_tensor_type();
    tensor->set_elem_type(type);
    tensor->mutable_shape();
    for (const std::string& dim : dims) {
      auto* added = tensor->mutable_shape()->add_dim();
      if (dim.find_first_not_of("-0123456789") == std::string::npos && !dim.empty())
        added->set_dim_value(std::stoll(dim));
      else if (dim != "none")
        added->set_dim_param(dim);
    }
    return *this;
  }
  Model& output(const std::string& name) {
    proto.mutable_graph()->add_output()->set_name(name);
    return *this;
  }
  ::onnx::NodeProto& node(const std::string& type, const std::vector<std::string>& inputs,
                          const std::vector<std::string>& outputs) {
    auto* node = proto.mutable_graph()->add_node();
    node->set_op_type(type);
    node->set_name("the_" + type);
    for (const auto& name : inputs) node->add_input(name);
    for (const auto& name : outputs) node->add_output(name);
    return *node;
  }
  TensorProto& initializer(const std::string& name, const std::vector<std::int64_t>& dims,
                           int type = TensorProto::FLOAT) {
    auto* tensor = proto.mutable_graph()->add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(type);
    for (const auto dim : dims) tensor->add_dims(dim);
    return *tensor;
  }
  Model& floats(const std::string& name, const std::vector<float>& values) {
    auto& tensor = initializer(name, {static_cast<std::int64_t>(values.size())});
    for (const float value : values) tensor.add_float_data(value);
    return *this;
  }
  Model& ints(const std::string& name, const std::vector<std::int64_t>& values) {
    auto& tensor = initializer(name, {static_cast<std::int64_t>(values.size())}, TensorProto::INT64);
    for (const auto value : values) tensor.add_int64_data(value);
    return *this;
  }
};
inline void set_attr(::onnx::NodeProto& node, const std::string& name, std::int64_t value) {
  auto* attribute = node.add_attribute();
  attribute->set_name(name);
  attribute->set_type(::onnx::AttributeProto::INT);
  attribute->set_i(value);
}

inline Result<graph::Graph> load(const Model& model, const ImportOptions& options = {}) {
  const Folder folder;
  return import_onnx(folder.write("m.onnx", model.proto.SerializeAsString()), test_table(), options);
}
inline Model relu_of(const std::vector<std::string>& dims) {
  Model model;
  model.input("x", dims).output("y").node("Relu", {"x"}, {"y"});
  return model;
}
inline std::multiset<std::string> operators_of(const graph::Graph& graph) {
  std::multiset<std::string> names;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) names.insert(graph.info(graph::NodeId(i)).name);
  return names;
}
inline std::string error_of(const Result<graph::Graph>& graph) {
  return graph ? "(no error)" : print_error(graph.error());
}
inline std::string error_of(const Model& model, const ImportOptions& options = {}) {
  return error_of(load(model, options));
}

}  // namespace fusewright::frontend_onnx
