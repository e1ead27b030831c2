#include <bit>
#include <cmath>
#include <limits>

#include "fusewright/interpret/error_model.hpp"
#include "run.hpp"
#include "src/interpret/scalar.hpp"

// Every scalar operation on every dtype, on special values and their pairs, in vectors and alone, against the
// reference.

namespace fusewright {
namespace {

constexpr DType kDTypes[] = {DType::kPred, DType::kS8,  DType::kS16, DType::kS32,  DType::kS64, DType::kU8, DType::kU16,
                             DType::kU32,  DType::kU64, DType::kF16, DType::kBF16, DType::kF32, DType::kF64};
constexpr int kOps = static_cast<int>(ScalarOp::kFma) + 1;

std::vector<double> float_values(DType dtype) {
  const double largest = interpret::largest(dtype);
  std::vector<double> v = {0.0,
                           1,
                           0.5,
                           1.5,
                           2.5,
                           3,
                           0.1,
                           0.7,
                           7.3,
                           12.25,
                           88,
                           1e3,
                           65504,
                           65520,
                           1e-3,
                           1e-5,
                           6e-8,
                           1e-40,
                           3e9,
                           1e19,
                           1e30,
                           0x1.004p0,
                           0x1.01p0,
                           largest,
                           largest * 0.5,
                           std::numeric_limits<double>::infinity()};
  const std::size_t half = v.size();
  for (std::size_t i = 0; i < half; ++i) v.push_back(-v[i]);
  v.push_back(std::numeric_limits<double>::quiet_NaN());
  for (double& x : v) x = interpret::round_element(dtype, x);
  return v;
}

std::vector<std::int64_t> int_values(DType dtype) {
  std::vector<std::int64_t> v;
  for (const std::int64_t x : {0L,
                               1L,
                               2L,
                               3L,
                               5L,
                               7L,
                               8L,
                               15L,
                               16L,
                               17L,
                               31L,
                               32L,
                               63L,
                               64L,
                               100L,
                               12345L,
                               1L << 24,
                               (1L << 24) + 1,
                               0x12345678L,
                               0x7fffffffL,
                               0x123456789abcdefL,
                               std::numeric_limits<std::int64_t>::max()})
    for (const std::int64_t y : {x, -x, ~x, static_cast<std::int64_t>((1ULL << (ops::bit_width(dtype) - 1)) - 1) - x})
      v.push_back(interpret::wrap(dtype, y));
  return v;
}

/// Operands whose pairs cover all pairs of the values.
std::vector<Tensor> operands(DType dtype) {
  std::vector<interpret::Scalar> values;
  if (ops::is_float(dtype))
    for (const double x : float_values(dtype)) values.push_back({x, 0});
  else
    for (const std::int64_t x : int_values(dtype)) values.push_back({0, x});
  const auto n = static_cast<std::int64_t>(values.size());
  std::vector<Tensor> out;
  for (int k = 0; k < 3; ++k) out.push_back(tensor(dtype, n * n));
  for (std::int64_t i = 0; i < n * n; ++i) {
    interpret::set_scalar(out[0], i, values[static_cast<std::size_t>(i / n)]);
    interpret::set_scalar(out[1], i, values[static_cast<std::size_t>(i % n)]);
    interpret::set_scalar(out[2], i, values[static_cast<std::size_t>((i * 7 + i / n) % n)]);
  }
  return out;
}

bool is_test(ScalarOp op) {
  return ops::is_comparison(op) || op == ScalarOp::kIsFinite || op == ScalarOp::kIsNan || op == ScalarOp::kIsInf;
}

bool defined_on(ScalarOp op, DType dtype) {
  if (op == ScalarOp::kConvert || op == ScalarOp::kBitcast || op == ScalarOp::kSelect) return false;
  if (dtype == DType::kPred && (op == ScalarOp::kClz || op == ScalarOp::kPow)) return false;
  return interpret::has_meaning(op, dtype);
}

/// How far a result may be from the reference, absolute.
double allowed(ScalarOp op, DType dtype, double expected) {
  if (!interpret::kTranscendental.has(op)) {
    // The oracle computes a narrow remainder or fma in f64 and rounds; kernels compute in f32.
    if (op != ScalarOp::kFma) return 0;
  }
  const double u = dtype == DType::kF64   ? 0x1p-52
                   : dtype == DType::kF32 ? 0x1p-23
                   : dtype == DType::kF16 ? 0x1p-10
                                          : 0x1p-7;
  const double ulps = dtype == DType::kF64 || dtype == DType::kF32 ? interpret::kMathUlp : 1;
  const double least = dtype == DType::kF64   ? 0x1p-1074
                       : dtype == DType::kF16 ? 0x1p-24
                       : dtype == DType::kF32 ? 0x1p-149
                                              : 0x1p-133;
  return std::max(std::abs(expected) * u * ulps, least * ulps);
}

bool agrees(ScalarOp op, DType dtype, double actual, double expected) {
  if (std::isnan(expected)) return std::isnan(actual);
  if (actual == expected)
    return expected != 0 || interpret::kTranscendental.has(op) || std::signbit(actual) == std::signbit(expected);
  const double bound = allowed(op, dtype, expected);
  if (bound > 0 && std::isinf(expected)) return std::abs(actual) >= interpret::largest(dtype) * (1 - 0x1p-7);
  if (bound > 0 && std::isinf(actual)) return std::abs(expected) >= interpret::largest(dtype) * (1 - 0x1p-7);
  return std::abs(actual - expected) <= bound;
}

struct OpOutput {
  ScalarOp op;
  DType to;
};

/// One kernel with an output for each operation.
Kernel all_ops(DType from, const std::vector<OpOutput>& outputs, std::int64_t elements, std::int64_t lanes) {
  KernelBuilder b("ops", TargetFamily::kCpu);
  std::vector<BufferId> in, out;
  for (int k = 0; k < 3; ++k) in.push_back(b.buffer("in", from, elements, Space::kGlobal));
  for (const OpOutput& o : outputs)
    out.push_back(b.buffer("out", o.to, elements, Space::kGlobal, Buffer::Role::kOutput));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    over(b, fmt::format("op{}", i), elements, lanes, [&](ExprId at) {
      std::vector<ExprId> args;
      for (int k = 0; k < ops::arity(outputs[i].op); ++k) args.push_back(b.load(in[static_cast<std::size_t>(k)], at));
      b.store(out[i], at, b.op(outputs[i].op, outputs[i].to, args));
    });
  }
  return b.finish();
}

void check_ops(DType from, const std::vector<OpOutput>& outputs, std::int64_t lanes) {
  std::vector<Tensor> tensors = operands(from);
  const std::int64_t n = tensors[0].elements();
  const Kernel kernel = all_ops(from, outputs, n, lanes);
  for (const OpOutput& o : outputs) tensors.push_back(tensor(o.to, n));
  run(kernel, tensors);
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const auto [op, to] = outputs[k];
    int wrong = 0;
    for (std::int64_t i = 0; i < n && wrong < 3; ++i) {
      interpret::Scalar x[3];
      for (std::size_t j = 0; j < 3; ++j) x[j] = interpret::get_scalar(tensors[j], i);
      const interpret::Scalar expected = interpret::scalar_op(op, from, to, x);
      const interpret::Scalar actual = interpret::get_scalar(tensors[3 + k], i);
      const bool good = ops::is_float(to) ? agrees(op, to, actual.f, expected.f) : actual.i == expected.i;
      if (good) continue;
      ++wrong;
      if (ops::is_float(from))
        UNSCOPED_INFO(fmt::format("{} {} -> {}: ({:a}, {:a}, {:a}) gives {:a} / {}, not {:a} / {} (element {} of {})",
                                  ops::name(op), ops::name(from), ops::name(to), x[0].f, x[1].f, x[2].f, actual.f,
                                  actual.i, expected.f, expected.i, i, n));
      else
        UNSCOPED_INFO(fmt::format("{} {} -> {}: ({}, {}, {}) gives {:a} / {}, not {:a} / {} (element {} of {})",
                                  ops::name(op), ops::name(from), ops::name(to), x[0].i, x[1].i, x[2].i, actual.f,
                                  actual.i, expected.f, expected.i, i, n));
    }
    CHECK(wrong == 0);
  }
}

}  // namespace

TEST_CASE("x86 computes every scalar operation as the reference does", "[x86]") {
  for (const DType dtype : kDTypes) {
    std::vector<OpOutput> outputs;
    for (int i = 0; i < kOps; ++i) {
      const auto op = static_cast<ScalarOp>(i);
      if (defined_on(op, dtype)) outputs.push_back({op, is_test(op) ? DType::kPred : dtype});
    }
    check_ops(dtype, outputs, ops::bit_width(dtype) == 64 ? 8 : 16);
  }
}

TEST_CASE("x86 converts between all dtypes as the reference does", "[x86]") {
  for (const DType from : kDTypes) {
    std::vector<OpOutput> outputs;
    for (const DType to : kDTypes) outputs.push_back({ScalarOp::kConvert, to});
    check_ops(from, outputs, 16);
  }
}

TEST_CASE("x86 reinterprets bits", "[x86]") {
  using Pair = std::pair<DType, DType>;
  for (const auto& [from, to] :
       {Pair{DType::kF32, DType::kU32}, Pair{DType::kF16, DType::kS16}, Pair{DType::kBF16, DType::kU16},
        Pair{DType::kF64, DType::kS64}, Pair{DType::kU32, DType::kF32}, Pair{DType::kS16, DType::kF16},
        Pair{DType::kU16, DType::kBF16}, Pair{DType::kS64, DType::kF64}}) {
    std::vector<Tensor> tensors{operands(from)[0]};
    const std::int64_t n = tensors[0].elements();
    KernelBuilder b("bits", TargetFamily::kCpu);
    const BufferId x = b.buffer("x", from, n, Space::kGlobal);
    const BufferId y = b.buffer("y", to, n, Space::kGlobal, Buffer::Role::kOutput);
    over(b, "bits", n, 16, [&](ExprId at) { b.store(y, at, b.op(ScalarOp::kBitcast, to, {b.load(x, at)})); });
    tensors.push_back(tensor(to, n));
    run(b.finish(), tensors);
    CHECK(std::memcmp(tensors[0].data(), tensors[1].data(), tensors[0].bytes()) == 0);
  }
}

TEST_CASE("x86 selects by a predicate", "[x86]") {
  for (const DType dtype : kDTypes) {
    std::vector<Tensor> tensors = operands(dtype);
    const std::int64_t n = tensors[0].elements();
    tensors[2] = numbers(DType::kPred, n, [](std::int64_t i) { return i % 3 == 0 ? 1 : 0; });
    KernelBuilder b("select", TargetFamily::kCpu);
    const BufferId x = b.buffer("x", dtype, n, Space::kGlobal), y = b.buffer("y", dtype, n, Space::kGlobal);
    const BufferId p = b.buffer("p", DType::kPred, n, Space::kGlobal);
    const BufferId out = b.buffer("out", dtype, n, Space::kGlobal, Buffer::Role::kOutput);
    over(b, "select", n, 8,
         [&](ExprId at) { b.store(out, at, b.select(dtype, b.load(p, at), b.load(x, at), b.load(y, at))); });
    tensors.push_back(tensor(dtype, n));
    run(b.finish(), tensors);
    const auto width = static_cast<std::size_t>(ops::byte_width(dtype));
    for (std::int64_t i = 0; i < n; ++i) {
      const Tensor& chosen = tensors[i % 3 == 0 ? 0 : 1];
      if (std::memcmp(tensors[3].data() + static_cast<std::size_t>(i) * width,
                      chosen.data() + static_cast<std::size_t>(i) * width, width) != 0)
        FAIL(ops::name(dtype) << " element " << i);
    }
  }
}

}  // namespace fusewright
