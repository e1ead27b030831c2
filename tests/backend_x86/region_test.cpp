#include <cmath>
#include <random>

#include "fusewright/interpret/evaluate.hpp"
#include "fusewright/interpret/inputs.hpp"
#include "fusewright/kernel/lower.hpp"
#include "fusewright/schedule/schedule.hpp"
#include "run.hpp"

// Random regions of operators that are exact or rounded once: kernels give the reference's very bits.

namespace fusewright {
namespace {

using region::Region;
using region::RegionValue;
using region::ValueId;

const ops::OpTable& table() {
  static const ops::OpTable made = ops::OpTable::builtin();
  return made;
}

/// Builds a region and evaluates each value at once, as the reference does.
class Made {
 public:
  explicit Made(std::uint32_t seed) : random_(seed) {}

  Region region;
  std::vector<Tensor> tensors;  // of every value

  std::int64_t below(std::int64_t n) { return std::uniform_int_distribution<std::int64_t>(0, n - 1)(random_); }

  ValueId capture(DType dtype, const std::vector<std::int64_t>& dims) {
    RegionValue v;
    v.kind = RegionValue::Kind::kCapture;
    v.dtype = dtype;
    v.dims = dims;
    v.capture = region.captures++;
    ops::Shape shape(dims.begin(), dims.end());
    auto input = interpret::make_input(ops::Type::tensor(dtype, shape), random_(), v.capture);
    REQUIRE(input.has_value());
    return add(std::move(v), *input);
  }

  ValueId op(const std::string& name, const std::vector<ValueId>& operands, const ops::Attrs& given = {}) {
    RegionValue v;
    v.op = table().require(name);
    v.op_name = name;
    v.op_class = table()[v.op].op_class;
    v.scalar_op = table()[v.op].scalar;
    v.operands = operands;
    std::vector<ops::Type> types;
    std::vector<Tensor> values;
    for (const ValueId operand : operands) {
      values.push_back(tensors[operand.index]);
      types.push_back(values.back().type());
    }
    auto attrs = table().complete_attrs(v.op, given, types);
    if (!attrs) FAIL(print_error(attrs.error()));
    v.attrs = *attrs;
    auto result = interpret::evaluate_node(table(), v.op, values, v.attrs);
    if (!result) FAIL(print_error(result.error()));
    v.dtype = (*result)[0].dtype;
    v.dims = (*result)[0].dims;
    return add(std::move(v), (*result)[0]);
  }

  /// One value of this dtype and shape, by a few random operators.
  ValueId value(DType dtype, const std::vector<std::int64_t>& dims, int depth) {
    if (depth == 0) return leaf(dtype, dims);
    const auto next = [&] { return value(dtype, dims, depth - 1); };
    switch (below(11)) {
      case 0: return op("add", {next(), next()});
      case 1: return op("sub", {next(), next()});
      case 2: return op("mul", {next(), next()});
      case 3: return op("max", {next(), next()});
      case 4: return op("min", {next(), next()});
      case 5: return op("neg", {next()});
      case 6: return op("abs", {next()});
      case 7: return op("select", {op("lt", {next(), next()}), next(), next()});
      case 8: {
        const DType others[] = {DType::kF32, DType::kS32, DType::kF16, DType::kBF16, DType::kS8, DType::kF64};
        return op("convert", {value(others[below(6)], dims, depth - 1)}, {{"dtype", dtype}});
      }
      case 9: return op("div", {next(), next()});
      default: return moved(dtype, dims, depth - 1);
    }
  }

  Region finish(ValueId output) {
    region.outputs = {output};
    // Captures come first: they are made last, so everything is renumbered.
    std::vector<ValueId> place(region.values.size());
    std::vector<RegionValue> sorted;
    std::vector<Tensor> moved_tensors;
    for (const bool captures : {true, false})
      for (std::size_t i = 0; i < region.values.size(); ++i) {
        if ((region.values[i].kind == RegionValue::Kind::kCapture) != captures) continue;
        place[i] = ValueId(sorted.size());
        sorted.push_back(region.values[i]);
        moved_tensors.push_back(tensors[i]);
      }
    for (RegionValue& v : sorted)
      for (ValueId& operand : v.operands) operand = place[operand.index];
    region.values = std::move(sorted);
    tensors = std::move(moved_tensors);
    region.outputs = {place[output.index]};
    return region;
  }

 private:
  ValueId add(RegionValue v, Tensor tensor) {
    region.values.push_back(std::move(v));
    tensors.push_back(std::move(tensor));
    return ValueId(region.values.size() - 1);
  }

  ValueId leaf(DType dtype, const std::vector<std::int64_t>& dims) {
    for (std::size_t i = 0; i < region.values.size(); ++i)
      if (region.values[i].kind == RegionValue::Kind::kCapture && region.values[i].dtype == dtype &&
          region.values[i].dims == dims && below(3) == 0)
        return ValueId(i);
    return capture(dtype, dims);
  }

  ValueId moved(DType dtype, const std::vector<std::int64_t>& dims, int depth) {
    const auto rank = static_cast<std::int64_t>(dims.size());
    const std::int64_t axis = below(rank);
    std::vector<std::int64_t> other = dims, ones(dims.size(), 1), zeros(dims.size(), 0);
    const auto at = static_cast<std::size_t>(axis);
    switch (below(6)) {
      case 0: {  // one axis is repeated
        other.erase(other.begin() + axis);
        std::vector<std::int64_t> kept;
        for (std::int64_t d = 0; d < rank; ++d)
          if (d != axis) kept.push_back(d);
        return op("broadcast", {value(dtype, other, depth)},
                  {{"dims", kept}, {"shape", ops::Shape(dims.begin(), dims.end())}});
      }
      case 1: {
        std::swap(other.front(), other.back());
        std::vector<std::int64_t> perm(dims.size());
        for (std::int64_t d = 0; d < rank; ++d) perm[static_cast<std::size_t>(d)] = d;
        std::swap(perm.front(), perm.back());
        return op("transpose", {value(dtype, other, depth)}, {{"perm", perm}});
      }
      case 2: return op("reverse", {value(dtype, dims, depth)}, {{"axes", std::vector<std::int64_t>{axis}}});
      case 3: {
        const std::int64_t stride = 1 + below(3), start = below(3);
        other[at] = start + (dims[at] - 1) * stride + 1 + below(2);
        std::vector<std::int64_t> starts = zeros, strides = ones, limits = other;
        starts[at] = start;
        strides[at] = stride;
        limits[at] = start + (dims[at] - 1) * stride + 1;
        return op("slice", {value(dtype, other, depth)},
                  {{"starts", starts}, {"limits", limits}, {"strides", strides}});
      }
      case 4: {
        std::int64_t elements = 1;
        for (const std::int64_t d : dims) elements *= d;
        return op("reshape", {value(dtype, {elements}, depth)}, {{"shape", ops::Shape(dims.begin(), dims.end())}});
      }
      default: {
        if (dims[at] < 2) return value(dtype, dims, depth);
        std::vector<std::int64_t> rest = dims;
        other[at] = 1 + below(dims[at] - 1);
        rest[at] = dims[at] - other[at];
        return op("concat", {value(dtype, other, depth), value(dtype, rest, depth)}, {{"axis", axis}});
      }
    }
  }

  std::mt19937 random_;
};

bool same_bits(const Tensor& a, const Tensor& b, std::int64_t& index) {
  for (index = 0; index < a.elements(); ++index) {
    if (!ops::is_float(a.dtype)) {
      if (ops::get_int(a, index) != ops::get_int(b, index)) return false;
      continue;
    }
    const double x = ops::get_double(a, index), y = ops::get_double(b, index);
    if (std::isnan(x) && std::isnan(y)) continue;
    if (x != y || std::signbit(x) != std::signbit(y)) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("x86 kernels of random regions give the reference's bits", "[x86]") {
  const DType dtypes[] = {DType::kF32, DType::kF32, DType::kF16, DType::kBF16, DType::kS32, DType::kF64};
  const std::vector<std::vector<std::int64_t>> shapes = {{1000}, {7, 33}, {3, 5, 48}, {64, 16}, {2, 3, 4, 5}, {1, 130}};
  schedule::Target target;
  target.vector_bits = 256;
  std::vector<Made> made;
  std::vector<Kernel> kernels;
  for (std::uint32_t seed = 0; seed < 48; ++seed) {
    Made m(seed);
    const ValueId root = m.value(dtypes[seed % 6], shapes[seed / 6 % shapes.size()], 2 + static_cast<int>(seed % 3));
    if (m.region[root].kind != RegionValue::Kind::kOp) continue;
    const Region region = m.finish(root);
    const auto schedule = schedule::fit(region, schedule::Template::kLoop, target);
    if (!schedule) continue;  // its reason is the template's own tests' business
    const auto kernel = kernel::lower(region, *schedule, target, fmt::format("region{}", seed));
    if (!kernel) FAIL(print_error(kernel.error()) << region::print(region));
    made.push_back(std::move(m));
    kernels.push_back(*kernel);
  }
  REQUIRE(kernels.size() > 30);
  const auto executable = compiled(kernels);
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    const Region& region = made[k].region;
    std::vector<Tensor> tensors(made[k].tensors.begin(), made[k].tensors.begin() + region.captures);
    const Tensor& expected = made[k].tensors[region.outputs[0].index];
    tensors.push_back(tensor(expected.dtype, expected.elements()));
    run(*executable, k, tensors);
    std::int64_t index = 0;
    if (!same_bits(tensors.back(), expected, index))
      FAIL_CHECK(kernels[k].name << " element " << index << " is " << ops::get_double(tensors.back(), index) << ", not "
                                 << ops::get_double(expected, index) << "\n"
                                 << region::print(region) << print(kernels[k]));
  }
}

}  // namespace fusewright
