#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "fusewright/rule/rule.hpp"

namespace fusewright::prove {

/// Values on which the guards of a rule hold, beside those of a table.
struct GuardNumbers {
  std::map<std::string, std::vector<double>> constants;  ///< by name, a few of each
  std::set<std::string>
      settled;  ///< names of constants that the guards let be no other numbers than those and the table's
  std::vector<double> attributes;
};

/// Asks a solver for values of the constants and attributes that guards speak of, other than those of the table.
GuardNumbers numbers_by_guards(const ops::OpTable& table, const rule::RewriteRule& rule,
                               const std::vector<double>& tried);

/// Extents, and a rank, that the guards of a rule let pass.
struct GuardSizes {
  std::vector<std::int64_t> extents;  ///< a few, none of them 0 or 1
  std::int64_t rank = 0;              ///< the highest; the least that there is
};

/// Asks a solver for the smallest ranks, then for small extents, on which the guards hold, nothing being empty.
GuardSizes sizes_by_guards(const ops::OpTable& table, const rule::RewriteRule& rule);

}  // namespace fusewright::prove
