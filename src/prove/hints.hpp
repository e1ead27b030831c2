#pragma once

#include <map>
#include <string>
#include <vector>

#include "fusewright/prove/instance.hpp"
#include "src/prove/guard_models.hpp"

/// What the text of a rule says of the instances that it is for.
namespace fusewright::prove {

/// Dtypes that a rule names, of those that the evaluator computes on.
std::vector<ops::DType> dtypes_in(const rule::RewriteRule& rule);

/// The first four numbers of a rule: in its conditions, then in its right sides.
std::vector<double> constants_in(const rule::RewriteRule& rule);

/// Numbers for constants whose value a rule reads: powers of two and not, both signs, the ends of what guards ask for.
const std::vector<double>& number_table();

/// Numbers about those that the rule names: where guards on a value may begin, end or hold at all.
std::vector<double> numbers_near(const std::vector<double>& named);

/// Both: what every constant that a rule reads is tried with.
std::vector<double> tried_numbers(const rule::RewriteRule& rule);

/// Beside those: what lets the guards hold, and of bit-exact rules what is no number. By name of a constant.
std::map<std::string, std::vector<double>> further_numbers(const rule::RewriteRule& rule, const GuardNumbers& guards);

/// Whether the pattern has a reshape, so that an axis of one tensor may be several of another.
bool reshapes(const ops::OpTable& table, const rule::RewriteRule& rule);

/// Numbers beyond the extents and ranks that are always tried, in conditions that ask for extents or ranks.
std::vector<std::int64_t> sizes_in(const rule::RewriteRule& rule);

/// Numbers of a rule, the smallest few, that may be extents and are beyond those that are always tried.
std::vector<std::int64_t> extents_in(const rule::RewriteRule& rule);

}  // namespace fusewright::prove
