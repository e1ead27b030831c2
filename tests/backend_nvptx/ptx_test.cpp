#include "backends/nvptx/nvptx.hpp"
#include "kernels.hpp"

namespace fusewright {

namespace {

std::string ptx_of(const Kernel& kernel, const std::string& sm = "sm_90") {
  const auto ptx = backend_nvptx::emit_ptx(kernel, sm);
  if (!ptx) FAIL(print_error(ptx.error()));
  return ptx->text;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// f(x) for every function that the math source has, on one element a thread.
Kernel all_math(DType dtype) {
  KernelBuilder b("math", TargetFamily::kGpu);
  const BufferId in = b.buffer("in0", dtype, 256, Space::kGlobal);
  const BufferId out = b.buffer("out0", dtype, 256, Space::kGlobal, Buffer::Role::kOutput);
  grid(b, "math", 1, 256, [&](ExprId, ExprId thread) {
    ExprId x = b.load(in, thread);
    for (const ScalarOp op : {ScalarOp::kExp, ScalarOp::kLog, ScalarOp::kTanh, ScalarOp::kErf, ScalarOp::kSin,
                              ScalarOp::kCbrt, ScalarOp::kRoundEven, ScalarOp::kSqrt, ScalarOp::kRsqrt})
      x = b.let("x", b.op(op, dtype, {x}));
    for (const ScalarOp op : {ScalarOp::kPow, ScalarOp::kRem, ScalarOp::kMod, ScalarOp::kAtan2, ScalarOp::kMax,
                              ScalarOp::kMin, ScalarOp::kDiv})
      x = b.let("y", b.op(op, dtype, {x, b.load(in, thread)}));
    b.store(out, thread, x);
  });
  return b.finish();
}

}  // namespace

TEST_CASE("vectors of four floats are loaded and stored by one instruction, inputs through the read-only path",
          "[nvptx]") {
  const std::string text = ptx_of(square_plus_one(4096, 4));
  INFO(text);
  CHECK(has(text, ".target sm_90"));
  CHECK(has(text, ".visible .entry square("));
  CHECK(has(text, ".maxntid 256"));
  CHECK(has(text, "ld.global.nc.v4"));
  CHECK(has(text, "st.global.v4"));
  CHECK(has(text, "%ctaid.x"));
  CHECK(has(text, "mul.rn.f32"));  // with its rounding named, ptxas contracts nothing
  CHECK_FALSE(has(text, "fma.rn.f32"));
}

TEST_CASE("a row sum uses shuffles, shared memory and a barrier", "[nvptx]") {
  const std::string text = ptx_of(row_sums(8, 1024));
  INFO(text);
  CHECK(has(text, "shfl.sync.bfly.b32"));
  CHECK(has(text, "st.shared"));
  CHECK(has(text, "ld.shared"));
  CHECK(has(text, "bar.sync"));
}

TEST_CASE("ptxas accepts kernels for every architecture", "[nvptx]") {
  if (!backend_nvptx::find_ptxas()) {
    WARN("no CUDA toolkit: not run");
    return;
  }
  for (const std::string& sm : backend_nvptx::architectures()) {
    std::vector<Kernel> kernels{
        square_plus_one(4096, 4), row_sums(8, 1024),     row_sums(8, 1024, Fault::kNone, DType::kS64),
        all_math(DType::kF32),    all_math(DType::kF64), all_math(DType::kF16),
        all_math(DType::kBF16)};
    for (const DType dtype : {DType::kF64, DType::kF16, DType::kBF16, DType::kS8, DType::kS32, DType::kU64})
      kernels.push_back(square_plus_one(4096, 4, dtype));
    for (const Kernel& kernel : kernels) {
      INFO(kernel.name << " for " << sm);
      const auto cubin = backend_nvptx::run_ptxas(ptx_of(kernel, sm), sm);
      if (!cubin) FAIL(print_error(cubin.error()));
      REQUIRE(cubin->entries.size() == 1);
      CHECK(cubin->entries[0].name == kernel.launches[0].name);
      CHECK(cubin->entries[0].registers > 0);
      CHECK(cubin->entries[0].spill_stores == 0);
      CHECK_FALSE(cubin->bytes.empty());
    }
  }
}

TEST_CASE("shared memory that ptxas reports is what the kernel asks for", "[nvptx]") {
  if (!backend_nvptx::find_ptxas()) return;
  const auto cubin = backend_nvptx::run_ptxas(ptx_of(row_sums(8, 1024)), "sm_90");
  REQUIRE(cubin.has_value());
  CHECK(cubin->entries[0].shared_bytes == 32);
}

TEST_CASE("what there is no code for is named", "[nvptx]") {
  const auto unknown = backend_nvptx::emit_ptx(square_plus_one(256, 1), "sm_70");
  REQUIRE_FALSE(unknown.has_value());
  CHECK(has(print_error(unknown.error()), "sm_70"));

  KernelBuilder b("large", TargetFamily::kGpu);
  const BufferId shared = b.buffer("shared", DType::kF32, 100000, Space::kShared);
  grid(b, "large", 1, 32, [&](ExprId, ExprId thread) { b.store(shared, thread, b.number(DType::kF32, 0)); });
  const auto large = backend_nvptx::emit_ptx(b.finish(), "sm_90");
  REQUIRE_FALSE(large.has_value());
  CHECK(has(print_error(large.error()), "400000 bytes of shared memory"));

  const auto bad =
      backend_nvptx::find_ptxas() ? backend_nvptx::run_ptxas("not PTX", "sm_90") : std::unexpected(Error{});
  CHECK_FALSE(bad.has_value());
}

}  // namespace fusewright
