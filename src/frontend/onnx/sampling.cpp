#include <cmath>

#include "src/frontend/onnx/call.hpp"

namespace fusewright::frontend_onnx {

namespace {

using Values = std::vector<Value>;

// Elements at computed positions, and what lies between them.

/// One neighbour along one axis: position and weight, both float[batch, points].
struct Tap {
  Value at, weight;
};
using Taps = std::vector<Tap>;

Value clamped(Call& c, Value x, double low, double high) {
  const Ints dims = c.e.dims(x);
  const DType dtype = c.e.dtype(x);
  return c.e.op("clamp", {c.e.fill(dtype, low, dims), x, c.e.fill(dtype, high, dims)});
}
Value outside(Call& c, Value x, double low, double high) {
  return c.e.op("or", {c.e.binary("lt", x, low), c.e.binary("gt", x, high)});
}

// x[batch, channels, spatial...] at whole positions inside of it: [batch, channels, points].
Value fetch(Call& c, Value x, const Values& positions) {
  const Ints dims = c.e.dims(x);
  Value flat;
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const auto extent = dims[i + 2];
    const Value at = c.e.convert(clamped(c, positions[i], 0, static_cast<double>(extent - 1)), DType::kS64);
    flat = flat.valid() ? c.e.op("add", {c.e.binary("mul", flat, c.e.scalar_int(DType::kS64, extent)), at}) : at;
  }
  Ints column = c.e.dims(flat);
  column.push_back(1);
  const std::int64_t rest = product(Ints(dims.begin() + 2, dims.end()));
  return c.e.op("gather", {c.e.reshape(x, {dims[0], dims[1], rest}), c.e.reshape(flat, column)},
                {{"offset_dims", Ints{1}},
                 {"collapsed_slice_dims", Ints{2}},
                 {"start_index_map", Ints{2}},
                 {"operand_batching_dims", Ints{0}},
                 {"indices_batching_dims", Ints{0}},
                 {"index_vector_dim", std::int64_t{2}},
                 {"slice_sizes", Ints{1, dims[1], 1}}});
}

// The weighted sum over all combinations of the axes' taps; `combine` is "add" or "max".
Value interpolate(Call& c, Value x, const std::vector<Taps>& axes, std::string_view combine) {
  std::size_t combinations = 1;
  for (const Taps& taps : axes) combinations *= taps.size();
  Value sum;
  for (std::size_t n = 0; n < combinations; ++n) {
    Values positions(axes.size());
    Value weight;
    std::size_t rest = n;
    for (std::size_t i = axes.size(); i-- > 0; rest /= axes[i].size()) {
      const Tap& tap = axes[i][rest % axes[i].size()];
      positions[i] = tap.at;
      weight = weight.valid() ? c.e.op("mul", {tap.weight, weight}) : tap.weight;
    }
    const Value part = fetch(c, x, positions);
    const Value spread = c.e.broadcast(c.e.convert(weight, c.e.dtype(x)), c.e.dims(part), {0, 2});
    const Value term = c.e.op("mul", {part, spread});
    sum = sum.valid() ? c.e.op(combine, {sum, term}) : term;
  }
  return sum;
}

Taps linear_taps(Call& c, Value x) {
  const Value first = c.e.unary("floor", x);
  const Value part = c.e.op("sub", {x, first});
  return {{first, c.e.binary("sub", 1.0, part)}, {c.e.binary("add", first, 1.0), part}};
}

// Keys' cubic convolution; d is the distance to the neighbour before the point.
Taps cubic_taps(Call& c, Value x) {
  constexpr double a = -0.75;
  const Value first = c.e.unary("floor", x);
  const Value d = c.e.op("sub", {x, first});
  const auto horner = [&](Value v, std::initializer_list<double> coefficients) {
    Value sum;
    for (const double k : coefficients)
      sum = sum.valid() ? c.e.binary("add", c.e.op("mul", {sum, v}), k) : c.e.fill(c.e.dtype(v), k, c.e.dims(v));
    return sum;
  };
  const auto near = [&](Value v) { return horner(v, {a + 2, -(a + 3), 0, 1}); };
  const auto far = [&](Value v) { return horner(v, {a, -5 * a, 8 * a, -4 * a}); };
  return {{c.e.binary("sub", first, 1.0), far(c.e.binary("add", d, 1.0))},
          {first, near(d)},
          {c.e.binary("add", first, 1.0), near(c.e.binary("sub", 1.0, d))},
          {c.e.binary("add", first, 2.0), far(c.e.binary("sub", 2.0, d))}};
}

// Outside of the map, zeros.
Taps without_outside(Call& c, Taps taps, std::int64_t extent) {
  for (Tap& tap : taps) {
    const Value off = outside(c, tap.at, 0, static_cast<double>(extent - 1));
    tap.weight = c.e.select(off, c.e.scalar(c.e.dtype(tap.weight), 0), tap.weight);
  }
  return taps;
}

// Back and forth between the two ends.
Value reflected(Call& c, Value x, double low, double high) {
  const double range = high - low;
  if (range <= 0) return c.e.fill(c.e.dtype(x), low, c.e.dims(x));
  const Value d = c.e.binary("sub", x, low);
  const Value turns = c.e.unary("floor", c.e.binary("div", d, 2 * range));
  const Value t = c.e.op("sub", {d, c.e.binary("mul", turns, 2 * range)});
  const Value back = c.e.op("min", {t, c.e.binary("sub", 2 * range, t)});
  return c.e.select(outside(c, x, low, high), c.e.binary("add", back, low), x);
}

struct GridOptions {
  std::string mode, padding;
  bool corners = false;
};

Taps grid_taps(Call& c, Value x, std::int64_t extent, const GridOptions& o) {
  const auto n = static_cast<double>(extent);
  const double low = o.corners ? 0 : -0.5, high = o.corners ? n - 1 : n - 0.5;
  const auto inside = [&](Value v) {
    if (o.padding == "reflection") return reflected(c, v, low, high);
    return o.padding == "border" ? c.e.select(outside(c, v, low, high), clamped(c, v, 0, n - 1), v) : v;
  };
  x = c.e.binary("add", x, 1.0);
  x = o.corners ? c.e.binary("mul", c.e.binary("div", x, 2.0), n - 1)
                : c.e.binary("div", c.e.binary("sub", c.e.binary("mul", x, n), 1.0), 2.0);
  Taps taps;
  if (o.mode == "nearest") {
    x = inside(c.e.unary("round_even", x));
    taps = {{o.padding == "reflection" ? c.e.unary("trunc", x) : x, c.e.fill(c.e.dtype(x), 1, c.e.dims(x))}};
  } else {
    taps = o.mode == "cubic" ? cubic_taps(c, inside(x)) : linear_taps(c, inside(x));
    if (o.padding == "reflection")
      for (Tap& tap : taps) tap.at = c.e.unary("trunc", inside(tap.at));
  }
  return o.padding == "zeros" ? without_outside(c, taps, extent) : taps;
}

Values grid_sample(Call& c) {
  const Value x = c.in(0);
  const Ints dims = c.e.dims(x), grid_dims = c.e.dims(c.in(1));
  const std::size_t spatial = dims.size() - std::min<std::size_t>(dims.size(), 2);
  if (spatial < 1 || grid_dims.size() != dims.size() || grid_dims.back() != static_cast<std::int64_t>(spatial) ||
      grid_dims[0] != dims[0])
    refuse("its grid " + ops::to_string(c.e.type(c.in(1))) + " does not fit " + ops::to_string(c.e.type(x)));
  GridOptions o{c.string_attr("mode", "linear"), c.string_attr("padding_mode", "zeros"),
                c.int_attr("align_corners", 0) != 0};
  if (o.mode == "bilinear") o.mode = "linear";
  if (o.mode == "bicubic") o.mode = "cubic";
  if (o.mode != "nearest" && o.mode != "linear" && o.mode != "cubic") refuse("attribute 'mode' is '" + o.mode + "'");
  if (o.padding != "zeros" && o.padding != "border" && o.padding != "reflection")
    refuse("attribute 'padding_mode' is '" + o.padding + "'");
  Value grid = c.in(1);
  if (ops::bit_width(c.e.dtype(grid)) < 32) grid = c.e.convert(grid, DType::kF32);
  Ints out = {dims[0], dims[1]};
  out.insert(out.end(), grid_dims.begin() + 1, grid_dims.end() - 1);
  const std::int64_t points = product(Ints(out.begin() + 2, out.end()));
  std::vector<Taps> axes;
  for (std::size_t i = 0; i < spatial; ++i) {
    // The grid's last component belongs to the first axis.
    const auto k = static_cast<std::int64_t>(spatial - 1 - i);
    const Value along = c.e.slice(grid, c.e.rank(grid) - 1, k, k + 1);
    axes.push_back(grid_taps(c, c.e.reshape(along, {dims[0], points}), dims[i + 2], o));
  }
  return {c.e.reshape(interpolate(c, x, axes, "add"), out)};
}

Values affine_grid(Call& c) {
  const Value theta = c.in(0);
  const Ints size = c.known_ints(1, "size");
  const std::size_t spatial = size.size() - std::min<std::size_t>(size.size(), 2);
  const auto k = static_cast<std::int64_t>(spatial);
  if (spatial < 1 || c.e.dims(theta) != Ints{size[0], k, k + 1})
    refuse("its size does not fit " + ops::to_string(c.e.type(theta)));
  const bool corners = c.int_attr("align_corners", 0) != 0;
  const Ints extents(size.begin() + 2, size.end());
  const std::int64_t points = product(extents);
  // Homogeneous coordinates of every point, the last axis first.
  Values columns;
  for (std::size_t i = spatial; i-- > 0;) {
    std::vector<double> places;
    for (std::int64_t p = 0; p < extents[i]; ++p) {
      const auto n = static_cast<double>(extents[i]), at = static_cast<double>(p);
      places.push_back(corners ? (n > 1 ? 2 * at / (n - 1) - 1 : -1) : (2 * at + 1) / n - 1);
    }
    const Value along = c.e.broadcast(c.e.vector(c.e.dtype(theta), places), extents, {static_cast<std::int64_t>(i)});
    columns.push_back(c.e.reshape(along, {points, 1}));
  }
  columns.push_back(c.e.fill(c.e.dtype(theta), 1, {points, 1}));
  const Value homogeneous = c.e.concat(columns, 1);
  const Value out = c.e.op("dot", {theta, homogeneous},
                           {{"lhs_contract", Ints{2}}, {"rhs_contract", Ints{1}}, {"dtype", c.e.dtype(theta)}});
  Ints result = {size[0]};
  result.insert(result.end(), extents.begin(), extents.end());
  result.push_back(k);
  return {c.e.reshape(c.e.transpose(out, {0, 2, 1}), result)};
}

// --- Regions of interest ----------------------------------------------------------------------------

/// Sampled positions along one axis: float[regions, bins * samples].
struct RoiAxis {
  std::int64_t extent, bins, samples, start;  // start: column of the region's first end; the other one is two further
};
Value roi_positions(Call& c, Value rois, const RoiAxis& a, bool half_pixel) {
  const double scale = c.float_attr("spatial_scale", 1), offset = half_pixel ? 0.5 : 0;
  const auto end = [&](std::int64_t column) {
    const Value v = c.e.slice(rois, 1, column, column + 1);
    return c.e.binary("sub", c.e.binary("mul", v, scale), offset);
  };
  const Value first = end(a.start);
  Value length = c.e.op("sub", {end(a.start + 2), first});
  if (!half_pixel) length = c.e.binary("max", length, 1.0);
  const Value bin = c.e.binary("div", length, static_cast<double>(a.bins));
  std::vector<double> steps;  // in bins
  for (std::int64_t i = 0; i < a.bins * a.samples; ++i)
    steps.push_back(static_cast<double>(i / a.samples) +
                    (static_cast<double>(i % a.samples) + 0.5) / static_cast<double>(a.samples));
  return c.e.binary("add", c.e.binary("mul", bin, c.e.vector(c.e.dtype(rois), steps)), first);
}

// `axis`: 1 or 2, of points [regions, rows, columns].
Taps roi_taps(Call& c, Value positions, std::int64_t extent, std::int64_t axis, const Ints& points) {
  const Value all = c.e.reshape(c.e.broadcast(positions, points, {0, axis}), {points[0], points[1] * points[2]});
  const Value off = outside(c, all, -1, static_cast<double>(extent));
  Taps taps = linear_taps(c, clamped(c, all, 0, static_cast<double>(extent - 1)));
  for (Tap& tap : taps) tap.weight = c.e.select(off, c.e.scalar(c.e.dtype(all), 0), tap.weight);
  return taps;
}

Values roi_align(Call& c) {
  const Ints dims = c.e.dims(c.in(0));
  const Value rois = c.in(1);
  const Ints roi_dims = c.e.dims(rois);
  if (dims.size() != 4 || roi_dims.size() != 2 || roi_dims[1] != 4)
    refuse("its input is no image, or its regions no boxes");
  const std::int64_t samples = c.int_attr("sampling_ratio", 0);
  if (samples < 1)
    unsupported("attribute 'sampling_ratio' = 0 (as many samples as each region is large) is not supported");
  const std::int64_t rows = c.int_attr("output_height", 1), columns = c.int_attr("output_width", 1);
  if (rows < 1 || columns < 1 || rows * columns * samples > (std::int64_t{1} << 24))
    refuse("its output size is out of range");
  const std::string transformation =
      c.string_attr("coordinate_transformation_mode", c.opset < 16 ? "output_half_pixel" : "half_pixel");
  const bool half_pixel = transformation == "half_pixel";
  const Value x = c.e.op("take", {c.in(0), c.in(2)}, {{"axis", std::int64_t{0}}});
  const Value ys = roi_positions(c, rois, {dims[2], rows, samples, 1}, half_pixel);
  const Value xs = roi_positions(c, rois, {dims[3], columns, samples, 0}, half_pixel);
  const Ints points = {roi_dims[0], rows * samples, columns * samples};
  const bool greatest = c.string_attr("mode", "avg") == "max";
  const std::vector<Taps> taps = {roi_taps(c, ys, dims[2], 1, points), roi_taps(c, xs, dims[3], 2, points)};
  const Value out = interpolate(c, x, taps, greatest ? "max" : "add");
  const Value bins = c.e.reshape(out, {roi_dims[0], dims[1], rows, samples, columns, samples});
  return {c.e.op(greatest ? "reduce_max" : "reduce_mean", {bins}, {{"axes", Ints{3, 5}}})};
}

// --- Deformable convolution -----------------------------------------------------------------------

struct Deformation {
  Ints kernel, strides, dilations, pads, out;
};

// Where each element of the kernel falls along axis i without an offset: float[kernel, out...].
Value regular_positions(Call& c, const Deformation& d, std::size_t i, DType dtype) {
  Ints dims = d.kernel;
  dims.insert(dims.end(), d.out.begin(), d.out.end());
  const auto along = [&](std::size_t axis, double step) {
    return c.e.binary("mul", c.e.iota(dtype, dims, static_cast<std::int64_t>(axis)), step);
  };
  const Value tap = along(i, static_cast<double>(d.dilations[i]));
  const Value window = along(d.kernel.size() + i, static_cast<double>(d.strides[i]));
  return c.e.binary("sub", c.e.op("add", {tap, window}), static_cast<double>(d.pads[i]));
}

Values deform_conv(Call& c) {
  const Value x = c.in(0), w = c.in(1);
  const Ints dims = c.e.dims(x), weights = c.e.dims(w), offsets = c.e.dims(c.in(2));
  if (dims.size() != 4 || weights.size() != 4 || offsets.size() != 4) unsupported("only images (4 axes) are supported");
  Deformation d{{weights[2], weights[3]},
                c.ints_attr("strides").value_or(Ints(2, 1)),
                c.ints_attr("dilations").value_or(Ints(2, 1)),
                c.ints_attr("pads").value_or(Ints(4, 0)),
                {offsets[2], offsets[3]}};
  const std::int64_t groups = c.int_attr("group", 1), parts = c.int_attr("offset_group", 1);
  const std::int64_t kernel = product(d.kernel), out = product(d.out), channels = dims[1];
  if (d.strides.size() != 2 || d.dilations.size() != 2 || d.pads.size() != 4 || groups < 1 || parts < 1 ||
      channels % parts != 0 || weights[1] * groups != channels || weights[0] % groups != 0 ||
      offsets[1] != parts * kernel * 2 || offsets[0] != dims[0])
    refuse("its attributes, weights and offsets do not fit each other");
  const Value all = c.e.reshape(c.in(2), {dims[0] * parts, kernel, 2, out});
  std::vector<Taps> axes;
  for (std::size_t i = 0; i < 2; ++i) {
    const auto k = static_cast<std::int64_t>(i);
    const Value offset = c.e.reshape(c.e.slice(all, 2, k, k + 1), {dims[0] * parts, kernel * out});
    const Value regular = c.e.reshape(regular_positions(c, d, i, c.e.dtype(offset)), {kernel * out});
    axes.push_back(without_outside(c, linear_taps(c, c.e.binary("add", offset, regular)), dims[i + 2]));
  }
  Value sampled = interpolate(c, c.e.reshape(x, {dims[0] * parts, channels / parts, dims[2], dims[3]}), axes, "add");
  if (c.has(4)) {
    const Value mask = c.e.reshape(c.in(4), {dims[0] * parts, kernel * out});
    sampled = c.e.op("mul", {sampled, c.e.broadcast(mask, c.e.dims(sampled), {0, 2})});
  }
  const std::int64_t terms = weights[1] * kernel, features = weights[0] / groups;
  const Value columns = c.e.reshape(sampled, {dims[0], groups, terms, out});
  const Value product = c.e.op("dot", {c.e.reshape(w, {groups, features, terms}), columns},
                               {{"lhs_batch", Ints{0}},
                                {"rhs_batch", Ints{1}},
                                {"lhs_contract", Ints{2}},
                                {"rhs_contract", Ints{2}},
                                {"dtype", c.e.dtype(x)}});
  Value y = c.e.reshape(c.e.transpose(product, {2, 0, 1, 3}), {dims[0], weights[0], d.out[0], d.out[1]});
  if (c.has(3)) y = c.e.op("add", {y, c.e.broadcast(c.in(3), c.e.dims(y), {1})});
  return {y};
}

}  // namespace

std::vector<OperatorRow> sampling_operators() {
  return {
      {"GridSample", grid_sample},
      {"AffineGrid", affine_grid},
      {"RoiAlign", roi_align},
      {"DeformConv", deform_conv},
  };
}

}  // namespace fusewright::frontend_onnx
