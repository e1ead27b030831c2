#pragma once

#include <string>
#include <vector>

#include "fusewright/kernel/ir.hpp"
#include "fusewright/region/region.hpp"
#include "fusewright/schedule/schedule.hpp"

namespace fusewright::kernel {

/// The loop nest of a region under a schedule that `schedule::fit` made for it. Inputs are the region's captures in
/// order, then the outputs. Every operator rounds to its dtype. Splits of reductions depend on shapes only.
/// @param constants by capture: known when the model is loaded, so that what depends on it alone may be laid out then
///                  (Kernel::prepare). Empty: none is.
Result<Kernel> lower(const region::Region& region, const schedule::Schedule& schedule, const schedule::Target& target,
                     std::string name, std::vector<bool> constants = {});

}  // namespace fusewright::kernel
