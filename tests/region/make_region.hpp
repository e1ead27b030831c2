#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "fusewright/region/region.hpp"

namespace fusewright::tests {

/// Regions by hand: captures first, then operators of the built-in table with their attributes as given.
struct RegionMaker {
  region::Region region;
  ops::OpTable table = ops::OpTable::builtin();

  region::ValueId capture(std::vector<std::int64_t> dims, ops::DType dtype = ops::DType::kF32) {
    region::RegionValue v;
    v.kind = region::RegionValue::Kind::kCapture;
    v.dtype = dtype;
    v.dims = std::move(dims);
    v.capture = region.captures++;
    region.values.push_back(std::move(v));
    return region::ValueId(region.values.size() - 1);
  }
  /// A number known when the kernel is made.
  region::ValueId scalar(ops::DType dtype = ops::DType::kF32) {
    region::RegionValue v;
    v.kind = region::RegionValue::Kind::kScalar;
    v.dtype = dtype;
    v.scalar = std::make_shared<const ops::Tensor>(ops::scalar_tensor(dtype, 0.5));
    region.values.push_back(std::move(v));
    return region::ValueId(region.values.size() - 1);
  }
  region::ValueId op(const std::string& name, std::vector<region::ValueId> operands, std::vector<std::int64_t> dims,
                     ops::Attrs attrs = {}, ops::DType dtype = ops::DType::kF32) {
    region::RegionValue v;
    v.op = table.require(name);
    v.op_class = table[v.op].op_class;
    v.scalar_op = table[v.op].scalar;
    v.op_name = name;
    v.dtype = dtype;
    v.dims = std::move(dims);
    v.attrs = std::move(attrs);
    v.operands = std::move(operands);
    region.values.push_back(std::move(v));
    return region::ValueId(region.values.size() - 1);
  }
};

}  // namespace fusewright::tests
