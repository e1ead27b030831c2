#include <algorithm>
#include <cmath>

#include "src/frontend/onnx/call.hpp"

namespace fusewright::frontend_onnx {

namespace {

using Values = std::vector<Value>;

// What resizing one axis does: each result element is a weighted sum of a few input elements.
struct AxisPlan {
  std::int64_t out = 0;
  std::vector<Ints> indices;                 // tap by tap, one index for each result element
  std::vector<std::vector<double>> weights;  // likewise
  std::vector<bool> outside;                 // tf_crop_and_resize: takes the extrapolation value
};

struct Options {
  std::string mode, coordinates, rounding, policy;
  double cubic = -0.75;
  bool exclude_outside = false, antialias = false;
  double extrapolation = 0;
};

constexpr std::int64_t kLongest = std::int64_t{1} << 24;  // elements of a resized axis: its plan is a table

struct AxisScale {
  std::int64_t in, out;
  double scale;               // output over input, as stated
  double start = 0, end = 1;  // of the region of interest, in parts of the axis
};

// In f32, like the runtimes that models are exported for: where a coordinate lies between two elements, rounding
// decides which one is the nearest.
float source_coordinate(const Options& o, const AxisScale& s, std::int64_t position) {
  const auto in = static_cast<float>(s.in), out = static_cast<float>(s.out), x = static_cast<float>(position);
  const auto scale = static_cast<float>(s.scale);
  if (o.coordinates == "half_pixel") return (x + 0.5F) / scale - 0.5F;
  if (o.coordinates == "pytorch_half_pixel") return s.out > 1 ? (x + 0.5F) / scale - 0.5F : 0;
  if (o.coordinates == "align_corners") {
    const float exact = scale * in;  // of the result before it is rounded to whole elements
    return s.out == 1 || exact == 1 ? 0 : x * (in - 1) / (exact - 1);
  }
  if (o.coordinates == "asymmetric") return x / scale;
  if (o.coordinates == "tf_half_pixel_for_nn") return (x + 0.5F) / scale;
  if (o.coordinates == "half_pixel_symmetric") {
    const float adjustment = out / (scale * in);
    return in / 2 * (1 - adjustment) + (x + 0.5F) / scale - 0.5F;
  }
  if (o.coordinates == "tf_crop_and_resize") {
    const auto start = static_cast<float>(s.start), end = static_cast<float>(s.end);
    if (s.out > 1) return start * (in - 1) + x * (end - start) * (in - 1) / (out - 1);
    return 0.5F * (start + end) * (in - 1);
  }
  refuse("attribute 'coordinate_transformation_mode' is '" + o.coordinates + "'");
}

std::int64_t nearest_index(const Options& o, double x) {
  if (o.rounding == "round_prefer_floor") return static_cast<std::int64_t>(std::ceil(x - 0.5));
  if (o.rounding == "round_prefer_ceil") return static_cast<std::int64_t>(std::floor(x + 0.5));
  if (o.rounding == "floor") return static_cast<std::int64_t>(std::floor(x));
  if (o.rounding == "ceil") return static_cast<std::int64_t>(std::ceil(x));
  refuse("attribute 'nearest_mode' is '" + o.rounding + "'");
}

// Keys' cubic convolution, in f32 like the coordinates.
float cubic_weight(float a, float distance) {
  const float d = std::abs(distance);
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  if (d < 2) return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
  return 0;
}

// With antialiasing the kernel is stretched by the step when it shrinks.
AxisPlan plan_axis(const Options& o, const AxisScale& s) {
  AxisPlan plan;
  plan.out = s.out;
  const bool nearest = o.mode == "nearest", cubic = o.mode == "cubic";
  const double stretch = o.antialias && s.scale < 1 && !nearest ? 1 / s.scale : 1;
  const double support = (cubic ? 2 : 1) * stretch;
  const double reach = nearest ? 1 : 2 * std::ceil(support);
  if (!(reach * static_cast<double>(s.out) <= static_cast<double>(kLongest)))
    unsupported("the resized axis is too long");
  const auto taps = static_cast<std::size_t>(reach);
  plan.indices.assign(taps, Ints(static_cast<std::size_t>(s.out)));
  plan.weights.assign(taps, std::vector<double>(static_cast<std::size_t>(s.out), 1));
  plan.outside.assign(static_cast<std::size_t>(s.out), false);
  for (std::size_t i = 0; i < static_cast<std::size_t>(s.out); ++i) {
    const double x = static_cast<double>(source_coordinate(o, s, static_cast<std::int64_t>(i)));
    if (!(std::abs(x) < 0x1p52)) refuse("its scales or region of interest lead out of all range");
    const auto last = s.in - 1;
    if (o.coordinates == "tf_crop_and_resize") plan.outside[i] = x < 0 || x > static_cast<double>(last);
    if (nearest) {
      plan.indices[0][i] = std::clamp(nearest_index(o, x), std::int64_t{0}, last);
      continue;
    }
    const auto first = static_cast<std::int64_t>(std::floor(x)) - static_cast<std::int64_t>(taps) / 2 + 1;
    double sum = 0;
    for (std::size_t t = 0; t < taps; ++t) {
      const std::int64_t at = first + static_cast<std::int64_t>(t);
      const double distance = (x - static_cast<double>(at)) / stretch;
      double weight = cubic ? cubic_weight(static_cast<float>(o.cubic), static_cast<float>(distance))
                            : std::max(0.0, 1 - std::abs(distance));
      if (o.exclude_outside && (at < 0 || at > last)) weight = 0;
      plan.indices[t][i] = std::clamp(at, std::int64_t{0}, last);
      plan.weights[t][i] = weight;
      sum += weight;
    }
    if (o.exclude_outside || stretch != 1) {
      for (std::size_t t = 0; t < taps && sum != 0; ++t) plan.weights[t][i] /= sum;
    }
  }
  return plan;
}

Value apply_plan(Call& c, Value x, std::int64_t axis, const AxisPlan& plan, const Options& o) {
  if (o.mode == "nearest") {
    x = c.e.take(x, plan.indices[0], axis);
  } else {
    const DType dtype = c.e.dtype(x);
    Value sum;
    for (std::size_t t = 0; t < plan.indices.size(); ++t) {
      const Value part = c.e.take(x, plan.indices[t], axis);
      const Value weight = c.e.broadcast(c.e.vector(dtype, plan.weights[t]), c.e.dims(part), {axis});
      const Value term = c.e.op("mul", {part, weight});
      sum = sum.valid() ? c.e.op("add", {sum, term}) : term;
    }
    x = sum;
  }
  if (std::find(plan.outside.begin(), plan.outside.end(), true) == plan.outside.end()) return x;
  Ints flags(plan.outside.begin(), plan.outside.end());
  const Value mask = c.e.broadcast(c.e.int_vector(DType::kPred, flags), c.e.dims(x), {axis});
  return c.e.select(mask, c.e.scalar(c.e.dtype(x), o.extrapolation), x);
}

Value resize_axes(Call& c, const Options& o, const Ints& axes, const std::vector<AxisScale>& scales) {
  Value x = c.in(0);
  const DType dtype = c.e.dtype(x);
  const bool integer = !ops::is_float(dtype) && o.mode != "nearest";
  if (integer) x = c.e.convert(x, DType::kF32);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const AxisScale& s = scales[i];
    if (s.in == 0) refuse("an axis without elements cannot be resized");
    if (s.in == s.out && s.scale == 1 && o.coordinates != "tf_crop_and_resize") continue;
    x = apply_plan(c, x, axes[i], plan_axis(o, s), o);
  }
  return integer ? c.e.convert(x, dtype) : x;
}

// @param rounding  added before the fraction is dropped
std::int64_t scaled(std::int64_t in, double scale, double rounding = 0) {
  const double out = std::floor(static_cast<double>(in) * scale + rounding);
  if (!(scale > 0) || out > static_cast<double>(kLongest)) refuse("a scale is " + std::to_string(scale));
  return static_cast<std::int64_t>(out);
}

Values upsample(Call& c) {
  const Ints dims = c.e.dims(c.in(0));
  std::vector<double> factors;
  if (c.opset < 9)
    factors = c.floats_attr("scales").value_or(std::vector<double>{});
  else
    factors = c.known_doubles(1, "scales");
  if (factors.size() != dims.size()) refuse("its scales do not name every axis once");
  Options o;
  o.mode = c.string_attr("mode", "nearest");
  if (o.mode == "bilinear") o.mode = "linear";
  if (o.mode != "nearest" && o.mode != "linear") refuse("attribute 'mode' is '" + o.mode + "'");
  o.coordinates = "asymmetric";
  o.rounding = "floor";
  std::vector<AxisScale> scales;
  for (std::size_t i = 0; i < dims.size(); ++i) scales.push_back({dims[i], scaled(dims[i], factors[i]), factors[i]});
  return {resize_axes(c, o, count_up(static_cast<std::int64_t>(dims.size())), scales)};
}

// Sizes that keep the aspect ratio: one scale for all axes, the smallest or the largest that is asked for.
void keep_aspect(const Options& o, std::vector<AxisScale>& scales) {
  if (o.policy == "stretch") return;
  if (o.policy != "not_larger" && o.policy != "not_smaller")
    refuse("attribute 'keep_aspect_ratio_policy' is '" + o.policy + "'");
  double scale = scales[0].scale;
  for (const AxisScale& s : scales)
    scale = o.policy == "not_larger" ? std::min(scale, s.scale) : std::max(scale, s.scale);
  for (AxisScale& s : scales) {
    s.scale = scale;
    s.out = scaled(s.in, scale, 0.5);
  }
}

Values resize(Call& c) {
  const Ints dims = c.e.dims(c.in(0));
  const auto rank = static_cast<std::int64_t>(dims.size());
  Options o;
  o.mode = c.string_attr("mode", "nearest");
  o.coordinates = c.string_attr("coordinate_transformation_mode", c.opset < 11 ? "asymmetric" : "half_pixel");
  o.rounding = c.string_attr("nearest_mode", c.opset < 11 ? "floor" : "round_prefer_floor");
  o.policy = c.string_attr("keep_aspect_ratio_policy", "stretch");
  o.cubic = c.float_attr("cubic_coeff_a", -0.75);
  o.exclude_outside = c.int_attr("exclude_outside", 0) != 0;
  o.antialias = c.int_attr("antialias", 0) != 0;
  o.extrapolation = c.float_attr("extrapolation_value", 0);
  if (o.mode != "nearest" && o.mode != "linear" && o.mode != "cubic") refuse("attribute 'mode' is '" + o.mode + "'");

  Ints axes = count_up(rank);
  if (const auto given = c.ints_attr("axes")) {
    c.axes(*given, rank);
    axes = *given;
    for (std::int64_t& axis : axes) axis = c.axis(axis, rank);
  }
  const std::size_t scales_input = c.opset < 11 ? 1 : 2;
  std::vector<double> factors;
  Ints sizes;
  if (c.has(scales_input)) factors = c.known_doubles(scales_input, "scales");
  if (factors.empty() && c.opset >= 11 && c.has(3)) sizes = c.known_ints(3, "sizes");
  if (std::max(factors.size(), sizes.size()) != axes.size()) refuse("its scales or sizes do not name every axis once");
  std::vector<double> roi;
  if (o.coordinates == "tf_crop_and_resize") {
    roi = c.known_doubles(1, "region of interest");
    if (roi.size() != 2 * axes.size()) refuse("its region of interest does not name both ends of every axis");
  }
  std::vector<AxisScale> scales;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t in = dims[static_cast<std::size_t>(axes[i])];
    AxisScale s{in, 0, 1};
    if (!factors.empty()) {
      s.scale = factors[i];
      s.out = roi.empty() ? scaled(in, s.scale) : scaled(in, s.scale * (roi[i + axes.size()] - roi[i]));
    } else {
      if (sizes[i] < 0 || sizes[i] > kLongest) refuse("a size is " + std::to_string(sizes[i]));
      s.out = sizes[i];
      s.scale = static_cast<double>(sizes[i]) / static_cast<double>(std::max<std::int64_t>(in, 1));
    }
    if (!roi.empty()) s.start = roi[i], s.end = roi[i + axes.size()];
    scales.push_back(s);
  }
  if (!sizes.empty()) keep_aspect(o, scales);
  return {resize_axes(c, o, axes, scales)};
}

}  // namespace

std::vector<OperatorRow> resize_operators() { return {{"Resize", resize}, {"Upsample", upsample}}; }

}  // namespace fusewright::frontend_onnx
