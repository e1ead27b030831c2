#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace fusewright::lsp {

using Json = nlohmann::json;

/// Messages with a header, as the protocol frames them. What is not framed as it should be is reported and passed over
/// up to the next header.
class Transport {
 public:
  Transport(int in, int out) : in_(in), out_(out) {}

  struct Incoming {
    std::string body;
    std::string problem;  ///< of the frame; then there is no body
  };
  /// The next message; nothing at the end of the input.
  std::optional<Incoming> read();
  /// Whether `read` would find something at once.
  bool ready() const;
  void write(const Json& message);

 private:
  bool fill();
  std::optional<std::string> line();

  int in_, out_;
  std::string buffer_;
  std::size_t at_ = 0;
};

}  // namespace fusewright::lsp
