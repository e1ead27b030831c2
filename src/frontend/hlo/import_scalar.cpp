#include <limits>

#include "src/frontend/hlo/handlers.hpp"
#include "src/frontend/hlo/opcodes.hpp"

namespace fusewright::frontend_hlo {

namespace {

// A scalar beside tensors stands for a tensor of their shape.
Result<Value> spread(Site& site, Value value, const ops::Shape& shape) {
  if (!site.type(value).shape.empty() || shape.empty()) return value;
  return site.builder().align_to(value, shape);
}

Result<Value> splat(Site& site, ops::Tensor scalar, const ops::Shape& shape) {
  return site.builder().align_to(site.builder().constant(std::move(scalar)), shape);
}

DType integer_of_width(int bits) {
  if (bits == 8) return DType::kS8;
  if (bits == 16) return DType::kS16;
  return bits == 32 ? DType::kS32 : DType::kS64;
}

// The bits as an integer that is ordered as IEEE 754's total order: the magnitude bits of negative numbers are flipped.
Result<Value> total_order_key(Site& site, Value value) {
  const Type type = site.type(value);
  const int bits = ops::bit_width(type.dtype);
  const DType integer = integer_of_width(bits);
  const std::int64_t magnitude =
      bits == 64 ? std::numeric_limits<std::int64_t>::max() : (std::int64_t{1} << (bits - 1)) - 1;
  FW_TRY(const Value raw, site.add("bitcast", {value}, {{"dtype", integer}}));
  FW_TRY(const Value shift, splat(site, ops::scalar_tensor_int(integer, bits - 1), type.shape));
  FW_TRY(const Value mask, splat(site, ops::scalar_tensor_int(integer, magnitude), type.shape));
  FW_TRY(const Value sign, site.add("shr_arithmetic", {raw, shift}));
  FW_TRY(const Value flip, site.add("and", {sign, mask}));
  return site.add("xor", {raw, flip});
}

// One number for each feature, spread over a tensor whose axis `feature` holds them.
Result<Value> along_feature(Site& site, Value value, std::int64_t feature, const ops::Shape& shape) {
  return site.add("broadcast", {value}, {{"dims", std::vector<std::int64_t>{feature}}, {"shape", shape}});
}

}  // namespace

Result<Leaves> import_elementwise(Site& site) {
  std::string_view opcode = site.instruction.opcode;
  const int count = find_elementwise(opcode)->operands;
  FW_TRY(std::vector<Value> values, site.tensors(static_cast<std::size_t>(count)));
  if (site.type(values[0]).dtype == DType::kPred) opcode = logical_opcode(opcode);
  return site.leaf(site.add(find_elementwise(opcode)->op, std::move(values)));
}

Result<Leaves> import_select(Site& site) {
  FW_TRY(std::vector<Value> values, site.tensors(3));
  FW_TRY(values[0], spread(site, values[0], site.type(values[1]).shape));
  return site.leaf(site.add("select", std::move(values)));
}

Result<Leaves> import_clamp(Site& site) {
  FW_TRY(std::vector<Value> values, site.tensors(3));
  const ops::Shape shape = site.type(values[1]).shape;
  FW_TRY(values[0], spread(site, values[0], shape));
  FW_TRY(values[2], spread(site, values[2], shape));
  return site.leaf(site.add("clamp", std::move(values)));
}

Result<Leaves> import_compare(Site& site) {
  FW_TRY(std::vector<Value> values, site.tensors(2));
  FW_TRY(const std::string_view direction, site.attributes.word("direction"));
  std::string op;
  for (const char c : direction) op += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  if (op != "eq" && op != "ne" && op != "lt" && op != "le" && op != "gt" && op != "ge")
    return fail("direction '" + std::string(direction) + "' is not EQ, NE, LT, LE, GT or GE",
                site.importer.module.span(direction));
  if (site.attributes.has("type")) {
    FW_TRY(const std::string_view type, site.attributes.word("type"));
    if (type == "TOTALORDER" && ops::is_float(site.type(values[0]).dtype))
      for (Value& value : values) {
        FW_TRY(value, total_order_key(site, value));
      }
  }
  return site.leaf(site.add(op, std::move(values)));
}

Result<Leaves> import_convert(Site& site) {
  FW_TRY(const std::vector<Value> values, site.tensors(1));
  FW_TRY(const Type type, site.declared());
  if (type.dtype == site.type(values[0]).dtype) return Leaves{values[0]};
  return site.leaf(site.add("convert", values, {{"dtype", type.dtype}}));
}

Result<Leaves> import_bitcast_convert(Site& site) {
  FW_TRY(const std::vector<Value> values, site.tensors(1));
  FW_TRY(const Type type, site.declared());
  const DType from = site.type(values[0]).dtype;
  if (from == type.dtype) return Leaves{values[0]};
  if (ops::bit_width(from) != ops::bit_width(type.dtype))
    return site.unsupported("from " + std::string(ops::name(from)) + " to " + std::string(ops::name(type.dtype)) +
                            ", the widths differ");
  return site.leaf(site.add("bitcast", values, {{"dtype", type.dtype}}));
}

Result<Leaves> import_reduce_precision(Site& site) {
  FW_TRY(const std::vector<Value> values, site.tensors(1));
  FW_TRY(const std::int64_t exponent, site.attributes.integer("exponent_bits"));
  FW_TRY(const std::int64_t mantissa, site.attributes.integer("mantissa_bits"));
  return site.leaf(site.add("reduce_precision", values, {{"exponent_bits", exponent}, {"mantissa_bits", mantissa}}));
}

// (x - mean) * (scale / sqrt(variance + epsilon)) + offset, as XLA's own expansion has it.
Result<Leaves> import_batch_norm_inference(Site& site) {
  FW_TRY(const std::vector<Value> values, site.tensors(5));
  FW_TRY(const double epsilon, site.attributes.number("epsilon"));
  FW_TRY(const std::int64_t feature, site.attributes.integer("feature_index"));
  const Type type = site.type(values[0]);
  const Type features = site.type(values[4]);
  FW_TRY(const Value small, splat(site, ops::scalar_tensor(type.dtype, epsilon), features.shape));
  FW_TRY(const Value variance, site.add("add", {values[4], small}));
  FW_TRY(const Value factor, site.add("rsqrt", {variance}));
  std::vector<Value> spread_out;
  for (const Value value : {values[1], values[2], values[3], factor}) {
    FW_TRY(const Value wide, along_feature(site, value, feature, type.shape));
    spread_out.push_back(wide);
  }
  FW_TRY(const Value centered, site.add("sub", {values[0], spread_out[2]}));
  FW_TRY(const Value normal, site.add("mul", {centered, spread_out[3]}));
  FW_TRY(const Value scaled, site.add("mul", {normal, spread_out[0]}));
  return site.leaf(site.add("add", {scaled, spread_out[1]}));
}

Result<Leaves> import_rng(Site& site) {
  FW_TRY(const std::vector<Value> values, site.tensors(2));
  FW_TRY(const Type type, site.declared());
  FW_TRY(const std::string_view distribution, site.attributes.word("distribution"));
  if (distribution != "rng_uniform" && distribution != "rng_normal")
    return site.unsupported("distribution '" + std::string(distribution) + "'");
  return site.leaf(site.add(distribution, values, {{"shape", type.shape}, {"dtype", type.dtype}}));
}

Result<Leaves> import_rng_bit_generator(Site& site) {
  FW_TRY(const std::vector<Value> values, site.tensors(1));
  FW_TRY(const std::vector<Type> types, site.declared_leaves());
  const Type bits = types.empty() ? Type() : types.back();
  std::string algorithm = "default";
  if (site.attributes.has("algorithm")) {
    FW_TRY(const std::string_view word, site.attributes.word("algorithm"));
    algorithm = word.starts_with("rng_") ? word.substr(4) : word;
  }
  const ops::Attrs attrs = {{"shape", bits.shape}, {"dtype", bits.dtype}, {"algorithm", algorithm}};
  const ops::OpId op = site.graph().table->require("rng_bit_generator");
  FW_TRY(Leaves results, site.builder().add(op, values, attrs, site.span()));
  if (types.size() == 1) return Leaves{results[1]};
  return results;
}

}  // namespace fusewright::frontend_hlo
