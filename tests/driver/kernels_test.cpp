#include "kernels.hpp"

using namespace fusewright;

namespace {

const std::vector<Ints>& shapes() {
  static const std::vector<Ints> all{{}, {1}, {7}, {64}, {3, 1, 5}, {16, 33}, {2, 3, 4, 5}, {129, 40}};
  return all;
}

}  // namespace

TEST_CASE("elementwise kernels are right for every shape and dtype", "[driver]") {
  const DType dtype = GENERATE(DType::kF32, DType::kF64, DType::kF16, DType::kBF16);
  for (const Ints& dims : shapes()) {
    Model m;
    const Value x = m.in(dtype, dims), y = m.in(dtype, dims);
    const Value a = m.op("tanh", {m.op("mul", {x, y})}), b = m.op("exp", {m.op("sub", {a, x})});
    CHECK(fused(m, {m.op("div", {b, m.op("add", {b, m.op("abs", {y})})}), m.op("max", {a, y})}) == 1);
  }
}

TEST_CASE("integer kernels wrap as the reference does", "[driver]") {
  const DType dtype =
      GENERATE(DType::kS8, DType::kS16, DType::kS32, DType::kS64, DType::kU8, DType::kU16, DType::kU32, DType::kU64);
  Model m;
  const Value x = m.in(dtype, {3, 37}), y = m.in(dtype, {3, 37});
  const Value product = m.op("mul", {m.op("mul", {x, x}), m.op("sub", {y, x})});
  fused(m,
        {m.op("div", {product, y}), m.op("rem", {x, m.op("sub", {y, x})}), m.op("xor", {product, m.op("shl", {x, y})}),
         m.op("select", {m.op("lt", {x, y}), x, product}), m.op("convert", {product}, {{"dtype", DType::kF32}})});
}

TEST_CASE("moves are right alone", "[driver]") {
  Model m;
  const Value x = m.in(DType::kF32, {5, 6, 7}), fill = m.in(DType::kF32, {});
  const Value y = m.in(DType::kF32, {5, 2, 7});
  alone(m, {m.op("transpose", {x}, {{"perm", Ints{2, 0, 1}}}), m.op("reverse", {x}, {{"axes", Ints{0, 2}}}),
            m.op("slice", {x}, {{"starts", Ints{1, 0, 2}}, {"limits", Ints{5, 6, 7}}, {"strides", Ints{2, 1, 3}}}),
            m.op("pad", {x, fill}, {{"low", Ints{1, -1, 0}}, {"high", Ints{2, 0, -2}}, {"interior", Ints{0, 2, 1}}}),
            m.op("concat", {x, y, x}, {{"axis", std::int64_t{1}}}),
            m.op("broadcast", {x}, {{"dims", Ints{1, 2, 4}}, {"shape", ops::Shape{2, 5, 6, 3, 7}}})});
}

TEST_CASE("moves are right fused into readers and out of producers", "[driver]") {
  Model m;
  const Value x = m.in(DType::kF32, {6, 35}), fill = m.in(DType::kF32, {});
  const Value t = m.op("transpose", {m.op("exp", {x})}, {{"perm", Ints{1, 0}}});
  const Value r = m.op("reshape", {t}, {{"shape", ops::Shape{5, 42}}});
  const Value p = m.op("pad", {r, fill}, {{"low", Ints{1, 2}}, {"high", Ints{0, 1}}, {"interior", Ints{0, 0}}});
  fused(m, {m.op("neg",
                 {m.op("slice", {p}, {{"starts", Ints{0, 1}}, {"limits", Ints{6, 45}}, {"strides", Ints{1, 2}}})})});
}

TEST_CASE("lookups clamp and wrap as the reference does", "[driver]") {
  Model m;
  const Value table = m.in(DType::kF32, {9, 5}), rows = m.in(DType::kS64, {2, 3}), along = m.in(DType::kS64, {4, 5}),
              start = m.in(DType::kS32, {});
  const Value update = m.in(DType::kF32, {2, 5});
  const Value taken = m.op("take", {table, rows}, {{"axis", std::int64_t{0}}});
  const Value zero = m.op("sub", {start, start});
  alone(m, {taken, m.op("take_along", {table, along}, {{"axis", std::int64_t{0}}}),
            m.op("dynamic_slice", {table, start, zero}, {{"sizes", Ints{3, 4}}}),
            m.op("dynamic_update_slice", {table, update, start, zero})});
}

TEST_CASE("reductions are right along any axes, of any length", "[driver]") {
  const auto [dims, axes] = GENERATE(table<Ints, Ints>({{{7}, {0}},
                                                        {{1, 1000}, {1}},
                                                        {{33, 70}, {1}},
                                                        {{70, 33}, {0}},
                                                        {{5, 6, 7}, {1}},
                                                        {{5, 6, 7}, {0, 2}},
                                                        {{4, 3, 8, 8}, {0, 2, 3}},
                                                        {{3, 100000}, {1}},
                                                        {{40000, 3}, {0}},
                                                        {{2, 65, 129}, {0, 1, 2}}}));
  Model m;
  const Value x = m.in(DType::kF32, dims), n = m.in(DType::kS32, dims), h = m.in(DType::kBF16, dims);
  const ops::Attrs over{{"axes", axes}};
  const Value p = m.op("gt", {x, n.valid() ? m.op("convert", {n}, {{"dtype", DType::kF32}}) : x});
  std::vector<Value> results{m.op("reduce_sum", {m.op("mul", {x, x})}, over),
                             m.op("reduce_max", {x}, over),
                             m.op("reduce_min", {n}, over),
                             m.op("reduce_sum", {n}, over),
                             m.op("reduce_sum", {h}, over),
                             m.op("reduce_and", {p}, over),
                             m.op("reduce_or", {p}, over)};
  if (axes.size() == 1)
    for (const char* op : {"arg_max", "arg_min"})
      for (const bool last : {false, true}) {
        results.push_back(m.op(op, {x}, {{"axis", axes[0]}, {"last", last}, {"dtype", DType::kS64}}));
        results.push_back(m.op(op, {n}, {{"axis", axes[0]}, {"last", last}, {"dtype", DType::kS32}}));
      }
  alone(m, results);
}

TEST_CASE("normalisation over rows and over columns is one kernel", "[driver]") {
  const auto [dims, axis] = GENERATE(
      table<Ints, std::int64_t>({{{24, 37}, 1}, {{24, 37}, 0}, {{6, 5, 64}, 2}, {{6, 50, 19}, 1}, {{8, 3, 129}, 2}}));
  Model m;
  const Value x = m.in(GENERATE(DType::kF32, DType::kBF16), dims);
  Ints kept = dims;
  kept.erase(kept.begin() + axis);
  Ints keep_dims;
  for (std::int64_t d = 0; d < static_cast<std::int64_t>(dims.size()); ++d)
    if (d != axis) keep_dims.push_back(d);
  const ops::Attrs over{{"axes", Ints{axis}}},
      back{{"dims", keep_dims}, {"shape", ops::Shape(dims.begin(), dims.end())}};
  const Value greatest = m.op("broadcast", {m.op("reduce_max", {x}, over)}, back);
  const Value e = m.op("exp", {m.op("sub", {x, greatest})});
  const Value sum = m.op("reduce_sum", {e}, over);
  CHECK(fused(m, {m.op("div", {e, m.op("broadcast", {sum}, back)}), m.op("log", {sum})}) == 1);
}

TEST_CASE("contractions are right for every layout, size and dtype", "[driver]") {
  const DType dtype = GENERATE(DType::kF32, DType::kF64, DType::kBF16, DType::kF16, DType::kS32);
  const auto [b, mm, n, k] =
      GENERATE(table<std::int64_t, std::int64_t, std::int64_t, std::int64_t>({{1, 1, 1, 1},
                                                                              {1, 1, 50, 33},
                                                                              {1, 33, 1, 40},
                                                                              {3, 5, 7, 9},
                                                                              {2, 16, 32, 64},
                                                                              {1, 37, 70, 41},
                                                                              {1, 130, 65, 100}}));
  Model m;
  const Value x = m.in(dtype, {b, mm, k}), xt = m.in(dtype, {b, k, mm}), y = m.in(dtype, {b, k, n}),
              yt = m.in(dtype, {n, b, k});
  const auto dot = [&](Value l, Value r, Ints lb, Ints rb, Ints lc, Ints rc) {
    return m.op("dot", {l, r}, {{"lhs_batch", lb}, {"rhs_batch", rb}, {"lhs_contract", lc}, {"rhs_contract", rc}});
  };
  alone(m, {dot(x, y, {0}, {0}, {2}, {1}), dot(xt, y, {0}, {0}, {1}, {1}), dot(x, yt, {0}, {1}, {2}, {2}),
            dot(x, yt, {}, {}, {0, 2}, {1, 2})});
}

TEST_CASE("contractions with weights laid out at load are right", "[driver]") {
  const DType dtype = GENERATE(DType::kF32, DType::kBF16, DType::kS32);
  const bool prepack = GENERATE(true, false);
  Model m;
  std::vector<Value> results;
  for (const auto& [mm, n, k] : std::vector<std::array<std::int64_t, 3>>{
           {1, 1, 1}, {1, 300, 70}, {1, 10, 129}, {37, 70, 41}, {128, 96, 64}, {5, 200, 16}}) {
    const Value x = m.in(dtype, {mm, k}), w = m.weight(dtype, {k, n}), wt = m.weight(dtype, {n, k});
    results.push_back(m.op("dot", {x, w}, {{"lhs_contract", Ints{1}}, {"rhs_contract", Ints{0}}}));
    results.push_back(m.op("dot", {x, wt}, {{"lhs_contract", Ints{1}}, {"rhs_contract", Ints{1}}}));
    results.push_back(m.op("dot", {wt, x}, {{"lhs_contract", Ints{1}}, {"rhs_contract", Ints{1}}}));
  }
  const Value x = m.in(dtype, {3, 9, 20}), w = m.weight(dtype, {3, 20, 33});
  results.push_back(
      m.op("dot", {x, w},
           {{"lhs_batch", Ints{0}}, {"rhs_batch", Ints{0}}, {"lhs_contract", Ints{2}}, {"rhs_contract", Ints{1}}}));
  groups_when_right(m, results, {"cpu", false, prepack});
}

TEST_CASE("what follows a contraction is computed in its tile", "[driver]") {
  Model m;
  const Value x = m.in(DType::kF32, {37, 64}), w = m.in(DType::kF32, {64, 50}), bias = m.in(DType::kF32, {50}),
              residual = m.in(DType::kF32, {50, 37});
  const Value product = m.op("dot", {x, w}, {{"lhs_contract", Ints{1}}, {"rhs_contract", Ints{0}}});
  const Value biased = m.op("add", {product, m.align(bias, {37, 50})});
  const Value turned = m.op("transpose", {m.op("tanh", {biased})}, {{"perm", Ints{1, 0}}});
  CHECK(fused(m, {m.op("add", {turned, residual})}) == 1);
}

namespace {

struct ConvCase {
  Ints input, weights;
  ops::Attrs attrs;
};

// The same convolution with channels last: image and result NHWC, weights HWIO (any number of spatial axes).
ConvCase channels_last(ConvCase c) {
  const auto turned = [](const Ints& dims, bool weights) {
    Ints out(dims.begin() + 2, dims.end());
    out.push_back(weights ? dims[1] : dims[0]);
    out.push_back(weights ? dims[0] : dims[1]);
    if (weights) return out;
    out.erase(out.end() - 2);
    out.insert(out.begin(), dims[0]);
    return out;
  };
  const auto rank = static_cast<std::int64_t>(c.input.size());
  Ints image{0, rank - 1}, weights{rank - 1, rank - 2};
  for (std::int64_t s = 0; s < rank - 2; ++s) {
    image.push_back(s + 1);
    weights.push_back(s);
  }
  c.input = turned(c.input, false);
  c.weights = turned(c.weights, true);
  c.attrs.set("lhs_spec", image);
  c.attrs.set("out_spec", image);
  c.attrs.set("rhs_spec", weights);
  return c;
}

ops::Attrs window(Ints strides, Ints low, Ints high, Ints dilation, std::int64_t groups = 1) {
  return {{"strides", std::move(strides)},
          {"pad_low", std::move(low)},
          {"pad_high", std::move(high)},
          {"rhs_dilation", std::move(dilation)},
          {"groups", groups}};
}

const std::vector<ConvCase>& conv_cases() {
  static const std::vector<ConvCase> all{
      {{1, 3, 9, 11}, {4, 3, 3, 3}, window({1, 1}, {1, 1}, {1, 1}, {1, 1})},
      {{2, 4, 8, 8}, {6, 2, 3, 2}, window({2, 1}, {0, 1}, {1, 0}, {1, 1}, 2)},
      {{1, 3, 7, 7}, {5, 3, 2, 2}, window({1, 1}, {2, -1}, {1, 2}, {2, 3})},
      {{1, 5, 23, 29}, {7, 5, 3, 5}, window({2, 3}, {1, 2}, {0, 1}, {1, 1})},   // strides with phases of their own
      {{1, 2, 20, 17}, {3, 2, 3, 3}, window({3, 2}, {2, 1}, {2, 2}, {2, 3})},   // strides and dilation
      {{1, 3, 12, 12}, {4, 3, 1, 1}, window({2, 2}, {0, 0}, {0, 0}, {1, 1})},   // strides greater than the window
      {{2, 19, 5, 5}, {23, 19, 1, 1}, window({1, 1}, {0, 0}, {0, 0}, {1, 1})},  // nothing but a product
      {{1, 6, 40, 40}, {9, 6, 3, 3}, window({1, 1}, {1, 1}, {1, 1}, {1, 1})},   // in pieces
      {{1, 20, 33, 31}, {17, 20, 3, 3}, window({1, 1}, {0, 2}, {1, 0}, {1, 1})},
      {{1, 8, 14, 14}, {8, 1, 3, 3}, window({1, 1}, {1, 1}, {1, 1}, {1, 1}, 8)},  // a group of each channel
      {{2, 11, 9, 9}, {11, 1, 3, 3}, window({2, 2}, {1, 0}, {0, 1}, {1, 1}, 11)},
      {{1, 16, 7, 7}, {16, 1, 5, 5}, window({1, 1}, {0, 0}, {0, 0}, {1, 1}, 16)},
      {{1, 3, 10, 10}, {6, 1, 3, 3}, window({1, 1}, {1, 1}, {1, 1}, {1, 1}, 3)},  // two features of each channel
      {{1, 12, 8, 8}, {20, 3, 3, 3}, window({1, 1}, {1, 1}, {1, 1}, {1, 1}, 4)},
      {{1, 24, 1, 1}, {33, 24, 1, 1}, window({1, 1}, {0, 0}, {0, 0}, {1, 1})},  // one position
      {{3, 4, 3, 3}, {5, 4, 3, 3}, window({1, 1}, {0, 0}, {0, 0}, {1, 1})},
      {{1, 4, 4, 4}, {4, 1, 4, 4}, window({1, 1}, {0, 0}, {0, 0}, {1, 1}, 4)},
      {{2, 3, 17}, {4, 3, 5}, window({2}, {1}, {3}, {1})},
      {{1, 2, 1500}, {3, 2, 9}, window({1}, {4}, {4}, {1})},  // one long row, in pieces
      {{1, 3, 1400}, {9, 3, 4}, window({3}, {1}, {1}, {2})},
      {{1, 2, 4, 5, 6}, {3, 2, 2, 2, 2}, window({1, 1, 1}, {0, 0, 0}, {0, 0, 0}, {1, 1, 1})},
      {{1, 3, 6, 7, 5}, {4, 3, 3, 3, 3}, window({2, 1, 2}, {1, 1, 0}, {1, 0, 1}, {1, 2, 1})},
      {{1, 3, 5, 4},
       {2, 3, 3, 3},
       {{"lhs_dilation", Ints{2, 2}}, {"reversal", Ints{1, 1}}, {"pad_low", Ints{2, 1}}, {"pad_high", Ints{2, 2}}}},
      {{1, 3, 7, 5},
       {2, 3, 3, 2},
       {{"lhs_dilation", Ints{3, 2}}, {"strides", Ints{2, 2}}, {"pad_low", Ints{1, -1}}, {"pad_high", Ints{2, 2}}}},
      {{4, 3, 6, 6}, {4, 3, 3, 3}, {{"batch_groups", std::int64_t{2}}}},
  };
  return all;
}

}  // namespace

TEST_CASE("convolutions are right for every window and layout", "[driver]") {
  const bool last = GENERATE(false, true), constant = !last;
  Model m;
  std::vector<Value> results;
  for (const ConvCase& given : conv_cases()) {
    const ConvCase c = last ? channels_last(given) : given;
    const Value x = m.in(DType::kF32, c.input);
    results.push_back(
        m.op("conv", {x, constant ? m.weight(DType::kF32, c.weights) : m.in(DType::kF32, c.weights)}, c.attrs));
  }
  alone(m, results);
}

TEST_CASE("convolutions are right for every dtype", "[driver]") {
  const DType dtype = GENERATE(DType::kF64, DType::kF16, DType::kBF16, DType::kS32, DType::kS8, DType::kU64);
  Model m;
  std::vector<Value> results;
  for (const std::size_t i : {0, 1, 3, 5, 9, 12, 14, 17, 21, 22})
    for (const bool last : {false, true}) {
      const ConvCase c = last ? channels_last(conv_cases()[i]) : conv_cases()[i];
      const Value x = m.in(dtype, c.input), w = last ? m.weight(dtype, c.weights) : m.in(dtype, c.weights);
      results.push_back(m.op("conv", {x, w}, c.attrs));
    }
  alone(m, results);
}

TEST_CASE("convolutions between mixed layouts are right", "[driver]") {
  const Ints nchw{0, 1, 2, 3}, nhwc{0, 3, 1, 2};
  for (const bool image_last : {false, true}) {
    Model m;
    const Value x = m.in(DType::kF32, image_last ? Ints{1, 9, 10, 6} : Ints{1, 6, 9, 10});
    const Value w = m.weight(DType::kF32, {5, 6, 3, 3});
    alone(m, {m.op("conv", {x, w},
                   {{"lhs_spec", image_last ? nhwc : nchw},
                    {"out_spec", image_last ? nchw : nhwc},
                    {"pad_low", Ints{1, 1}},
                    {"pad_high", Ints{1, 1}}})});
  }
}

TEST_CASE("an image put together along its channels is laid out piece by piece", "[driver]") {
  const bool last = GENERATE(false, true);
  Model m;
  const ConvCase c = last ? channels_last(conv_cases()[8]) : conv_cases()[8];  // of 20 channels
  const std::size_t axis = last ? 3 : 1;
  std::vector<Value> pieces;
  for (const std::int64_t channels : {3, 1, 11, 5}) {
    Ints dims = c.input;
    dims[axis] = channels;
    pieces.push_back(m.in(DType::kF32, dims));
  }
  const Value x = m.op("concat", pieces, {{"axis", static_cast<std::int64_t>(axis)}});
  fused(m, {m.op("conv", {m.op("max", {x, m.op("neg", {x})}), m.in(DType::kF32, c.weights)}, c.attrs)});
}

TEST_CASE("what stands before and behind a convolution is computed in its tile", "[driver]") {
  const bool last = GENERATE(false, true), constant = last;
  for (const std::size_t i : {0, 1, 3, 7, 9, 10, 13}) {
    Model m;
    const ConvCase c = last ? channels_last(conv_cases()[i]) : conv_cases()[i];
    const Value x = m.in(DType::kF32, c.input),
                w = constant ? m.weight(DType::kF32, c.weights) : m.in(DType::kF32, c.weights);
    const Value y = m.op("conv", {x, w}, c.attrs);
    CHECK(fused(m, {m.op("max", {m.op("mul", {y, y}), y})}) == 1);
  }
}

TEST_CASE("windows are right with padding, strides and dilation", "[driver]") {
  Model m;
  const Value x = m.in(DType::kF32, {2, 3, 12, 37}), n = m.in(DType::kS32, {2, 3, 12, 37});
  const ops::Attrs pool{{"window", Ints{1, 1, 3, 2}},
                        {"strides", Ints{1, 1, 2, 1}},
                        {"pad_low", Ints{0, 0, 1, 1}},
                        {"pad_high", Ints{0, 0, 0, 1}}};
  ops::Attrs spread = pool;
  spread.set("window_dilation", Ints{1, 1, 2, 3});
  spread.set("base_dilation", Ints{1, 1, 2, 1});
  std::vector<Value> results;
  for (const char* op : {"reduce_window_sum", "reduce_window_max", "reduce_window_min", "reduce_window_prod"}) {
    results.push_back(m.op(op, {x}, pool));
    results.push_back(m.op(op, {n}, spread));
  }
  alone(m, results);
}

TEST_CASE("sorting, choosing the greatest and running totals are right", "[driver]") {
  const auto [dims, axis] =
      GENERATE(table<Ints, std::int64_t>({{{9}, 0}, {{4, 33}, 1}, {{33, 4}, 0}, {{3, 17, 5}, 1}, {{2, 1000}, 1}}));
  Model m;
  const Value x = m.in(DType::kF32, dims), n = m.in(DType::kS32, dims);
  std::vector<Value> results;
  const auto all = [&](const std::string& op, std::vector<Value> operands, const ops::Attrs& attrs) {
    const auto made = m.builder.add(m.graph.table->require(op), std::move(operands), attrs);
    INFO((made ? "" : print_error(made.error())));
    REQUIRE(made.has_value());
    results.insert(results.end(), made->begin(), made->end());
  };
  all("sort", {n, x}, {{"axis", axis}, {"descending", false}, {"stable", true}});
  all("sort", {x}, {{"axis", axis}, {"descending", true}, {"stable", true}});
  for (const bool largest : {true, false})
    all("top_k", {n}, {{"axis", axis}, {"k", std::int64_t{3}}, {"largest", largest}, {"dtype", DType::kS64}});
  for (const char* op : {"cum_sum", "cum_prod", "cum_max", "cum_min"})
    for (const bool reverse : {false, true})
      all(op, {op == std::string("cum_prod") ? n : x}, {{"axis", axis}, {"exclusive", reverse}, {"reverse", reverse}});
  alone(m, results);
}

TEST_CASE("the first few of many are selected, of equal ones the earlier", "[driver][sim]") {
  const std::string on = GENERATE("cpu", "sim");
  const auto [dims, axis, k] = GENERATE(table<Ints, std::int64_t, std::int64_t>(
      {{{40}, 0, 1}, {{3, 300}, 1, 2}, {{700, 3}, 0, 2}, {{9000}, 0, 3}, {{5, 16}, 1, 16}}));
  Model m;
  const Value x = m.in(DType::kF32, dims), n = m.in(DType::kS8, dims), h = m.in(DType::kBF16, dims);
  std::vector<Value> results;
  for (const Value v : {x, n, h})
    for (const bool largest : {true, false}) {
      const auto made = m.builder.add(m.graph.table->require("top_k"), {v},
                                      {{"axis", axis}, {"k", k}, {"largest", largest}, {"dtype", DType::kS64}});
      REQUIRE(made.has_value());
      results.insert(results.end(), made->begin(), made->end());
    }
  alone(m, results, on);
}

TEST_CASE("independent small operators run side by side in one launch", "[driver]") {
  Model m;
  const Value x = m.in(DType::kF32, {40}), y = m.in(DType::kF32, {40}), z = m.in(DType::kF32, {8, 64});
  CHECK(fused(m, {m.op("exp", {x}), m.op("tanh", {y}), m.op("reduce_sum", {z}, {{"axes", Ints{1}}})}) < 3);
  Model q;
  const Value a = q.in(DType::kF32, {16, 32});
  std::vector<Value> products;
  for (int i = 0; i < 3; ++i)
    products.push_back(
        q.op("dot", {a, q.in(DType::kF32, {32, 24})}, {{"lhs_contract", Ints{1}}, {"rhs_contract", Ints{0}}}));
  CHECK(fused(q, products) == 1);
}
