#pragma once

#include "fusewright/prove/prove.hpp"
#include "src/prove/exhaust.hpp"

namespace fusewright::prove {

/// Regions that a fuse rule admits: for each segment each operator by itself, then random chains with up to four
/// operators in a closure, some with a value used twice or as a further output. The closed body of each, read element
/// by element through its index maps, must have the values of the graph's nodes, bit for bit. (Any longer chain is a
/// composition of these: a region computes each value from the maps of its operands alone.)
Search search_fuse(const rule::RuleSet& rules, const rule::FuseRule& rule, const Budget& budget);

}  // namespace fusewright::prove
