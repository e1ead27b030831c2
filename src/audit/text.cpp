#include "fusewright/audit/text.hpp"

#include <fmt/format.h>

namespace fusewright::audit {

namespace {

std::string scaled(double value, std::initializer_list<const char*> units) {
  auto unit = units.begin();
  for (; value >= 999.5 && unit + 1 != units.end(); ++unit) value /= 1000;
  const bool whole = value == static_cast<double>(static_cast<std::int64_t>(value)) && unit == units.begin();
  return fmt::format("{:.{}f}{}", value, whole || value >= 99.95 ? 0 : value < 9.995 ? 2 : 1, *unit);
}

}  // namespace

std::string human_bytes(std::int64_t bytes) {
  return scaled(static_cast<double>(bytes), {" B", " kB", " MB", " GB", " TB", " PB"});
}

std::string human_seconds(double seconds) {
  return seconds < 0.9995 ? scaled(1e9 * seconds, {" ns", " us", " ms"}) : fmt::format("{:.2f} s", seconds);
}

std::string human_count(double count) { return scaled(count, {"", " k", " M", " G", " T"}); }

std::string shorten(std::string text, std::size_t width) {
  if (text.size() > width) text.replace(width - 2, std::string::npos, "..");
  return text;
}

std::string wrapped(std::string_view text, std::size_t indent) {
  constexpr std::string_view kBlanks = " \t\n\r\v\f";
  std::string out;
  std::size_t column = indent;
  for (std::size_t at = text.find_first_not_of(kBlanks); at < text.size(); at = text.find_first_not_of(kBlanks, at)) {
    const std::string_view word = text.substr(at, text.find_first_of(kBlanks, at) - at);
    at += word.size();
    if (column > indent && column + 1 + word.size() > kColumns) {
      out += '\n';
      out.append(indent, ' ');
      column = indent;
    }
    if (column > indent) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
  }
  return out;
}

std::string listed(const std::vector<std::string>& names, std::size_t most) {
  if (names.size() <= most) return fmt::format("{}", fmt::join(names, ", "));
  return fmt::format("{} (and {} more)",
                     fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(most), ", "),
                     names.size() - most);
}

}  // namespace fusewright::audit
