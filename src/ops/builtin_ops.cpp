#include "src/ops/builtin_ops.hpp"

#include "src/ops/infer.hpp"

namespace fusewright::ops {
namespace {

// --- Shorthand for the rows ------------------------------------------------------------------------

AttrSpec needed(const char* name, AttrKind kind) { return {name, kind, std::nullopt, false, std::nullopt}; }
AttrSpec needed_axes(const char* name, AttrKind kind, std::size_t operand = 0) {
  return {name, kind, std::nullopt, false, operand};
}
AttrSpec defaulted(const char* name, AttrValue value) {
  const AttrKind kind = kind_of(value);
  return {name, kind, std::move(value), false, std::nullopt};
}
AttrSpec defaulted_axes(const char* name, AttrValue value, std::size_t operand) {
  const AttrKind kind = kind_of(value);
  return {name, kind, std::move(value), false, operand};
}
AttrSpec optional(const char* name, AttrKind kind) { return {name, kind, std::nullopt, true, std::nullopt}; }

std::vector<OperandSpec> operands(std::initializer_list<const char*> names) {
  std::vector<OperandSpec> specs;
  for (const char* name : names) specs.push_back({name, false, false});
  return specs;
}
std::vector<OperandSpec> operands_and(std::initializer_list<const char*> names, const char* variadic) {
  std::vector<OperandSpec> specs = operands(names);
  specs.push_back({variadic, false, true});
  return specs;
}

using enum AttrKind;
const Ints kNone = {};

// --- Elementwise -----------------------------------------------------------------------------------

struct ElementwiseRow {
  ScalarOp op;
  Domain domain;
  bool commutative = false;
  bool associative = false;
};

using enum Domain;
constexpr ElementwiseRow kElementwiseRows[] = {
    {ScalarOp::kAbs, kNumber},
    {ScalarOp::kNeg, kNumber},
    {ScalarOp::kSign, kNumber},
    {ScalarOp::kExp, kFloating},
    {ScalarOp::kExpm1, kFloating},
    {ScalarOp::kLog, kFloating},
    {ScalarOp::kLog1p, kFloating},
    {ScalarOp::kSqrt, kFloating},
    {ScalarOp::kRsqrt, kFloating},
    {ScalarOp::kCbrt, kFloating},
    {ScalarOp::kSin, kFloating},
    {ScalarOp::kCos, kFloating},
    {ScalarOp::kTan, kFloating},
    {ScalarOp::kAsin, kFloating},
    {ScalarOp::kAcos, kFloating},
    {ScalarOp::kAtan, kFloating},
    {ScalarOp::kSinh, kFloating},
    {ScalarOp::kCosh, kFloating},
    {ScalarOp::kTanh, kFloating},
    {ScalarOp::kAsinh, kFloating},
    {ScalarOp::kAcosh, kFloating},
    {ScalarOp::kAtanh, kFloating},
    {ScalarOp::kLogistic, kFloating},
    {ScalarOp::kErf, kFloating},
    {ScalarOp::kFloor, kFloating},
    {ScalarOp::kCeil, kFloating},
    {ScalarOp::kTrunc, kFloating},
    {ScalarOp::kRoundEven, kFloating},
    {ScalarOp::kRoundAway, kFloating},
    {ScalarOp::kNot, kLogical},
    {ScalarOp::kPopcount, kInteger},
    {ScalarOp::kClz, kInteger},
    {ScalarOp::kIsFinite, kFloating},
    {ScalarOp::kIsNan, kFloating},
    {ScalarOp::kIsInf, kFloating},
    {ScalarOp::kAdd, kNumber, true, true},
    {ScalarOp::kSub, kNumber},
    {ScalarOp::kMul, kNumber, true, true},
    {ScalarOp::kDiv, kNumber},
    {ScalarOp::kRem, kNumber},
    {ScalarOp::kMod, kNumber},
    {ScalarOp::kPow, kNumber},
    {ScalarOp::kMax, kReal, true, true},
    {ScalarOp::kMin, kReal, true, true},
    {ScalarOp::kAtan2, kFloating},
    {ScalarOp::kAnd, kLogical, true, true},
    {ScalarOp::kOr, kLogical, true, true},
    {ScalarOp::kXor, kLogical, true, true},
    {ScalarOp::kShl, kInteger},
    {ScalarOp::kShrArithmetic, kInteger},
    {ScalarOp::kShrLogical, kInteger},
    {ScalarOp::kEq, kReal, true},
    {ScalarOp::kNe, kReal, true},
    {ScalarOp::kLt, kReal},
    {ScalarOp::kLe, kReal},
    {ScalarOp::kGt, kReal},
    {ScalarOp::kGe, kReal},
    {ScalarOp::kClamp, kNumber},
};

InferFn elementwise_rule(const ElementwiseRow& row) {
  if (is_comparison(row.op)) return infer_predicate<kReal>;
  if (row.op == ScalarOp::kIsFinite || row.op == ScalarOp::kIsNan || row.op == ScalarOp::kIsInf)
    return infer_predicate<kFloating>;
  switch (row.domain) {
    case kFloating: return infer_elementwise<kFloating>;
    case kInteger: return infer_elementwise<kInteger>;
    case kNumber: return infer_elementwise<kNumber>;
    case kLogical: return infer_elementwise<kLogical>;
    case kReal: return infer_elementwise<kReal>;
  }
  return nullptr;
}

void add_elementwise(std::vector<OpInfo>& ops) {
  for (const ElementwiseRow& row : kElementwiseRows) {
    OpInfo info;
    info.name = name(row.op);
    info.op_class = OpClass::kElementwise;
    info.operands = arity(row.op) == 1   ? operands({"x"})
                    : arity(row.op) == 2 ? operands({"a", "b"})
                                         : operands({"low", "x", "high"});
    info.scalar = row.op;
    info.commutative = row.commutative;
    info.associative_exact = row.associative;
    info.infer = elementwise_rule(row);
    ops.push_back(std::move(info));
  }
}

// --- All others ------------------------------------------------------------------------------------

struct Row {
  const char* name;
  OpClass op_class;
  std::vector<OperandSpec> operands;
  std::vector<AttrSpec> attrs;
  InferFn infer;
  CompleteFn complete = nullptr;
  std::vector<std::string> results = {"out"};
  std::optional<ScalarOp> scalar = std::nullopt;
};

std::vector<Row> elementwise_with_attrs() {
  using enum OpClass;
  return {
      {.name = "convert",
       .op_class = kElementwise,
       .operands = operands({"x"}),
       .attrs = {needed("dtype", kDType)},
       .infer = infer_convert,
       .scalar = ScalarOp::kConvert},
      {.name = "bitcast",
       .op_class = kElementwise,
       .operands = operands({"x"}),
       .attrs = {needed("dtype", kDType)},
       .infer = infer_bitcast,
       .scalar = ScalarOp::kBitcast},
      {.name = "reduce_precision",
       .op_class = kElementwise,
       .operands = operands({"x"}),
       .attrs = {needed("exponent_bits", kInt), needed("mantissa_bits", kInt)},
       .infer = infer_reduce_precision},
      {.name = "select",
       .op_class = kElementwise,
       .operands = operands({"pred", "on_true", "on_false"}),
       .attrs = {},
       .infer = infer_select,
       .scalar = ScalarOp::kSelect},
  };
}

std::vector<Row> movement() {
  using enum OpClass;
  return {
      {"broadcast", kMovement, operands({"x"}), {needed("dims", kInts), needed("shape", kShape)}, infer_broadcast},
      {"reshape", kMovement, operands({"x"}), {needed("shape", kShape)}, infer_reshape},
      {"transpose", kMovement, operands({"x"}), {needed_axes("perm", kInts)}, infer_transpose},
      {"reverse", kMovement, operands({"x"}), {needed_axes("axes", kInts)}, infer_reverse},
      {"slice",
       kMovement,
       operands({"x"}),
       {needed("starts", kInts), needed("limits", kInts), needed("strides", kInts)},
       infer_slice,
       complete_slice},
      {"pad",
       kMovement,
       operands({"x", "value"}),
       {needed("low", kInts), needed("high", kInts), needed("interior", kInts)},
       infer_pad,
       complete_pad},
      {"concat", kMovement, operands_and({}, "x"), {needed_axes("axis", kInt)}, infer_concat},
  };
}

std::vector<Row> reductions_and_sorts() {
  using enum OpClass;
  std::vector<Row> rows;
  for (const char* name : {"reduce_sum", "reduce_prod"})
    rows.push_back({name, kReduction, operands({"x"}), {needed_axes("axes", kInts)}, infer_reduction<kNumber>});
  for (const char* name : {"reduce_max", "reduce_min"})
    rows.push_back({name, kReduction, operands({"x"}), {needed_axes("axes", kInts)}, infer_reduction<kReal>});
  for (const char* name : {"reduce_and", "reduce_or"})
    rows.push_back({name, kReduction, operands({"x"}), {needed_axes("axes", kInts)}, infer_reduction<kLogical>});
  for (const char* name : {"arg_max", "arg_min"})
    rows.push_back({name,
                    kReduction,
                    operands({"x"}),
                    {needed_axes("axis", kInt), defaulted("last", false), defaulted("dtype", DType::kS64)},
                    infer_arg_reduction});
  rows.push_back({"reduce", kReduction, operands_and({}, "x"), {needed_axes("axes", kInts)}, infer_reduce});
  rows.push_back({"sort",
                  kSort,
                  operands_and({}, "x"),
                  {needed_axes("axis", kInt), defaulted("descending", false), defaulted("stable", false)},
                  infer_sort});
  rows.push_back(
      {"top_k",
       kSort,
       operands({"x"}),
       {needed("k", kInt), needed_axes("axis", kInt), defaulted("largest", true), defaulted("dtype", DType::kS64)},
       infer_top_k,
       nullptr,
       {"values", "indices"}});
  for (const char* name : {"cum_sum", "cum_prod", "cum_max", "cum_min"})
    rows.push_back({name,
                    kScan,
                    operands({"x"}),
                    {needed_axes("axis", kInt), defaulted("exclusive", false), defaulted("reverse", false)},
                    infer_scan});
  return rows;
}

std::vector<Row> contractions() {
  using enum OpClass;
  std::vector<Row> rows;
  rows.push_back(
      {"dot",
       kContraction,
       operands({"a", "b"}),
       {defaulted_axes("lhs_batch", kNone, 0), defaulted_axes("rhs_batch", kNone, 1),
        needed_axes("lhs_contract", kInts, 0), needed_axes("rhs_contract", kInts, 1), needed("dtype", kDType)},
       infer_dot,
       complete_dot});
  rows.push_back(
      {"conv",
       kConvolution,
       operands({"x", "w"}),
       {needed("strides", kInts), needed("pad_low", kInts), needed("pad_high", kInts), needed("lhs_dilation", kInts),
        needed("rhs_dilation", kInts), needed("reversal", kInts), defaulted("groups", std::int64_t{1}),
        defaulted("batch_groups", std::int64_t{1}), needed("lhs_spec", kInts), needed("rhs_spec", kInts),
        needed("out_spec", kInts), needed("dtype", kDType)},
       infer_conv,
       complete_conv});
  for (const char* name : {"reduce_window_sum", "reduce_window_prod", "reduce_window_max", "reduce_window_min"})
    rows.push_back({name,
                    kWindow,
                    operands({"x"}),
                    {needed("window", kInts), needed("strides", kInts), needed("pad_low", kInts),
                     needed("pad_high", kInts), needed("base_dilation", kInts), needed("window_dilation", kInts)},
                    infer_reduce_window,
                    complete_reduce_window});
  return rows;
}

std::vector<Row> indexing() {
  using enum OpClass;
  return {
      {"take", kIndexing, operands({"x", "indices"}), {needed_axes("axis", kInt)}, infer_take},
      {"take_along", kIndexing, operands({"x", "indices"}), {needed_axes("axis", kInt)}, infer_take_along},
      {"gather",
       kIndexing,
       operands({"x", "indices"}),
       {needed("offset_dims", kInts), needed_axes("collapsed_slice_dims", kInts), needed_axes("start_index_map", kInts),
        defaulted_axes("operand_batching_dims", kNone, 0), defaulted_axes("indices_batching_dims", kNone, 1),
        needed("index_vector_dim", kInt), needed("slice_sizes", kInts)},
       infer_gather},
      {"dynamic_slice", kIndexing, operands_and({"x"}, "start"), {needed("sizes", kInts)}, infer_dynamic_slice},
      {"dynamic_update_slice", kIndexing, operands_and({"x", "update"}, "start"), {}, infer_dynamic_update_slice},
      {"scatter",
       kIndexing,
       operands({"x", "indices", "updates"}),
       {needed_axes("update_window_dims", kInts, 2), needed_axes("inserted_window_dims", kInts),
        needed_axes("scatter_dims_to_operand_dims", kInts), defaulted_axes("input_batching_dims", kNone, 0),
        defaulted_axes("indices_batching_dims", kNone, 1), needed("index_vector_dim", kInt),
        defaulted("combiner", std::string("assign"))},
       infer_scatter},
  };
}

std::vector<Row> sources_and_control() {
  using enum OpClass;
  std::vector<OperandSpec> loop = {{"trip_count", true, false}, {"condition", true, false}, {"x", false, true}};
  return {
      {"parameter", kSource, {}, {needed("index", kInt), defaulted("name", std::string())}, nullptr},
      {"constant", kSource, {}, {needed("value", kTensor)}, infer_constant},
      {"iota",
       kSource,
       {},
       {needed("shape", kShape), needed("dtype", kDType), defaulted("axis", std::int64_t{0})},
       infer_iota},
      {"while", kControl, operands_and({}, "x"), {}, nullptr},
      {"conditional", kControl, operands_and({"index"}, "x"), {}, nullptr},
      {"loop", kControl, std::move(loop), {defaulted("scans", std::int64_t{0})}, nullptr},
      {"call", kControl, operands_and({}, "x"), {}, nullptr},
      {"rng_uniform",
       kEffect,
       operands({"low", "high"}),
       {needed("shape", kShape), needed("dtype", kDType)},
       infer_rng},
      {"rng_normal",
       kEffect,
       operands({"mean", "scale"}),
       {needed("shape", kShape), needed("dtype", kDType)},
       infer_rng},
      {"rng_bit_generator",
       kEffect,
       operands({"state"}),
       {needed("shape", kShape), needed("dtype", kDType), defaulted("algorithm", std::string("default"))},
       infer_rng_bits,
       nullptr,
       {"state", "bits"}},
      {"custom_call",
       kEffect,
       operands_and({}, "x"),
       {needed("target", kString), optional("config", kString)},
       nullptr},
  };
}

}  // namespace

std::vector<OpInfo> builtin_ops() {
  std::vector<OpInfo> ops;
  add_elementwise(ops);
  for (std::vector<Row> (*rows)() :
       {elementwise_with_attrs, movement, reductions_and_sorts, contractions, indexing, sources_and_control})
    for (Row& row : rows()) {
      OpInfo info;
      info.name = row.name;
      info.op_class = row.op_class;
      info.operands = std::move(row.operands);
      info.attrs = std::move(row.attrs);
      info.results = std::move(row.results);
      info.scalar = row.scalar;
      info.infer = row.infer;
      info.complete = row.complete;
      ops.push_back(std::move(info));
    }
  return ops;
}

}  // namespace fusewright::ops
