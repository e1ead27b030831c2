#pragma once

#include <string>

#include "fusewright/ops/tensor.hpp"

namespace fusewright::frontend_onnx {

/// Reads a serialised TensorProto (`input_0.pb` of a test data set).
/// Errors: a missing or broken file, sizes that do not agree, element types that are not supported (by name).
Result<ops::Tensor> read_tensor_pb(const std::string& path);

}  // namespace fusewright::frontend_onnx
