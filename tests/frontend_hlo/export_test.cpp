#include "tests/frontend_hlo/hlo.hpp"

using namespace fusewright;
using namespace fusewright::tests;
using frontend_hlo::FusionGroup;
using graph::Builder;
using graph::Value;
using Ints = std::vector<std::int64_t>;

namespace {

// What comes back computes the same, bit for bit (NaN as NaN).
void check_round_trip(const graph::Graph& graph) {
  const std::string text = export_text(graph);
  INFO(text);
  const graph::Graph back = import_text(text);
  const auto before = values_of(graph), after = values_of(back);
  REQUIRE(before.size() == after.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    REQUIRE(before[i].size() == after[i].size());
    CHECK(back.outputs[i].type == graph.outputs[i].type);
    for (std::size_t j = 0; j < before[i].size(); ++j)
      CHECK((before[i][j] == after[i][j] || (std::isnan(before[i][j]) && std::isnan(after[i][j]))));
  }
}

ops::Tensor tensor(ops::DType dtype, Ints dims, const std::vector<double>& values) {
  ops::Tensor t = ops::make_tensor(dtype, std::move(dims)).value();
  for (std::size_t i = 0; i < values.size(); ++i) ops::set_double(t, static_cast<std::int64_t>(i), values[i]);
  return t;
}

struct Case {
  std::string op;
  std::vector<std::string> operands;  // names of the tensors below
  ops::Attrs attrs;
};

// Every operator that HLO has no opcode for, and what is special about the others.
std::vector<Case> cases() {
  using ops::DType;
  std::vector<Case> all;
  for (const char* op : {"abs",   "neg",  "sign",  "exp",        "expm1",      "log",       "log1p",    "sqrt",
                         "rsqrt", "cbrt", "sin",   "cos",        "tan",        "asin",      "acos",     "atan",
                         "sinh",  "cosh", "tanh",  "asinh",      "acosh",      "atanh",     "logistic", "erf",
                         "floor", "ceil", "trunc", "round_even", "round_away", "is_finite", "is_nan",   "is_inf"})
    all.push_back({op, {"x"}, {}});
  for (const char* op :
       {"add", "sub", "mul", "div", "rem", "mod", "pow", "max", "min", "atan2", "eq", "ne", "lt", "le", "gt", "ge"})
    all.push_back({op, {"x", "y"}, {}});
  for (const char* op : {"mod", "rem", "and", "or", "xor", "shl", "shr_arithmetic", "shr_logical"})
    all.push_back({op, {"i", "j"}, {}});
  for (const char* op : {"not", "popcount", "clz"}) all.push_back({op, {"i"}, {}});
  all.push_back({"mod", {"u", "u"}, {}});
  all.push_back({"select", {"p", "x", "y"}, {}});
  all.push_back({"clamp", {"x", "y", "x"}, {}});
  all.push_back({"convert", {"x"}, {{"dtype", DType::kS32}}});
  all.push_back({"bitcast", {"x"}, {{"dtype", DType::kU32}}});
  all.push_back({"reduce_precision", {"x"}, {{"exponent_bits", std::int64_t{5}}, {"mantissa_bits", std::int64_t{3}}}});
  all.push_back({"broadcast", {"x"}, {{"dims", Ints{0, 2}}, {"shape", ops::Shape{2, 3, 4}}}});
  all.push_back({"transpose", {"x"}, {{"perm", Ints{1, 0}}}});
  all.push_back({"reverse", {"x"}, {{"axes", Ints{1}}}});
  all.push_back({"slice", {"x"}, {{"starts", Ints{0, 1}}, {"limits", Ints{2, 4}}, {"strides", Ints{1, 2}}}});
  all.push_back({"pad", {"x", "s"}, {{"low", Ints{1, -1}}, {"high", Ints{0, 2}}, {"interior", Ints{0, 1}}}});
  all.push_back({"concat", {"x", "y"}, {{"axis", std::int64_t{0}}}});
  for (const char* op : {"reduce_sum", "reduce_prod", "reduce_max", "reduce_min"}) {
    all.push_back({op, {"x"}, {{"axes", Ints{1}}}});
    all.push_back({op, {"i"}, {{"axes", Ints{0, 1}}}});
    all.push_back({op, {"u"}, {{"axes", Ints{0}}}});
  }
  for (const char* op : {"reduce_and", "reduce_or"})
    for (const char* x : {"p", "i"}) all.push_back({op, {x}, {{"axes", Ints{1}}}});
  for (const char* op : {"arg_max", "arg_min"})
    for (const char* x : {"x", "i"})
      for (const bool last : {false, true})
        all.push_back({op, {x}, {{"axis", std::int64_t{1}}, {"last", last}, {"dtype", DType::kS64}}});
  for (const char* op : {"reduce_window_sum", "reduce_window_max"})
    all.push_back({op,
                   {"x"},
                   {{"window", Ints{1, 2}},
                    {"strides", Ints{1, 2}},
                    {"pad_low", Ints{0, 1}},
                    {"pad_high", Ints{0, 1}},
                    {"base_dilation", Ints{1, 2}},
                    {"window_dilation", Ints{1, 1}}}});
  for (const char* op : {"cum_sum", "cum_prod", "cum_max", "cum_min"})
    for (const bool exclusive : {false, true})
      for (const bool reverse : {false, true})
        all.push_back({op, {"i"}, {{"axis", std::int64_t{1}}, {"exclusive", exclusive}, {"reverse", reverse}}});
  all.push_back({"dot", {"x", "y"}, {{"lhs_contract", Ints{1}}, {"rhs_contract", Ints{1}}}});
  all.push_back(
      {"dot",
       {"x", "y"},
       {{"lhs_batch", Ints{0}}, {"rhs_batch", Ints{0}}, {"lhs_contract", Ints{1}}, {"rhs_contract", Ints{1}}}});
  all.push_back({"take", {"x", "k"}, {{"axis", std::int64_t{1}}}});
  all.push_back({"take", {"x", "b"}, {{"axis", std::int64_t{0}}}});
  all.push_back({"take_along", {"x", "k"}, {{"axis", std::int64_t{1}}}});
  all.push_back({"take_along", {"x", "k1"}, {{"axis", std::int64_t{1}}}});
  for (const bool descending : {false, true}) {
    all.push_back({"sort", {"x"}, {{"axis", std::int64_t{1}}, {"descending", descending}, {"stable", true}}});
    all.push_back({"sort", {"i", "x"}, {{"axis", std::int64_t{1}}, {"descending", descending}, {"stable", true}}});
  }
  for (const std::int64_t axis : {0, 1})
    for (const bool largest : {true, false})
      for (const DType dtype : {DType::kS32, DType::kS64})
        all.push_back(
            {"top_k", {"i"}, {{"k", std::int64_t{2}}, {"axis", axis}, {"largest", largest}, {"dtype", dtype}}});
  return all;
}

}  // namespace

TEST_CASE("every operator comes back from HLO text with the same values", "[hlo]") {
  for (const Case& c : cases()) {
    INFO(c.op);
    graph::Graph graph = graph::make_graph(builtin_table(), "round trip");
    Builder builder(graph, graph.entry);
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const std::map<std::string, ops::Tensor> tensors = {
        {"x", tensor(ops::DType::kF32, {2, 4}, {0.5, -1.5, nan, 3, -0.25, 0.75, 2.5, -2})},
        {"y", tensor(ops::DType::kF32, {2, 4}, {1.5, 2, 0.5, -2, 0.25, -1, 2.5, 7})},
        {"i", tensor(ops::DType::kS32, {2, 4}, {5, -3, 7, 7, -8, 2, 0, 2})},
        {"j", tensor(ops::DType::kS32, {2, 4}, {3, 2, -4, 1, 3, 5, 1, 31})},
        {"u", tensor(ops::DType::kU8, {2, 4}, {1, 2, 3, 4, 250, 6, 7, 8})},
        {"p", tensor(ops::DType::kPred, {2, 4}, {1, 0, 1, 1, 1, 1, 1, 1})},
        {"k", tensor(ops::DType::kS64, {2, 3}, {0, -1, 2, 3, -4, 1})},
        {"k1", tensor(ops::DType::kS32, {1, 3}, {0, -1, 2})},
        {"b", tensor(ops::DType::kS8, {3}, {1, 0, -1})},
        {"s", tensor(ops::DType::kF32, {}, {9})},
    };
    std::vector<Value> operands;
    for (const std::string& name : c.operands) operands.push_back(builder.constant(tensors.at(name)));
    const auto results = builder.add(graph.table->require(c.op), operands, c.attrs);
    INFO((results ? "" : print_error(results.error())));
    REQUIRE(results.has_value());
    builder.set_results(*results);
    check_round_trip(graph);
  }
}

TEST_CASE("what was exported is exported again as the same text", "[hlo]") {
  const std::string text =
      "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }\n"
      "cond { s = (s32[], f32[2]) parameter(0) i = s32[] get-tuple-element(s), index=0 n = s32[] constant(5) ROOT c = "
      "pred[] compare(i, n), direction=LT }\n"
      "body { s = (s32[], f32[2]) parameter(0) i = s32[] get-tuple-element(s), index=0 x = f32[2] "
      "get-tuple-element(s), index=1 one = s32[] constant(1)\n"
      " j = s32[] add(i, one) y = f32[2] add(x, x) ROOT t = (s32[], f32[2]) tuple(j, y) }\n"
      "ENTRY m { x = f32[2,3] parameter(0) z = f32[] constant(0) r = f32[2] reduce(x, z), dimensions={1}, to_apply=add "
      "i = s32[] parameter(1)\n"
      " s = (s32[], f32[2]) tuple(i, r) w = (s32[], f32[2]) while(s), condition=cond, body=body y = f32[2] "
      "get-tuple-element(w), index=1\n"
      " ROOT t = (f32[2], f32[2,3]) tuple(y, x) }";
  const auto strip = [](std::string t) {  // names of sources grow by the path, instruction names by their number
    for (std::size_t at = t.find(", metadata={"); at != std::string::npos; at = t.find(", metadata={"))
      t.erase(at, t.find('}', at) + 1 - at);
    return t;
  };
  const std::string once = strip(export_text(import_text(text)));
  CHECK(strip(export_text(import_text(once))) == once);
}

TEST_CASE("groups become fusion instructions", "[hlo]") {
  const graph::Graph graph = import_text(
      "m { x = f32[4] parameter(0) y = f32[4] parameter(1) a = f32[4] add(x, y) two = f32[] constant(2) t = f32[4] "
      "broadcast(two), dimensions={}\n"
      " b = f32[4] multiply(a, t) s = f32[4] sine(b) c = f32[4] cosine(b) d = f32[4] divide(s, x) ROOT r = (f32[4], "
      "f32[4]) tuple(c, d) }");
  std::map<std::string, graph::NodeId> node;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) node[(*graph.table)[graph.nodes[i].op].name] = graph::NodeId(i);
  const auto value = [&](const char* op) { return Value{node.at(op), 0}; };
  const Value x{graph.entry_computation().parameters[0], 0}, y{graph.entry_computation().parameters[1], 0};
  const FusionGroup first{"add_mul_sin_cos_0",
                          "kLoop",
                          {node.at("add"), node.at("broadcast"), node.at("mul"), node.at("sin"), node.at("cos")},
                          {x, y},
                          {value("sin"), value("cos")}};
  const FusionGroup second{"div_1", "kLoop", {node.at("div")}, {value("sin"), x}, {value("div")}};
  const std::string text = export_text(graph, {first, second});
  CHECK_THAT(text,
             Catch::Contains(
                 "%add_mul_sin_cos_0 = (f32[4], f32[4]) fusion(%x, %y), kind=kLoop, calls=%fused_add_mul_sin_cos_0\n"));
  CHECK_THAT(text,
             Catch::Contains("%div_1 = f32[4] fusion(%add_mul_sin_cos_0.1, %x), kind=kLoop, calls=%fused_div_1\n"));
  CHECK_THAT(text, Catch::Contains("ROOT %tuple = (f32[4], f32[4]) tuple(%add_mul_sin_cos_0.2, %div_1)\n"));
  const graph::Graph back = import_text(text);
  CHECK(back.nodes.size() == graph.nodes.size());

  // Groups that need each other have no order.
  const FusionGroup outer{"g",
                          "kLoop",
                          {node.at("add"), node.at("broadcast"), node.at("mul"), node.at("cos"), node.at("div")},
                          {x, y, value("sin")},
                          {value("mul"), value("cos"), value("div")}};
  const FusionGroup inner{"h", "kLoop", {node.at("sin")}, {value("mul")}, {value("sin")}};
  const auto cyclic = frontend_hlo::export_hlo(graph, {outer, inner});
  REQUIRE(!cyclic.has_value());
  CHECK_THAT(print_error(cyclic.error()), Catch::Contains("fusion groups need each other's outputs"));
}

TEST_CASE("operators without a form in HLO are named", "[hlo]") {
  graph::Graph graph = graph::make_graph(builtin_table(), "g");
  Builder builder(graph, graph.entry);
  const ops::Type type = ops::Type::tensor(ops::DType::kF32, {});
  const Value x = builder.parameter(type, "x");
  const graph::ComputationId body = graph::add_computation(graph, "body");
  builder.set_results(builder.add_typed(graph.table->require("loop"), {Value(), Value(), x},
                                        {{"scans", std::int64_t{0}}}, {type}, {body}));
  const auto text = frontend_hlo::export_hlo(graph);
  REQUIRE(!text.has_value());
  CHECK_THAT(print_error(text.error()), Catch::Contains("operator 'loop' has no form in HLO"));
}

TEST_CASE("bodies that read values from outside get them as operands", "[hlo]") {
  graph::Graph graph = graph::make_graph(builtin_table(), "captures");
  Builder builder(graph, graph.entry);
  const Value p = builder.constant(ops::scalar_tensor_int(ops::DType::kPred, 1));
  const Value x = builder.constant(tensor(ops::DType::kF32, {2}, {1, 2}));
  const Value y = builder.constant(tensor(ops::DType::kF32, {2}, {5, 7}));
  std::vector<graph::ComputationId> branches;
  for (const char* op : {"add", "mul"}) {
    branches.push_back(graph::add_computation(graph, std::string("branch_") + op, graph.entry));
    Builder inner(graph, branches.back());
    const Value own = inner.parameter(graph.type(x), "own");
    inner.set_results({inner.add(op, {own, y}).value()});
  }
  builder.set_results(builder.add_typed(graph.table->require("conditional"), {p, x}, {}, {graph.type(x)}, branches));
  check_round_trip(graph);
}
