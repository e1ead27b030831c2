#include "backends/nvptx/nvptx.hpp"
#include "kernels.hpp"

using namespace fusewright;

// Tensors without elements, in every template: as operands, as results, and as results beside others that have some.

namespace {

struct Case {
  const char* name;
  std::vector<Value> (*results)(Model&);
};

constexpr DType kF32 = DType::kF32;

ops::Attrs over(Ints axes) { return {{"axes", std::move(axes)}}; }

Value dot(Model& m, Value l, Value r) {
  return m.op("dot", {l, r}, {{"lhs_contract", Ints{1}}, {"rhs_contract", Ints{0}}});
}

/// tanh of a tensor of these extents, and sums of it over some axes.
std::vector<Value> sums(Model& m, Ints dims, const std::vector<Ints>& axes) {
  std::vector<Value> results{m.op("tanh", {m.in(kF32, std::move(dims))})};
  for (const Ints& a : axes) results.push_back(m.op("reduce_sum", {results[0]}, over(a)));
  return results;
}

/// exp(x - max) / sum over an axis of a matrix, and what it is made of.
std::vector<Value> softmax(Model& m, const Ints& dims, std::int64_t axis) {
  const Value x = m.in(kF32, dims);
  const ops::Attrs back{{"dims", Ints{1 - axis}}, {"shape", ops::Shape(dims.begin(), dims.end())}};
  const Value greatest = m.op("reduce_max", {x}, over({axis}));
  const Value e = m.op("exp", {m.op("sub", {x, m.op("broadcast", {greatest}, back)})});
  const Value sum = m.op("reduce_sum", {e}, over({axis}));
  return {m.op("div", {e, m.op("broadcast", {sum}, back)}), m.op("log", {sum}), greatest};
}

std::vector<Value> all(Model& m, const char* op, std::vector<Value> operands, const ops::Attrs& attrs) {
  const auto made = m.builder.add(m.graph.table->require(op), std::move(operands), attrs);
  INFO(op << (made ? "" : print_error(made.error())));
  REQUIRE(made.has_value());
  return *made;
}

const std::vector<Case>& cases() {
  static const std::vector<Case> table{
      {"elements", [](Model& m) { return std::vector{m.op("exp", {m.in(kF32, {2, 0, 3})})}; }},
      {"all of no elements", [](Model& m) { return sums(m, {0}, {{0}}); }},
      {"rows of no elements", [](Model& m) { return sums(m, {3, 0}, {{1}}); }},
      {"columns of no elements", [](Model& m) { return sums(m, {0, 40}, {{0}}); }},
      {"no rows", [](Model& m) { return sums(m, {0, 3}, {{1}}); }},
      {"no rows of no elements", [](Model& m) { return sums(m, {0, 0}, {{1}, {0, 1}}); }},
      {"several axes", [](Model& m) { return sums(m, {3, 0, 5}, {{0}, {1}, {2}, {0, 1}, {1, 2}, {0, 1, 2}}); }},
      {"softmax of empty rows", [](Model& m) { return softmax(m, {3, 0}, 1); }},
      {"softmax of empty columns", [](Model& m) { return softmax(m, {0, 70}, 0); }},
      {"softmax of no rows", [](Model& m) { return softmax(m, {0, 3}, 1); }},
      {"product over nothing",
       [](Model& m) {
         const Value x = m.op("tanh", {m.in(kF32, {4, 0})}), w = m.in(kF32, {0, 5});
         const Value y = dot(m, x, w);
         return std::vector{x, y, m.op("max", {m.op("mul", {y, y}), y})};
       }},
      {"product of no rows",
       [](Model& m) {
         const Value y = dot(m, m.in(kF32, {0, 6}), m.in(kF32, {6, 5}));
         return std::vector{m.op("exp", {y}), m.op("reduce_sum", {y}, over({0}))};
       }},
      {"products of one operand, some of no columns",
       [](Model& m) {
         const Value x = m.in(kF32, {4, 6});
         return std::vector{dot(m, x, m.in(kF32, {6, 0})), dot(m, x, m.in(kF32, {6, 5}))};
       }},
      {"convolution of no channels",
       [](Model& m) {
         const Value x = m.op("exp", {m.in(kF32, {1, 0, 5, 5})});
         return std::vector{x, m.op("tanh", {m.op("conv", {x, m.in(kF32, {4, 0, 3, 3})})})};
       }},
      {"convolution of padding alone",
       [](Model& m) {
         const Value x = m.op("exp", {m.in(kF32, {1, 3, 0, 5})});
         return std::vector{
             x, m.op("conv", {x, m.in(kF32, {4, 3, 3, 3})}, {{"pad_low", Ints{2, 0}}, {"pad_high", Ints{2, 0}}})};
       }},
      {"convolution without an image",
       [](Model& m) { return std::vector{m.op("conv", {m.in(kF32, {0, 3, 5, 5}), m.in(kF32, {4, 3, 3, 3})})}; }},
      {"windows of padding alone",
       [](Model& m) {
         const Value x = m.op("tanh", {m.in(kF32, {2, 0, 3})});
         const ops::Attrs window{{"window", Ints{1, 3, 1}}, {"pad_low", Ints{0, 2, 0}}, {"pad_high", Ints{0, 2, 0}}};
         return std::vector{x, m.op("reduce_window_sum", {x}, window), m.op("reduce_window_max", {x}, window)};
       }},
      {"sorting nothing",
       [](Model& m) {
         const Value x = m.op("neg", {m.in(kF32, {3, 0})});
         std::vector<Value> results{x};
         for (const std::int64_t axis : {0, 1}) {
           results.push_back(all(m, "sort", {x}, {{"axis", axis}, {"descending", false}, {"stable", true}}).front());
           results.push_back(m.op("cum_sum", {x}, {{"axis", axis}}));
         }
         for (const Value v :
              all(m, "top_k", {m.in(kF32, {3, 7})},
                  {{"axis", std::int64_t{1}}, {"k", std::int64_t{0}}, {"largest", true}, {"dtype", DType::kS64}}))
           results.push_back(v);
         return results;
       }},
      {"scatter of nothing",
       [](Model& m) {
         const Value x = m.op("exp", {m.in(kF32, {5, 4})}), updates = m.op("tanh", {m.in(kF32, {0, 4})});
         return std::vector{x, updates,
                            m.op("scatter", {x, m.in(DType::kS64, {0, 1}), updates},
                                 {{"update_window_dims", Ints{1}},
                                  {"inserted_window_dims", Ints{0}},
                                  {"scatter_dims_to_operand_dims", Ints{0}},
                                  {"index_vector_dim", std::int64_t{1}}})};
       }},
      {"moves of nothing",
       [](Model& m) {
         const Value x = m.op("exp", {m.in(kF32, {0, 3})}), y = m.in(kF32, {4, 3}), fill = m.in(kF32, {});
         return std::vector{
             x, m.op("concat", {x, y, x}, {{"axis", std::int64_t{0}}}),
             m.op("pad", {x, fill}, {{"low", Ints{1, 0}}, {"high", Ints{2, 0}}, {"interior", Ints{0, 0}}}),
             m.op("take", {y, m.in(DType::kS64, {0})}, {{"axis", std::int64_t{0}}}),
             m.op("reshape", {x}, {{"shape", ops::Shape{7, 0}}})};
       }},
      {"one launch with and without elements",
       [](Model& m) {
         const Value z = m.op("tanh", {m.in(kF32, {8, 0})});
         return std::vector{m.op("exp", {m.in(kF32, {0})}), m.op("tanh", {m.in(kF32, {40})}), z,
                            m.op("reduce_sum", {z}, over({1})), m.op("reduce_sum", {m.in(kF32, {8, 64})}, over({1}))};
       }},
  };
  return table;
}

}  // namespace

TEST_CASE("kernels of tensors without elements are right", "[driver][sim]") {
  const Running how{GENERATE("cpu", "sim"), GENERATE(true, false)};
  for (const Case& c : cases()) {
    INFO(c.name << " on " << how.backend << (how.fuse ? ", fused" : ", unfused"));
    Model m;
    const driver::Compilation made = planned(m, c.results(m), how);
    check_right(made, how);
    if (how.backend != "sim") continue;
    for (const kernel::Kernel& kernel : made.kernels) {
      const auto ptx = backend_nvptx::emit_ptx(kernel, "sm_90");
      INFO((ptx ? "" : print_error(ptx.error())));
      CHECK(ptx.has_value());
    }
  }
}
