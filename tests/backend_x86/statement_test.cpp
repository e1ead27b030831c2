#include <algorithm>
#include <ctime>

#include "run.hpp"

// Hand-made kernels for each kind of statement, loop and access.

namespace fusewright {
namespace {

double ramp(std::int64_t i) { return static_cast<double>(i % 251) - 17; }

/// out[i] = x[index(i)] for lanes of a vector loop; `index` gets the builder and the element's number.
void check_access(DType dtype, std::int64_t n, std::int64_t source, std::int64_t lanes,
                  const std::function<ExprId(KernelBuilder&, ExprId)>& index,
                  const std::function<std::int64_t(std::int64_t)>& expected) {
  KernelBuilder b("access", TargetFamily::kCpu);
  const BufferId x = b.buffer("x", dtype, source, Space::kGlobal);
  const BufferId y = b.buffer("y", dtype, n, Space::kGlobal, Buffer::Role::kOutput);
  const BufferId z = b.buffer("z", dtype, source, Space::kGlobal, Buffer::Role::kOutput);
  over(b, "gather", n, lanes, [&](ExprId at) { b.store(y, at, b.load(x, index(b, at))); });
  over(b, "scatter", n, lanes, [&](ExprId at) { b.store(z, index(b, at), b.load(y, at)); });
  std::vector<Tensor> tensors{numbers(dtype, source, ramp), tensor(dtype, n), tensor(dtype, source)};
  // Several lanes on one element would be a race; then only what is read counts.
  std::vector<std::int64_t> hits(static_cast<std::size_t>(source));
  for (std::int64_t i = 0; i < n; ++i) ++hits[static_cast<std::size_t>(expected(i))];
  run(b.finish(), tensors, 1);
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t from = expected(i);
    if (ops::get_double(tensors[1], i) != ops::get_double(tensors[0], from)) FAIL(ops::name(dtype) << " read at " << i);
    if (hits[static_cast<std::size_t>(from)] == 1 &&
        ops::get_double(tensors[2], from) != ops::get_double(tensors[0], from))
      FAIL(ops::name(dtype) << " write at " << from);
  }
}

}  // namespace

TEST_CASE("x86 vector accesses of every stride reach their elements", "[x86]") {
  for (const DType dtype :
       {DType::kF32, DType::kF64, DType::kF16, DType::kBF16, DType::kS8, DType::kU16, DType::kS64, DType::kPred}) {
    const std::int64_t n = 16 * 5 + 3;
    for (const std::int64_t stride : {1, 2, 3, 5}) {
      check_access(
          dtype, n, n * stride, 16, [&](KernelBuilder& b, ExprId at) { return b.mul(at, stride); },
          [&](std::int64_t i) { return i * stride; });
    }
    check_access(
        dtype, n, n, 16, [&](KernelBuilder& b, ExprId at) { return b.sub(b.index(n - 1), at); },
        [&](std::int64_t i) { return n - 1 - i; });
    check_access(dtype, n, 1, 16, [&](KernelBuilder& b, ExprId) { return b.index(0); }, [](std::int64_t) { return 0; });
  }
}

TEST_CASE("x86 divides indices lane by lane where lanes differ and once where they do not", "[x86]") {
  for (const std::int64_t by : {1, 2, 3, 4, 8, 12, 16, 32, 48, 1000}) {
    for (const std::int64_t lanes : {4, 8, 16}) {
      const std::int64_t n = 16 * 24 + 5;
      check_access(
          DType::kF32, n, n, lanes, [&](KernelBuilder& b, ExprId at) { return b.floor_div(at, by); },
          [&](std::int64_t i) { return i / by; });
      check_access(
          DType::kF32, n, n, lanes, [&](KernelBuilder& b, ExprId at) { return b.mod(at, by); },
          [&](std::int64_t i) { return i % by; });
      // A transposed read: mod and quotient at once.
      const std::int64_t rows = (n + by - 1) / by;
      check_access(
          DType::kF32, n, rows * by, lanes,
          [&](KernelBuilder& b, ExprId at) { return b.add(b.mul(b.mod(at, by), rows), b.floor_div(at, by)); },
          [&](std::int64_t i) { return i % by * rows + i / by; });
      // A stride that the divisor divides.
      check_access(
          DType::kF32, n, 3 * n, lanes,
          [&](KernelBuilder& b, ExprId at) { return b.floor_div(b.add(b.mul(at, 3 * by), b.index(by - 1)), by); },
          [&](std::int64_t i) { return 3 * i; });
      check_access(
          DType::kF32, n, by, lanes,
          [&](KernelBuilder& b, ExprId at) { return b.mod(b.add(b.mul(at, 3 * by), b.index(by - 1)), by); },
          [&](std::int64_t) { return by - 1; });
    }
  }
}

TEST_CASE("x86 gathers from addresses in a buffer", "[x86]") {
  const std::int64_t n = 100;
  KernelBuilder b("take", TargetFamily::kCpu);
  const BufferId x = b.buffer("x", DType::kF32, n, Space::kGlobal), at = b.buffer("at", DType::kS32, n, Space::kGlobal);
  const BufferId y = b.buffer("y", DType::kF32, n, Space::kGlobal, Buffer::Role::kOutput);
  over(b, "take", n, 8, [&](ExprId i) {
    const ExprId from = b.let("from", b.convert(DType::kS64, b.load(at, i)));
    const ExprId inside = b.min(b.op(ScalarOp::kMax, DType::kS64, {from, b.index(0)}), b.index(n - 1));
    b.store(y, i, b.load(x, inside));
  });
  std::vector<Tensor> tensors{
      numbers(DType::kF32, n, ramp),
      numbers(DType::kS32, n, [](std::int64_t i) { return static_cast<double>(i * 37 % 130 - 10); }),
      tensor(DType::kF32, n)};
  run(b.finish(), tensors);
  for (std::int64_t i = 0; i < n; ++i)
    CHECK(ops::get_double(tensors[2], i) == ramp(std::clamp<std::int64_t>(i * 37 % 130 - 10, 0, n - 1)));
}

TEST_CASE("x86 mixes values of lanes with values that are the same in all", "[x86]") {
  const std::int64_t rows = 7, columns = 64;
  KernelBuilder b("rows", TargetFamily::kCpu);
  const BufferId x = b.buffer("x", DType::kF32, rows * columns, Space::kGlobal),
                 s = b.buffer("s", DType::kF32, rows, Space::kGlobal);
  const BufferId y = b.buffer("y", DType::kF32, rows * columns, Space::kGlobal, Buffer::Role::kOutput);
  b.launch("rows", [&] {
    b.loop(LoopKind::kParallel, "r", rows, [&](ExprId r) {
      const ExprId scale = b.let("scale", b.load(s, r));
      b.loop(LoopKind::kSerial, "v", columns / 16, [&](ExprId v) {
        b.loop(LoopKind::kVector, "l", 16, [&](ExprId l) {
          const ExprId column = b.add(b.mul(v, 16), l);
          const ExprId at = b.add(b.mul(r, columns), column);
          const ExprId position = b.convert(DType::kF32, column);
          const ExprId chosen = b.select(
              DType::kF32, b.op(ScalarOp::kGt, DType::kPred, {scale, b.number(DType::kF32, 3)}), scale, position);
          b.store(y, at, b.op(ScalarOp::kFma, DType::kF32, {b.load(x, at), scale, chosen}));
        });
      });
    });
  });
  std::vector<Tensor> tensors{numbers(DType::kF32, rows * columns, ramp),
                              numbers(DType::kF32, rows, [](std::int64_t r) { return static_cast<double>(r); }),
                              tensor(DType::kF32, rows * columns)};
  run(b.finish(), tensors);
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < columns; ++c) {
      const double scale = static_cast<double>(r);
      CHECK(ops::get_double(tensors[2], r * columns + c) ==
            ramp(r * columns + c) * scale + (scale > 3 ? scale : static_cast<double>(c)));
    }
}

TEST_CASE("x86 keeps local buffers of every size apart", "[x86]") {
  // Row sums by a vector accumulator; the row is staged in a small or in a large local buffer.
  for (const std::int64_t columns : {64, 8192}) {
    const std::int64_t rows = 33;
    KernelBuilder b("sums", TargetFamily::kCpu);
    const BufferId x = b.buffer("x", DType::kF32, rows * columns, Space::kGlobal);
    const BufferId y = b.buffer("y", DType::kF32, rows, Space::kGlobal, Buffer::Role::kOutput);
    const BufferId row = b.buffer("row", DType::kF32, columns, Space::kLocal),
                   other = b.buffer("other", DType::kF32, columns, Space::kLocal);
    const BufferId sums = b.buffer("sums", DType::kF32, 8, Space::kLocal);
    b.launch("sums", [&] {
      b.loop(LoopKind::kParallel, "r", rows, [&](ExprId r) {
        b.loop(LoopKind::kVector, "l", 8, [&](ExprId l) { b.store(sums, l, b.number(DType::kF32, 0)); });
        b.loop(LoopKind::kSerial, "v", columns / 8, [&](ExprId v) {
          b.loop(LoopKind::kVector, "l", 8, [&](ExprId l) {
            const ExprId c = b.add(b.mul(v, 8), l);
            b.store(row, c, b.load(x, b.add(b.mul(r, columns), c)));
            b.store(other, c, b.op(ScalarOp::kNeg, DType::kF32, {b.load(row, c)}));
          });
        });
        b.loop(LoopKind::kSerial, "v", columns / 8, [&](ExprId v) {
          b.loop(LoopKind::kVector, "l", 8, [&](ExprId l) {
            const ExprId c = b.add(b.mul(v, 8), l);
            const ExprId both = b.op(ScalarOp::kSub, DType::kF32, {b.load(row, c), b.load(other, c)});
            b.store(sums, l, b.op(ScalarOp::kAdd, DType::kF32, {b.load(sums, l), both}));
          });
        });
        for (std::int64_t step = 4; step > 0; step /= 2)
          b.loop(LoopKind::kUnrolled, "u", step, [&](ExprId u) {
            b.store(sums, u,
                    b.op(ScalarOp::kAdd, DType::kF32, {b.load(sums, u), b.load(sums, b.add(u, b.index(step)))}));
          });
        b.store(y, r, b.load(sums, b.index(0)));
      });
    });
    std::vector<Tensor> tensors{
        numbers(DType::kF32, rows * columns, [](std::int64_t i) { return static_cast<double>(i % 13); }),
        tensor(DType::kF32, rows)};
    run(b.finish(), tensors);
    for (std::int64_t r = 0; r < rows; ++r) {
      double expected = 0;
      for (std::int64_t c = 0; c < columns; ++c) expected += 2 * static_cast<double>((r * columns + c) % 13);
      CHECK(ops::get_double(tensors[1], r) == expected);
    }
  }
}

TEST_CASE("x86 runs launches in order, each seeing what those before wrote", "[x86]") {
  const std::int64_t n = 1000;
  KernelBuilder b("two", TargetFamily::kCpu);
  const BufferId x = b.buffer("x", DType::kS32, n, Space::kGlobal);
  const BufferId y = b.buffer("y", DType::kS32, n, Space::kGlobal, Buffer::Role::kOutput);
  const BufferId t = b.buffer("t", DType::kS32, n, Space::kGlobal, Buffer::Role::kTemporary);
  over(b, "first", n, 8, [&](ExprId at) {
    b.store(t, at, b.op(ScalarOp::kMul, DType::kS32, {b.load(x, at), b.integer(DType::kS32, 3)}));
  });
  over(b, "second", n, 8, [&](ExprId at) { b.store(y, at, b.load(t, b.sub(b.index(n - 1), at))); });
  std::vector<Tensor> tensors{numbers(DType::kS32, n, ramp), tensor(DType::kS32, n), tensor(DType::kS32, n)};
  run(b.finish(), tensors);
  for (std::int64_t i = 0; i < n; ++i)
    CHECK(ops::get_int(tensors[1], i) == 3 * static_cast<std::int64_t>(ramp(n - 1 - i)));
}

TEST_CASE("x86 reads memory anew in each statement", "[x86]") {
  KernelBuilder b("swap", TargetFamily::kCpu);
  const BufferId y = b.buffer("y", DType::kF32, 32, Space::kGlobal, Buffer::Role::kOutput);
  b.launch("swap", [&] {
    b.loop(LoopKind::kParallel, "p", 1, [&](ExprId) {
      b.loop(LoopKind::kVector, "l", 16, [&](ExprId l) {
        const ExprId doubled = b.op(ScalarOp::kAdd, DType::kF32, {b.load(y, l), b.load(y, l)});
        b.store(y, l, doubled);
        b.store(y, b.add(l, b.index(16)), doubled);
      });
    });
  });
  std::vector<Tensor> tensors{numbers(DType::kF32, 32, ramp)};
  run(b.finish(), tensors);
  for (std::int64_t i = 0; i < 16; ++i) {
    CHECK(ops::get_double(tensors[0], i) == 2 * ramp(i));
    CHECK(ops::get_double(tensors[0], i + 16) == 4 * ramp(i));
  }
}

TEST_CASE("x86 loops have extents that are computed, and may be empty", "[x86]") {
  const std::int64_t n = 20;
  KernelBuilder b("triangle", TargetFamily::kCpu);
  const BufferId y = b.buffer("y", DType::kS64, n, Space::kGlobal, Buffer::Role::kOutput);
  const BufferId sum = b.buffer("sum", DType::kS64, 1, Space::kLocal);
  b.launch("triangle", [&] {
    b.loop(LoopKind::kParallel, "i", n, [&](ExprId i) {
      b.store(sum, b.index(0), b.index(0));
      b.loop(LoopKind::kSerial, "j", i, [&](ExprId j) {
        b.when(
            b.less(b.mod(j, 3), b.index(2)), [&] { b.store(sum, b.index(0), b.add(b.load(sum, b.index(0)), j)); },
            [&] { b.store(sum, b.index(0), b.sub(b.load(sum, b.index(0)), j)); });
      });
      b.store(y, i, b.load(sum, b.index(0)));
    });
  });
  std::vector<Tensor> tensors{tensor(DType::kS64, n)};
  run(b.finish(), tensors);
  for (std::int64_t i = 0; i < n; ++i) {
    std::int64_t expected = 0;
    for (std::int64_t j = 0; j < i; ++j) expected += j % 3 < 2 ? j : -j;
    CHECK(ops::get_int(tensors[0], i) == expected);
  }
}

TEST_CASE("x86 runs a kernel without elements", "[x86]") {
  KernelBuilder b("none", TargetFamily::kCpu);
  const BufferId y = b.buffer("y", DType::kF32, 0, Space::kGlobal, Buffer::Role::kOutput);
  b.launch("none",
           [&] { b.loop(LoopKind::kParallel, "i", 0, [&](ExprId i) { b.store(y, i, b.number(DType::kF32, 1)); }); });
  std::vector<Tensor> tensors{tensor(DType::kF32, 0)};
  run(b.finish(), tensors);
}

TEST_CASE("x86 compiles long and deep kernels in seconds", "[x86]") {
  // Ten thousand operations: named one by one, or as one nested expression.
  for (const bool named : {true, false}) {
    const std::int64_t n = 64, steps = 10000;
    KernelBuilder b("chain", TargetFamily::kCpu);
    const BufferId x = b.buffer("x", DType::kF32, n, Space::kGlobal), y = b.buffer("y", DType::kF32, n, Space::kGlobal);
    const BufferId z = b.buffer("z", DType::kF32, n, Space::kGlobal, Buffer::Role::kOutput);
    b.launch("chain", [&] {
      b.loop(LoopKind::kParallel, "v", n / 16, [&](ExprId v) {
        b.loop(LoopKind::kVector, "l", 16, [&](ExprId l) {
          const ExprId at = b.add(b.mul(v, 16), l);
          ExprId value = b.let("x", b.load(x, at));
          const ExprId other = b.let("y", b.load(y, at));
          for (std::int64_t i = 0; i < steps; ++i) {
            const ScalarOp op = i % 3 == 0 ? ScalarOp::kAdd : i % 3 == 1 ? ScalarOp::kMul : ScalarOp::kMax;
            value = b.op(op, DType::kF32, {value, other});
            if (named) value = b.let("t", value);
          }
          b.store(z, at, value);
        });
      });
    });
    std::vector<Tensor> tensors{
        numbers(DType::kF32, n, ramp),
        numbers(DType::kF32, n, [](std::int64_t i) { return 0.5 + 0.001 * static_cast<double>(i); }),
        tensor(DType::kF32, n)};
    const Kernel kernel = b.finish();
    const std::clock_t start = std::clock();  // of the processor: others may be busy, too
    run(kernel, tensors);
    CHECK(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC < 10);
    for (std::int64_t i = 0; i < n; ++i) {
      auto value = static_cast<float>(ops::get_double(tensors[0], i));
      const auto other = static_cast<float>(ops::get_double(tensors[1], i));
      for (std::int64_t k = 0; k < steps; ++k)
        value = k % 3 == 0 ? value + other : k % 3 == 1 ? value * other : std::max(value, other);
      CHECK(static_cast<float>(ops::get_double(tensors[2], i)) == value);
    }
  }
}

}  // namespace fusewright
