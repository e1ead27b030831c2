#pragma once

#include <catch2/catch.hpp>

#include <functional>
#include <string>

#include "fusewright/kernel/builder.hpp"

namespace fusewright {

using kernel::Buffer;
using kernel::BufferId;
using kernel::ExprId;
using kernel::Kernel;
using kernel::KernelBuilder;
using kernel::LoopKind;
using kernel::Space;
using kernel::TargetFamily;
using ops::DType;
using ops::ScalarOp;

/// One launch over `blocks` x `threads`; `body` gets the block's and the thread's number.
inline void grid(KernelBuilder& b, const std::string& name, std::int64_t blocks, std::int64_t threads,
                 const std::function<void(ExprId, ExprId)>& body) {
  b.launch(name, [&] {
    b.loop(LoopKind::kGridX, "block", blocks, [&](ExprId block) {
      b.loop(LoopKind::kThreadX, "thread", threads, [&](ExprId thread) { body(block, thread); });
    });
  });
}

/// out[i] = in[i] * in[i] + 1 in vectors of `lanes`; elements are a whole number of vectors.
inline Kernel square_plus_one(std::int64_t elements, std::int64_t lanes, DType dtype = DType::kF32) {
  KernelBuilder b("square", TargetFamily::kGpu);
  const BufferId in = b.buffer("in0", dtype, elements, Space::kGlobal);
  const BufferId out = b.buffer("out0", dtype, elements, Space::kGlobal, Buffer::Role::kOutput);
  const std::int64_t steps = elements / lanes, threads = 256;
  const ExprId one = ops::is_float(dtype) ? b.number(dtype, 1) : b.integer(dtype, 1);
  grid(b, "square", (steps + threads - 1) / threads, threads, [&](ExprId block, ExprId thread) {
    const ExprId at = b.let("at", b.add(b.mul(block, threads), thread));
    b.when(b.less(at, b.index(steps)), [&] {
      b.loop(LoopKind::kVector, "l", lanes, [&](ExprId l) {
        const ExprId i = b.add(b.mul(at, lanes), l);
        const ExprId x = b.load(in, i);
        b.store(out, i, b.op(ScalarOp::kAdd, dtype, {b.op(ScalarOp::kMul, dtype, {x, x}), one}));
      });
    });
  });
  return b.finish();
}

/// out[row] = sum of in[row, :] with 256 threads a row: shuffles within warps, then shared memory.
/// `fault` leaves out the barrier, or makes the shuffle divergent.
enum class Fault { kNone, kNoBarrier, kDivergentShuffle };
inline Kernel row_sums(std::int64_t rows, std::int64_t columns, Fault fault = Fault::kNone, DType dtype = DType::kF32) {
  constexpr std::int64_t kThreads = 256, kWarps = kThreads / 32;
  KernelBuilder b("row_sums", TargetFamily::kGpu);
  const BufferId in = b.buffer("in0", dtype, rows * columns, Space::kGlobal);
  const BufferId out = b.buffer("out0", dtype, rows, Space::kGlobal, Buffer::Role::kOutput);
  const BufferId parts = b.buffer("parts", dtype, kWarps, Space::kShared);
  const BufferId sum = b.buffer("sum", dtype, 1, Space::kLocal);
  const ExprId zero = ops::is_float(dtype) ? b.number(dtype, 0) : b.integer(dtype, 0);
  const auto add = [&](ExprId x, ExprId y) { return b.op(ScalarOp::kAdd, dtype, {x, y}); };
  grid(b, "row_sums", rows, kThreads, [&](ExprId row, ExprId thread) {
    b.store(sum, b.index(0), zero);
    b.loop(LoopKind::kSerial, "k", columns / kThreads, [&](ExprId k) {
      const ExprId at = b.add(b.mul(row, columns), b.add(b.mul(k, kThreads), thread));
      b.store(sum, b.index(0), add(b.load(sum, b.index(0)), b.load(in, at)));
    });
    const auto fold = [&] {
      for (std::int64_t mask = 16; mask > 0; mask /= 2) {
        const ExprId mine = b.let("mine", b.load(sum, b.index(0)));
        b.store(sum, b.index(0), add(mine, b.let("theirs", b.shuffle_xor(mine, mask))));
      }
    };
    if (fault == Fault::kDivergentShuffle)
      b.when(b.less(b.mod(thread, 32), b.index(16)), fold);
    else
      fold();
    b.when(b.op(ScalarOp::kEq, DType::kPred, {b.mod(thread, 32), b.index(0)}),
           [&] { b.store(parts, b.floor_div(thread, 32), b.load(sum, b.index(0))); });
    if (fault != Fault::kNoBarrier) b.barrier();
    b.when(b.op(ScalarOp::kEq, DType::kPred, {thread, b.index(0)}), [&] {
      ExprId total = b.load(parts, b.index(0));
      for (std::int64_t w = 1; w < kWarps; ++w) total = add(total, b.load(parts, b.index(w)));
      b.store(out, row, total);
    });
  });
  return b.finish();
}

}  // namespace fusewright
