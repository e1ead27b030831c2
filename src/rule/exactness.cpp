#include <fmt/format.h>

#include <array>

#include "fusewright/rule/rule.hpp"
#include "src/rule/checker.hpp"

namespace fusewright::rule {

namespace {

constexpr std::array<std::pair<ExactnessClass, std::string_view>, 5> kClasses = {{
    {ExactnessClass::kReassociating, "reassociating"},
    {ExactnessClass::kContracting, "contracting"},
    {ExactnessClass::kFactoring, "factoring"},
    {ExactnessClass::kApproximate, "approximate"},
    {ExactnessClass::kExcessPrecision, "excess_precision"},
}};

}  // namespace

Exactness operator|(const Exactness& a, const Exactness& b) {
  return {static_cast<std::uint8_t>(a.classes | b.classes), a.rtol + b.rtol};
}

std::string to_string(const Exactness& exactness) {
  if (exactness.bitexact()) return "bitexact";
  std::string text;
  for (const auto& [kind, name] : kClasses) {
    if (!exactness.has(kind)) continue;
    text += (text.empty() ? "" : ", ") + std::string(name);
    if (kind == ExactnessClass::kApproximate) text += fmt::format("({})", exactness.rtol);
  }
  return text;
}

Result<Exactness> parse_exactness(std::string_view text) {
  Exactness exactness;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string_view word = text.substr(at, end - at);
    at = end + 1;
    if (word == "bitexact") continue;
    const auto row =
        std::find_if(kClasses.begin(), kClasses.end(), [&](const auto& entry) { return entry.second == word; });
    if (row != kClasses.end()) {
      exactness.add(row->first);
      continue;
    }
    std::vector<std::string> known = {"bitexact"};
    for (const auto& [kind, name] : kClasses) known.emplace_back(name);
    std::string list;
    for (const std::string& name : known) list += (list.empty() ? "" : ", ") + name;
    auto failure = fail("there is no exactness '" + std::string(word) + "' (there are " + list + ")");
    failure.error().diagnostics[0].suggestion = did_you_mean(std::string(word), known);
    return failure;
  }
  return exactness;
}

}  // namespace fusewright::rule
