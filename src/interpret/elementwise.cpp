#include <array>

#include "fusewright/ops/float_format.hpp"
#include "fusewright/support/check.hpp"
#include "src/interpret/node.hpp"
#include "src/interpret/parallel.hpp"
#include "src/interpret/scalar.hpp"

namespace fusewright::interpret {
namespace {

constexpr std::int64_t kChunk = 2048;  // elements decoded at a time

// Operands of one chunk, element by element in `f` or in `i`.
template <class T>
struct Chunk {
  std::array<std::array<T, kChunk>, 3> operands;
  std::array<T, kChunk> result;
};

void floats_to_floats(ScalarOp op, std::span<const Tensor> operands, Tensor& out, std::int64_t begin,
                      std::int64_t end) {
  Chunk<double> chunk;
  for (std::size_t k = 0; k < operands.size(); ++k) decode_floats(operands[k], begin, end, chunk.operands[k].data());
  for (std::size_t i = 0; i < static_cast<std::size_t>(end - begin); ++i) {
    const double x[3] = {chunk.operands[0][i], operands.size() > 1 ? chunk.operands[1][i] : 0,
                         operands.size() > 2 ? chunk.operands[2][i] : 0};
    chunk.result[i] = float_op(op, out.dtype, x);
  }
  encode_floats(out, begin, end, chunk.result.data());
}

void floats_to_pred(ScalarOp op, std::span<const Tensor> operands, Tensor& out, std::int64_t begin, std::int64_t end) {
  Chunk<double> chunk;
  Chunk<std::int64_t> tests;
  for (std::size_t k = 0; k < operands.size(); ++k) decode_floats(operands[k], begin, end, chunk.operands[k].data());
  for (std::size_t i = 0; i < static_cast<std::size_t>(end - begin); ++i) {
    const double x[2] = {chunk.operands[0][i], operands.size() > 1 ? chunk.operands[1][i] : 0};
    tests.result[i] = float_test(op, x);
  }
  encode_ints(out, begin, end, tests.result.data());
}

void ints_to_ints(ScalarOp op, std::span<const Tensor> operands, Tensor& out, std::int64_t begin, std::int64_t end) {
  Chunk<std::int64_t> chunk;
  const DType dtype = operands[0].dtype;
  for (std::size_t k = 0; k < operands.size(); ++k) decode_ints(operands[k], begin, end, chunk.operands[k].data());
  for (std::size_t i = 0; i < static_cast<std::size_t>(end - begin); ++i) {
    const std::int64_t x[3] = {chunk.operands[0][i], operands.size() > 1 ? chunk.operands[1][i] : 0,
                               operands.size() > 2 ? chunk.operands[2][i] : 0};
    chunk.result[i] = int_op(op, dtype, x);
  }
  encode_ints(out, begin, end, chunk.result.data());
}

void convert_chunk(const Tensor& in, Tensor& out, std::int64_t begin, std::int64_t end) {
  const bool both_float = ops::is_float(in.dtype) && ops::is_float(out.dtype);
  if (both_float) return floats_to_floats(ScalarOp::kCopy, {&in, 1}, out, begin, end);
  for (std::int64_t i = begin; i < end; ++i) set_scalar(out, i, convert(in.dtype, out.dtype, get_scalar(in, i)));
}

void select_chunk(std::span<const Tensor> operands, Tensor& out, std::int64_t begin, std::int64_t end) {
  const std::int64_t width = ops::byte_width(out.dtype);
  for (std::int64_t i = begin; i < end; ++i) {
    const Tensor& source = ops::get_int(operands[0], i) != 0 ? operands[1] : operands[2];
    std::memcpy(out.mutable_data() + i * width, source.data() + i * width, static_cast<std::size_t>(width));
  }
}

}  // namespace

Result<Tensors> eval_elementwise(const NodeCall& call) {
  const ScalarOp op = *call.info.scalar;
  if (op == ScalarOp::kBitcast) return eval_bitcast(call);
  // The dtype computed on: that of the last operand, because the first one of `select` is the predicate.
  const DType from = call.operands.back().dtype;
  const bool floats = ops::is_float(from);
  if (op != ScalarOp::kSelect && !has_meaning(op, from))
    return fail(ErrorKind::kUnsupported,
                call.info.name + " of " + std::string(ops::name(from)) + " cannot be evaluated");
  FW_TRY(Tensor out, ops::make_tensor(call.dtype(), call.dims()));
  parallel_for(out.elements(), kChunk, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t at = begin; at < end; at += kChunk) {
      const std::int64_t stop = std::min(end, at + kChunk);
      if (op == ScalarOp::kSelect)
        select_chunk(call.operands, out, at, stop);
      else if (op == ScalarOp::kConvert)
        convert_chunk(call.operand(0), out, at, stop);
      else if (!floats)
        ints_to_ints(op, call.operands, out, at, stop);
      else if (ops::is_float(out.dtype))
        floats_to_floats(op, call.operands, out, at, stop);
      else
        floats_to_pred(op, call.operands, out, at, stop);
    }
  });
  return Tensors{std::move(out)};
}

Result<Tensors> eval_bitcast(const NodeCall& call) {
  Tensor out = call.operand(0);  // the same bytes under another name
  out.dtype = call.dtype();
  return Tensors{std::move(out)};
}

// On the bits of the operand's own format, as hardware that has fewer of them would hold it: the mantissa rounds to
// nearest even, an exponent too large gives infinity, one too small a zero of the same sign.
Result<Tensors> eval_reduce_precision(const NodeCall& call) {
  const Tensor& in = call.operand(0);
  const DType dtype = in.dtype;
  const bool supported = dtype == DType::kF16 || dtype == DType::kBF16 || dtype == DType::kF32 || dtype == DType::kF64;
  if (!supported)
    return fail(ErrorKind::kUnsupported,
                "reduce_precision of " + std::string(ops::name(dtype)) + " cannot be evaluated");
  const auto [exponent, mantissa, finite_only] = *ops::float_format(dtype);
  const int drop = std::max<int>(0, mantissa - static_cast<int>(call.integer("mantissa_bits")));
  const int bits = static_cast<int>(std::min<std::int64_t>(exponent, call.integer("exponent_bits")));
  const std::int64_t bias = (std::int64_t{1} << (exponent - 1)) - 1;
  const std::int64_t small_bias = (std::int64_t{1} << (bits - 1)) - 1;
  const std::uint64_t infinity = ((std::uint64_t{1} << exponent) - 1) << mantissa;
  const auto width = static_cast<std::size_t>(ops::byte_width(dtype));
  FW_TRY(Tensor out, ops::make_tensor(dtype, in.dims));
  for (std::int64_t i = 0; i < in.elements(); ++i) {
    std::uint64_t pattern = 0;
    std::memcpy(&pattern, in.data() + static_cast<std::size_t>(i) * width, width);
    const std::uint64_t sign = pattern >> (mantissa + exponent) << (mantissa + exponent);
    std::uint64_t magnitude = pattern ^ sign;
    if (magnitude <= infinity) {
      if (drop > 0) magnitude = (magnitude + ((1ULL << (drop - 1)) - 1) + (magnitude >> drop & 1)) >> drop << drop;
      const std::int64_t unbiased = static_cast<std::int64_t>(magnitude >> mantissa) - bias;
      if (bits < exponent && unbiased > small_bias) magnitude = infinity;
      if (bits < exponent && unbiased < 1 - small_bias) magnitude = 0;
    }
    pattern = sign | magnitude;
    std::memcpy(out.mutable_data() + static_cast<std::size_t>(i) * width, &pattern, width);
  }
  return Tensors{std::move(out)};
}

}  // namespace fusewright::interpret
