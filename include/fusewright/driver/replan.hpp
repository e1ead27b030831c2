#pragma once

#include <string>
#include <utility>
#include <vector>

#include "fusewright/driver/compile.hpp"

namespace fusewright::driver {

/// Plans one model again and again while its rules change. The model as read is kept as long as the rules declare the
/// same operators.
class Replanner {
 public:
  explicit Replanner(CompileOptions options) : options_(std::move(options)) {}

  /// With the rules as they are on disk now; a folder may hold none. Errors: as `plan`.
  Result<Compilation> plan();
  /// The model has changed on disk.
  void forget_model() { imported_.reset(); }

 private:
  CompileOptions options_;
  std::optional<graph::Graph> imported_;
};

/// What became of the groups of one plan in another plan of the same model; numbers of groups. A group stays where its
/// rules, nodes, bytes and cost are the same; it is changed where it computes mostly the same nodes of the model.
struct PlanDifference {
  std::vector<std::size_t> added, removed;
  std::vector<std::pair<std::size_t, std::size_t>> changed;  ///< before, after
  bool empty() const { return added.empty() && removed.empty() && changed.empty(); }
};
PlanDifference compare_plans(const plan::Plan& before, const plan::Plan& after);

}  // namespace fusewright::driver
