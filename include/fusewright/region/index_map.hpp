#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fusewright/region/region.hpp"

namespace fusewright::region {

/// A quasi-affine integer expression over the dims of an iteration domain and runtime variables (integers read from
/// tensors).
struct IndexNode;
using IndexExpr = std::shared_ptr<const IndexNode>;

struct IndexNode {
  enum class Kind : std::uint8_t {
    kConstant,  ///< value
    kDim,       ///< dim `value` of the domain
    kRuntime,   ///< runtime variable `value` of the map
    kAdd,       ///< a + b
    kMul,       ///< a * value
    kFloorDiv,  ///< floor(a / value), value > 0
    kMod,       ///< a - value * floor(a / value), value > 0
    kClamp,     ///< min(max(a, 0), value): gathers and dynamic slices clamp their starts
  };
  Kind kind = Kind::kConstant;
  std::int64_t value = 0;
  IndexExpr a, b;
};

IndexExpr index_constant(std::int64_t value);
IndexExpr index_dim(std::int64_t dim);
IndexExpr index_runtime(std::int64_t variable);
IndexExpr operator+(const IndexExpr& a, const IndexExpr& b);
IndexExpr operator*(const IndexExpr& a, std::int64_t factor);
IndexExpr floor_div(const IndexExpr& a, std::int64_t divisor);
IndexExpr floor_mod(const IndexExpr& a, std::int64_t divisor);
IndexExpr clamp(const IndexExpr& a, std::int64_t high);
std::string to_string(const IndexExpr& expr);
/// An order of expressions by their form; equal ones are written alike.
std::strong_ordering compare(const IndexExpr& a, const IndexExpr& b);

/// Least and greatest value over the domain.
struct Range {
  std::int64_t low = 0, high = 0;  ///< inclusive
};

/// `low <= expr <= high` must hold for the operand to be read; elsewhere the operator's fill is the result.
struct Constraint {
  IndexExpr expr;
  std::int64_t low = 0, high = 0;
};

/// An integer read from a tensor of the region at an index of the same domain.
struct RuntimeVariable {
  ValueId tensor;
  std::vector<IndexExpr> index;
  std::int64_t wrap = 0;  ///< added to a negative value (indices that count from the end), 0 where they do not
  Range range;            ///< the value is clamped to it, so that no address is out of bounds
};

/// From an element of a result (the domain) to the element of one operand that it needs.
struct IndexMap {
  std::vector<std::int64_t> domain;  ///< extents of the dims
  std::vector<IndexExpr> results;    ///< one for each axis of the operand
  std::vector<Constraint> constraints;
  std::vector<RuntimeVariable> runtime;
};

/// An order of maps by their domains, results and what they read at run time; constraints apart.
std::strong_ordering compare(const IndexMap& a, const IndexMap& b);

IndexMap identity_map(std::vector<std::int64_t> dims);
Range range_of(const IndexExpr& expr, const IndexMap& map);
/// Canonical sums, constants folded, divisions and remainders dropped where ranges allow.
IndexExpr simplify(const IndexExpr& expr, const IndexMap& map);

/// Which element of operand `operand` of `value` makes one element of `value`; nullopt where one result element needs
/// many (reductions, contractions, windows, sorts). Operators that choose between operands say so by constraints: `pad`
/// reads operand 0 where they hold and operand 1 elsewhere, `concat` the operand whose constraints hold,
/// `dynamic_update_slice` operand 1 where they hold and operand 0 elsewhere. Index operands of gathers are read through
/// `runtime`.
std::optional<IndexMap> operand_map(const Region& region, ValueId value, std::size_t operand);
/// First `outer` (domain to a tensor), then `inner` (that tensor to an operand of it).
IndexMap compose(const IndexMap& outer, const IndexMap& inner);
/// Row-major linear offset of the map's results in a tensor of these extents.
IndexExpr linearize(const IndexMap& map, const std::vector<std::int64_t>& dims);
/// True if every element of the operand is read by exactly one element of the domain (transposes, reshapes).
bool is_bijective(const IndexMap& map, const std::vector<std::int64_t>& operand_dims);

}  // namespace fusewright::region
