#include "tests/interpret/helpers.hpp"

#include "fusewright/interpret/error_model.hpp"
#include "fusewright/interpret/inputs.hpp"

// Whatever the operands do within their radii, the results must stay within theirs.

using namespace fusewright;
using namespace fusewright::interpret::testing;
using interpret::Bounded;

namespace {

// A fixed sequence in [-1, 1].
struct Noise {
  std::uint64_t state = 1;
  double operator()() {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<double>(static_cast<std::int64_t>(state) >> 11) * 0x1p-52;
  }
};

struct Case {
  std::string op;
  std::vector<Tensor> inputs;
  Attrs attrs = {};
  double radius = 1e-3;  // relative to max(1, |x|); not for the operands in `exact`
  std::vector<std::size_t> exact = {};
};

bool is_exact(const Case& c, std::size_t input) {
  return std::find(c.exact.begin(), c.exact.end(), input) != c.exact.end();
}

Numbers radii_of(const Tensor& tensor, double radius) {
  Numbers out;
  for (const double value : numbers(tensor)) out.push_back(radius * std::max(1.0, std::fabs(value)));
  return out;
}

// Moves each element within its radius; every third to one of the ends. Rounded towards the center, to stay inside.
Tensor moved(const Tensor& tensor, const Numbers& radii, Noise& noise) {
  Numbers values = numbers(tensor);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double shift = i % 3 == 0 ? (noise() < 0 ? -1 : 1) : noise();
    const double to = values[i] + shift * radii[i];
    double rounded = ops::round_to(tensor.dtype, to);
    if (std::fabs(rounded - values[i]) > radii[i]) rounded = values[i];
    values[i] = rounded;
  }
  return interpret::testing::tensor(tensor.dtype, tensor.dims, values);
}

void check_sound(const Case& c) {
  Graph graph = graph::make_graph(table(), "sound");
  Builder builder(graph, graph.entry);
  std::vector<Value> values;
  std::vector<Numbers> radii;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    values.push_back(builder.parameter(c.inputs[i].type(), "x" + std::to_string(i)));
    radii.push_back(is_exact(c, i) ? Numbers() : radii_of(c.inputs[i], c.radius));
  }
  builder.set_results(get(builder.add(table()->require(c.op), values, c.attrs)));
  const auto bounds = get(interpret::evaluate_with_bounds(graph, c.inputs, {}, radii));
  Noise noise;
  for (int round = 0; round < 8; ++round) {
    std::vector<Tensor> operands;
    for (std::size_t i = 0; i < c.inputs.size(); ++i)
      operands.push_back(is_exact(c, i) ? c.inputs[i] : moved(c.inputs[i], radii[i], noise));
    const auto results = nodes(c.op, operands, c.attrs);
    for (std::size_t r = 0; r < results.size(); ++r) {
      const auto report = interpret::compare(results[r], bounds[r]);
      INFO(c.op << " result " << r << ": " << report.message);
      CHECK(report.ok);
    }
  }
  // Where the results are numbers at all, most bounds must say something.
  std::size_t known = 0;
  for (std::int64_t i = 0; i < bounds[0].value.elements(); ++i) known += std::isfinite(bounds[0].radius_at(i)) ? 1 : 0;
  INFO(c.op << ": " << known << " of " << bounds[0].value.elements() << " bounds are finite");
  CHECK(2 * known >= static_cast<std::size_t>(bounds[0].value.elements()));
}

Tensor normal(DType dtype, const Shape& shape, std::uint64_t index) {
  return get(interpret::make_input(Type::tensor(dtype, shape), 3, index));
}
/// |x| + 0.01, for functions of positive numbers.
Tensor positive(DType dtype, const Shape& shape, std::uint64_t index) {
  const Tensor x = normal(dtype, shape, index);
  Numbers values = numbers(x);
  for (double& value : values) value = std::fabs(value) + 0.01;
  return tensor(dtype, x.dims, values);
}

}  // namespace

TEST_CASE("bounds of one-operand functions hold", "[interpret][bound]") {
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF64}) {
    const Shape shape = {dtype == DType::kF64 ? 60 : 600};
    for (const char* op : {"abs",  "neg",   "sign",       "exp",        "expm1", "sin",      "cos", "tan",
                           "atan", "sinh",  "cosh",       "tanh",       "asinh", "logistic", "erf", "floor",
                           "ceil", "trunc", "round_even", "round_away", "cbrt",  "is_finite"})
      check_sound({op, {normal(dtype, shape, 0)}});
    for (const char* op : {"log", "log1p", "sqrt", "rsqrt"}) check_sound({op, {positive(dtype, shape, 1)}});
    check_sound({"acosh",
                 {node("add", {positive(dtype, shape, 1), node("broadcast", {ops::scalar_tensor(dtype, 1)},
                                                               {{"dims", Ints{}}, {"shape", shape}})})}});
    for (const char* op : {"asin", "acos", "atanh"}) check_sound({op, {node("sin", {normal(dtype, shape, 0)})}});
    for (const DType to : {DType::kS32, DType::kU8, DType::kF16, DType::kPred})
      check_sound({"convert", {normal(dtype, shape, 2)}, {{"dtype", to}}});
  }
  check_sound({"reduce_precision",
               {normal(DType::kF32, {600}, 0)},
               {{"exponent_bits", std::int64_t{5}}, {"mantissa_bits", std::int64_t{4}}}});
}

TEST_CASE("bounds of two- and three-operand functions hold", "[interpret][bound]") {
  for (const DType dtype : {DType::kF32, DType::kF16}) {
    const Shape shape = {600};
    for (const char* op :
         {"add", "sub", "mul", "div", "rem", "mod", "max", "min", "atan2", "eq", "ne", "lt", "le", "gt", "ge"})
      check_sound({op, {normal(dtype, shape, 0), normal(dtype, shape, 1)}});
    check_sound({"pow", {positive(dtype, shape, 0), normal(dtype, shape, 1)}});
    check_sound({"clamp", {normal(dtype, shape, 0), normal(dtype, shape, 1), normal(dtype, shape, 2)}});
    check_sound(
        {"select", {normal(DType::kPred, shape, 0), normal(dtype, shape, 1), normal(dtype, shape, 2)}, {}, 1e-3, {0}});
  }
}

TEST_CASE("bounds of reductions, windows and scans hold", "[interpret][bound]") {
  const Tensor x = normal(DType::kF32, {20, 30}, 0);
  for (const char* op : {"reduce_sum", "reduce_prod", "reduce_max", "reduce_min"}) {
    check_sound({op, {x}, {{"axes", Ints{1}}}});
    check_sound({op, {x}, {{"axes", Ints{0, 1}}}});
    check_sound({op, {normal(DType::kF64, {5, 9}, 0)}, {{"axes", Ints{0}}}});
  }
  for (const char* op : {"arg_max", "arg_min"})
    check_sound({op, {normal(DType::kF32, {50, 300}, 0)}, {{"axis", std::int64_t{1}}}, 1e-2});
  for (const char* op : {"cum_sum", "cum_prod", "cum_max", "cum_min"})
    for (const bool flag : {false, true})
      check_sound({op, {x}, {{"axis", std::int64_t{1}}, {"exclusive", flag}, {"reverse", !flag}}});
  for (const char* op : {"reduce_window_sum", "reduce_window_prod", "reduce_window_max", "reduce_window_min"})
    check_sound({op,
                 {x},
                 {{"window", Ints{3, 3}}, {"strides", Ints{2, 1}}, {"pad_low", Ints{1, 1}}, {"pad_high", Ints{1, 0}}}});
}

TEST_CASE("bounds of contractions hold", "[interpret][bound]") {
  const Attrs plain = {{"lhs_contract", Ints{1}}, {"rhs_contract", Ints{0}}};
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF64})
    check_sound({"dot", {normal(dtype, {7, 33}, 0), normal(dtype, {33, 6}, 1)}, plain});
  check_sound({"dot", {normal(DType::kF32, {7, 33}, 0), normal(DType::kF32, {33, 6}, 1)}, plain, 1e-3, {1}});
  check_sound({"conv",
               {normal(DType::kF32, {1, 4, 6, 6}, 0), normal(DType::kF32, {4, 2, 3, 3}, 1)},
               {{"groups", std::int64_t{2}}, {"pad_low", Ints{1, 1}}, {"pad_high", Ints{1, 1}}}});
}

TEST_CASE("bounds of sorts and indexing hold", "[interpret][bound]") {
  const Tensor x = normal(DType::kF32, {10, 200}, 0);
  check_sound({"sort", {x}, {{"axis", std::int64_t{1}}}, 1e-2});
  check_sound(
      {"sort", {x, normal(DType::kF32, {10, 200}, 1)}, {{"axis", std::int64_t{1}}, {"descending", true}}, 1e-3});
  for (const bool largest : {false, true})
    check_sound({"top_k", {x}, {{"k", std::int64_t{20}}, {"axis", std::int64_t{1}}, {"largest", largest}}, 1e-2});
  const Tensor rows = integers(DType::kS64, {30, 1}, Ints{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9,
                                                          3, 2, 3, 8, 4, 6, 2, 6, 4, 3, 3, 8, 3, 2, 7});
  for (const char* combiner : {"assign", "add", "mul", "max", "min"})
    check_sound({"scatter",
                 {normal(DType::kF32, {10}, 0), rows, normal(DType::kF32, {30}, 1)},
                 {{"update_window_dims", Ints{}},
                  {"inserted_window_dims", Ints{0}},
                  {"scatter_dims_to_operand_dims", Ints{0}},
                  {"index_vector_dim", std::int64_t{1}},
                  {"combiner", std::string(combiner)}},
                 1e-3,
                 {1}});
  check_sound({"pad",
               {x, ops::scalar_tensor(DType::kF32, 1)},
               {{"low", Ints{1, 0}}, {"high", Ints{0, 2}}, {"interior", Ints{0, 1}}}});
  check_sound({"concat", {x, x}, {{"axis", std::int64_t{0}}}});
}
