#pragma once

#include <string>

#include "src/prove/apply.hpp"

namespace fusewright::prove {

/// What a solver has shown of a rewrite, in words ("floating-point and bit-vector arithmetic, every number of ..."), or
/// empty: it could not, in the work that it is allowed (counted, not timed).
///
/// The rule is matched by the engine on terms whose extents are symbols (or one), for each rank and attribute
/// structure; both sides are then read at a symbolic index, and the solver is asked for an index, extents and values at
/// which they differ. In order:
/// - operators as uninterpreted functions: the rule only moves or shares values, and holds whatever they compute;
/// - bit-exact rules of scalars: IEEE arithmetic, bit-vectors and truth values of the dtype;
/// - other rules: the reals, with products pulled out of sums, denominators not zero, transcendental functions
///   uninterpreted.
/// That two symbols may be one number, so that a guard holds by chance, is left to the bounded search.
std::string prove_by_solver(const rule::RuleSet& rules, const LoneRule& rule);

}  // namespace fusewright::prove
