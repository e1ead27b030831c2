#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/lsp/transport.hpp"

namespace fusewright::lsp {

/// A place as the protocol counts it: lines from 0, and UTF-16 units from the start of the line.
struct Position {
  std::size_t line = 0, character = 0;
};

/// Bytes of a text as places and back. A byte that is no UTF-8 counts as one unit.
class Lines {
 public:
  explicit Lines(std::string_view text);

  Position position(std::size_t offset) const;
  /// A place behind the end of its line is the end of the line; behind the last line, that of the text.
  std::size_t offset(Position position) const;
  Json range(std::size_t begin, std::size_t end) const;

 private:
  std::string_view text_;
  std::vector<std::size_t> starts_;  ///< of lines
};

/// Throws Json::exception where it is no place.
Position position_of(const Json& json);

/// The text with one change of `didChange` made: of a range, or of all of it.
std::string with_change(const std::string& text, const Json& change);

/// Of `file:` URIs; nothing for others.
std::optional<std::string> path_of_uri(const std::string& uri);
std::string uri_of_path(const std::string& path);

}  // namespace fusewright::lsp
