#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "fusewright/region/index_map.hpp"
#include "fusewright/region/region.hpp"

namespace fusewright::region {

/// One value of a region at one index map of an iteration domain: "element map(d) of the value, for every point d".
struct AccessNode {
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  ValueId value;
  std::shared_ptr<const IndexMap> at;  ///< one object for all nodes with this map
  const IndexMap& map() const { return *at; }
  /// For each operand of the value the node that supplies it, kNone for operands that are only read through `runtime`.
  std::vector<std::uint32_t> operands;
  /// pad, concat, dynamic_update_slice: what must hold for that operand to be the one that is read; empty elsewhere.
  std::vector<std::vector<Constraint>> guards;
  /// The node that supplies each of map().runtime.
  std::vector<std::uint32_t> runtime;
};

/// Everything that must be computed at a point of the domain, producers first. One node for each distinct (value, map),
/// so its size is the size of the loop body, and a value that stands in it at two maps is computed twice.
struct AccessGraph {
  std::vector<AccessNode> nodes;
  std::vector<std::uint32_t> roots;
};

struct AccessRoot {
  ValueId value;
  IndexMap map;  ///< all roots have the same domain
};

/// Pulls the roots back to captures, scalars, sources and to values for which `stop` holds (reduction results, staged
/// values). Errors: a value that needs more than one element of an operand and is no stop, named with its operator.
Result<AccessGraph> trace_accesses(const Region& region, const std::vector<AccessRoot>& roots,
                                   const std::function<bool(ValueId)>& stop = {});

/// A map from a domain of these extents onto a tensor of `dims` with as many elements, in row-major order.
IndexMap reshape_map(const std::vector<std::int64_t>& domain, const std::vector<std::int64_t>& dims);

/// The fewest loop extents that keep every access affine: neighbouring axes of `domain` that all accesses walk as one
/// merge, unit axes vanish. The product is unchanged; an elementwise region gives one extent.
Result<std::vector<std::int64_t>> collapse_domain(const Region& region, const std::vector<AccessRoot>& roots,
                                                  const std::function<bool(ValueId)>& stop = {});

/// Stride of domain dim `dim` in an affine expression; nullopt where the dim stands under a division, remainder, clamp
/// or runtime variable.
std::optional<std::int64_t> stride_of(const IndexExpr& expr, const IndexMap& map, std::int64_t dim);

}  // namespace fusewright::region
