#include <algorithm>

#include "src/interpret/bits.hpp"
#include "src/interpret/node.hpp"
#include "src/interpret/scalar.hpp"

namespace fusewright::interpret {

// In [low, high); low itself where the two meet or the rounding reaches high.
Result<Tensors> eval_rng_uniform(const NodeCall& call) {
  FW_TRY(Tensor out, ops::make_tensor(call.dtype(), call.dims()));
  const Scalar low = get_scalar(call.operand(0), 0);
  const Scalar high = get_scalar(call.operand(1), 0);
  const auto span = static_cast<std::uint64_t>(high.i) - static_cast<std::uint64_t>(low.i);
  for (std::int64_t i = 0; i < out.elements(); ++i) {
    const auto counter = static_cast<std::uint64_t>(i);
    if (!ops::is_float(out.dtype)) {
      const std::uint64_t step = span == 0 ? 0 : random_bits(call.seed, counter) % span;
      ops::set_int(out, i, static_cast<std::int64_t>(static_cast<std::uint64_t>(low.i) + step));
      continue;
    }
    const double value = round_element(out.dtype, low.f + random_uniform(call.seed, counter) * (high.f - low.f));
    ops::set_double(out, i, value < high.f ? value : low.f);
  }
  return Tensors{std::move(out)};
}

Result<Tensors> eval_rng_normal(const NodeCall& call) {
  FW_TRY(Tensor out, ops::make_tensor(call.dtype(), call.dims()));
  const double mean = ops::get_double(call.operand(0), 0);
  const double scale = ops::get_double(call.operand(1), 0);
  for (std::int64_t i = 0; i < out.elements(); ++i)
    ops::set_double(out, i, mean + scale * random_normal(call.seed, static_cast<std::uint64_t>(i)));
  return Tensors{std::move(out)};
}

// Which bits a state stands for is up to the implementation; here the state's words make the stream, and the last one
// counts what was drawn.
Result<Tensors> eval_rng_bit_generator(const NodeCall& call) {
  const Tensor& state = call.operand(0);
  if (state.elements() == 0) return fail("rng_bit_generator with an empty state");
  FW_TRY(Tensor bits, ops::make_tensor(call.dtype(1), call.dims(1)));
  std::vector<std::int64_t> words = ints_of(state);
  std::uint64_t stream = 0;
  for (const std::int64_t word : words) stream = random_stream(stream, static_cast<std::uint64_t>(word));
  for (std::int64_t i = 0; i < bits.elements(); ++i)
    ops::set_int(bits, i, static_cast<std::int64_t>(random_bits(stream, static_cast<std::uint64_t>(i))));
  words.back() =
      static_cast<std::int64_t>(static_cast<std::uint64_t>(words.back()) + static_cast<std::uint64_t>(bits.elements()));
  FW_TRY(Tensor next, tensor_of(state.dtype, state.dims, words));
  return Tensors{std::move(next), std::move(bits)};
}

}  // namespace fusewright::interpret
