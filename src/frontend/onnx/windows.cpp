#include <algorithm>
#include <cmath>
#include <limits>

#include "src/frontend/onnx/call.hpp"

namespace fusewright::frontend_onnx {

namespace {

using Values = std::vector<Value>;

constexpr std::int64_t kLargest = std::int64_t{1} << 31;  // of a pad, stride or dilation: products stay in 64 bits

// How a window moves over the spatial axes; one number for each of them.
struct Geometry {
  Ints kernel, strides, dilations, low, high;
  std::string auto_pad;

  std::size_t rank() const { return kernel.size(); }
  std::int64_t reach(std::size_t i) const { return (kernel[i] - 1) * dilations[i] + 1; }
};

void check_list(const Ints& values, std::size_t count, std::int64_t least, const char* name) {
  if (values.size() != count) {
    refuse("attribute '" + std::string(name) + "' has " + std::to_string(values.size()) + " numbers where " +
           std::to_string(count) + " are needed");
  }
  for (const std::int64_t value : values) {
    if (value < least || value > kLargest)
      refuse("attribute '" + std::string(name) + "' has the value " + std::to_string(value));
  }
}

Geometry read_geometry(Call& c, const Ints& spatial, Ints kernel) {
  const std::size_t n = spatial.size();
  Geometry g;
  g.kernel = std::move(kernel);
  g.strides = c.ints_attr("strides").value_or(Ints(n, 1));
  g.dilations = c.ints_attr("dilations").value_or(Ints(n, 1));
  const Ints pads = c.ints_attr("pads").value_or(Ints(2 * n, 0));
  g.auto_pad = c.string_attr("auto_pad", "NOTSET");
  check_list(g.kernel, n, 1, "kernel_shape");
  check_list(g.strides, n, 1, "strides");
  check_list(g.dilations, n, 1, "dilations");
  check_list(pads, 2 * n, -kLargest, "pads");
  if (g.auto_pad != "NOTSET" && g.auto_pad != "VALID" && g.auto_pad != "SAME_UPPER" && g.auto_pad != "SAME_LOWER") {
    refuse("attribute 'auto_pad' is '" + g.auto_pad + "'");
  }
  g.low.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(n));
  g.high.assign(pads.begin() + static_cast<std::ptrdiff_t>(n), pads.end());
  if (g.auto_pad == "VALID") g.low.assign(n, 0), g.high.assign(n, 0);
  return g;
}

// SAME: as many results as the stride leaves; the odd element of padding goes to the upper or the lower end.
void resolve_same(Geometry& g, const Ints& spatial) {
  if (!g.auto_pad.starts_with("SAME")) return;
  for (std::size_t i = 0; i < g.rank(); ++i) {
    const std::int64_t out = (spatial[i] + g.strides[i] - 1) / g.strides[i];
    const std::int64_t total = std::max<std::int64_t>(0, (out - 1) * g.strides[i] + g.reach(i) - spatial[i]);
    g.low[i] = g.auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
    g.high[i] = total - g.low[i];
  }
}

Ints spatial_of(Call& c, Value x, std::size_t least_rank = 3) {
  const Ints dims = c.e.dims(x);
  if (dims.size() < least_rank) refuse("its input " + ops::to_string(c.e.type(x)) + " has no spatial axes");
  return Ints(dims.begin() + 2, dims.end());
}

Value add_bias(Call& c, Value x, std::size_t i) {
  if (!c.has(i)) return x;
  return c.e.op("add", {x, c.e.broadcast(c.in(i), c.e.dims(x), {1})});
}

Ints feature_spec(std::size_t spatial, bool swapped = false) {
  Ints spec = count_up(static_cast<std::int64_t>(spatial) + 2);
  if (swapped) std::swap(spec[0], spec[1]);
  return spec;
}

}  // namespace

Value emit_conv(Call& c, Value x, Value w, DType dtype) {
  const Ints spatial = spatial_of(c, x), weights = c.e.dims(w);
  if (weights.size() != spatial.size() + 2)
    refuse("its weights " + ops::to_string(c.e.type(w)) + " do not fit its input " + ops::to_string(c.e.type(x)));
  const Ints kernel(weights.begin() + 2, weights.end());
  if (const auto stated = c.ints_attr("kernel_shape"); stated && *stated != kernel)
    refuse("attribute 'kernel_shape' differs from the weights");
  Geometry g = read_geometry(c, spatial, kernel);
  resolve_same(g, spatial);
  const std::size_t n = g.rank();
  return c.e.op("conv", {x, w},
                {{"strides", g.strides},
                 {"pad_low", g.low},
                 {"pad_high", g.high},
                 {"lhs_dilation", Ints(n, 1)},
                 {"rhs_dilation", g.dilations},
                 {"reversal", Ints(n, 0)},
                 {"groups", c.int_attr("group", 1)},
                 {"lhs_spec", feature_spec(n)},
                 {"rhs_spec", feature_spec(n)},
                 {"out_spec", feature_spec(n)},
                 {"dtype", dtype}});
}

Value emit_biased_conv(Call& c) { return add_bias(c, emit_conv(c, c.in(0), c.in(1), c.e.dtype(c.in(0))), 2); }

namespace {

Values conv(Call& c) { return {emit_biased_conv(c)}; }

// Weights [C, M / group, ...] of a transposed convolution as [C / group, M, ...]: groups side by side along the
// outputs.
Value regroup(Call& c, Value w, std::int64_t groups) {
  if (groups == 1) return w;
  const Ints d = c.e.dims(w);
  if (groups < 1 || d[0] % groups != 0) refuse("attribute 'group' does not divide the input channels");
  Ints wide = {groups, d[0] / groups, d[1]}, result = {d[0] / groups, groups * d[1]};
  wide.insert(wide.end(), d.begin() + 2, d.end());
  result.insert(result.end(), d.begin() + 2, d.end());
  Ints perm = count_up(static_cast<std::int64_t>(wide.size()));
  std::swap(perm[0], perm[1]);
  return c.e.reshape(c.e.transpose(c.e.reshape(w, wide), perm), result);
}

// A convolution over the input spread out by the strides, with the kernel turned round.
Values conv_transpose(Call& c) {
  const Value x = c.in(0), w = c.in(1);
  const Ints spatial = spatial_of(c, x), weights = c.e.dims(w);
  if (weights.size() != spatial.size() + 2) refuse("its weights do not fit its input");
  Geometry g = read_geometry(c, spatial, Ints(weights.begin() + 2, weights.end()));
  const std::size_t n = g.rank();
  const Ints more = c.ints_attr("output_padding").value_or(Ints(n, 0));
  check_list(more, n, 0, "output_padding");
  auto wanted = c.ints_attr("output_shape");
  if (wanted && wanted->size() == n + 2) wanted->erase(wanted->begin(), wanted->begin() + 2);
  if (!wanted && g.auto_pad.starts_with("SAME")) {
    wanted.emplace();
    for (std::size_t i = 0; i < n; ++i) wanted->push_back(spatial[i] * g.strides[i]);
  }
  if (wanted) {
    check_list(*wanted, n, 0, "output_shape");
    for (std::size_t i = 0; i < n; ++i) {
      const std::int64_t total = g.strides[i] * (spatial[i] - 1) + more[i] + g.reach(i) - (*wanted)[i];
      g.low[i] = g.auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
      if (total < 0) g.low[i] = 0;
      g.high[i] = total - g.low[i];
    }
  }
  Ints low, high;
  for (std::size_t i = 0; i < n; ++i) {
    low.push_back(g.reach(i) - 1 - g.low[i]);
    high.push_back(g.reach(i) - 1 - g.high[i] + more[i]);
  }
  const std::int64_t groups = c.int_attr("group", 1);
  const Value out = c.e.op("conv", {x, regroup(c, w, groups)},
                           {{"strides", Ints(n, 1)},
                            {"pad_low", low},
                            {"pad_high", high},
                            {"lhs_dilation", g.strides},
                            {"rhs_dilation", g.dilations},
                            {"reversal", Ints(n, 1)},
                            {"groups", groups},
                            {"lhs_spec", feature_spec(n)},
                            {"rhs_spec", feature_spec(n, true)},
                            {"out_spec", feature_spec(n)},
                            {"dtype", c.e.dtype(x)}});
  return {add_bias(c, out, 2)};
}

// --- Pooling --------------------------------------------------------------------------------------

// With ceil_mode the last window may hang over, but it must start inside the input or the padding before it.
struct Pool {
  Geometry g;
  Ints out;       // results along each spatial axis
  Ints overhang;  // elements that the last windows reach beyond the padding (negative: they end before it)
};
Pool read_pool(Call& c, const Ints& spatial) {
  auto kernel = c.ints_attr("kernel_shape");
  if (!kernel) refuse("attribute 'kernel_shape' is missing");
  Pool pool{read_geometry(c, spatial, *kernel), {}, {}};
  resolve_same(pool.g, spatial);
  const bool ceil_mode = c.int_attr("ceil_mode", 0) != 0;
  for (std::size_t i = 0; i < spatial.size(); ++i) {
    const std::int64_t stride = pool.g.strides[i];
    const std::int64_t free = spatial[i] + pool.g.low[i] + pool.g.high[i] - pool.g.reach(i);
    if (free < 0 && !ceil_mode) refuse("its window is larger than the padded input");
    std::int64_t out = (std::max<std::int64_t>(free, 0) + (ceil_mode ? stride - 1 : 0)) / stride + 1;
    if (ceil_mode && (out - 1) * stride >= spatial[i] + pool.g.low[i] && out > 1) --out;
    pool.out.push_back(out);
    pool.overhang.push_back(ceil_mode ? (out - 1) * stride - free : 0);
  }
  return pool;
}

Value window_op(Call& c, std::string_view name, Value x, const Pool& pool) {
  const auto with_feature = [](const Ints& spatial, std::int64_t fill) {
    Ints all = {fill, fill};
    all.insert(all.end(), spatial.begin(), spatial.end());
    return all;
  };
  Ints high = pool.g.high;
  for (std::size_t i = 0; i < high.size(); ++i) high[i] += pool.overhang[i];
  return c.e.op(name, {x},
                {{"window", with_feature(pool.g.kernel, 1)},
                 {"strides", with_feature(pool.g.strides, 1)},
                 {"pad_low", with_feature(pool.g.low, 0)},
                 {"pad_high", with_feature(high, 0)},
                 {"base_dilation", Ints(pool.g.rank() + 2, 1)},
                 {"window_dilation", with_feature(pool.g.dilations, 1)}});
}

// Position of every spatial element in the flat tensor, but for those of its batch and channel: s64[spatial...].
Value spatial_positions(Call& c, const Ints& spatial) {
  const bool columns_first = c.int_attr("storage_order", 0) != 0;
  const Value flat = c.e.iota(DType::kS64, {product(spatial)}, 0);
  if (!columns_first) return c.e.reshape(flat, spatial);
  Ints turned(spatial.rbegin(), spatial.rend()), perm = count_up(static_cast<std::int64_t>(spatial.size()));
  std::reverse(perm.begin(), perm.end());
  return c.e.transpose(c.e.reshape(flat, turned), perm);
}

// Where the greatest element of each window lies; the first of equal ones. The window's elements are compared one after
// the other, each a strided slice of the padded input.
Value max_positions(Call& c, Value x, const Pool& pool) {
  const Ints dims = c.e.dims(x), spatial(dims.begin() + 2, dims.end());
  const std::int64_t taps = product(pool.g.kernel);
  constexpr std::int64_t kMostTaps = 1024;
  if (taps > kMostTaps) unsupported("indices of a window of more than 1024 elements are not supported");
  const DType dtype = c.e.dtype(x);
  const auto rank = dims.size();
  const double low = ops::is_float(dtype) ? -std::numeric_limits<double>::infinity() : dtype == DType::kU8 ? 0 : -128;
  const auto padded = [&](Value v, double fill) {
    const std::size_t before = c.e.dims(v).size() - spatial.size();
    Ints low_pad(before, 0), high_pad(before, 0);
    for (std::size_t i = 0; i < spatial.size(); ++i) {
      low_pad.push_back(pool.g.low[i]);
      high_pad.push_back(pool.g.high[i] + pool.overhang[i]);
    }
    return c.e.op("pad", {v, c.e.scalar(c.e.dtype(v), fill)},
                  {{"low", low_pad}, {"high", high_pad}, {"interior", Ints(low_pad.size(), 0)}});
  };
  const auto tap = [&](Value v, std::int64_t k) {
    const Ints all = c.e.dims(v);
    const std::size_t before = all.size() - spatial.size();
    Ints starts(all.size(), 0), limits = all, strides(all.size(), 1);
    for (std::size_t i = spatial.size(); i-- > 0; k /= pool.g.kernel[i]) {
      starts[before + i] = k % pool.g.kernel[i] * pool.g.dilations[i];
      strides[before + i] = pool.g.strides[i];
      limits[before + i] = starts[before + i] + (pool.out[i] - 1) * pool.g.strides[i] + 1;
    }
    return c.e.op("slice", {v}, {{"starts", starts}, {"limits", limits}, {"strides", strides}});
  };
  const Value values = padded(x, low), positions = padded(spatial_positions(c, spatial), 0);
  Ints out = {dims[0], dims[1]};
  out.insert(out.end(), pool.out.begin(), pool.out.end());
  Value best = tap(values, 0), at = c.e.align(tap(positions, 0), out);
  for (std::int64_t k = 1; k < taps; ++k) {
    const Value next = tap(values, k);
    const Value greater = c.e.op("gt", {next, best});
    best = c.e.select(greater, next, best);
    at = c.e.select(greater, tap(positions, k), at);
  }
  const Value plane = c.e.reshape(c.e.iota(DType::kS64, {dims[0] * dims[1]}, 0), {dims[0], dims[1]});
  const Value first = c.e.binary("mul", plane, c.e.scalar_int(DType::kS64, product(spatial)));
  Ints unit(rank, 1);
  unit[0] = dims[0], unit[1] = dims[1];
  return c.e.binary("add", at, c.e.reshape(first, unit));
}

Values max_pool(Call& c) {
  const Pool pool = read_pool(c, spatial_of(c, c.in(0)));
  return {window_op(c, "reduce_window_max", c.in(0), pool), c.wants(1) ? max_positions(c, c.in(0), pool) : Value{}};
}

// Elements of the input (or of the padded input) that each window covers along one axis.
std::vector<double> window_counts(const Pool& pool, std::size_t i, std::int64_t extent, bool with_padding) {
  std::vector<double> counts;
  if (pool.out[i] > (std::int64_t{1} << 24)) unsupported("a pooled axis beyond 2^24 elements is not supported");
  const std::int64_t first = with_padding ? -pool.g.low[i] : 0;
  const std::int64_t last = with_padding ? extent + pool.g.high[i] : extent;
  // Numbers k in [0, kernel) with first <= start + k * dilation < last.
  const std::int64_t step = pool.g.dilations[i];
  const auto below = [&](std::int64_t limit, std::int64_t start) {
    return std::clamp<std::int64_t>(limit <= start ? 0 : (limit - start + step - 1) / step, 0, pool.g.kernel[i]);
  };
  for (std::int64_t o = 0; o < pool.out[i]; ++o) {
    const std::int64_t start = o * pool.g.strides[i] - pool.g.low[i];
    counts.push_back(static_cast<double>(below(last, start) - below(first, start)));
  }
  return counts;
}

Values average_pool(Call& c) {
  const Value x = c.in(0);
  const Ints spatial = spatial_of(c, x);
  const Pool pool = read_pool(c, spatial);
  const Value sum = window_op(c, "reduce_window_sum", x, pool);
  const bool with_padding = c.int_attr("count_include_pad", 0) != 0;
  const Ints dims = c.e.dims(sum);
  // Where every window is full, one number divides; else the counts, axis by axis.
  double full = 1;
  Value varying;
  for (std::size_t i = 0; i < spatial.size(); ++i) {
    const std::vector<double> counts = window_counts(pool, i, spatial[i], with_padding);
    if (counts.empty() || std::equal(counts.begin() + 1, counts.end(), counts.begin())) {
      full *= counts.empty() ? 1 : counts.front();
      continue;
    }
    const Value along = c.e.broadcast(c.e.vector(c.e.dtype(x), counts), dims, {static_cast<std::int64_t>(i) + 2});
    varying = varying.valid() ? c.e.op("mul", {varying, along}) : along;
  }
  if (!varying.valid()) return {c.e.binary("div", sum, full)};
  if (full != 1) varying = c.e.binary("mul", varying, full);
  return {c.e.op("div", {sum, varying})};
}

Value power_root(Call& c, Value x, double p, Value (*sum)(Call&, Value, const Pool*), const Pool* pool) {
  const Value magnitude = c.e.unary("abs", x);
  if (p == 1) return sum(c, magnitude, pool);
  if (p == 2) return c.e.unary("sqrt", sum(c, c.e.op("mul", {x, x}), pool));
  return c.e.binary("pow", sum(c, c.e.binary("pow", magnitude, p), pool), 1 / p);
}

double norm_power(Call& c) { return c.opset < 2 ? c.float_attr("p", 2) : static_cast<double>(c.int_attr("p", 2)); }

Values lp_pool(Call& c) {
  const Pool pool = read_pool(c, spatial_of(c, c.in(0)));
  const auto sum = [](Call& c, Value x, const Pool* pool) { return window_op(c, "reduce_window_sum", x, *pool); };
  return {power_root(c, c.in(0), norm_power(c), sum, &pool)};
}

Ints spatial_axes(Call& c, Value x) {
  const Ints all = count_up(c.e.rank(x));
  spatial_of(c, x);
  return Ints(all.begin() + 2, all.end());
}
Values global_pool(Call& c) { return {c.e.reduce(c.target, c.in(0), spatial_axes(c, c.in(0)), true)}; }
Values global_lp_pool(Call& c) {
  const auto sum = [](Call& c, Value x, const Pool*) { return c.e.reduce("reduce_sum", x, spatial_axes(c, x), true); };
  return {power_root(c, c.in(0), norm_power(c), sum, nullptr)};
}

Values lp_normalization(Call& c) {
  const Value x = c.in(0);
  const std::int64_t axis = c.axis(c.int_attr("axis", -1), c.e.rank(x));
  const std::int64_t p = c.int_attr("p", 2);
  if (p != 1 && p != 2) refuse("attribute 'p' is " + std::to_string(p) + ", not 1 or 2");
  const Value norm = c.e.reduce(p == 1 ? "reduce_l1" : "reduce_l2", x, {axis}, true);
  // Zero vectors stay zero.
  const Value zero = c.e.binary("eq", norm, 0.0);
  const Value safe = c.e.select(zero, c.e.scalar(c.e.dtype(x), 1), norm);
  return {c.e.binary("div", x, safe)};
}

}  // namespace

std::vector<OperatorRow> window_operators() {
  return {
      {"Conv", conv},
      {"ConvTranspose", conv_transpose},
      {"MaxPool", max_pool},
      {"AveragePool", average_pool},
      {"LpPool", lp_pool},
      {"GlobalAveragePool", global_pool, "reduce_mean"},
      {"GlobalMaxPool", global_pool, "reduce_max"},
      {"GlobalLpPool", global_lp_pool},
      {"LpNormalization", lp_normalization},
  };
}

}  // namespace fusewright::frontend_onnx
