#pragma once

#include "fusewright/prove/instance.hpp"
#include "fusewright/prove/prove.hpp"

namespace fusewright::prove {

/// The verdict on one rewrite, with the seconds it took. What `cache` found before, for rules over operators of the
/// same rows, is not looked for again.
Verdict prove_rewrite(const rule::RuleSet& rules, std::size_t index, const Budget& budget, SourceCache& cache);

}  // namespace fusewright::prove
