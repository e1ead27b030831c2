#include "backends/nvptx/nvptx.hpp"
#include "kernels.hpp"

using namespace fusewright;

// Reductions on a GPU: how threads share out rows and columns. The simulator runs them, with its checks of races,
// barriers and bounds.

namespace {

Value squares_from(Model& m, Value x, const Ints& dims) {
  const Value c = m.align(m.in(DType::kF32, {dims.back()}), dims);
  const Value d = m.op("sub", {x, c});
  return m.op("mul", {d, d});
}

/// exp(x - max) / sum along `axis`, and the logarithm of the sum.
std::vector<Value> softmax(Model& m, Value x, const Ints& dims, std::int64_t axis) {
  Ints back;
  for (std::int64_t d = 0; d < static_cast<std::int64_t>(dims.size()); ++d)
    if (d != axis) back.push_back(d);
  const ops::Attrs over{{"axes", Ints{axis}}}, spread{{"dims", back}, {"shape", ops::Shape(dims.begin(), dims.end())}};
  const Value greatest = m.op("broadcast", {m.op("reduce_max", {x}, over)}, spread);
  const Value e = m.op("exp", {m.op("sub", {x, greatest})});
  const Value sum = m.op("reduce_sum", {e}, over);
  return {m.op("div", {e, m.op("broadcast", {sum}, spread)}), m.op("log", {sum})};
}

void check_registers(const driver::Compilation& c, const std::string& sm) {
  for (const kernel::Kernel& kernel : c.kernels) {
    const auto ptx = backend_nvptx::emit_ptx(kernel, sm);
    REQUIRE(ptx.has_value());
    const auto cubin = backend_nvptx::run_ptxas(ptx->text, sm);
    INFO(kernel.name << " for " << sm << (cubin ? "" : print_error(cubin.error())));
    REQUIRE(cubin.has_value());
    for (const auto& entry : cubin->entries) {
      INFO(entry.registers << " registers of " << kernel.launches[0].threads << " threads");
      CHECK(entry.spill_stores + entry.spill_loads + entry.stack_bytes == 0);
    }
  }
}

}  // namespace

TEST_CASE("GPU reductions are right along any axes, of any length", "[driver][sim]") {
  const auto [dims, axes] = GENERATE(table<Ints, Ints>({{{7}, {0}},
                                                        {{1, 1000}, {1}},
                                                        {{33, 70}, {1}},
                                                        {{300, 3}, {1}},
                                                        {{70, 33}, {0}},
                                                        {{5, 6, 7}, {1}},
                                                        {{5, 6, 7}, {0, 2}},
                                                        {{5, 6, 7, 8}, {0, 2}},
                                                        {{4, 3, 8, 8}, {0, 2, 3}},
                                                        {{3, 20000}, {1}},
                                                        {{20000, 3}, {0}},
                                                        {{40, 2, 36}, {0}},
                                                        {{3, 100, 260}, {1}},
                                                        {{2, 65, 129}, {0, 1, 2}}}));
  Model m;
  const Value x = m.in(DType::kF32, dims), n = m.in(DType::kS32, dims), h = m.in(DType::kBF16, dims);
  const ops::Attrs over{{"axes", axes}};
  std::vector<Value> results{m.op("reduce_sum", {m.op("mul", {x, x})}, over), m.op("reduce_max", {x}, over),
                             m.op("reduce_prod", {n}, over), m.op("reduce_sum", {h}, over),
                             m.op("reduce_or", {m.op("gt", {x, m.op("neg", {x})})}, over)};
  if (axes.size() == 1)
    for (const bool last : {false, true}) {
      results.push_back(m.op("arg_max", {x}, {{"axis", axes[0]}, {"last", last}, {"dtype", DType::kS64}}));
      results.push_back(m.op("arg_min", {n}, {{"axis", axes[0]}, {"last", last}, {"dtype", DType::kS32}}));
    }
  alone(m, results, "sim");
}

TEST_CASE("GPU normalisation over rows and over columns is one kernel", "[driver][sim]") {
  const auto [dims, axis] = GENERATE(table<Ints, std::int64_t>({{{24, 37}, 1},
                                                                {{24, 37}, 0},
                                                                {{6, 5, 64}, 2},
                                                                {{6, 50, 19}, 1},
                                                                {{8, 3, 129}, 2},
                                                                {{500, 40}, 0},
                                                                {{2, 70, 64}, 1},
                                                                {{3, 2000}, 1}}));
  const DType dtype = GENERATE(DType::kF32, DType::kF16, DType::kF64);
  Model m;
  const Value x = m.in(dtype, dims);
  CHECK(fused(m, softmax(m, x, dims, axis), "sim") == 1);
}

TEST_CASE("a sum of squares over the first axis is one kernel that fills a GPU", "[driver]") {
  Model m;
  const Ints dims{1024, 4096};
  const Value x = m.in(DType::kF32, dims);
  const auto c = planned(m, {m.op("reduce_sum", {squares_from(m, x, dims)}, {{"axes", Ints{0}}})}, {"sim"});
  REQUIRE(c.plan->groups.size() == 1);
  const schedule::Schedule& s = c.plan->groups[0].schedule;
  CHECK(s.resources.launches == 1);
  CHECK(s.resources.parallelism >= 100000);
  CHECK(s.vector == 4);
  const auto ptx = backend_nvptx::emit_ptx(c.kernels[0], "sm_90");
  REQUIRE(ptx.has_value());
  CHECK(ptx->text.find("ld.global.nc.v4") != std::string::npos);
}

TEST_CASE("few columns of many rows are cut into parts that a second launch joins", "[driver]") {
  Model m;
  const auto c = planned(m, {m.op("reduce_sum", {m.in(DType::kF32, {200000, 16})}, {{"axes", Ints{0}}})}, {"sim"});
  REQUIRE(c.plan->groups.size() == 1);
  const schedule::Schedule& s = c.plan->groups[0].schedule;
  CHECK(s.resources.launches == 2);
  CHECK(s.resources.parallelism >= 40000);
}

TEST_CASE("reductions over different axes of the same extents are not taken for one another", "[driver][sim]") {
  const std::string on = GENERATE("cpu", "sim");
  Model m;
  const Value x = m.in(DType::kF32, {4, 4, 4, 2});
  std::vector<Value> results;
  for (const Ints& axes : {Ints{0, 1, 3}, Ints{1, 2, 3}, Ints{0, 2, 3}, Ints{0, 1}, Ints{0, 2}, Ints{1, 2}})
    results.push_back(m.op("reduce_sum", {x}, {{"axes", axes}}));
  fused(m, results, on);
}

TEST_CASE("reductions keep their values in registers on every GPU", "[driver][nvptx][slow]") {
  if (!backend_nvptx::find_ptxas()) {
    WARN("no CUDA toolkit: not run");
    return;
  }
  const auto [dims, axis] = GENERATE(table<Ints, std::int64_t>(
      {{{1024, 4096}, 0}, {{64, 16384}, 1}, {{16, 512, 784}, 1}, {{9000, 64}, 1}, {{2, 1024, 2048}, 1}}));
  const DType dtype = GENERATE(DType::kF32, DType::kF16);
  Model m;
  const Value x = m.in(dtype, dims);
  std::vector<Value> results = softmax(m, x, dims, axis);
  results.push_back(m.op("arg_max", {x}, {{"axis", axis}, {"last", false}, {"dtype", DType::kS64}}));
  const auto c = planned(m, results, {"sim"});
  for (const std::string& sm : backend_nvptx::architectures()) check_registers(c, sm);
}
