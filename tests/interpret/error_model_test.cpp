#include "tests/interpret/helpers.hpp"

#include <functional>

#include "fusewright/interpret/error_model.hpp"
#include "fusewright/interpret/inputs.hpp"

using namespace fusewright;
using namespace fusewright::interpret::testing;
using interpret::Bounded;
using interpret::BoundOptions;
using interpret::compare;

namespace {

using Floats = std::vector<float>;

Type f32(const Shape& shape) { return Type::tensor(DType::kF32, shape); }
Tensor made(const Shape& shape, std::uint64_t index) { return get(interpret::make_input(f32(shape), 11, index)); }
Tensor weight(const Shape& shape, std::uint64_t index) { return get(interpret::random_weight(f32(shape), 11, index)); }

Floats floats(const Tensor& tensor) {
  Floats out;
  for (const double value : numbers(tensor)) out.push_back(static_cast<float>(value));
  return out;
}
Tensor tensor_like(const Tensor& like, const Floats& values) {
  return tensor(like.dtype, like.dims, Numbers(values.begin(), values.end()));
}

/// Builds a graph of the inputs' types by `make`, which returns its one result.
Graph graph_of(const std::vector<Tensor>& inputs,
               const std::function<Value(Builder&, const std::vector<Value>&)>& make) {
  Graph graph = graph::make_graph(table(), "test");
  Builder builder(graph, graph.entry);
  std::vector<Value> values;
  for (const Tensor& input : inputs)
    values.push_back(builder.parameter(input.type(), "x" + std::to_string(values.size())));
  builder.set_results({make(builder, values)});
  return graph;
}

Bounded bounds(const Graph& graph, const std::vector<Tensor>& inputs, const BoundOptions& options = {},
               const std::vector<Numbers>& radii = {}) {
  return get(interpret::evaluate_with_bounds(graph, inputs, options, radii))[0];
}
Bounded bounds_of(const std::string& op, const std::vector<Tensor>& inputs, const std::vector<Numbers>& radii,
                  const Attrs& attrs = {}) {
  const Graph graph =
      graph_of(inputs, [&](Builder& b, const std::vector<Value>& v) { return get(b.add(op, v, attrs)); });
  return bounds(graph, inputs, {}, radii);
}

// --- Sums as kernels form them, in f32 ---------------------------------------------------------------

float sequential(const Floats& x) {
  float sum = 0;
  for (const float value : x) sum += value;
  return sum;
}
float backwards(const Floats& x) { return sequential(Floats(x.rbegin(), x.rend())); }
float in_lanes(const Floats& x) {
  Floats lanes(16, 0);
  for (std::size_t i = 0; i < x.size(); ++i) lanes[i % 16] += x[i];
  return sequential(lanes);
}
float pairwise(Floats x) {
  while (x.size() > 1) {
    Floats half;
    for (std::size_t i = 0; i < x.size(); i += 2) half.push_back(i + 1 < x.size() ? x[i] + x[i + 1] : x[i]);
    x = half;
  }
  return x.empty() ? 0 : x[0];
}
float sorted(Floats x) {
  std::sort(x.begin(), x.end());
  return sequential(x);
}
using Order = float (*)(Floats);
const Order kOrders[] = {[](Floats x) { return sequential(x); }, [](Floats x) { return backwards(x); },
                         [](Floats x) { return in_lanes(x); }, [](Floats x) { return pairwise(std::move(x)); },
                         [](Floats x) { return sorted(std::move(x)); }};

// --- y = x w (+ bias), as kernels compute it ---------------------------------------------------------

struct Product {
  std::int64_t rows, depth, columns;
  bool fused_multiply_add = false;
  std::int64_t terms = 1 << 30;  // fewer than depth: a reduction cut short
};
Floats multiply(const Floats& x, const Floats& w, const Floats& bias, const Product& shape) {
  Floats out;
  for (std::int64_t m = 0; m < shape.rows; ++m)
    for (std::int64_t n = 0; n < shape.columns; ++n) {
      float sum = 0;
      for (std::int64_t k = 0; k < std::min(shape.depth, shape.terms); ++k) {
        const float a = x[static_cast<std::size_t>(m * shape.depth + k)],
                    b = w[static_cast<std::size_t>(k * shape.columns + n)];
        sum = shape.fused_multiply_add ? std::fma(a, b, sum) : sum + a * b;
      }
      out.push_back(sum + (bias.empty() ? 0 : bias[static_cast<std::size_t>(n)]));
    }
  return out;
}

const Attrs kPlainDot = {{"lhs_contract", Ints{1}}, {"rhs_contract", Ints{0}}};

Value biased_dot(Builder& b, const std::vector<Value>& v) {
  const Value product = get(b.add("dot", {v[0], v[1]}, kPlainDot));
  const Attrs along = {{"dims", Ints{1}}, {"shape", b.graph().type(product).shape}};
  return get(b.add("add", {product, get(b.add("broadcast", {v[2]}, along))}));
}

// --- LayerNorm over the last axis, without scale -----------------------------------------------------

Value layer_norm(Builder& b, const std::vector<Value>& v) {
  const Shape shape = b.graph().type(v[0]).shape;
  const Shape rows = {shape[0]};
  const auto mean = [&](Value x) {
    const Value sum = get(b.add("reduce_sum", {x}, {{"axes", Ints{1}}}));
    const Value count = b.constant(ops::scalar_tensor(DType::kF32, static_cast<double>(shape[1].value())));
    return get(b.add("div", {sum, get(b.align_to(count, rows))}));
  };
  const auto spread = [&](Value x) { return get(b.add("broadcast", {x}, {{"dims", Ints{0}}, {"shape", shape}})); };
  const Value centered = get(b.add("sub", {v[0], spread(mean(v[0]))}));
  const Value variance = mean(get(b.add("mul", {centered, centered})));
  const Value epsilon = get(b.align_to(b.constant(ops::scalar_tensor(DType::kF32, 1e-5)), rows));
  const Value scale = get(b.add("rsqrt", {get(b.add("add", {variance, epsilon}))}));
  return get(b.add("mul", {centered, spread(scale)}));
}

// As a kernel would; `terms` of each row take part in the sums.
Floats layer_norm_kernel(const Floats& x, std::size_t width, std::size_t terms, Order order) {
  Floats out;
  for (std::size_t row = 0; row < x.size() / width; ++row) {
    const Floats line(x.begin() + static_cast<std::ptrdiff_t>(row * width),
                      x.begin() + static_cast<std::ptrdiff_t>((row + 1) * width));
    const auto n = static_cast<float>(width);
    const float mean = order(Floats(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(terms))) / n;
    Floats squares;
    for (std::size_t i = 0; i < terms; ++i) squares.push_back((line[i] - mean) * (line[i] - mean));
    const float scale = 1 / std::sqrt(order(squares) / n + 1e-5F);
    for (const float value : line) out.push_back((value - mean) * scale);
  }
  return out;
}

}  // namespace

TEST_CASE("an f32 dot of 1024 terms passes in any order, with or without fused multiply-adds", "[interpret][bound]") {
  const std::vector<Tensor> inputs = {made({32, 1024}, 0), weight({1024, 24}, 1), made({24}, 2)};
  const Bounded expected = bounds(graph_of(inputs, biased_dot), inputs);
  const Floats x = floats(inputs[0]), w = floats(inputs[1]), bias = floats(inputs[2]);
  CHECK(compare(tensor_like(expected.value, multiply(x, w, bias, {32, 1024, 24})), expected).ok);
  CHECK(compare(tensor_like(expected.value, multiply(x, w, bias, {32, 1024, 24, true})), expected).ok);
  for (const Order order : kOrders) {
    Floats out;
    for (std::size_t m = 0; m < 32; ++m)
      for (std::size_t n = 0; n < 24; ++n) {
        Floats terms;
        for (std::size_t k = 0; k < 1024; ++k) terms.push_back(x[m * 1024 + k] * w[k * 24 + n]);
        out.push_back(order(terms) + bias[n]);
      }
    const auto report = compare(tensor_like(expected.value, out), expected);
    INFO(report.message);
    CHECK(report.ok);
  }
}

TEST_CASE("the check of a dot of 1024 terms fails for each fault", "[interpret][bound]") {
  const std::vector<Tensor> inputs = {made({32, 1024}, 0), weight({1024, 24}, 1), made({24}, 2)};
  const Bounded expected = bounds(graph_of(inputs, biased_dot), inputs);
  const Floats x = floats(inputs[0]), bias = floats(inputs[2]);
  const auto wrong = [&](const Floats& out) { return compare(tensor_like(expected.value, out), expected).wrong; };
  CHECK(wrong(multiply(x, floats(inputs[1]), {}, {32, 1024, 24})) > 700);  // the bias dropped: nearly everywhere
  CHECK(wrong(multiply(x, floats(inputs[1]), bias, {32, 1024, 24, false, 1023})) > 700);  // one term short
  // Any one weight changed by 1 % shows in its column; those near zero need not.
  int found = 0;
  for (std::size_t k = 0; k < 1024; k += 32) {
    Floats w = floats(inputs[1]);
    w[k * 24 + k % 24] *= 1.01F;
    found += wrong(multiply(x, w, bias, {32, 1024, 24})) > 0 ? 1 : 0;
  }
  CHECK(found >= 30);  // of 32
}

TEST_CASE("the check of a convolution of 64 x 9 terms fails for each fault and for nothing else",
          "[interpret][bound]") {
  const std::vector<Tensor> inputs = {made({1, 64, 14, 14}, 0), weight({16, 64, 3, 3}, 1), made({16}, 2)};
  const Attrs padded = {{"pad_low", Ints{1, 1}}, {"pad_high", Ints{1, 1}}};
  const Graph graph = graph_of(inputs, [&](Builder& b, const std::vector<Value>& v) {
    const Value y = get(b.add("conv", {v[0], v[1]}, padded));
    const Attrs along = {{"dims", Ints{1}}, {"shape", b.graph().type(y).shape}};
    return get(b.add("add", {y, get(b.add("broadcast", {v[2]}, along))}));
  });
  const Bounded expected = bounds(graph, inputs);
  const Floats x = floats(inputs[0]);
  const auto kernel = [&](const Floats& w, const Floats& bias, int terms) {
    Floats out;
    for (int o = 0; o < 16; ++o)
      for (int row = 0; row < 14; ++row)
        for (int column = 0; column < 14; ++column) {
          float sum = 0;
          for (int k = 0; k < terms; ++k) {
            const int f = k / 9, r = row + k % 9 / 3 - 1, c = column + k % 3 - 1;
            if (r < 0 || r >= 14 || c < 0 || c >= 14) continue;
            sum = std::fma(x[static_cast<std::size_t>((f * 14 + r) * 14 + c)], w[static_cast<std::size_t>(o * 576 + k)],
                           sum);
          }
          out.push_back(sum + (bias.empty() ? 0 : bias[static_cast<std::size_t>(o)]));
        }
    return compare(tensor_like(expected.value, out), expected);
  };
  const Floats w = floats(inputs[1]), bias = floats(inputs[2]);
  CHECK(kernel(w, bias, 576).ok);
  CHECK(kernel(w, {}, 576).wrong > 2500);  // of 3136
  CHECK(kernel(w, bias, 575).wrong > 2500);
  int found = 0;
  for (std::size_t k = 0; k < 576; k += 24) {
    Floats changed = w;
    changed[k * 16 + k % 7] *= 1.01F;
    found += kernel(changed, bias, 576).ok ? 0 : 1;
  }
  CHECK(found >= 22);  // of 24; a weight near zero need not show
}

TEST_CASE("a LayerNorm over 1024 passes in any order and fails one element short", "[interpret][bound]") {
  const std::vector<Tensor> inputs = {made({64, 1024}, 5)};
  const Bounded expected = bounds(graph_of(inputs, layer_norm), inputs);
  const Floats x = floats(inputs[0]);
  for (const Order order : kOrders) {
    const auto right = compare(tensor_like(expected.value, layer_norm_kernel(x, 1024, 1024, order)), expected);
    INFO(right.message);
    CHECK(right.ok);
    const auto shortened = compare(tensor_like(expected.value, layer_norm_kernel(x, 1024, 1023, order)), expected);
    CHECK(shortened.wrong > 50'000);  // of 65536
  }
}

TEST_CASE("a sum whose rounding errors all point one way stays within its bound", "[interpret][bound]") {
  // 0.1 is above its f32 neighbour by the same amount every time: errors add up instead of cancelling.
  for (const std::int64_t n : {100, 10'000, 1'000'000}) {
    const std::vector<Tensor> inputs = {vec(DType::kF32, Numbers(static_cast<std::size_t>(n), 0.1))};
    const Bounded expected = bounds_of("reduce_sum", inputs, {}, {{"axes", Ints{0}}});
    for (const Order order : kOrders) {
      const auto report = compare(tensor_like(expected.value, {order(floats(inputs[0]))}), expected);
      INFO(n << ": " << report.message);
      CHECK(report.ok);
    }
  }
}

TEST_CASE("a folded BatchNorm stays within the bound of the unfolded one", "[interpret][bound]") {
  const std::vector<Tensor> inputs = {made({32, 576}, 0), weight({576, 16}, 1), weight({16}, 2), weight({16}, 3)};
  const Graph graph = graph_of(inputs, [&](Builder& b, const std::vector<Value>& v) {
    const Value y = get(b.add("dot", {v[0], v[1]}, kPlainDot));
    const Attrs along = {{"dims", Ints{1}}, {"shape", b.graph().type(y).shape}};
    const Value centered = get(b.add("sub", {y, get(b.add("broadcast", {v[2]}, along))}));
    return get(b.add("mul", {centered, get(b.add("broadcast", {v[3]}, along))}));
  });
  const Bounded expected = bounds(graph, inputs);
  Floats w = floats(inputs[1]), bias;
  const Floats mean = floats(inputs[2]), scale = floats(inputs[3]);
  for (std::size_t i = 0; i < w.size(); ++i) w[i] *= scale[i % 16];
  for (std::size_t i = 0; i < 16; ++i) bias.push_back(-mean[i] * scale[i]);
  const auto folded =
      compare(tensor_like(expected.value, multiply(floats(inputs[0]), w, bias, {32, 576, 16})), expected);
  INFO(folded.message);
  CHECK(folded.ok);
  bias[3] = 0;
  CHECK(compare(tensor_like(expected.value, multiply(floats(inputs[0]), w, bias, {32, 576, 16})), expected).wrong ==
        32);
}

TEST_CASE("math functions may be off by a few ulp and no more", "[interpret][bound]") {
  const std::vector<Tensor> inputs = {made({1000}, 0)};
  const Bounded expected = bounds_of("exp", inputs, {});
  Floats off = floats(expected.value), far = off;
  for (float& value : off) value = std::nextafter(std::nextafter(value, 100.0F), 100.0F);
  for (float& value : far) value *= 1 + 16 * 0x1p-23F;
  CHECK(compare(tensor_like(expected.value, off), expected).ok);
  CHECK(compare(tensor_like(expected.value, far), expected).wrong == 1000);
}

TEST_CASE("without reassociation single operations are exact", "[interpret][bound]") {
  BoundOptions strict;
  strict.reassociating = false;
  const std::vector<Tensor> inputs = {made({100}, 0), made({100}, 1)};
  for (const char* op : {"add", "sub", "mul", "div", "max"}) {
    const Graph graph = graph_of(inputs, [&](Builder& b, const std::vector<Value>& v) { return get(b.add(op, v)); });
    CHECK(bounds(graph, inputs, strict).radius.empty());
  }
  const Graph graph = graph_of({inputs[0]}, [](Builder& b, const std::vector<Value>& v) {
    return get(b.add("convert", {v[0]}, {{"dtype", DType::kBF16}}));
  });
  CHECK(bounds(graph, {inputs[0]}, strict).radius.empty());
  strict.excess_precision = true;
  CHECK_FALSE(bounds(graph, {inputs[0]}, strict).radius.empty());
}

TEST_CASE("a bf16 kernel that forgets a rounding is found", "[interpret][bound]") {
  BoundOptions strict;
  strict.reassociating = false;
  const std::vector<Tensor> inputs = {get(interpret::make_input(Type::tensor(DType::kBF16, {1000}), 1, 0)),
                                      get(interpret::make_input(Type::tensor(DType::kBF16, {1000}), 1, 1))};
  // exp(x) * y: the product of a bf16 exponential is not the rounded product of an f32 one.
  const Graph graph = graph_of(inputs, [](Builder& b, const std::vector<Value>& v) {
    return get(b.add("mul", {get(b.add("exp", {v[0]})), v[1]}));
  });
  const Bounded expected = bounds(graph, inputs, strict);
  Numbers rounded, unrounded;
  const Numbers x = numbers(inputs[0]), y = numbers(inputs[1]);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double exponential = static_cast<float>(std::exp(x[i]));
    rounded.push_back(ops::round_to(DType::kBF16, exponential) * y[i]);
    unrounded.push_back(exponential * y[i]);
  }
  CHECK(compare(vec(DType::kBF16, rounded), expected).ok);
  CHECK(compare(vec(DType::kBF16, unrounded), expected).wrong > 100);
  strict.excess_precision = true;
  CHECK(compare(vec(DType::kBF16, unrounded), bounds(graph, inputs, strict)).ok);
}

TEST_CASE("discontinuous operations accept either side of a jump the bound reaches", "[interpret][bound]") {
  const Tensor x = vec(DType::kF32, {2.99999, 2.5, -0.0});
  const std::vector<Numbers> radii = {{1e-4, 1e-4, 1e-4}};
  CHECK(bounds_of("floor", {x}, radii).radius == Numbers{1, 0, 1});
  CHECK(bounds_of("sign", {x}, radii).radius == Numbers{0, 0, 1});
  CHECK(bounds_of("convert", {x}, radii, {{"dtype", DType::kS32}}).radius == Numbers{1, 0, 0});
  CHECK(bounds_of("is_nan", {x}, radii).radius.empty());
  const Tensor limit = vec(DType::kF32, {3, 3, 3});
  CHECK(bounds_of("lt", {x, limit}, {radii[0], {}}).radius == Numbers{1, 0, 0});
  CHECK(bounds_of("rem", {vec(DType::kF32, {3, 1}), vec(DType::kF32, {3, 3})}, {{1e-3, 1e-3}, {}}).radius[0] > 3);
}

TEST_CASE("a selection by an uncertain predicate covers both sides", "[interpret][bound]") {
  const std::vector<Tensor> inputs = {vec(DType::kF32, {1, 5}), vec(DType::kF32, {1, 1}), vec(DType::kF32, {10, 10}),
                                      vec(DType::kF32, {30, 30})};
  const Graph graph = graph_of(inputs, [](Builder& b, const std::vector<Value>& v) {
    return get(b.add("select", {get(b.add("lt", {v[0], v[1]})), v[2], v[3]}));
  });
  const Bounded out = bounds(graph, inputs, {}, {{1e-6, 1e-6}, {}, {}, {}});
  CHECK(out.radius == Numbers{20, 0});
  CHECK(compare(vec(DType::kF32, {10, 30}), out).ok);
  CHECK(compare(vec(DType::kF32, {30, 30}), out).ok);
  CHECK_FALSE(compare(vec(DType::kF32, {10, 10}), out).ok);
}

TEST_CASE("arg_max accepts any index whose value is within the bound of the largest", "[interpret][bound]") {
  const std::vector<Tensor> inputs = {vec(DType::kF32, {1, 2, 1.9999999, 0})};
  const Bounded out = bounds_of("arg_max", inputs, {{1e-6, 1e-6, 1e-6, 1e-6}}, {{"axis", std::int64_t{0}}});
  CHECK(out.radius == Numbers{1});
  CHECK(bounds_of("arg_max", inputs, {}, {{"axis", std::int64_t{0}}}).radius.empty());
}

TEST_CASE("sorting bounds each place by what may stand there", "[interpret][bound]") {
  const std::vector<Tensor> inputs = {vec(DType::kF32, {3, 1, 1.05, 9})};
  const Bounded values = bounds_of("sort", inputs, {{0.1, 0.1, 0.1, 0}}, {{"axis", std::int64_t{0}}});
  REQUIRE(values.radius.size() == 4);
  CHECK(values.radius[0] == Approx(0.1));
  CHECK(values.radius[3] == 0);
  const Graph graph = graph_of(inputs, [](Builder& b, const std::vector<Value>& v) {
    return get(b.add(table()->require("top_k"), {v[0]},
                     {{"k", std::int64_t{4}}, {"axis", std::int64_t{0}}, {"largest", false}}))[1];
  });
  const Bounded indices = bounds(graph, inputs, {}, {{0.1, 0.1, 0.1, 0}});
  CHECK(whole(indices.value) == Ints{1, 2, 0, 3});
  CHECK(indices.radius == Numbers{1, 1, 0, 0});
}

TEST_CASE("bounds move with the elements they belong to", "[interpret][bound]") {
  const std::vector<Tensor> inputs = {tensor(DType::kF32, {2, 2}, {1, 2, 3, 4})};
  CHECK(bounds_of("transpose", inputs, {{1, 2, 3, 4}}, {{"perm", Ints{1, 0}}}).radius == Numbers{1, 3, 2, 4});
  CHECK(bounds_of("reduce_max", inputs, {{0, 2, 1.5, 0}}, {{"axes", Ints{1}}}).radius == Numbers{2, 0.5});
  CHECK(
      bounds_of("take", {inputs[0], ints(DType::kS32, {1})}, {{1, 2, 3, 4}, {}}, {{"axis", std::int64_t{0}}}).radius ==
      Numbers{3, 4});
  CHECK(std::isinf(
      bounds_of("take", {inputs[0], ints(DType::kS32, {1})}, {{}, {1}}, {{"axis", std::int64_t{0}}}).radius[0]));
}

TEST_CASE("masks of minus infinity stay certain", "[interpret][bound]") {
  const std::vector<Tensor> inputs = {vec(DType::kF32, {-kInf, 1}), vec(DType::kF32, {2, 2})};
  const Graph graph = graph_of(
      inputs, [](Builder& b, const std::vector<Value>& v) { return get(b.add("exp", {get(b.add("sub", v))})); });
  const Bounded out = bounds(graph, inputs, {}, {{}, {1e-6, 1e-6}});
  CHECK(out.radius[0] < 1e-30);
  CHECK(out.radius[1] < 1e-5);
}

TEST_CASE("NaN equals NaN, and an overflow within the bound may or may not happen", "[interpret][bound]") {
  const Tensor x = vec(DType::kF32, {kNan, 88.722839, 100, 0});
  const Bounded out = bounds_of("exp", {x}, {});
  CHECK(compare(vec(DType::kF32, {kNan, kInf, kInf, 1}), out).ok);
  CHECK(compare(vec(DType::kF32, {kNan, 3.4028235e38, kInf, 1}), out).ok);
  CHECK_FALSE(compare(vec(DType::kF32, {0, kInf, kInf, 1}), out).ok);
  CHECK_FALSE(compare(vec(DType::kF32, {kNan, kInf, 3.4e38, 1}), out).ok);
  CHECK_FALSE(compare(vec(DType::kF32, {kNan, kInf, kInf, kNan}), out).ok);
}

TEST_CASE("a comparison reports the worst element", "[interpret][bound]") {
  const Bounded expected = {tensor(DType::kF32, {2, 2}, {1, 2, 3, 4}), {0.5, 0.5, 0.1, 0.5}};
  const auto report = compare(tensor(DType::kF32, {2, 2}, {1.25, 2, 3.25, 4}), expected);
  CHECK_FALSE(report.ok);
  CHECK(report.index == 2);
  CHECK(report.max_error == 0.25);
  CHECK(report.bound == 0.1);
  CHECK(report.ratio == 2.5);
  CHECK(report.wrong == 1);
  CHECK(report.message == "element [1,0] is 3.25, expected 3 (error 0.25, bound 0.1); 1 of 4 elements are wrong");
  CHECK(compare(expected.value, expected).ok);
  CHECK_THAT(compare(vec(DType::kF32, {1}), expected).message, Catch::Contains("is f32[1], expected f32[2,2]"));
}

TEST_CASE("tolerances are relative and absolute", "[interpret][bound]") {
  const Tensor expected = vec(DType::kF32, {100, 0, kInf});
  CHECK(interpret::compare_tolerance(vec(DType::kF32, {100.9, 0, kInf}), expected, 0.01, 0).ok);
  CHECK_FALSE(interpret::compare_tolerance(vec(DType::kF32, {100, 0.01, kInf}), expected, 0.01, 0).ok);
  CHECK(interpret::compare_tolerance(vec(DType::kF32, {100, 0.01, kInf}), expected, 0, 0.1).ok);
  CHECK_FALSE(interpret::compare_tolerance(vec(DType::kF32, {100, 0, 1e30}), expected, 0.1, 0.1).ok);
  CHECK_FALSE(interpret::compare_tolerance(ints(DType::kS64, {1}), ints(DType::kS64, {2}), 0, 0.5).ok);
}

// --- Errors drawn at random --------------------------------------------------------------------------

TEST_CASE("errors drawn at random travel as they do in a run", "[interpret]") {
  const Tensor x = made({64}, 0), w = made({64}, 1);
  const auto deviation = [&](const Graph& graph, std::uint64_t seed) {
    const Tensor exact = get(interpret::evaluate(graph, std::vector<Tensor>{x, w}))[0];
    const Tensor moved = get(interpret::evaluate_perturbed(graph, std::vector<Tensor>{x, w}, seed)).values[0];
    double worst = 0;
    for (std::int64_t i = 0; i < exact.elements(); ++i)
      worst = std::max(worst, std::fabs(ops::get_double(exact, i) - ops::get_double(moved, i)));
    return worst;
  };
  const auto chain = [&](int length) {
    return graph_of({x, w}, [&](Builder& b, const std::vector<Value>& v) {
      Value y = v[0];
      for (int i = 0; i < length; ++i) y = get(b.add("tanh", {get(b.add("add", {y, v[1]}))}));
      return y;
    });
  };
  CHECK(deviation(chain(1), 1) > 0);
  CHECK(deviation(chain(1), 1) == deviation(chain(1), 1));
  CHECK(deviation(chain(1), 1) != deviation(chain(1), 2));
  // Each step forgets more of the error than it adds: a hundred of them end where ten do, and a sum of bounds does not.
  CHECK(deviation(chain(100), 1) < 10 * deviation(chain(10), 1));
  CHECK(deviation(chain(100), 1) < 1e-5);
  // What cancels shows the errors of what it is made of.
  const Graph cancelling = graph_of({x, w}, [&](Builder& b, const std::vector<Value>& v) {
    const Value e = get(b.add("exp", {v[0]}));
    const Value large = get(b.add("mul", {e, get(b.align_to(b.constant(ops::scalar_tensor(DType::kF32, 1e4)), {64}))}));
    return get(b.add("sub", {get(b.add("add", {large, v[1]})), large}));
  });
  CHECK(deviation(cancelling, 1) > 1e-4);
}

TEST_CASE("a step that rounding may cross is told", "[interpret]") {
  const Tensor x = made({64}, 0);
  const auto jumps = [&](const std::function<Value(Builder&, Value)>& make) {
    const Graph graph = graph_of({x}, [&](Builder& b, const std::vector<Value>& v) { return make(b, v[0]); });
    return get(interpret::evaluate_perturbed(graph, std::vector<Tensor>{x}, 1)).jumps;
  };
  CHECK_FALSE(jumps([](Builder& b, Value v) { return get(b.add("exp", {v})); }));
  CHECK_FALSE(jumps([](Builder& b, Value v) { return get(b.add("floor", {v})); }));  // of what is exact
  CHECK(jumps([](Builder& b, Value v) { return get(b.add("floor", {get(b.add("exp", {v}))})); }));
  CHECK(jumps([](Builder& b, Value v) { return get(b.add("gt", {get(b.add("exp", {v})), v})); }));
}

TEST_CASE("no bound is NaN, whatever overflows", "[interpret]") {
  // Every pair of a value and a radius, for both operands; the ends of f8e4m3fn's range round to NaN.
  const Numbers values = {0, 1, -3, 400, -448, 6e4, 3e38, kInf, -kInf, kNan}, radii = {0, 0.5, 100, kInf};
  const auto cross = [&](DType dtype, bool second) {
    Numbers each;
    const std::size_t many = values.size() * radii.size();
    for (std::size_t i = 0; i < many * many; ++i) each.push_back(values[(second ? i % many : i / many) / radii.size()]);
    return vec(dtype, each);
  };
  const auto cross_radii = [&](bool second) {
    Numbers each;
    const std::size_t many = values.size() * radii.size();
    for (std::size_t i = 0; i < many * many; ++i) each.push_back(radii[(second ? i % many : i / many) % radii.size()]);
    return each;
  };
  std::size_t operators = 0, wrong = 0;
  for (const DType dtype : {DType::kF8E4M3FN, DType::kF8E5M2, DType::kF16, DType::kBF16, DType::kF32, DType::kF64}) {
    const std::vector<Tensor> both = {cross(dtype, false), cross(dtype, true)};
    const std::vector<Numbers> both_radii = {cross_radii(false), cross_radii(true)};
    for (std::size_t i = 0; i < table()->size(); ++i) {
      const ops::OpInfo& info = (*table())[ops::OpId(i)];
      if (!info.scalar || info.operands.size() > 2) continue;
      const std::vector<Tensor> inputs(both.begin(), both.begin() + static_cast<std::ptrdiff_t>(info.operands.size()));
      Graph graph = graph::make_graph(table(), "test");
      Builder b(graph, graph.entry);
      std::vector<Value> operands;
      for (const Tensor& input : inputs) operands.push_back(b.parameter(input.type(), "x"));
      const auto made = b.add(info.name, operands, {});
      if (!made) continue;  // casts, which need to know where to
      b.set_results({*made});
      for (const bool excess : {false, true}) {
        BoundOptions options;
        options.excess_precision = excess;
        const auto found = interpret::evaluate_with_bounds(graph, inputs, options, both_radii);
        if (!found) continue;
        ++operators;
        for (const double radius : (*found)[0].radius) wrong += radius >= 0 ? 0 : 1;
      }
    }
  }
  CHECK(operators > 300);
  CHECK(wrong == 0);
}

TEST_CASE("what overflows to NaN at an end of its range is not bounded", "[interpret]") {
  const auto negated = [](double x, double radius) {
    return bounds_of("neg", {vec(DType::kF8E4M3FN, {x})}, {{radius}}).radius_at(0);
  };
  CHECK(negated(1, 1) == 1);
  const Tensor near = vec(DType::kF8E4M3FN, {440}), one = vec(DType::kF8E4M3FN, {1});
  for (const double side : {1.0, -1.0})
    CHECK(bounds_of("mul", {near, vec(DType::kF8E4M3FN, {side})}, {{100}, {0}}).radius_at(0) == kInf);
  CHECK(bounds_of("convert", {vec(DType::kF32, {440})}, {{100}}, {{"dtype", DType::kF8E4M3FN}}).radius_at(0) == kInf);
  CHECK(bounds_of("convert", {ints(DType::kS32, {440})}, {{100}}, {{"dtype", DType::kF8E4M3FN}}).radius_at(0) == kInf);
  CHECK(bounds_of("add", {one, one}, {{0}, {0.5}}).radius_at(0) < 2);
}
