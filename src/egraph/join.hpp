#pragma once

#include <functional>
#include <span>
#include <vector>

#include "fusewright/egraph/egraph.hpp"
#include "fusewright/match/program.hpp"

namespace fusewright::egraph {

/// Matches of one part (see match::Part) in one round, one after the other.
struct PartMatches {
  std::vector<MatchWord> words;
  std::vector<EClassId> registers;
  std::vector<ENodeId> nodes;
  std::vector<std::uint8_t> fresh;  ///< whether it looks at something new

  std::size_t size() const { return fresh.size(); }
};

/// Every combination of matches of a pattern's parts in which what the roots share is one class, in a fixed order. The
/// roots are different classes; of roots that are alike, each set comes once. Only combinations with something new in
/// them. By hash on what is shared.
/// @param most   combinations that are tried: those of the first roots may be many, and the last one nowhere.
/// @param found  gets the match record; returns false to end the search.
/// @returns false when there are more than `most`.
bool join(const EGraph& egraph, const match::Program& program, const match::PatternInfo& pattern,
          const std::vector<PartMatches>& parts, std::uint64_t most,
          const std::function<bool(std::span<const MatchWord>)>& found);

}  // namespace fusewright::egraph
