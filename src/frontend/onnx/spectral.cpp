#include <cmath>

#include "src/frontend/onnx/call.hpp"

namespace fusewright::frontend_onnx {

namespace {

using Values = std::vector<Value>;

constexpr std::int64_t kLongest = std::int64_t{1} << 12;  // of a transform: its matrices are tables

/// A Fourier transform along one axis as products with the matrices cos(2 pi j k / n) and sin(2 pi j k / n).
struct Transform {
  std::int64_t axis;
  std::int64_t length;   // n
  std::int64_t in, out;  // elements read and made
  bool inverse, real;    // real: only the real part of the result is made, from one half of the spectrum
};

// cos(2 pi turn / length); exact at quarter turns.
double cosine(std::int64_t turn, std::int64_t length) {
  turn = (turn % length + length) % length;
  if (4 * turn == length || 4 * turn == 3 * length) return 0;
  if (2 * turn == length) return -1;
  return std::cos(2 * M_PI * static_cast<double>(turn) / static_cast<double>(length));
}
// sin is cos a quarter turn before.
double sine(std::int64_t turn, std::int64_t length) { return cosine(4 * turn - length, 4 * length); }

Value matrix(Call& c, const Transform& t, DType dtype, double (*wave)(std::int64_t, std::int64_t)) {
  Tensor table = unwrap(ops::make_tensor(dtype, {t.in, t.out}));
  for (std::int64_t j = 0; j < t.in; ++j) {
    // Of a half spectrum all but the first and the middle element stand for two.
    const double twice = t.real && j != 0 && 2 * j != t.length ? 2 : 1;
    const double scale = t.inverse ? twice / static_cast<double>(t.length) : 1;
    for (std::int64_t k = 0; k < t.out; ++k) ops::set_double(table, j * t.out + k, scale * wave(j * k, t.length));
  }
  return c.e.constant(std::move(table));
}

// x has the last axis for the real and, if it is there, the imaginary part.
Value transform(Call& c, Value x, const Transform& t) {
  x = c.e.slice(x, t.axis, 0, t.in);
  const std::int64_t rank = c.e.rank(x), parts = c.e.dims(x)[rank - 1];
  const DType dtype = c.e.dtype(x);
  Ints plain = c.e.dims(x);
  plain.pop_back();
  const auto part = [&](std::int64_t i) { return c.e.reshape(c.e.slice(x, rank - 1, i, i + 1), plain); };
  const auto times = [&](Value v, Value table) {
    return c.e.op("dot", {v, table}, {{"lhs_contract", Ints{t.axis}}, {"rhs_contract", Ints{0}}, {"dtype", dtype}});
  };
  const Value cosines = matrix(c, t, dtype, cosine), sines = matrix(c, t, dtype, sine);
  // (a + bi)(cos -+ i sin)
  Value real = times(part(0), cosines), imaginary = times(part(0), sines);
  if (!t.inverse) imaginary = c.e.unary("neg", imaginary);
  if (parts == 2) {
    real = c.e.op(t.inverse ? "sub" : "add", {real, times(part(1), sines)});
    imaginary = c.e.op("add", {imaginary, times(part(1), cosines)});
  }
  Ints column = c.e.dims(real);
  column.push_back(1);
  Value out = c.e.reshape(real, column);
  if (!t.real) out = c.e.concat({out, c.e.reshape(imaginary, column)}, rank - 1);
  // The product put the axis last.
  Ints perm;
  for (std::int64_t i = 0; i < rank - 1; ++i) perm.push_back(i < t.axis ? i : i == t.axis ? rank - 2 : i - 1);
  perm.push_back(rank - 1);
  return c.e.transpose(out, perm);
}

Values dft(Call& c) {
  const Value x = c.in(0);
  const Ints dims = c.e.dims(x);
  const auto rank = static_cast<std::int64_t>(dims.size());
  if (rank < 2 || dims.back() < 1 || dims.back() > 2)
    refuse("the last axis of " + ops::to_string(c.e.type(x)) + " is not 1 or 2");
  std::int64_t axis = c.opset < 20 ? c.int_attr("axis", 1) : -2;
  if (c.opset >= 20 && c.has(2)) axis = c.known_int(2, "axis");
  Transform t{c.axis(axis, rank), 0, 0, 0, c.int_attr("inverse", 0) != 0, false};
  const bool onesided = c.int_attr("onesided", 0) != 0;
  if (t.axis == rank - 1) refuse("its axis is that of the real and imaginary parts");
  t.real = onesided && t.inverse;
  t.length = t.real ? 2 * (dims[t.axis] - 1) : dims[t.axis];
  if (c.has(1)) t.length = c.known_int(1, "length");
  if (t.length < 1 || t.length > kLongest)
    unsupported("a transform of " + std::to_string(t.length) + " elements is not supported (at most 4096)");
  const std::int64_t half = t.length / 2 + 1;
  t.in = std::min(dims[t.axis], t.real ? half : t.length);
  t.out = onesided && !t.inverse ? half : t.length;
  return {transform(c, x, t)};
}

// Triangles that overlap, evenly spaced on the mel scale.
Values mel_weight_matrix(Call& c) {
  const std::int64_t bins = c.known_int(0, "number of mel bins"), length = c.known_int(1, "dft length");
  const auto rate = static_cast<double>(c.known_int(2, "sample rate"));
  const double lower = c.known_double(3, "lower edge"), upper = c.known_double(4, "upper edge");
  constexpr std::int64_t kMost = std::int64_t{1} << 20;
  if (bins < 1 || bins > kMost || length < 1 || length > kMost || !(rate > 0)) refuse("its sizes are out of range");
  const auto mel = [](double hertz) { return 2595 * std::log1p(hertz / 700) / std::log(10.0); };
  const std::int64_t rows = length / 2 + 1;
  const double step = (mel(upper) - mel(lower)) / static_cast<double>(bins + 2);
  Ints edges;
  for (std::int64_t i = 0; i < bins + 2; ++i) {
    const double hertz = 700 * std::expm1((static_cast<double>(i) * step + mel(lower)) / 2595 * std::log(10.0));
    edges.push_back(static_cast<std::int64_t>(std::floor(static_cast<double>(length + 1) * hertz / rate)));
    if (edges.back() < 0 || edges.back() >= rows) refuse("an edge lies outside of the spectrum");
  }
  Tensor table = unwrap(ops::make_tensor(dtype_of(c.int_attr("output_datatype", 1)), {rows, bins}));
  const auto set = [&](std::int64_t row, std::int64_t bin, std::int64_t part, std::int64_t whole) {
    ops::set_double(table, row * bins + bin, static_cast<double>(part) / static_cast<double>(whole));
  };
  for (std::int64_t i = 0; i < bins; ++i) {
    const std::int64_t low = edges[i], center = edges[i + 1], high = edges[i + 2];
    if (low == center) set(center, i, 1, 1);
    for (std::int64_t j = low; j <= center && low != center; ++j) set(j, i, j - low, center - low);
    for (std::int64_t j = center; j < high; ++j) set(j, i, high - j, high - center);
  }
  return {c.e.constant(std::move(table))};
}

}  // namespace

std::vector<OperatorRow> spectral_operators() { return {{"DFT", dft}, {"MelWeightMatrix", mel_weight_matrix}}; }

}  // namespace fusewright::frontend_onnx
