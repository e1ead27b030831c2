#include <benchmark/benchmark.h>

#include <cstring>

#include "backends/x86/x86.hpp"
#include "fusewright/kernel/builder.hpp"
#include "fusewright/ops/tensor.hpp"

// Pointwise kernels on 2048x2048 f32 against plain copies of the same run: both are bound by memory.

namespace fusewright {
namespace {

using kernel::Buffer;
using kernel::BufferId;
using kernel::ExprId;
using kernel::KernelBuilder;
using kernel::LoopKind;
using ops::DType;
using ops::ScalarOp;

constexpr std::int64_t kElements = 2048 * 2048, kTask = 8192, kLanes = 16;

/// out[i] = body(x[i], y[i])
template <class Body>
kernel::Kernel pointwise(const std::string& name, const Body& body) {
  KernelBuilder b(name, kernel::TargetFamily::kCpu);
  const BufferId x = b.buffer("x", DType::kF32, kElements, kernel::Space::kGlobal),
                 y = b.buffer("y", DType::kF32, kElements, kernel::Space::kGlobal);
  const BufferId out = b.buffer("out", DType::kF32, kElements, kernel::Space::kGlobal, Buffer::Role::kOutput);
  b.launch(name, [&] {
    b.loop(LoopKind::kParallel, "task", kElements / kTask, [&](ExprId task) {
      b.loop(LoopKind::kSerial, "v", kTask / kLanes, [&](ExprId v) {
        b.loop(LoopKind::kVector, "l", kLanes, [&](ExprId l) {
          const ExprId at = b.add(b.add(b.mul(task, kTask), b.mul(v, kLanes)), l);
          b.store(out, at, body(b, b.let("x", b.load(x, at)), b.let("y", b.load(y, at))));
        });
      });
    });
  });
  return b.finish();
}

kernel::Kernel exp_log() {
  return pointwise("exp_log", [](KernelBuilder& b, ExprId x, ExprId y) {
    return b.op(ScalarOp::kExp, DType::kF32,
                {b.op(ScalarOp::kAdd, DType::kF32, {b.op(ScalarOp::kLog, DType::kF32, {x}), y})});
  });
}

kernel::Kernel chain() {
  return pointwise("chain", [](KernelBuilder& b, ExprId x, ExprId y) {
    ExprId t = x;
    for (const ScalarOp op : {ScalarOp::kAdd, ScalarOp::kMul, ScalarOp::kMax, ScalarOp::kSub}) {
      t = b.op(op, DType::kF32, {t, y});
      t = b.op(ScalarOp::kAdd, DType::kF32, {t, b.number(DType::kF32, 0.25)});
    }
    return t;
  });
}

void run_kernel(benchmark::State& state, kernel::Kernel (*make)()) {
  auto executable = backend_x86::compile_x86({make()}, {"", "off", 0});
  if (!executable) return state.SkipWithError(print_error(executable.error()).c_str());
  std::vector<ops::Tensor> tensors;
  std::vector<void*> buffers;
  for (int k = 0; k < 3; ++k) {
    tensors.push_back(*ops::make_tensor(DType::kF32, {kElements}));
    for (float& value : tensors.back().mutable_as<float>()) value = 1.5f;
    buffers.push_back(tensors.back().mutable_data());
  }
  for (auto _ : state)
    if (!(*executable)->run(0, buffers, static_cast<int>(state.range(0))))
      return state.SkipWithError("the kernel failed");
  state.SetBytesProcessed(state.iterations() * kElements * 4 * 3);
}

void copy(benchmark::State& state) {
  ops::Tensor from = *ops::make_tensor(DType::kF32, {kElements}), to = *ops::make_tensor(DType::kF32, {kElements});
  std::memset(from.mutable_data(), 1, from.bytes());
  for (auto _ : state) {
    std::memcpy(to.mutable_data(), from.data(), from.bytes());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * kElements * 4 * 2);
}

BENCHMARK(copy)->UseRealTime();
BENCHMARK_CAPTURE(run_kernel, exp_log, exp_log)->Arg(1)->Arg(2)->UseRealTime();
BENCHMARK_CAPTURE(run_kernel, chain_of_eight, chain)->Arg(1)->Arg(2)->UseRealTime();

}  // namespace
}  // namespace fusewright

BENCHMARK_MAIN();
