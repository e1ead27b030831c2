#include "backends/sim/sim.hpp"

#include <numeric>
#include <vector>

#include "fusewright/ops/tensor.hpp"
#include "tests/backend_nvptx/kernels.hpp"

namespace fusewright {

namespace {

std::unique_ptr<kernel::Executable> compiled(const Kernel& kernel) {
  auto made = backend_sim::compile_sim({kernel});
  if (!made) FAIL(print_error(made.error()));
  return std::move(*made);
}

template <class... T>
Status run(kernel::Executable& executable, int threads, std::vector<T>&... buffers) {
  return executable.run(0, {static_cast<void*>(buffers.data())...}, threads);
}

// The one message, the same whatever the number of threads.
template <class... T>
std::string fault_of(const Kernel& kernel, std::vector<T>... buffers) {
  const auto executable = compiled(kernel);
  std::string first;
  for (const int threads : {1, 2, 2, 2}) {
    const Status status = run(*executable, threads, buffers...);
    REQUIRE_FALSE(status.has_value());
    CHECK(status.error().kind == ErrorKind::kCheckFailed);
    const std::string message = print_error(status.error());
    if (first.empty()) first = message;
    CHECK(message == first);
  }
  return first;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::vector<float> ramp(std::size_t n) {
  std::vector<float> out(n);
  for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<float>(i % 1000) / 8;
  return out;
}

/// out[i + shift] = in[i] for 256 threads in each of two blocks.
Kernel shifted(std::int64_t in_elements, std::int64_t shift, std::int64_t block_stride = 256) {
  KernelBuilder b("shifted", TargetFamily::kGpu);
  const BufferId in = b.buffer("in0", DType::kF32, in_elements, Space::kGlobal);
  const BufferId out = b.buffer("out0", DType::kF32, 512, Space::kGlobal, Buffer::Role::kOutput);
  grid(b, "shifted", 2, 256, [&](ExprId block, ExprId thread) {
    const ExprId i = b.let("i", b.add(b.mul(block, block_stride), thread));
    b.store(out, b.add(i, b.index(shift)), b.load(in, i));
  });
  return b.finish();
}

}  // namespace

TEST_CASE("elementwise kernels give the right values and are counted exactly", "[sim]") {
  constexpr std::size_t kElements = 1000000;
  const auto executable = compiled(square_plus_one(kElements, 4));
  const std::vector<float> in = ramp(kElements);
  for (const int threads : {1, 2}) {
    std::vector<float> out(kElements), input = in;
    const Status status = run(*executable, threads, input, out);
    if (!status) FAIL(print_error(status.error()));
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < kElements; ++i) wrong += out[i] != in[i] * in[i] + 1;
    CHECK(wrong == 0);
    const kernel::Counters c = executable->counters(0);
    CHECK(c.loads == 250000);
    CHECK(c.stores == 250000);
    CHECK(c.load_bytes == 4000000);
    CHECK(c.store_bytes == 4000000);
    if (reinterpret_cast<std::uintptr_t>(input.data()) % 32 == 0 &&
        reinterpret_cast<std::uintptr_t>(out.data()) % 32 == 0)
      CHECK(c.sectors == 250000);
  }
}

TEST_CASE("row sums by shuffles and shared memory", "[sim]") {
  const auto executable = compiled(row_sums(8, 1024));
  std::vector<float> in = ramp(8 * 1024);
  for (const int threads : {1, 2}) {
    std::vector<float> out(8);
    const Status status = run(*executable, threads, in, out);
    if (!status) FAIL(print_error(status.error()));
    for (std::size_t row = 0; row < 8; ++row)  // eighths of small numbers: sums are exact
      CHECK(out[row] == std::accumulate(in.begin() + static_cast<std::ptrdiff_t>(row * 1024),
                                        in.begin() + static_cast<std::ptrdiff_t>((row + 1) * 1024), 0.0F));
    CHECK(executable->counters(0).loads == 8 * 1024);
    CHECK(executable->counters(0).stores == 8);
  }
  const auto wide = compiled(row_sums(2, 512, Fault::kNone, DType::kS64));
  std::vector<std::int64_t> numbers(1024), sums(2);
  std::iota(numbers.begin(), numbers.end(), std::int64_t{1} << 40);
  REQUIRE(run(*wide, 2, numbers, sums).has_value());
  CHECK(sums[0] == std::accumulate(numbers.begin(), numbers.begin() + 512, std::int64_t{0}));
}

TEST_CASE("a barrier that is missing is found", "[sim]") {
  const std::string message = fault_of(row_sums(8, 1024, Fault::kNoBarrier), ramp(8 * 1024), std::vector<float>(8));
  INFO(message);
  CHECK((has(message, "races with thread") || has(message, "reads what no thread")));
  CHECK(has(message, "kernel 'row_sums'"));
  CHECK(has(message, "block (0, 0, 0)"));
  CHECK(has(message, "'parts'["));
  CHECK(has(message, " in `"));
}

TEST_CASE("a shuffle that half of the warp does not reach is found", "[sim]") {
  const std::string message =
      fault_of(row_sums(8, 1024, Fault::kDivergentShuffle), ramp(8 * 1024), std::vector<float>(8));
  INFO(message);
  CHECK(has(message, "diverge at a shuffle"));
  CHECK(has(message, "thread 0 is at the shuffle"));
  CHECK(has(message, "thread 16"));
}

TEST_CASE("accesses outside of a buffer are found before they happen", "[sim]") {
  std::string message = fault_of(shifted(512, 1), std::vector<float>(512), std::vector<float>(512));
  INFO(message);
  CHECK(has(message, "store of 'out0'[512]"));
  CHECK(has(message, "out of bounds: the buffer has 512 elements"));
  CHECK(has(message, "block (1, 0, 0), thread 255"));
  message = fault_of(shifted(300, 0), std::vector<float>(300), std::vector<float>(512));
  CHECK(has(message, "load of 'in0'[300]"));
  CHECK(has(message, "thread 44"));
}

TEST_CASE("two blocks that write one element are found", "[sim]") {
  const std::string message = fault_of(shifted(512, 0, 255), ramp(512), std::vector<float>(512));
  INFO(message);
  CHECK(has(message, "'out0'[255]"));
  CHECK(has(message, "block (0, 0, 0), thread 255"));
  CHECK(has(message, "block (1, 0, 0), thread 0"));
}

TEST_CASE("a block that reads what another writes is found", "[sim]") {
  KernelBuilder b("mirror", TargetFamily::kGpu);
  const BufferId out = b.buffer("out0", DType::kF32, 64, Space::kGlobal, Buffer::Role::kOutput);
  grid(b, "mirror", 2, 32, [&](ExprId block, ExprId thread) {
    const ExprId i = b.let("i", b.add(b.mul(block, 32), thread));
    b.store(out, i, b.number(DType::kF32, 1));
    b.when(b.op(ScalarOp::kEq, DType::kPred, {i, b.index(40)}), [&] { b.store(out, i, b.load(out, b.index(7))); });
  });
  const std::string message = fault_of(b.finish(), std::vector<float>(64));
  INFO(message);
  CHECK(has(message, "store of 'out0'[7]"));
  CHECK(has(message, "block (0, 0, 0), thread 7"));
  CHECK(has(message, "load of 'out0'[7]"));
  CHECK(has(message, "block (1, 0, 0), thread 8"));
}

TEST_CASE("shared memory that nobody wrote is found, and one block's is not another's", "[sim]") {
  KernelBuilder b("hollow", TargetFamily::kGpu);
  const BufferId out = b.buffer("out0", DType::kF32, 64, Space::kGlobal, Buffer::Role::kOutput);
  const BufferId tile = b.buffer("tile", DType::kF32, 33, Space::kShared);
  grid(b, "hollow", 2, 32, [&](ExprId block, ExprId thread) {
    b.when(b.op(ScalarOp::kEq, DType::kPred, {block, b.index(0)}),
           [&] { b.store(tile, b.add(thread, b.index(1)), b.number(DType::kF32, 1)); });
    b.barrier();
    b.store(out, b.add(b.mul(block, 32), thread), b.load(tile, b.add(thread, b.index(1))));
  });
  const std::string message = fault_of(b.finish(), std::vector<float>(64));
  INFO(message);
  CHECK(has(message, "load of 'tile'[1]"));
  CHECK(has(message, "reads what no thread of the block wrote"));
  CHECK(has(message, "block (1, 0, 0), thread 0"));
}

TEST_CASE("two threads of a block that write one element are found", "[sim]") {
  KernelBuilder b("same", TargetFamily::kGpu);
  const BufferId out = b.buffer("out0", DType::kS32, 32, Space::kGlobal, Buffer::Role::kOutput);
  grid(b, "same", 1, 64,
       [&](ExprId, ExprId thread) { b.store(out, b.floor_div(thread, 2), b.convert(DType::kS32, thread)); });
  const std::string message = fault_of(b.finish(), std::vector<std::int32_t>(32));
  CHECK(has(message, "store of 'out0'[0]"));
  CHECK(has(message, "thread 1: "));
  CHECK(has(message, "races with thread 0"));
}

TEST_CASE("threads that exchange values through shared memory and barriers", "[sim]") {
  // Each round every thread reads what its neighbour wrote; the second barrier keeps the next store from racing.
  const auto neighbours = [](bool second) {
    KernelBuilder b("turn", TargetFamily::kGpu);
    const BufferId out = b.buffer("out0", DType::kS32, 128, Space::kGlobal, Buffer::Role::kOutput);
    const BufferId ring = b.buffer("ring", DType::kS32, 64, Space::kShared);
    const BufferId own = b.buffer("own", DType::kS32, 1, Space::kLocal);
    grid(b, "turn", 2, 64, [&](ExprId block, ExprId thread) {
      b.store(own, b.index(0), b.convert(DType::kS32, thread));
      b.loop(LoopKind::kSerial, "round", 5, [&](ExprId) {
        b.store(ring, thread, b.load(own, b.index(0)));
        b.barrier();
        b.store(own, b.index(0), b.load(ring, b.mod(b.add(thread, b.index(1)), 64)));
        if (second) b.barrier();
      });
      b.store(out, b.add(b.mul(block, 64), thread), b.load(own, b.index(0)));
    });
    return b.finish();
  };
  const auto executable = compiled(neighbours(true));
  std::vector<std::int32_t> out(128);
  const Status status = run(*executable, 2, out);
  if (!status) FAIL(print_error(status.error()));
  for (std::int32_t t = 0; t < 128; ++t) CHECK(out[static_cast<std::size_t>(t)] == (t % 64 + 5) % 64);
  const std::string message = fault_of(neighbours(false), std::vector<std::int32_t>(128));
  CHECK(has(message, "'ring'["));
  CHECK(has(message, "races with thread"));
}

TEST_CASE("a barrier that some threads do not reach is found", "[sim]") {
  KernelBuilder b("early", TargetFamily::kGpu);
  const BufferId out = b.buffer("out0", DType::kF32, 64, Space::kGlobal, Buffer::Role::kOutput);
  const BufferId in = b.buffer("in0", DType::kPred, 64, Space::kGlobal);
  const BufferId tile = b.buffer("tile", DType::kF32, 64, Space::kShared);
  // The condition comes from memory, so that verification of the kernel cannot know that it differs.
  grid(b, "early", 1, 64, [&](ExprId, ExprId thread) {
    b.store(tile, thread, b.number(DType::kF32, 1));
    b.loop(LoopKind::kSerial, "n", b.let("times", b.convert(DType::kS64, b.load(in, thread))),
           [&](ExprId) { b.barrier(); });
    b.store(out, thread, b.load(tile, thread));
  });
  std::vector<std::uint8_t> some(64, 1);
  some[40] = 0;
  const std::string message = fault_of(b.finish(), std::vector<float>(64), some);
  INFO(message);
  CHECK(has(message, "diverge at a barrier"));
  CHECK(has(message, "thread 40 has ended"));
}

TEST_CASE("every dtype is computed as elsewhere", "[sim]") {
  for (const DType dtype :
       {DType::kF64, DType::kF16, DType::kBF16, DType::kS8, DType::kU16, DType::kS32, DType::kU64}) {
    const auto executable = compiled(square_plus_one(256, 4, dtype));
    auto in = ops::make_tensor(dtype, {256}), out = ops::make_tensor(dtype, {256});
    for (std::int64_t i = 0; i < 256; ++i) {
      if (ops::is_float(dtype))
        ops::set_double(*in, i, static_cast<double>(i % 10));
      else
        ops::set_int(*in, i, i % 10);
    }
    const Status status = executable->run(0, {in->mutable_data(), out->mutable_data()}, 2);
    if (!status) FAIL(print_error(status.error()));
    for (std::int64_t i = 0; i < 256; ++i)
      CHECK((ops::is_float(dtype) ? ops::get_double(*out, i) : static_cast<double>(ops::get_int(*out, i))) ==
            static_cast<double>((i % 10) * (i % 10) + 1));
  }
}

}  // namespace fusewright
