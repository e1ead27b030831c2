#pragma once

#include "fusewright/kernel/lower.hpp"

namespace fusewright::kernel {

/// What every template's lowering gets.
struct LowerInput {
  const region::Region& region;
  const schedule::Schedule& schedule;
  const schedule::Target& target;
  std::string name;
  std::vector<bool> constants;  ///< by capture; empty: none

  bool constant(std::uint32_t capture) const { return capture < constants.size() && constants[capture]; }
  bool cpu() const { return target.family == schedule::Target::Family::kCpu; }
  TargetFamily family() const { return cpu() ? TargetFamily::kCpu : TargetFamily::kGpu; }
};

// One function for each template; the switch in lower.cpp names them.
Result<Kernel> lower_loop(const LowerInput& in);
Result<Kernel> lower_rows(const LowerInput& in);  ///< reduce and row
Result<Kernel> lower_window(const LowerInput& in);
Result<Kernel> lower_lines(const LowerInput& in);  ///< sort
Result<Kernel> lower_scatter(const LowerInput& in);
Result<Kernel> lower_horizontal(const LowerInput& in);
Result<Kernel> lower_contraction(const LowerInput& in);  ///< contract and conv

}  // namespace fusewright::kernel
