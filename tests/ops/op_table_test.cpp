#include "fusewright/ops/op_table.hpp"

#include <catch2/catch.hpp>
#include <limits>
#include <set>

#include "tests/ops/make_expr.hpp"

using namespace fusewright;
using namespace fusewright::ops;

namespace {

using Ints = std::vector<std::int64_t>;

const OpTable& table() {
  static const OpTable kTable = OpTable::builtin();
  return kTable;
}

Type f32(Shape shape) { return Type::tensor(DType::kF32, std::move(shape)); }
Type s32(Shape shape) { return Type::tensor(DType::kS32, std::move(shape)); }
Type pred(Shape shape) { return Type::tensor(DType::kPred, std::move(shape)); }

// The types of the results, or "error: " and the message.
std::string infer(const std::string& op, const std::vector<Type>& operands, const Attrs& attrs = {}) {
  const OpId id = table().find(op);
  REQUIRE(id.valid());
  const Result<Attrs> complete = table().complete_attrs(id, attrs, operands);
  if (!complete) return "error: " + complete.error().diagnostics[0].message;
  const Result<std::vector<Type>> types = table().infer(id, operands, *complete);
  if (!types) return "error: " + types.error().diagnostics[0].message;
  std::string out;
  for (const Type& type : *types) out += (out.empty() ? "" : " ") + to_string(type);
  return out;
}

bool refuses(const std::string& op, const std::vector<Type>& operands, const Attrs& attrs = {}) {
  const std::string answer = infer(op, operands, attrs);
  INFO(op << ": " << answer);
  CHECK(answer.starts_with("error: "));
  return answer.starts_with("error: ");
}

const Dim n = Dim::symbol("n");

}  // namespace

TEST_CASE("the table has every operator once and finds it by name", "[op_table]") {
  const std::vector<std::string> names = table().names();
  CHECK(std::set<std::string>(names.begin(), names.end()).size() == names.size());
  CHECK(names.size() == table().size());
  for (const std::string& name : names) CHECK(table()[table().find(name)].name == name);
  CHECK_FALSE(table().find("frobnicate").valid());
  CHECK(table()[table().require("add")].commutative);
  CHECK_FALSE(table()[table().require("sub")].commutative);
  CHECK(table()[table().require("gather")].op_class == OpClass::kIndexing);
}

TEST_CASE("an operator that exists cannot be declared again", "[op_table]") {
  OpTable more = table();
  OpInfo info;
  info.name = "gelu";
  REQUIRE(more.add(info).has_value());
  const Result<OpId> again = more.add(info);
  REQUIRE_FALSE(again.has_value());
  CHECK(again.error().diagnostics[0].message == "operator 'gelu' exists already");
  CHECK(again.error().diagnostics[0].notes.size() == 1);
}

TEST_CASE("attributes are completed, converted and normalised", "[op_table]") {
  const auto complete = [](const char* op, const std::vector<Type>& operands, const Attrs& attrs) {
    return table().complete_attrs(table().require(op), attrs, operands);
  };
  CHECK(complete("reduce_sum", {f32({2, 3, 4})}, {{"axes", Ints{-1, 0}}})->get<Ints>("axes") == Ints{0, 2});
  CHECK(complete("transpose", {f32({2, 3, 4})}, {{"perm", Ints{-1, 0, 1}}})->get<Ints>("perm") == Ints{2, 0, 1});
  CHECK(complete("reshape", {f32({6})}, {{"shape", Ints{2, 3}}})->get<Shape>("shape") == Shape{2, 3});
  CHECK(complete("dot", {f32({2, 3}), f32({3, 4})}, {})->get<Ints>("rhs_contract") == Ints{0});
  CHECK(complete("dot", {f32({5, 2, 3}), f32({5, 3, 4})}, {{"lhs_batch", Ints{0}}, {"rhs_batch", Ints{0}}})
            ->get<Ints>("rhs_contract") == Ints{1});
  CHECK(complete("conv", {f32({1, 3, 8, 8}), f32({4, 3, 3, 3})}, {})->get<Ints>("strides") == Ints{1, 1});
  CHECK(complete("arg_max", {f32({2})}, {{"axis", std::int64_t{0}}})->get<DType>("dtype") == DType::kS64);

  CHECK(complete("reduce_sum", {f32({2})}, {}).error().diagnostics[0].message == "reduce_sum needs attribute 'axes'");
  const auto misspelt = complete("reduce_sum", {f32({2})}, {{"axis", Ints{0}}});
  CHECK(misspelt.error().diagnostics[0].message == "reduce_sum has no attribute 'axis'");
  CHECK(misspelt.error().diagnostics[0].suggestion == "did you mean 'axes'?");
  CHECK_FALSE(complete("reduce_sum", {f32({2})}, {{"axes", std::string("0")}}).has_value());
  CHECK_FALSE(complete("reduce_sum", {f32({2})}, {{"axes", Ints{-2}}}).has_value());
  CHECK_FALSE(complete("reduce_sum", {f32({2})}, {{"axes", Ints{1}}}).has_value());
  CHECK(complete("add", {f32({2})}, {}).error().diagnostics[0].message == "add takes 2 operands, not 1");
  CHECK(complete("add", {f32({2}), f32({2}), f32({2})}, {}).error().diagnostics[0].message ==
        "add takes 2 operands, not 3");
  CHECK_FALSE(complete("add", {f32({2}), Type()}, {}).has_value());
  CHECK_FALSE(complete("add", {f32({2}), Type::token()}, {}).has_value());
}

TEST_CASE("elementwise operators take one shape and the dtypes they compute on", "[op_table]") {
  CHECK(infer("add", {f32({2, 3}), f32({2, 3})}) == "f32[2,3]");
  CHECK(infer("add", {f32({n}), f32({n})}) == "f32[n]");
  CHECK(infer("lt", {s32({2}), s32({2})}) == "pred[2]");
  CHECK(infer("is_nan", {f32({2})}) == "pred[2]");
  CHECK(infer("select", {pred({2}), f32({2}), f32({2})}) == "f32[2]");
  CHECK(infer("clamp", {f32({}), f32({}), f32({})}) == "f32[]");
  CHECK(infer("convert", {f32({2})}, {{"dtype", DType::kS8}}) == "s8[2]");
  CHECK(infer("bitcast", {f32({2})}, {{"dtype", DType::kU32}}) == "u32[2]");
  CHECK(infer("add", {f32({2, 3}), f32({3, 2})}) == "error: operands of add have shapes [2,3] and [3,2]");
  CHECK(infer("add", {f32({2}), s32({2})}) == "error: operands of add have dtypes f32 and s32");
  CHECK(infer("exp", {s32({2})}) == "error: exp does not compute on s32");
  CHECK(refuses("add", {pred({2}), pred({2})}));
  CHECK(refuses("and", {f32({2}), f32({2})}));
  CHECK(refuses("shl", {f32({2}), f32({2})}));
  CHECK(refuses("add", {Type::tensor(DType::kC64, {2}), Type::tensor(DType::kC64, {2})}));
  CHECK(refuses("select", {f32({2}), f32({2}), f32({2})}));
  CHECK(refuses("select", {pred({}), f32({2}), f32({2})}));
  CHECK(refuses("bitcast", {f32({2})}, {{"dtype", DType::kF64}}));
  CHECK(refuses("reduce_precision", {f32({2})},
                {{"exponent_bits", std::int64_t{0}}, {"mantissa_bits", std::int64_t{3}}}));
}

TEST_CASE("movement operators check ranks, axes and extents", "[op_table]") {
  CHECK(infer("broadcast", {f32({3})}, {{"dims", Ints{1}}, {"shape", Shape{2, 3}}}) == "f32[2,3]");
  CHECK(infer("reshape", {f32({2, 6})}, {{"shape", Shape{3, 4}}}) == "f32[3,4]");
  CHECK(infer("reshape", {f32({n, 6})}, {{"shape", Shape{Dim(2) * n, 3}}}) == "f32[2*n,3]");
  CHECK(infer("transpose", {f32({2, 3, 4})}, {{"perm", Ints{2, 0, 1}}}) == "f32[4,2,3]");
  CHECK(infer("slice", {f32({10})}, {{"starts", Ints{1}}, {"limits", Ints{10}}, {"strides", Ints{4}}}) == "f32[3]");
  CHECK(infer("slice", {f32({10})}, {{"starts", Ints{2}}, {"limits", Ints{2}}}) == "f32[0]");
  CHECK(infer("pad", {f32({3}), f32({})}, {{"low", Ints{-1}}, {"high", Ints{2}}, {"interior", Ints{1}}}) == "f32[6]");
  CHECK(infer("pad", {f32({0}), f32({})}, {{"low", Ints{1}}, {"high", Ints{1}}, {"interior", Ints{5}}}) == "f32[2]");
  CHECK(infer("concat", {f32({2, n}), f32({2, 3})}, {{"axis", std::int64_t{-1}}}) == "f32[2,n + 3]");
  CHECK(refuses("broadcast", {f32({3})}, {{"dims", Ints{0}}, {"shape", Shape{2, 3}}}));
  CHECK(refuses("broadcast", {f32({3, 2})}, {{"dims", Ints{1, 0}}, {"shape", Shape{2, 3}}}));
  CHECK(refuses("broadcast", {f32({1})}, {{"dims", Ints{0}}, {"shape", Shape{5}}}));
  CHECK(refuses("broadcast", {f32({})}, {{"dims", Ints{}}, {"shape", Shape{-1}}}));
  CHECK(refuses("broadcast", {f32({})},
                {{"dims", Ints{}}, {"shape", Shape{std::int64_t{1} << 40, std::int64_t{1} << 40}}}));
  CHECK(refuses("reshape", {f32({2, 6})}, {{"shape", Shape{5}}}));
  CHECK(refuses("reshape", {f32({2, 6})}, {{"shape", Shape{-2, -6}}}));
  CHECK(refuses("transpose", {f32({2, 3})}, {{"perm", Ints{0}}}));
  CHECK(refuses("transpose", {f32({2, 3})}, {{"perm", Ints{0, 0}}}));
  CHECK(refuses("slice", {f32({10})}, {{"starts", Ints{1}}, {"limits", Ints{11}}}));
  CHECK(refuses("slice", {f32({10})}, {{"starts", Ints{3}}, {"limits", Ints{2}}}));
  CHECK(refuses("slice", {f32({10})}, {{"starts", Ints{0}}, {"limits", Ints{2}}, {"strides", Ints{0}}}));
  CHECK(refuses("slice", {f32({10, 2})}, {{"starts", Ints{0}}, {"limits", Ints{2}}}));
  CHECK(refuses("pad", {f32({3}), f32({})}, {{"low", Ints{-2}}, {"high", Ints{-2}}}));
  CHECK(refuses("pad", {f32({3}), f32({1})}, {{"low", Ints{0}}, {"high", Ints{0}}}));
  CHECK(refuses("pad", {f32({3}), f32({})}, {{"interior", Ints{std::numeric_limits<std::int64_t>::max()}}}));
  CHECK(refuses("concat", {}, {{"axis", std::int64_t{0}}}));
  CHECK(refuses("concat", {f32({2, 3}), f32({3, 3})}, {{"axis", std::int64_t{1}}}));
  CHECK(refuses("concat", {f32({2, 3}), f32({2})}, {{"axis", std::int64_t{1}}}));
}

TEST_CASE("reductions, scans and sorts name their axes", "[op_table]") {
  CHECK(infer("reduce_sum", {f32({2, 3, 4})}, {{"axes", Ints{0, 2}}}) == "f32[3]");
  CHECK(infer("reduce_sum", {f32({2, 3})}, {{"axes", Ints{}}}) == "f32[2,3]");
  CHECK(infer("reduce_and", {pred({2})}, {{"axes", Ints{0}}}) == "pred[]");
  CHECK(infer("arg_max", {f32({2, 3})}, {{"axis", std::int64_t{1}}, {"dtype", DType::kS32}}) == "s32[2]");
  CHECK(infer("reduce", {f32({2, 3}), s32({2, 3}), f32({}), s32({})}, {{"axes", Ints{1}}}) == "f32[2] s32[2]");
  CHECK(infer("cum_sum", {f32({2, 3})}, {{"axis", std::int64_t{-1}}}) == "f32[2,3]");
  CHECK(infer("sort", {f32({3}), s32({3})}, {{"axis", std::int64_t{0}}}) == "f32[3] s32[3]");
  CHECK(infer("top_k", {f32({2, 9})}, {{"k", std::int64_t{4}}, {"axis", std::int64_t{1}}}) == "f32[2,4] s64[2,4]");
  CHECK(refuses("reduce_sum", {f32({2, 3})}, {{"axes", Ints{0, 0}}}));
  CHECK(refuses("reduce_sum", {f32({2, 3})}, {{"axes", Ints{-1, 1}}}));
  CHECK(refuses("reduce_sum", {pred({2})}, {{"axes", Ints{0}}}));
  CHECK(refuses("arg_max", {f32({2, 0})}, {{"axis", std::int64_t{1}}}));
  CHECK(refuses("arg_max", {f32({2})}, {{"axis", std::int64_t{0}}, {"dtype", DType::kF32}}));
  CHECK(refuses("reduce", {f32({2}), f32({}), f32({})}, {{"axes", Ints{0}}}));
  CHECK(refuses("reduce", {f32({2}), s32({})}, {{"axes", Ints{0}}}));
  CHECK(refuses("sort", {f32({3}), s32({4})}, {{"axis", std::int64_t{0}}}));
  CHECK(refuses("top_k", {f32({3})}, {{"k", std::int64_t{4}}, {"axis", std::int64_t{0}}}));
  CHECK(refuses("cum_sum", {f32({})}, {{"axis", std::int64_t{0}}}));
}

TEST_CASE("dot gives batch axes, then the free ones of each side", "[op_table]") {
  CHECK(infer("dot", {f32({2, 3}), f32({3, 4})}) == "f32[2,4]");
  CHECK(infer("dot", {f32({5, 2, 3}), f32({5, 3, 4})}, {{"lhs_batch", Ints{0}}, {"rhs_batch", Ints{0}}}) ==
        "f32[5,2,4]");
  CHECK(infer("dot", {f32({3}), f32({3})}) == "f32[]");
  CHECK(infer("dot", {f32({2}), f32({3})}, {{"lhs_contract", Ints{}}, {"rhs_contract", Ints{}}}) == "f32[2,3]");
  CHECK(infer("dot", {Type::tensor(DType::kS8, {2, 3}), Type::tensor(DType::kS8, {3, 4})}, {{"dtype", DType::kS32}}) ==
        "s32[2,4]");
  CHECK(infer("dot", {f32({n, 3}), f32({3, 4})}) == "f32[n,4]");
  CHECK(refuses("dot", {f32({2, 3}), f32({4, 5})}));
  CHECK(refuses("dot", {f32({}), f32({})}));
  CHECK(refuses("dot", {f32({2, 3}), s32({3, 4})}));
  CHECK(refuses("dot", {f32({2, 3}), f32({3, 4})}, {{"dtype", DType::kS32}}));
  CHECK(refuses("dot", {f32({2, 3}), f32({3, 4})}, {{"lhs_contract", Ints{1}}, {"rhs_contract", Ints{}}}));
  CHECK(
      refuses("dot", {f32({2, 2}), f32({2, 2})},
              {{"lhs_batch", Ints{0}}, {"rhs_batch", Ints{0}}, {"lhs_contract", Ints{0}}, {"rhs_contract", Ints{1}}}));
}

TEST_CASE("conv follows strides, pads, dilations, groups and layouts", "[op_table]") {
  const std::vector<Type> image = {f32({1, 3, 224, 224}), f32({64, 3, 7, 7})};
  CHECK(infer("conv", image, {{"strides", Ints{2, 2}}, {"pad_low", Ints{3, 3}}, {"pad_high", Ints{3, 3}}}) ==
        "f32[1,64,112,112]");
  CHECK(infer("conv", image, {{"rhs_dilation", Ints{2, 2}}}) == "f32[1,64,212,212]");
  CHECK(infer("conv", {f32({1, 4, 5}), f32({8, 1, 3})}, {{"groups", std::int64_t{4}}}) == "f32[1,8,3]");
  CHECK(infer("conv", {f32({1, 8, 8, 3}), f32({3, 3, 3, 16})},
              {{"lhs_spec", Ints{0, 3, 1, 2}}, {"rhs_spec", Ints{3, 2, 0, 1}}, {"out_spec", Ints{0, 3, 1, 2}}}) ==
        "f32[1,6,6,16]");
  CHECK(infer("conv", {f32({1, 1, 4}), f32({1, 1, 3})},
              {{"lhs_dilation", Ints{2}}, {"pad_low", Ints{2}}, {"pad_high", Ints{2}}}) == "f32[1,1,9]");
  CHECK(infer("conv", {f32({1, 1, 2}), f32({1, 1, 3})}) == "f32[1,1,0]");
  CHECK(infer("conv", {f32({1, 3, n}), f32({4, 3, 3})}, {{"strides", Ints{2}}}) == "f32[1,4,floordiv(n - 3, 2) + 1]");
  CHECK(refuses("conv", {f32({1, 4, 5, 5}), f32({8, 3, 3, 3})}));
  CHECK(refuses("conv", {f32({1, 4, 5}), f32({6, 1, 3})}, {{"groups", std::int64_t{4}}}));
  CHECK(refuses("conv", image, {{"groups", std::int64_t{0}}}));
  CHECK(refuses("conv", image, {{"strides", Ints{0, 1}}}));
  CHECK(refuses("conv", image, {{"strides", Ints{1}}}));
  CHECK(refuses("conv", image, {{"lhs_spec", Ints{0, 1, 2, 2}}}));
  CHECK(refuses("conv", image, {{"reversal", Ints{2, 0}}}));
  CHECK(refuses("conv", {f32({3}), f32({3})}));
  CHECK(refuses("conv", {f32({1, 3, 4}), f32({64, 3, 7, 7})}));
}

TEST_CASE("windows count how often they fit", "[op_table]") {
  CHECK(infer("reduce_window_max", {f32({1, 1, 112, 112})},
              {{"window", Ints{1, 1, 3, 3}},
               {"strides", Ints{1, 1, 2, 2}},
               {"pad_low", Ints{0, 0, 1, 1}},
               {"pad_high", Ints{0, 0, 1, 1}}}) == "f32[1,1,56,56]");
  CHECK(infer("reduce_window_sum", {f32({5})}, {{"window", Ints{2}}, {"window_dilation", Ints{3}}}) == "f32[2]");
  CHECK(infer("reduce_window_sum", {f32({5})}, {{"window", Ints{9}}}) == "f32[0]");
  CHECK(refuses("reduce_window_sum", {f32({5})}, {{"window", Ints{0}}}));
  CHECK(refuses("reduce_window_sum", {f32({5})}, {{"window", Ints{1, 1}}}));
  CHECK(refuses("reduce_window_sum", {pred({5})}, {{"window", Ints{1}}}));
}

TEST_CASE("indexing operators give each axis one role", "[op_table]") {
  CHECK(infer("take", {f32({7, 8}), s32({2, 3})}, {{"axis", std::int64_t{1}}}) == "f32[7,2,3]");
  CHECK(infer("take_along", {f32({7, 8}), s32({7, 2})}, {{"axis", std::int64_t{1}}}) == "f32[7,2]");
  const Attrs rows = {{"offset_dims", Ints{1}},
                      {"collapsed_slice_dims", Ints{0}},
                      {"start_index_map", Ints{0}},
                      {"index_vector_dim", std::int64_t{1}},
                      {"slice_sizes", Ints{1, 8}}};
  CHECK(infer("gather", {f32({7, 8}), s32({5})}, rows) == "f32[5,8]");
  const Attrs updates = {{"update_window_dims", Ints{1}},
                         {"inserted_window_dims", Ints{0}},
                         {"scatter_dims_to_operand_dims", Ints{0}},
                         {"index_vector_dim", std::int64_t{1}},
                         {"combiner", std::string("add")}};
  CHECK(infer("scatter", {f32({7, 8}), s32({5, 1}), f32({5, 8})}, updates) == "f32[7,8]");
  CHECK(infer("dynamic_slice", {f32({7, 8}), s32({}), s32({})}, {{"sizes", Ints{2, 8}}}) == "f32[2,8]");
  CHECK(infer("dynamic_update_slice", {f32({7, 8}), f32({1, 8}), s32({}), s32({})}) == "f32[7,8]");
  CHECK(refuses("take", {f32({7}), f32({2})}, {{"axis", std::int64_t{0}}}));
  CHECK(refuses("take_along", {f32({7, 8}), s32({9, 2})}, {{"axis", std::int64_t{1}}}));
  CHECK(refuses("take_along", {f32({7, 8}), s32({7})}, {{"axis", std::int64_t{1}}}));
  Attrs wrong = rows;
  wrong.set("slice_sizes", Ints{2, 8});
  CHECK(refuses("gather", {f32({7, 8}), s32({5})}, wrong));
  wrong.set("slice_sizes", Ints{1, 9});
  CHECK(refuses("gather", {f32({7, 8}), s32({5})}, wrong));
  wrong = rows;
  wrong.set("offset_dims", Ints{5});
  CHECK(refuses("gather", {f32({7, 8}), s32({5})}, wrong));
  wrong = rows;
  wrong.set("index_vector_dim", std::int64_t{3});
  CHECK(refuses("gather", {f32({7, 8}), s32({5})}, wrong));
  CHECK(refuses("gather", {f32({7, 8}), s32({5, 2})}, rows));
  wrong = updates;
  wrong.set("combiner", std::string("divide"));
  CHECK(refuses("scatter", {f32({7, 8}), s32({5, 1}), f32({5, 8})}, wrong));
  CHECK(refuses("scatter", {f32({7, 8}), s32({5, 1}), f32({5, 9})}, updates));
  CHECK(refuses("scatter", {f32({7, 8}), s32({5, 1}), f32({4, 8})}, updates));
  CHECK(refuses("dynamic_slice", {f32({7, 8}), s32({})}, {{"sizes", Ints{2, 8}}}));
  CHECK(refuses("dynamic_slice", {f32({7}), f32({})}, {{"sizes", Ints{2}}}));
  CHECK(refuses("dynamic_slice", {f32({7}), s32({})}, {{"sizes", Ints{8}}}));
  CHECK(refuses("dynamic_update_slice", {f32({7}), f32({8}), s32({})}));
}

TEST_CASE("sources state their types, control flow cannot be inferred", "[op_table]") {
  CHECK(infer("constant", {}, {{"value", std::make_shared<const Tensor>(vector_tensor({1, 2}))}}) == "s64[2]");
  CHECK(infer("iota", {}, {{"shape", Shape{2, 3}}, {"dtype", DType::kS32}, {"axis", std::int64_t{1}}}) == "s32[2,3]");
  CHECK(infer("rng_uniform", {f32({}), f32({})}, {{"shape", Shape{2}}, {"dtype", DType::kF32}}) == "f32[2]");
  CHECK(infer("rng_bit_generator", {Type::tensor(DType::kU64, {2})}, {{"shape", Shape{4}}, {"dtype", DType::kU32}}) ==
        "u64[2] u32[4]");
  CHECK(refuses("constant", {}, {{"value", TensorHandle()}}));
  CHECK(refuses("iota", {}, {{"shape", Shape{2}}, {"dtype", DType::kS32}, {"axis", std::int64_t{1}}}));
  CHECK(refuses("rng_uniform", {f32({2}), f32({})}, {{"shape", Shape{2}}, {"dtype", DType::kF32}}));
  CHECK(infer("call", {f32({2})}) == "error: the types of call cannot be inferred");
}

TEST_CASE("a composite operator's types come from its body", "[op_table]") {
  using namespace fusewright::tests;
  OpTable more = table();
  // mean(x; axes) over the last axis by default
  AttrSpec axes{"axes", AttrKind::kInts, AttrValue(Ints{-1}), false, 0};
  REQUIRE(more.add(composite(
      "mean", {{"x"}}, {axes}, {},
      {bin(call("reduce_sum", {id("x")}, {{"axes", id("axes")}}), "/", call("size", {id("x"), id("axes")}))})));
  const OpId mean = more.find("mean");
  const std::vector<Type> operands = {f32({4, 8})};
  const Attrs attrs = more.complete_attrs(mean, {}, operands).value();
  CHECK(attrs.get<Ints>("axes") == Ints{1});
  CHECK(more.infer(mean, operands, attrs).value() == std::vector<Type>{f32({4})});
  const Result<std::vector<Type>> refused = more.infer(mean, std::vector<Type>{pred({4, 8})}, attrs);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().diagnostics[0].message == "reduce_sum does not compute on pred");
}

TEST_CASE("a composite operator made of itself, or too large, is an error and not a crash", "[op_table]") {
  using namespace fusewright::tests;
  OpTable more = table();
  REQUIRE(more.add(composite("again", {{"x"}}, {}, {}, {call("again", {id("x")})})));
  const std::vector<Type> operands = {f32({2})};
  CHECK_FALSE(more.infer(more.find("again"), operands, {}).has_value());
  std::string previous = "exp";
  for (int i = 0; i < 30; ++i) {
    const std::string next = "level" + std::to_string(i);
    REQUIRE(
        more.add(composite(next, {{"x"}}, {}, {}, {bin(call(previous, {id("x")}), "+", call(previous, {id("x")}))})));
    previous = next;
  }
  CHECK_FALSE(more.infer(more.find(previous), operands, {}).has_value());
}
