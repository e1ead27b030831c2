#include "fusewright/support/names.hpp"

#include <algorithm>
#include <cstddef>

#include "fusewright/support/diagnostic.hpp"

namespace fusewright {

bool glob_matches(std::string_view pattern, std::string_view text) {
  // The last '*' that was met takes one more character whenever what follows it does not fit.
  std::size_t p = 0, t = 0, star = std::string_view::npos, resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p, ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  return pattern.substr(p).find_first_not_of('*') == std::string_view::npos;
}

std::string unknown_name(const std::string& thing, const std::string& name, const std::vector<std::string>& known) {
  constexpr std::size_t kMostListed = 8;
  std::string message = "the model has no " + thing + " '" + name + "'";
  if (const std::string near = nearest(name, known); !near.empty()) return message + "; did you mean '" + near + "'?";
  for (std::size_t i = 0; i < std::min(known.size(), kMostListed); ++i)
    message += (i == 0 ? " (there are '" : ", '") + known[i] + "'";
  if (known.size() > kMostListed) message += " and " + std::to_string(known.size() - kMostListed) + " more";
  return known.empty() ? message + ", and no other" : message + ")";
}

}  // namespace fusewright
