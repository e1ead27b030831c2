#pragma once

#include <functional>

#include "fusewright/cost/device.hpp"
#include "fusewright/plan/plan.hpp"

namespace fusewright::extract {

using Replan = std::function<Result<plan::Plan>(const cost::Device&)>;

/// A plan that holds at most so many bytes at once (plan::memory): the given one, its groups in another order, or one
/// that stores less and computes more of it again. `replan` plans the same graph for another device; figures of the
/// plan that comes back are those of `device`.
/// Errors: no plan found is as small; says what the smallest needs, and where.
Result<plan::Plan> fit_memory(plan::Plan plan, std::int64_t most, const cost::Device& device, const Replan& replan);

}  // namespace fusewright::extract
