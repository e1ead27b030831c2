#include "src/frontend/onnx/proto.hpp"

#include <filesystem>

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

namespace fusewright::frontend_onnx {

void refuse(std::string message) { throw Failure{fail(ErrorKind::kInput, std::move(message)).error()}; }
void unsupported(std::string message) { throw Failure{fail(ErrorKind::kUnsupported, std::move(message)).error()}; }

namespace {

// Protobuf writes its own complaints to stderr; the one diagnostic that the user gets is ours.
struct QuietProtobuf {
  google::protobuf::LogHandler* previous = google::protobuf::SetLogHandler(nullptr);
  ~QuietProtobuf() { google::protobuf::SetLogHandler(previous); }
};

constexpr std::size_t kLargestMessage = (std::size_t{1} << 31) - 1;  // protobuf's own limit

}  // namespace

void parse_file(const std::string& path, google::protobuf::Message& message) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) refuse("is a folder, not a file");
  const auto storage = unwrap(ops::map_file(path));
  if (storage->size() == 0) refuse("the file is empty");
  if (storage->size() > kLargestMessage) {
    refuse("the file has " + std::to_string(storage->size()) + " bytes; protobuf ends at 2 GiB (use external data)");
  }
  const QuietProtobuf quiet;
  google::protobuf::io::ArrayInputStream array(storage->data(), static_cast<int>(storage->size()));
  google::protobuf::io::CodedInputStream coded(&array);
  coded.SetRecursionLimit(200);
  if (!message.ParseFromCodedStream(&coded) || !coded.ConsumedEntireMessage()) {
    refuse("not a valid ONNX file: the protobuf data is broken or ends too early, near byte " +
           std::to_string(coded.CurrentPosition()) + " of " + std::to_string(storage->size()));
  }
}

ModelFile read_model(const std::string& path) {
  ModelFile file;
  file.path = path;
  file.folder = std::filesystem::path(path).parent_path().string();
  if (file.folder.empty()) file.folder = ".";
  parse_file(path, file.model);
  if (!file.model.has_graph()) refuse("not an ONNX model: the file holds no graph");
  if (file.model.ir_version() < 1) refuse("not an ONNX model: it states no IR version");
  return file;
}

}  // namespace fusewright::frontend_onnx
