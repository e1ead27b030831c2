#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fusewright/ops/attrs.hpp"
#include "fusewright/ops/op_table.hpp"
#include "fusewright/ops/scalar.hpp"
#include "fusewright/support/ids.hpp"

namespace fusewright::region {

using ops::DType;
using ValueId = Id<struct RegionValueTag>;

/// One tensor inside a region: an explicit capture (an input of the kernel), a scalar known when the kernel is made, or
/// the result of one primitive operator on earlier values.
struct RegionValue {
  enum class Kind : std::uint8_t { kCapture, kScalar, kOp };

  Kind kind = Kind::kOp;
  DType dtype = DType::kF32;
  std::vector<std::int64_t> dims;
  std::uint32_t capture = 0;  ///< kCapture: position in the kernel's inputs
  ops::TensorHandle scalar;   ///< kScalar: rank 0
  ops::OpId op;               ///< kOp
  ops::OpClass op_class = ops::OpClass::kElementwise;
  std::optional<ops::ScalarOp> scalar_op;
  std::string op_name;  ///< "reduce_sum": what templates and index maps decide by
  ops::Attrs attrs;
  std::uint32_t result = 0;       ///< which result of a multi-result operator
  std::vector<ValueId> operands;  ///< all smaller than this value's own id

  std::int64_t elements() const;
};

/// A closed body: what one kernel computes. A plain value; everything a kernel depends on is in it, so equal regions
/// (by `hash` and `==`) share schedules, kernels and measured times.
struct Region {
  std::vector<RegionValue> values;  ///< topological; captures first, in order
  std::uint32_t captures = 0;
  std::vector<ValueId> outputs;  ///< in order of the kernel's outputs; distinct

  const RegionValue& operator[](ValueId id) const { return values[id.index]; }
};

bool operator==(const Region& a, const Region& b);
std::uint64_t hash(const Region& region);
std::string print(const Region& region);

/// Number of uses of each value inside the region (outputs not counted).
std::vector<std::uint32_t> use_counts(const Region& region);

/// Bytes by plan: each distinct element of each capture that is read counted once (index maps bound the footprint of
/// slices, gathers count their result), plus all outputs.
std::int64_t planned_bytes(const Region& region);
/// The same for each capture alone.
std::vector<std::int64_t> planned_inputs_bytes(const Region& region);
/// Floating-point and integer operations executed when every value is computed once for each of its elements
/// (a fused multiply-add of a contraction counts 2), and work in simple-operation units (ops::work).
struct Work {
  double flops = 0;
  double units = 0;
};
Work work(const Region& region);
Work value_work(const Region& region, const RegionValue& value);  ///< of one operator's first result

}  // namespace fusewright::region
