#include "fusewright/interpret/inputs.hpp"

#include <algorithm>
#include <cmath>

#include "src/interpret/bits.hpp"
#include "src/interpret/elements.hpp"
#include "src/interpret/parallel.hpp"

namespace fusewright::interpret {
namespace {

Result<Tensor> empty_of(const ops::Type& type) {
  if (!type.is_tensor()) return fail("no values can be made for " + to_string(type));
  if (!ops::is_static(type.shape))
    return fail("no values can be made for " + to_string(type) + ": its shape is not bound");
  if (type.dtype == DType::kC64 || type.dtype == DType::kC128)
    return fail(ErrorKind::kUnsupported, "no values can be made for " + to_string(type) + ": complex numbers");
  return ops::make_tensor(type.dtype, ops::static_dims(type.shape));
}

// Extents that a weight may count its results by (see random_weight).
std::int64_t fan_in(const Dims& dims) {
  const std::int64_t results = dims.size() == 2 ? dims[1] : std::max({dims[0], dims[1], dims.back()});
  return std::max<std::int64_t>(1, product(dims) / std::max<std::int64_t>(1, results));
}

template <class Make>
void each_element(const Tensor& out, Make make) {
  parallel_for(out.elements(), grain_for(20), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) make(i, static_cast<std::uint64_t>(i));
  });
}

}  // namespace

Result<ops::Tensor> make_input(const ops::Type& type, std::uint64_t seed, std::uint64_t index) {
  FW_TRY(Tensor out, empty_of(type));
  const std::uint64_t stream = random_stream(seed, index);
  each_element(out, [&](std::int64_t i, std::uint64_t counter) {
    if (ops::is_float(type.dtype))
      ops::set_double(out, i, random_normal(stream, counter));
    else if (type.dtype == DType::kPred)
      ops::set_int(out, i, static_cast<std::int64_t>(random_bits(stream, counter) >> 63));
    else
      ops::set_int(out, i, static_cast<std::int64_t>(random_bits(stream, counter) >> 61));
  });
  return out;
}

Result<ops::Tensor> random_weight(const ops::Type& type, std::uint64_t seed, std::uint64_t index) {
  if (!ops::is_float(type.dtype)) return make_input(type, seed, index);
  FW_TRY(Tensor out, empty_of(type));
  const std::uint64_t stream = random_stream(seed, index);
  const double scale = out.dims.size() < 2 ? 0 : std::sqrt(2.0 / static_cast<double>(fan_in(out.dims)));
  each_element(out, [&](std::int64_t i, std::uint64_t counter) {
    ops::set_double(
        out, i,
        out.dims.size() < 2 ? 0.5 + 1.5 * random_uniform(stream, counter) : scale * random_normal(stream, counter));
  });
  return out;
}

}  // namespace fusewright::interpret
