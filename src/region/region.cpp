#include "fusewright/region/region.hpp"

#include "fusewright/region/needs.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace fusewright::region {

std::int64_t RegionValue::elements() const {
  std::int64_t n = 1;
  for (const std::int64_t d : dims) n *= d;
  return n;
}

namespace {
bool same_value(const RegionValue& a, const RegionValue& b) {
  if (a.kind != b.kind || a.dtype != b.dtype || a.dims != b.dims) return false;
  switch (a.kind) {
    case RegionValue::Kind::kCapture: return a.capture == b.capture;
    case RegionValue::Kind::kScalar: return ops::same_constant(a.scalar, b.scalar);
    case RegionValue::Kind::kOp:
      return a.op == b.op && a.op_name == b.op_name && a.result == b.result && a.operands == b.operands &&
             a.attrs == b.attrs;
  }
  return false;
}
}  // namespace

bool operator==(const Region& a, const Region& b) {
  return a.captures == b.captures && a.outputs == b.outputs &&
         std::equal(a.values.begin(), a.values.end(), b.values.begin(), b.values.end(), same_value);
}

std::uint64_t hash(const Region& region) {
  std::uint64_t h = hash_mix(region.captures, region.values.size());
  for (const RegionValue& v : region.values) {
    h = hash_mix(h, static_cast<std::uint64_t>(v.kind) | static_cast<std::uint64_t>(v.dtype) << 8);
    for (const std::int64_t d : v.dims) h = hash_mix(h, static_cast<std::uint64_t>(d));
    if (v.kind == RegionValue::Kind::kScalar) h = hash_mix(h, ops::hash_constant(v.scalar));
    if (v.kind != RegionValue::Kind::kOp) continue;
    for (const char c : v.op_name) h = hash_mix(h, static_cast<unsigned char>(c));
    h = hash_mix(h, v.attrs.hash());
    h = hash_mix(h, v.result);
    for (const ValueId operand : v.operands) h = hash_mix(h, operand.index);
  }
  for (const ValueId output : region.outputs) h = hash_mix(h, output.index);
  return h;
}

std::string print(const Region& region) {
  std::string out;
  for (std::size_t i = 0; i < region.values.size(); ++i) {
    const RegionValue& v = region.values[i];
    out += fmt::format("v{} : {}[{}] = ", i, ops::name(v.dtype), fmt::join(v.dims, ","));
    switch (v.kind) {
      case RegionValue::Kind::kCapture: out += fmt::format("capture {}", v.capture); break;
      case RegionValue::Kind::kScalar: out += fmt::format("scalar {}", ops::get_double(*v.scalar, 0)); break;
      case RegionValue::Kind::kOp: {
        out += v.op_name + '(';
        for (std::size_t k = 0; k < v.operands.size(); ++k)
          out += fmt::format("{}v{}", k == 0 ? "" : ", ", v.operands[k].index);
        out += ')';
        if (v.result != 0) out += fmt::format(".{}", v.result);
        for (const auto& [name, attr] : v.attrs.entries()) out += fmt::format(" {}={}", name, ops::to_string(attr));
        break;
      }
    }
    out += '\n';
  }
  out += "outputs";
  for (const ValueId id : region.outputs) out += fmt::format(" v{}", id.index);
  return out + '\n';
}

std::vector<std::uint32_t> use_counts(const Region& region) {
  std::vector<std::uint32_t> uses(region.values.size(), 0);
  for (const RegionValue& v : region.values)
    for (const ValueId operand : v.operands) ++uses[operand.index];
  return uses;
}

Needs needs_of(ops::OpClass op_class, std::string_view op, std::size_t operand, std::int64_t operand_elements,
               std::int64_t result_elements) {
  switch (op_class) {
    case ops::OpClass::kElementwise: return {1, true};
    case ops::OpClass::kMovement: return {1, false};
    case ops::OpClass::kIndexing: {
      const bool picks = op == "take" || op == "take_along" || op == "gather" || op == "dynamic_slice";
      return {picks && operand == 0 ? 1 : 0, false};
    }
    case ops::OpClass::kReduction:
      return {std::max<std::int64_t>(1, operand_elements / std::max<std::int64_t>(1, result_elements)), false};
    default: return {};
  }
}

namespace {

std::vector<std::int64_t> needed_elements(const Region& region) {
  std::vector<std::int64_t> needed(region.values.size(), 0);
  for (const ValueId output : region.outputs) needed[output.index] = region[output].elements();
  for (std::size_t i = region.values.size(); i-- > 0;) {
    const RegionValue& v = region.values[i];
    if (needed[i] == 0) continue;
    for (std::size_t k = 0; k < v.operands.size(); ++k) {
      const RegionValue& operand = region[v.operands[k]];
      const Needs needs = needs_of(v.op_class, v.op_name, k, operand.elements(), v.elements());
      std::int64_t& total = needed[v.operands[k].index];
      total = needs.add(operand.elements(), total, needed[i]);
    }
  }
  return needed;
}

}  // namespace

std::vector<std::int64_t> planned_inputs_bytes(const Region& region) {
  std::vector<std::int64_t> bytes = needed_elements(region);
  bytes.resize(region.captures);
  for (std::uint32_t c = 0; c < region.captures; ++c) bytes[c] *= ops::byte_width(region.values[c].dtype);
  return bytes;
}

std::int64_t planned_bytes(const Region& region) {
  std::int64_t total = 0;
  for (const std::int64_t bytes : planned_inputs_bytes(region)) total += bytes;
  for (const ValueId output : region.outputs)
    total += region[output].elements() * ops::byte_width(region[output].dtype);
  return total;
}

namespace {

double product(const std::vector<std::int64_t>& dims, const std::vector<std::int64_t>& axes) {
  double n = 1;
  for (const std::int64_t a : axes) n *= static_cast<double>(dims[static_cast<std::size_t>(a)]);
  return n;
}

// Multiply-adds for one result element.
double terms_per_element(const Region& region, const RegionValue& v) {
  using Ints = std::vector<std::int64_t>;
  const RegionValue& first = region[v.operands[0]];
  if (v.op_class == ops::OpClass::kContraction) return product(first.dims, v.attrs.get<Ints>("lhs_contract"));
  const RegionValue& w = region[v.operands[1]];
  const Ints& spec = v.attrs.get<Ints>("rhs_spec");
  return static_cast<double>(w.elements()) /
         std::max<double>(1, static_cast<double>(w.dims[static_cast<std::size_t>(spec[0])]));
}

}  // namespace

Work value_work(const Region& region, const RegionValue& v) {
  const auto elements = static_cast<double>(v.elements());
  const auto read = v.operands.empty() ? 0.0 : static_cast<double>(region[v.operands[0]].elements());
  switch (v.op_class) {
    case ops::OpClass::kElementwise: {
      const double units = v.scalar_op ? ops::work(*v.scalar_op, v.dtype) : 1;
      return {units > 0 ? elements : 0, elements * units};
    }
    case ops::OpClass::kReduction:
    case ops::OpClass::kScan: return {read, read};
    case ops::OpClass::kContraction:
    case ops::OpClass::kConvolution: {
      const double terms = elements * terms_per_element(region, v);
      return {2 * terms, terms};
    }
    case ops::OpClass::kWindow: {
      double window = 1;
      for (const std::int64_t n : v.attrs.get<std::vector<std::int64_t>>("window")) window *= static_cast<double>(n);
      return {elements * window, elements * window};
    }
    case ops::OpClass::kSort: return {0, read * 20};
    // One number that is spread stays an operand of what reads it.
    case ops::OpClass::kMovement: return {0, v.op_name == "broadcast" && read == 1 ? 0 : elements};
    default: return {0, elements};
  }
}

Work work(const Region& region) {
  Work total;
  for (const RegionValue& v : region.values) {
    if (v.kind != RegionValue::Kind::kOp || v.result != 0) continue;
    const Work one = value_work(region, v);
    total.flops += one.flops;
    total.units += one.units;
  }
  return total;
}

}  // namespace fusewright::region
