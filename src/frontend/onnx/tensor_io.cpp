#include "fusewright/frontend/onnx/tensor_io.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <map>

#include "src/frontend/onnx/narrow.hpp"
#include "src/frontend/onnx/proto.hpp"

namespace fusewright::frontend_onnx {

using ::onnx::TensorProto;
using ops::DType;
using ops::Tensor;

std::string element_type_name(std::int64_t type) {
  static constexpr const char* kNames[] = {
      "undefined", "float",      "uint8",      "int8",         "uint16",         "int16",      "int32",
      "int64",     "string",     "bool",       "float16",      "double",         "uint32",     "uint64",
      "complex64", "complex128", "bfloat16",   "float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz",
      "uint4",     "int4",       "float4e2m1", "float8e8m0",   "uint2",          "int2"};
  if (type >= 0 && type < static_cast<std::int64_t>(std::size(kNames))) return kNames[type];
  return "number " + std::to_string(type);
}

DType dtype_of(std::int64_t element_type) {
  switch (element_type) {
    case TensorProto::FLOAT: return DType::kF32;
    case TensorProto::UINT8: return DType::kU8;
    case TensorProto::INT8: return DType::kS8;
    case TensorProto::UINT16: return DType::kU16;
    case TensorProto::INT16: return DType::kS16;
    case TensorProto::INT32: return DType::kS32;
    case TensorProto::INT64: return DType::kS64;
    case TensorProto::BOOL: return DType::kPred;
    case TensorProto::FLOAT16: return DType::kF16;
    case TensorProto::DOUBLE: return DType::kF64;
    case TensorProto::UINT32: return DType::kU32;
    case TensorProto::UINT64: return DType::kU64;
    case TensorProto::BFLOAT16: return DType::kBF16;
    default: break;
  }
  if (const NarrowType* narrow = find_narrow(element_type)) return narrow->carrier;
  unsupported("element type " + element_type_name(element_type) + " is not supported");
}

ops::Type type_of(const TensorProto& proto) {
  ops::Shape shape;
  for (const std::int64_t dim : proto.dims()) {
    if (dim < 0) refuse("tensor '" + proto.name() + "' has the negative dim " + std::to_string(dim));
    shape.emplace_back(dim);
  }
  if (auto count = ops::element_count(shape); !count)
    throw Failure{with_context(std::move(count).error(), "tensor '" + proto.name() + "'")};
  return ops::Type::tensor(dtype_of(proto.data_type()), std::move(shape));
}

namespace {

void expect_count(std::int64_t found, std::int64_t wanted, const char* field) {
  if (found == wanted) return;
  refuse(std::string(field) + " holds " + std::to_string(found) + " elements where the shape needs " +
         std::to_string(wanted));
}

std::int64_t to_number(const std::string& text, const char* key) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) {
    refuse("external data has the " + std::string(key) + " '" + text + "', which is not a number of bytes");
  }
  return value;
}

// The file of external data. It must lie in the model's folder after all links are resolved: a model from elsewhere
// must not be able to read other files of the machine.
std::string external_path(const std::string& location, const std::string& folder) {
  namespace fs = std::filesystem;
  if (folder.empty()) refuse("external data is not allowed here");
  const fs::path relative(location);
  if (location.empty()) refuse("external data names no location");
  if (relative.is_absolute()) refuse("external data '" + location + "' has an absolute path");
  for (const fs::path& part : relative) {
    if (part == "..") refuse("external data '" + location + "' leads out of the model's folder");
  }
  std::error_code error;
  const fs::path root = fs::canonical(folder, error);
  if (error) refuse("cannot open the model's folder '" + folder + "': " + error.message());
  const fs::path file = fs::canonical(root / relative, error);
  if (error) refuse("cannot open external data '" + location + "': " + error.message());
  const auto [root_end, rest] = std::mismatch(root.begin(), root.end(), file.begin(), file.end());
  if (root_end != root.end()) refuse("external data '" + location + "' is a link that leads out of the model's folder");
  if (!fs::is_regular_file(file, error)) refuse("external data '" + location + "' is not a regular file");
  return file.string();
}

void take_external(const TensorProto& proto, const std::string& folder, Tensor& tensor) {
  std::map<std::string, std::string> entries;
  for (const auto& entry : proto.external_data()) entries[entry.key()] = entry.value();
  const std::string path = external_path(entries["location"], folder);
  const std::int64_t wanted = ops::byte_size(tensor.type());
  const std::int64_t offset = entries.contains("offset") ? to_number(entries["offset"], "offset") : 0;
  const std::int64_t length = entries.contains("length") ? to_number(entries["length"], "length") : wanted;
  if (length != wanted) {
    refuse("external data has " + std::to_string(length) + " bytes where the shape needs " + std::to_string(wanted));
  }
  const auto storage = unwrap(ops::map_file(path));
  const auto size = static_cast<std::int64_t>(storage->size());
  if (offset > size || length > size - offset) {
    refuse("external data '" + entries["location"] + "' has " + std::to_string(size) +
           " bytes, but the tensor lies at " + std::to_string(offset) + " to " + std::to_string(offset + length));
  }
  if (offset % ops::byte_width(tensor.dtype) == 0) {
    tensor.storage = storage;
    tensor.offset = static_cast<std::size_t>(offset);
    return;
  }
  tensor.storage = unwrap(ops::allocate_storage(static_cast<std::size_t>(length)));
  std::memcpy(tensor.mutable_data(), storage->data() + offset, static_cast<std::size_t>(length));
}

// The typed fields: small types travel in int32_data, 32-bit ones unsigned in uint64_data, half floats as bits.
template <class Field>
void copy_ints(const Field& field, const char* name, Tensor& tensor) {
  expect_count(field.size(), tensor.elements(), name);
  for (int i = 0; i < field.size(); ++i) ops::set_int(tensor, i, static_cast<std::int64_t>(field[i]));
}
template <class Field>
void copy_doubles(const Field& field, const char* name, Tensor& tensor) {
  expect_count(field.size(), tensor.elements(), name);
  for (int i = 0; i < field.size(); ++i) ops::set_double(tensor, i, field[i]);
}
void copy_bits(const TensorProto& proto, Tensor& tensor) {
  expect_count(proto.int32_data_size(), tensor.elements(), "int32_data");
  auto bits = tensor.mutable_as<std::uint16_t>();
  for (int i = 0; i < proto.int32_data_size(); ++i) bits[i] = static_cast<std::uint16_t>(proto.int32_data(i));
}

void take_typed(const TensorProto& proto, Tensor& tensor) {
  switch (tensor.dtype) {
    case DType::kF32: return copy_doubles(proto.float_data(), "float_data", tensor);
    case DType::kF64: return copy_doubles(proto.double_data(), "double_data", tensor);
    case DType::kS64: return copy_ints(proto.int64_data(), "int64_data", tensor);
    case DType::kU32:
    case DType::kU64: return copy_ints(proto.uint64_data(), "uint64_data", tensor);
    case DType::kF16:
    case DType::kBF16: return copy_bits(proto, tensor);
    case DType::kPred:
    case DType::kS8:
    case DType::kS16:
    case DType::kS32:
    case DType::kU8:
    case DType::kU16: return copy_ints(proto.int32_data(), "int32_data", tensor);
    case DType::kS4:
    case DType::kU4:
    case DType::kF8E4M3FN:
    case DType::kF8E5M2:
    case DType::kC64:
    case DType::kC128: break;
  }
  unsupported("element type " + std::string(ops::name(tensor.dtype)) + " is not supported");
}

// Packed elements: each of raw_data's bytes, or of the external file's, or one byte in each of int32_data.
Tensor take_narrow(TensorProto& proto, const NarrowType& narrow, const ops::Type& type, const std::string& folder) {
  Tensor packed;
  packed.dtype = DType::kU8;
  packed.dims = {(ops::byte_size(type) / ops::byte_width(type.dtype) * narrow.bits + 7) / 8};
  const std::int64_t bytes = packed.dims[0];
  if (proto.data_location() == TensorProto::EXTERNAL) {
    take_external(proto, folder, packed);
  } else if (proto.has_raw_data()) {
    expect_count(static_cast<std::int64_t>(proto.raw_data().size()), bytes, "raw_data");
    packed.storage = unwrap(ops::allocate_storage(static_cast<std::size_t>(bytes)));
    if (bytes != 0) std::memcpy(packed.mutable_data(), proto.raw_data().data(), static_cast<std::size_t>(bytes));
  } else {
    expect_count(proto.int32_data_size(), bytes, "int32_data");
    packed.storage = unwrap(ops::allocate_storage(static_cast<std::size_t>(bytes)));
    copy_ints(proto.int32_data(), "int32_data", packed);
  }
  Tensor tensor = unwrap(ops::make_tensor(type.dtype, ops::static_dims(type.shape)));
  unpack(narrow, packed.as<std::uint8_t>(), tensor);
  return tensor;
}

}  // namespace

Tensor take_tensor(TensorProto& proto, const std::string& folder) {
  const ops::Type type = type_of(proto);
  if (proto.has_segment()) unsupported("tensors in segments are not supported");
  if (const NarrowType* narrow = find_narrow(proto.data_type())) return take_narrow(proto, *narrow, type, folder);
  Tensor tensor;
  tensor.dtype = type.dtype;
  tensor.dims = ops::static_dims(type.shape);
  if (proto.data_location() == TensorProto::EXTERNAL) {
    take_external(proto, folder, tensor);
    return tensor;
  }
  const auto bytes = static_cast<std::size_t>(ops::byte_size(type));
  if (proto.has_raw_data()) {
    if (proto.raw_data().size() != bytes) {
      refuse("raw_data holds " + std::to_string(proto.raw_data().size()) + " bytes where " + ops::to_string(type) +
             " needs " + std::to_string(bytes));
    }
    // One move into an aligned buffer: kernels read whole vectors, and the message's bytes are freed at once.
    tensor.storage = unwrap(ops::allocate_storage(bytes));
    if (bytes != 0) std::memcpy(tensor.mutable_data(), proto.raw_data().data(), bytes);
    std::string().swap(*proto.mutable_raw_data());
    if (tensor.dtype == DType::kPred) {
      for (auto& flag : tensor.mutable_as<std::uint8_t>()) flag = flag != 0;
    }
    return tensor;
  }
  // The number of elements in the message bounds the allocation, whatever the dims claim.
  const std::int64_t present = std::int64_t{proto.float_data_size()} + proto.double_data_size() +
                               proto.int32_data_size() + proto.int64_data_size() + proto.uint64_data_size();
  expect_count(present, tensor.elements(), "the tensor");
  tensor.storage = unwrap(ops::allocate_storage(bytes));
  take_typed(proto, tensor);
  return tensor;
}

Result<Tensor> read_tensor_pb(const std::string& path) {
  try {
    TensorProto proto;
    parse_file(path, proto);
    return take_tensor(proto, "");
  } catch (const Failure& failure) {
    const auto source = std::make_shared<SourceText>(SourceText{path, ""});
    // Another kind of value can be read as a tensor, but makes none.
    Error error = with_context(
        failure.error, "cannot read a tensor (a sequence, an optional or a map is not supported)", {source, 0, 0});
    if (error.kind == ErrorKind::kResource) error.kind = ErrorKind::kInput;
    return std::unexpected(std::move(error));
  }
}

}  // namespace fusewright::frontend_onnx
