#include "src/lsp/text.hpp"

#include <algorithm>
#include <filesystem>

namespace fusewright::lsp {

namespace {

/// Bytes and UTF-16 units of the letter at `at`.
struct Letter {
  std::size_t bytes = 1, units = 1;
};
Letter letter_at(std::string_view text, std::size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
  if (at + bytes > text.size()) return {};
  for (std::size_t i = 1; i < bytes; ++i)
    if ((static_cast<unsigned char>(text[at + i]) & 0xc0) != 0x80) return {};
  return {bytes, bytes == 4 ? std::size_t{2} : std::size_t{1}};
}

int hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

Lines::Lines(std::string_view text) : text_(text), starts_{0} {
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] == '\n' || (text[i] == '\r' && (i + 1 == text.size() || text[i + 1] != '\n'))) starts_.push_back(i + 1);
}

Position Lines::position(std::size_t offset) const {
  offset = std::min(offset, text_.size());
  const auto next = std::upper_bound(starts_.begin(), starts_.end(), offset);
  Position place{static_cast<std::size_t>(next - starts_.begin()) - 1, 0};
  for (std::size_t at = *(next - 1); at < offset;) {
    const Letter letter = letter_at(text_, at);
    at += letter.bytes;
    place.character += letter.units;
  }
  return place;
}

std::size_t Lines::offset(Position position) const {
  if (position.line >= starts_.size()) return text_.size();
  std::size_t at = starts_[position.line];
  std::size_t end = position.line + 1 < starts_.size() ? starts_[position.line + 1] : text_.size();
  while (end > at && position.line + 1 < starts_.size() && (text_[end - 1] == '\n' || text_[end - 1] == '\r')) --end;
  for (std::size_t units = 0; at < end;) {
    const Letter letter = letter_at(text_, at);
    units += letter.units;
    if (units > position.character) break;
    at += letter.bytes;
  }
  return at;
}

Json Lines::range(std::size_t begin, std::size_t end) const {
  const auto place = [&](std::size_t offset) {
    const Position p = position(offset);
    return Json{{"line", p.line}, {"character", p.character}};
  };
  return {{"start", place(begin)}, {"end", place(std::max(begin, end))}};
}

Position position_of(const Json& json) {
  const auto number = [&](const char* name) {
    return static_cast<std::size_t>(std::clamp<std::int64_t>(json.at(name).get<std::int64_t>(), 0, INT32_MAX));
  };
  return {number("line"), number("character")};
}

std::string with_change(const std::string& text, const Json& change) {
  const std::string& inserted = change.at("text").get_ref<const std::string&>();
  if (!change.contains("range")) return inserted;
  const Lines lines(text);
  const std::size_t begin = lines.offset(position_of(change.at("range").at("start")));
  const std::size_t end = std::max(begin, lines.offset(position_of(change.at("range").at("end"))));
  return text.substr(0, begin) + inserted + text.substr(end);
}

std::optional<std::string> path_of_uri(const std::string& uri) {
  if (!uri.starts_with("file://")) return std::nullopt;
  const std::size_t slash = uri.find('/', 7);  // behind a host, which is empty or "localhost"
  if (slash == std::string::npos) return std::nullopt;
  std::string path;
  for (std::size_t i = slash; i < uri.size(); ++i) {
    const bool escape = uri[i] == '%' && i + 2 < uri.size() && hex(uri[i + 1]) >= 0 && hex(uri[i + 2]) >= 0;
    path += escape ? static_cast<char>(hex(uri[i + 1]) * 16 + hex(uri[i + 2])) : uri[i];
    if (escape) i += 2;
  }
  return std::filesystem::path(path).lexically_normal().generic_string();
}

std::string uri_of_path(const std::string& path) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string uri = "file://";
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = std::isalnum(byte) != 0 || std::string_view("/-._~").find(c) != std::string_view::npos;
    if (plain)
      uri += c;
    else
      uri += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return uri;
}

}  // namespace fusewright::lsp
