#include <limits>

#include "run.hpp"

// A model with very many math functions calls them instead of having each written out: the same bits.

namespace fusewright {
namespace {

constexpr ScalarOp kFunctions[] = {ScalarOp::kExp,  ScalarOp::kExpm1, ScalarOp::kLog,  ScalarOp::kLog1p,
                                   ScalarOp::kTanh, ScalarOp::kErf,   ScalarOp::kSin,  ScalarOp::kCos,
                                   ScalarOp::kTan,  ScalarOp::kAsin,  ScalarOp::kAtan, ScalarOp::kSinh,
                                   ScalarOp::kCosh, ScalarOp::kCbrt};
constexpr std::int64_t kElements = 101;  // whole vectors and some left over

// Near and far from zero; from 1e5 on the angles of sin, cos and tan are reduced by the long way.
double value(std::int64_t i) {
  if (i == 0) return std::numeric_limits<double>::quiet_NaN();
  if (i == 1) return std::numeric_limits<double>::infinity();
  const double magnitude = std::pow(10.0, static_cast<double>(i % 37) - 6);
  return (i % 2 == 0 ? 1.7 : -1.3) * magnitude;
}

Kernel all_functions(DType dtype) {
  KernelBuilder b("functions", TargetFamily::kCpu);
  const BufferId in = b.buffer("in0", dtype, kElements, Space::kGlobal);
  std::vector<BufferId> outs;
  for (std::size_t f = 0; f < std::size(kFunctions); ++f)
    outs.push_back(b.buffer("out" + std::to_string(f), dtype, kElements, Space::kGlobal, Buffer::Role::kOutput));
  over(b, "functions", kElements, 8, [&](ExprId at) {
    const ExprId x = b.let("x", b.load(in, at));
    for (std::size_t f = 0; f < outs.size(); ++f) b.store(outs[f], at, b.op(kFunctions[f], dtype, {x}));
  });
  return b.finish();
}

// More functions than are written out.
Kernel very_many() {
  KernelBuilder b("many", TargetFamily::kCpu);
  const BufferId out = b.buffer("out0", DType::kF32, 1, Space::kGlobal, Buffer::Role::kOutput);
  b.launch("many", [&] {
    b.loop(LoopKind::kParallel, "i", 1, [&](ExprId i) {
      ExprId x = b.let("x", b.convert(DType::kF32, i));
      for (int k = 0; k < 2001; ++k) x = b.let("x", b.op(ScalarOp::kTanh, DType::kF32, {x}));
      b.store(out, b.index(0), x);
    });
  });
  return b.finish();
}

}  // namespace

TEST_CASE("x86 gives the same bits whether math functions are called or written out", "[x86]") {
  const DType dtype = GENERATE(DType::kF32, DType::kF64, DType::kF16);
  const Kernel functions = all_functions(dtype);
  const auto inlined = compiled({functions}), calls = compiled({functions, very_many()});
  std::vector<Tensor> one{numbers(dtype, kElements, value)}, other;
  for (std::size_t f = 0; f < std::size(kFunctions); ++f) one.push_back(tensor(dtype, kElements));
  for (const Tensor& t : one) other.push_back(t);
  run(*inlined, 0, one);
  run(*calls, 0, other);
  for (std::size_t f = 1; f < one.size(); ++f) {
    INFO(ops::name(kFunctions[f - 1]));
    CHECK(std::equal(one[f].data(), one[f].data() + one[f].bytes(), other[f].data()));
  }
}

}  // namespace fusewright
