#pragma once

#include <array>
#include <optional>
#include <unordered_map>
#include <vector>

#include "fusewright/schedule/horizontal.hpp"
#include "fusewright/schedule/rows.hpp"

namespace fusewright::schedule {

using Fit = std::expected<Schedule, Refusal>;

/// How parts of horizontal kernels are computed: the same part stands in many regions that are tried.
class PartFits {
 public:
  explicit PartFits(const Target& target) : target_(target) {}
  /// `fit_part`, once for each region.
  const Fit& of(const Region& part);

 private:
  struct Hash {
    std::size_t operator()(const Region& region) const { return region::hash(region); }
  };
  const Target& target_;
  std::unordered_map<Region, Fit, Hash> known_;
};

/// The templates that fit one region, each asked once. Must not outlive the region.
class Fits {
 public:
  Fits(const Region& region, const Target& target, PartFits& part_fits)
      : region_(region), target_(target), part_fits_(part_fits) {}

  const Region& region() const { return region_; }
  const Target& target() const { return target_; }
  PartFits& part_fits() { return part_fits_; }
  /// `fit`, with this template.
  const Fit& with(Template kind);
  /// `analyse_rows`.
  const std::expected<Rows, Refusal>& rows();
  /// `independent_parts`.
  const std::vector<Part>& parts();

 private:
  const Region& region_;
  const Target& target_;
  PartFits& part_fits_;
  std::array<std::optional<Fit>, ops::kTemplates.size()> fits_;  // in their order
  std::optional<std::expected<Rows, Refusal>> rows_;
  std::optional<std::vector<Part>> parts_;
};

}  // namespace fusewright::schedule
