#include "fusewright/kernel/ir.hpp"

#include <catch2/catch.hpp>

#include "fusewright/kernel/builder.hpp"
#include "fusewright/kernel/lower.hpp"
#include "tests/region/make_region.hpp"

using namespace fusewright;
using namespace fusewright::kernel;

namespace {

Kernel doubled() {
  KernelBuilder b("double", TargetFamily::kCpu);
  const BufferId in = b.buffer("in", DType::kF32, 64, Space::kGlobal);
  const BufferId out = b.buffer("out", DType::kF32, 64, Space::kGlobal, Buffer::Role::kOutput);
  b.launch("double", [&] {
    b.loop(LoopKind::kParallel, "task", 4, [&](ExprId t) {
      b.loop(LoopKind::kVector, "l", 16, [&](ExprId l) {
        const ExprId at = b.add(b.mul(t, 16), l), x = b.let("x", b.load(in, at));
        b.store(out, at, b.op(ScalarOp::kAdd, DType::kF32, {x, x}));
      });
    });
  });
  return b.finish();
}

std::string refusal(const Kernel& kernel) {
  const Status status = verify(kernel);
  REQUIRE_FALSE(status.has_value());
  return status.error().diagnostics.front().message;
}

}  // namespace

TEST_CASE("a kernel prints as it reads", "[kernel]") {
  CHECK(print(doubled()) ==
        "kernel double\n  f32 in[64] global input\n  f32 out[64] global output\nlaunch double\n  for parallel task.0 < "
        "4\n"
        "    for vector l.1 < 16\n      f32 x.2 = in[(task.0 * 16 + l.1)]\n      out[(task.0 * 16 + l.1)] = add(x.2, "
        "x.2)\n");
}

TEST_CASE("the verifier finds what a template can get wrong", "[kernel]") {
  CHECK(verify(doubled()).has_value());
  Kernel lanes = doubled();
  for (Expr& e : lanes.exprs)
    if (e.kind == Expr::Kind::kInt && e.integer == 16) e.integer = 12;
  CHECK(refusal(lanes).find("12 lanes") != std::string::npos);
  Kernel dtype = doubled();
  for (Expr& e : dtype.exprs)
    if (e.kind == Expr::Kind::kOp && e.op == ScalarOp::kAdd && e.dtype == DType::kF32) e.dtype = DType::kF64;
  CHECK(refusal(dtype).find("dtype") != std::string::npos);
  Kernel input = doubled();
  input.buffers[1].role = Buffer::Role::kInput;
  CHECK(refusal(input).find("a store to input out") != std::string::npos);
  Kernel order = doubled();
  std::swap(order.stmts[0], order.stmts[1]);  // the use before its let
  CHECK(refusal(order).find("not defined") != std::string::npos);
  Kernel barrier = doubled();
  barrier.stmts[0].kind = Stmt::Kind::kBarrier;
  CHECK_FALSE(verify(barrier).has_value());
}

TEST_CASE("equal kernels have one hash whatever their names, others another", "[kernel]") {
  Kernel named = doubled();
  named.name = "other";
  named.launches[0].name = "other";
  CHECK(hash(named) == hash(doubled()));
  named.exprs.back().op = ScalarOp::kMul;
  CHECK(hash(named) != hash(doubled()));
}

TEST_CASE("templates refuse what is not theirs, with the figures", "[kernel]") {
  using Ints = std::vector<std::int64_t>;
  using schedule::Template;
  tests::RegionMaker m;
  const auto x = m.capture({8, 16});
  const auto a = m.op("reduce_sum", {x}, {8}, {{"axes", Ints{1}}}),
             b = m.op("reduce_sum", {x}, {16}, {{"axes", Ints{0}}});
  m.region.outputs = {a, b};
  const auto reason = [&](Template kind) {
    const auto fit = schedule::fit(m.region, kind, {});
    REQUIRE_FALSE(fit.has_value());
    return fit.error().reason;
  };
  CHECK(reason(Template::kLoop) == "reduce_sum is not elementwise");
  CHECK(reason(Template::kRow) == "reductions over different axes: {1} keeps 8 x 1, {0} keeps 1 x 16");
  CHECK(reason(Template::kContract) == "reduce_sum is neither elementwise nor the contraction");
  CHECK(reason(Template::kSort) == "reduce_sum is neither elementwise nor an ordering operator");
}

TEST_CASE("a GPU kernel of contiguous data moves sixteen bytes at once", "[kernel]") {
  tests::RegionMaker m;
  const auto x = m.capture({1000, 1000}), y = m.capture({1000, 1000});
  m.region.outputs = {m.op("exp", {m.op("add", {m.op("log", {x}, {1000, 1000}), y}, {1000, 1000})}, {1000, 1000})};
  schedule::Target gpu;
  gpu.family = schedule::Target::Family::kGpu;
  const auto schedule = schedule::fit(m.region, schedule::Template::kLoop, gpu);
  REQUIRE(schedule.has_value());
  const auto kernel = lower(m.region, *schedule, gpu, "explog");
  REQUIRE(kernel.has_value());
  CHECK(print(*kernel).find("for vector l.5 < 4\n") != std::string::npos);
  CHECK(kernel->launches[0].grid[0] * kernel->launches[0].threads * 4 >= 1'000'000);
}
