#include "src/prove/bulk.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "fusewright/ops/float_format.hpp"
#include "src/prove/random.hpp"

namespace fusewright::prove {

using ops::DType;
using ops::Tensor;

namespace {

/// How the numbers of one row are chosen.
enum class Draw : std::uint8_t { kBits, kModerate, kSparse, kWhole, kNear };

/// The number with these bits; any NaN for a NaN.
double of_bits(DType dtype, std::uint64_t bits) {
  Tensor one = *ops::make_tensor(dtype, {1});
  std::memcpy(one.mutable_data(), &bits, one.bytes());
  const double number = ops::get_double(one, 0);
  return std::isnan(number) ? std::numeric_limits<double>::quiet_NaN() : number;
}

class Drawing {
 public:
  Drawing(const Leaves& leaves, const rule::Exactness& exactness) : bitexact_(exactness.bitexact()) {
    for (std::size_t l = 0; l < leaves.types.size(); ++l)
      telling_.push_back(bitexact_
                             ? special_values(leaves.types[l].dtype, exactness, l >= leaves.parameters, {}).telling
                             : std::vector<Special>());
  }

  void next_row() {
    constexpr std::array kDraws = {Draw::kBits, Draw::kModerate, Draw::kSparse, Draw::kWhole, Draw::kNear};
    draw_ = bitexact_ ? kDraws[random_.below(kDraws.size())] : Draw::kModerate;
    first_.reset();
  }

  Special element(std::size_t leaf, DType dtype) {
    constexpr std::uint64_t kOneIn = 32;
    if (!telling_[leaf].empty() && random_.below(kOneIn) == 0)
      return telling_[leaf][random_.below(telling_[leaf].size())];
    const Special drawn = ops::is_float(dtype) ? Special{number(dtype), 0} : Special{0, integer(dtype)};
    if (!first_) first_ = drawn;
    return drawn;
  }

 private:
  double signed_number(double mantissa, int exponent) {
    const double v = std::ldexp(mantissa, exponent);
    return random_.below(2) == 0 ? v : -v;
  }

  double number(DType dtype) {
    const ops::FloatFormat format = *ops::float_format(dtype);
    const int precision = format.mantissa_bits + 1;
    const std::uint64_t top = std::uint64_t{1} << format.mantissa_bits;
    const std::uint64_t low = top - 1;
    switch (draw_) {
      case Draw::kBits: return of_bits(dtype, random_.bits());
      case Draw::kModerate: {  // a product of a few stays in the format
        const int most = std::min(6, format.bias() / 4);
        return signed_number(static_cast<double>(top | (random_.bits() & low)),
                             random_.between(-most, most) - format.mantissa_bits);
      }
      case Draw::kSparse: {
        const std::uint64_t few = random_.bits() & random_.bits() & random_.bits() & low;
        const int most = std::min(format.bias(), 2 * precision + 2);
        const int least = std::min(format.bias() - 1 + format.mantissa_bits, 3 * precision);  // of few bits: subnormal
        return signed_number(static_cast<double>(top | few), random_.between(-least, most) - format.mantissa_bits);
      }
      case Draw::kWhole: {  // and halves and quarters of whole numbers
        const std::uint64_t n = random_.bits() & ((2 * top - 1) >> random_.between(0, format.mantissa_bits));
        return signed_number(static_cast<double>(n), -random_.between(0, 2));
      }
      case Draw::kNear: {  // the first one of the row, the few next to it, and their negatives
        if (!first_) return signed_number(static_cast<double>(top | (random_.bits() & low)), -format.mantissa_bits);
        const double step = std::ldexp(1.0, -format.mantissa_bits);
        return std::fabs(first_->number) * signed_number(1 + random_.between(-2, 2) * step, 0);
      }
    }
    return 0;
  }

  /// A number or its negative, whether or not there is one.
  std::uint64_t signed_bits(std::int64_t value) {
    const auto bits = static_cast<std::uint64_t>(value);
    return random_.below(2) == 0 ? bits : 0 - bits;
  }

  std::int64_t integer(DType dtype) {
    if (dtype == DType::kPred) return static_cast<std::int64_t>(random_.below(2));
    const int width = ops::bit_width(dtype);  // what does not fit wraps
    const auto all = static_cast<std::int64_t>(random_.bits());
    switch (draw_) {
      case Draw::kBits: return all;
      case Draw::kNear:
        if (first_) return static_cast<std::int64_t>(signed_bits(first_->integer) + random_.below(5) - 2);
        return all >> random_.between(64 - width, 63);
      case Draw::kSparse: {  // one to four bits, and the numbers next to one
        std::uint64_t few = 0;
        for (int i = random_.between(1, 4); i > 0; --i) few |= std::uint64_t{1} << random_.between(0, width - 1);
        return static_cast<std::int64_t>(signed_bits(static_cast<std::int64_t>(few)) + random_.below(3) - 1);
      }
      case Draw::kModerate:
      case Draw::kWhole: return all >> random_.between(64 - width, 63);
    }
    return 0;
  }

  bool bitexact_;
  std::vector<std::vector<Special>> telling_;  // by leaf
  Random random_{20261};
  Draw draw_ = Draw::kModerate;
  std::optional<Special> first_;  // of the row
};

int bits_in(DType dtype) { return dtype == DType::kPred ? 1 : ops::bit_width(dtype); }

/// How many bits leaves of one element have in all; many where one has more elements.
int bits_of(const Leaves& leaves) {
  constexpr int kMany = 64;
  int bits = 0;
  for (const ops::Type& type : leaves.types) bits += ops::element_count(type.shape) == 1 ? bits_in(type.dtype) : kMany;
  return bits;
}

Result<Values> columns(const Leaves& leaves, std::int64_t rows) {
  Values out;
  for (const ops::Type& type : leaves.types) {
    std::vector<std::int64_t> dims = ops::static_dims(type.shape);
    dims.insert(dims.begin(), rows);
    FW_TRY(Tensor column, ops::make_tensor(type.dtype, std::move(dims)));
    out.push_back(std::move(column));
  }
  return out;
}

/// Every combination of bits.
Result<Values> all_values(const Leaves& leaves) {
  const std::int64_t rows = std::int64_t{1} << bits_of(leaves);
  FW_TRY(Values out, columns(leaves, rows));
  for (std::int64_t i = 0; i < rows; ++i) {
    auto rest = static_cast<std::uint64_t>(i);
    for (Tensor& column : out) {
      const std::uint64_t bits = rest & ((std::uint64_t{1} << bits_in(column.dtype)) - 1);
      put(column, i, {ops::is_float(column.dtype) ? of_bits(column.dtype, bits) : 0, static_cast<std::int64_t>(bits)});
      rest >>= bits_in(column.dtype);
    }
  }
  return out;
}

}  // namespace

Leaves Form::leaves() const {
  Leaves out(left);
  out.parameters = parameters;
  if (pointwise) {
    for (ops::Type& type : out.types) type.shape.clear();
    out.elements = static_cast<std::int64_t>(out.types.size());
  }
  return out;
}

std::uint64_t Form::work() const {
  const std::uint64_t nodes = left.entry_computation().nodes.size() + right.entry_computation().nodes.size();
  return nodes * static_cast<std::uint64_t>(pointwise ? 1 : std::max<std::int64_t>(1, leaves().elements));
}

std::string kind_of(const Form& form) {
  constexpr std::int64_t kMany = 12;
  std::string out = fmt::format("{}", std::min(form.leaves().elements, kMany));
  for (const graph::Graph* side : {&form.left, &form.right})
    for (const graph::NodeId id : side->entry_computation().nodes) {
      out += fmt::format(" {}", (*side)[id].op.index);
      for (const ops::Type& type : (*side)[id].types) out += fmt::format(":{}", ops::name(type.dtype));
      for (const graph::Value v : (*side)[id].operands) out += fmt::format(".{}", v.node.index);
    }
  return out;
}

Result<Values> bulk_values(const Leaves& leaves, std::int64_t rows, const rule::Exactness& exactness) {
  if (exactness.bitexact() && bits_of(leaves) < 32 && std::int64_t{1} << bits_of(leaves) <= rows)
    return all_values(leaves);
  FW_TRY(Values out, columns(leaves, rows));
  Drawing drawing(leaves, exactness);
  for (std::int64_t row = 0; row < rows; ++row) {
    drawing.next_row();
    for (std::size_t l = 0; l < out.size(); ++l) {
      const std::int64_t each = out[l].elements() / rows;
      for (std::int64_t i = 0; i < each; ++i) put(out[l], row * each + i, drawing.element(l, out[l].dtype));
    }
  }
  return out;
}

}  // namespace fusewright::prove
