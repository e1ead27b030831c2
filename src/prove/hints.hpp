#pragma once

#include <vector>

#include "fusewright/prove/instance.hpp"

/// What the text of a rule says of the instances that it is for.
namespace fusewright::prove {

/// Dtypes that a rule names, of those that the evaluator computes on.
std::vector<ops::DType> dtypes_in(const rule::RewriteRule& rule);

/// The first four numbers of a rule: in its conditions, then in its right sides.
std::vector<double> constants_in(const rule::RewriteRule& rule);

/// Numbers of a rule, the smallest few, that may be extents and are beyond those that are always tried.
std::vector<std::int64_t> extents_in(const rule::RewriteRule& rule);

}  // namespace fusewright::prove
