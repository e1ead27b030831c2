#pragma once

// Reading of the protobuf messages, and the one exception of this room. It never leaves read_onnx, import_onnx and
// read_tensor_pb: handlers of 150 operators read as formulas when a failure in the middle of an expression just ends
// it.

#include <cstdint>
#include <string>
#include <vector>

#include <onnx/onnx_pb.h>

#include "fusewright/ops/tensor.hpp"
#include "fusewright/support/result.hpp"

namespace fusewright::frontend_onnx {

struct Failure {
  Error error;
};
[[noreturn]] void refuse(std::string message);       ///< the model is wrong
[[noreturn]] void unsupported(std::string message);  ///< the model is right, but we cannot take it

template <class T>
T unwrap(Result<T> result) {
  if (!result) throw Failure{std::move(result).error()};
  return *std::move(result);
}
inline void unwrap(Status status) {
  if (!status) throw Failure{std::move(status).error()};
}

/// A parsed model and where it came from.
struct ModelFile {
  std::string path;
  std::string folder;
  ::onnx::ModelProto model;
};
/// Parses a file into a message. Throws Failure.
void parse_file(const std::string& path, google::protobuf::Message& message);
ModelFile read_model(const std::string& path);

/// "float16", "string", ... for messages.
std::string element_type_name(std::int64_t type);
/// Of a type narrower than any dtype, the one that carries it (narrow.hpp). Throws Failure naming the type when it is
/// not supported.
ops::DType dtype_of(std::int64_t element_type);

/// The tensor's elements; `raw_data` is released from the message. External data is mapped from `folder`; an empty
/// `folder` forbids it. Throws Failure.
ops::Tensor take_tensor(::onnx::TensorProto& proto, const std::string& folder);
/// Type without reading the elements.
ops::Type type_of(const ::onnx::TensorProto& proto);

}  // namespace fusewright::frontend_onnx
