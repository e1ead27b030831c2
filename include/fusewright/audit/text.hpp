#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// Numbers and lists for people, in 80 columns.
namespace fusewright::audit {

inline constexpr std::size_t kColumns = 80;

std::string human_bytes(std::int64_t bytes);               ///< "871 kB", in powers of 1000
std::string human_seconds(double seconds);                 ///< "4.62 ms"
std::string human_count(double count);                     ///< "4.10 M"
std::string shorten(std::string text, std::size_t width);  ///< its beginning and "..", where it is longer

/// Words in lines of at most kColumns; all but the first line are indented, and the first starts at that column.
std::string wrapped(std::string_view text, std::size_t indent);
/// "a, b, c", and "(and 90 more)" in place of what goes beyond `most` names.
std::string listed(const std::vector<std::string>& names, std::size_t most);

}  // namespace fusewright::audit
