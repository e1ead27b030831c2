#pragma once

#include <string>

#include "fusewright/ops/attrs.hpp"
#include "fusewright/support/result.hpp"

// Exact arithmetic on attribute values: what the rule language's operators do when no operand is a tensor.
// Errors carry no place; the caller has it.
namespace fusewright::ops {

/// + - * / // % ** == != < <= > >= in, "not in". Integers stay integers while that is exact; `/` gives one where it
/// divides.
/// + joins lists, * repeats one. What extents without a number leave open is an error of kind kUnsupported.
Result<AttrValue> attr_binary(const std::string& op, const AttrValue& left, const AttrValue& right);
Result<AttrValue> attr_negate(const AttrValue& value);

/// "an int", "a list", for messages.
std::string describe(const AttrValue& value);

Result<std::int64_t> to_integer(const AttrValue& value);
Result<double> to_number(const AttrValue& value);
/// Of a bool, or an int that is 0 or 1.
Result<bool> to_truth(const AttrValue& value);
/// A list of extents or axes, from ints or a shape.
Result<Shape> to_list(const AttrValue& value);
Result<std::vector<std::int64_t>> to_integers(const AttrValue& value);
/// Ints where every extent is a number, else a shape.
AttrValue from_list(Shape list);
/// An int; an error that names the dim where it is not bound.
Result<AttrValue> from_dim(const Dim& dim);
bool same_value(const AttrValue& a, const AttrValue& b);
/// Position of a possibly negative axis in [0, rank).
Result<std::int64_t> normal_axis(std::int64_t axis, std::int64_t rank);

}  // namespace fusewright::ops
