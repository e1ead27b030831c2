#pragma once

#include "fusewright/prove/prove.hpp"
#include "src/prove/exhaust.hpp"
#include "src/prove/lemma.hpp"

namespace fusewright::prove {

/// Regions that a fuse rule admits. By the lemmas, each of its operators alone, and each two that may be neighbours;
/// then of the rule itself each operator at each place of the pattern, and random bodies with up to four operators in a
/// closure, some with a value used twice or as a further output. The closed body of each, read element by element
/// through its index maps, must have the values of the graph's nodes, bit for bit.
Search search_fuse(const rule::RuleSet& rules, const rule::FuseRule& rule, const Budget& budget, SourceCache& cache,
                   Lemmas& lemmas);

}  // namespace fusewright::prove
