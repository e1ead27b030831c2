#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace fusewright::ops {

/// The schedule templates: what loop structure a kernel gets. `fuse` rules name them, schedule::fit makes schedules of
/// them. It stands here, below both, so that there is one list.
enum class Template : std::uint8_t {
  kLoop,
  kMove,
  kReduce,
  kRow,
  kContract,
  kConv,
  kWindow,
  kSort,
  kScatter,
  kHorizontal,
};

struct TemplateName {
  Template kind;
  std::string_view name;  ///< as in `kernel(row)`
};
/// Every template, in the order in which they compete: simpler loop structures first.
inline constexpr std::array kTemplates{
    TemplateName{Template::kLoop, "loop"},         TemplateName{Template::kMove, "move"},
    TemplateName{Template::kReduce, "reduce"},     TemplateName{Template::kRow, "row"},
    TemplateName{Template::kContract, "contract"}, TemplateName{Template::kConv, "conv"},
    TemplateName{Template::kWindow, "window"},     TemplateName{Template::kSort, "sort"},
    TemplateName{Template::kScatter, "scatter"},   TemplateName{Template::kHorizontal, "horizontal"},
};

constexpr std::string_view name(Template kind) {
  for (const TemplateName& row : kTemplates)
    if (row.kind == kind) return row.name;
  return "";
}

constexpr std::optional<Template> template_from_name(std::string_view name) {
  for (const TemplateName& row : kTemplates)
    if (row.name == name) return row.kind;
  return std::nullopt;
}

}  // namespace fusewright::ops
