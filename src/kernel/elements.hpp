#pragma once

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "fusewright/kernel/builder.hpp"
#include "fusewright/region/access.hpp"

namespace fusewright::kernel {

/// Writes the scalar code of region values at one point of an iteration domain into the builder's open body.
/// Make one for each body: what it names by Let is visible there and below, and is computed once.
class Elements {
 public:
  /// A value that is already there at this point (a reduction's result, a staged row); nullopt to compute it.
  using Lookup = std::function<std::optional<ExprId>(region::ValueId, const region::IndexMap&)>;

  /// @param captures global buffers of the region's captures, in order.
  /// @param dims     index expressions (s64) of the domain's dims.
  Elements(KernelBuilder& builder, const region::Region& region, std::vector<BufferId> captures,
           std::vector<ExprId> dims, Lookup lookup = {}, std::function<bool(region::ValueId)> stop = {})
      : builder_(builder),
        region_(region),
        captures_(std::move(captures)),
        dims_(std::move(dims)),
        lookup_(std::move(lookup)),
        stop_(std::move(stop)) {}

  /// The elements of `roots` at the domain's point, in their dtypes.
  Result<std::vector<ExprId>> emit(const std::vector<region::AccessRoot>& roots);

  /// An index expression over this domain, s64. `runtime` holds the values of the map's runtime variables.
  ExprId index(const region::IndexExpr& expr, const region::IndexMap& map, const std::vector<ExprId>& runtime);
  /// Whether all constraints hold (pred).
  ExprId guard(const std::vector<region::Constraint>& constraints, const region::IndexMap& map,
               const std::vector<ExprId>& runtime);

 private:
  ExprId node(const region::AccessGraph& graph, const region::AccessNode& node, const std::vector<ExprId>& made);
  ExprId capture(const region::RegionValue& value, const region::IndexMap& map, const std::vector<ExprId>& runtime);
  ExprId literal(const region::RegionValue& value);

  KernelBuilder& builder_;
  const region::Region& region_;
  std::vector<BufferId> captures_;
  std::vector<ExprId> dims_;
  Lookup lookup_;
  std::function<bool(region::ValueId)> stop_;
};

/// Declares the kernel's global buffers for the region: captures, then outputs.
struct RegionBuffers {
  std::vector<BufferId> captures, outputs;
};
RegionBuffers declare_buffers(KernelBuilder& builder, const region::Region& region);

}  // namespace fusewright::kernel
