#pragma once

#include <string>
#include <vector>

#include "fusewright/driver/compile.hpp"

namespace fusewright::driver {

/// A stretch of time. Those of a depth follow each other; what is deeper is a part of the last one that is less deep.
struct ProfileEntry {
  std::string name;
  int depth = 0;
  double start = 0, seconds = 0;  ///< from the beginning of the first
};

/// Where the time of a compilation went.
struct Profile {
  double seconds = 0;  ///< of the clock: the whole
  std::vector<ProfileEntry> entries;
  std::vector<saturate::RuleTrace> rules;  ///< that took any time, the dearest first

  /// Share of `seconds` that is in entries without parts.
  double accounted() const;
};
/// @param seconds  what the clock says that it took, phases that were added to `compilation` later included.
Profile profile_of(const Compilation& compilation, double seconds);

/// A table for people.
std::string print_profile(const Profile& profile);
/// Trace Event Format, as Chrome and Perfetto read it: phases are one track; rules another, where each has its search
/// and its applications end to end, because the search is shared and applications come in many rounds.
std::string trace_events(const Profile& profile);

}  // namespace fusewright::driver
