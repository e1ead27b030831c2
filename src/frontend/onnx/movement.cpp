#include <algorithm>

#include "src/frontend/onnx/call.hpp"

namespace fusewright::frontend_onnx {

namespace {

using Values = std::vector<Value>;

Values transpose(Call& c) {
  const std::int64_t rank = c.e.rank(c.in(0));
  Ints perm = count_up(rank);
  std::reverse(perm.begin(), perm.end());
  if (const auto given = c.ints_attr("perm")) {
    perm = *given;
    if (static_cast<std::int64_t>(perm.size()) != rank) refuse("attribute 'perm' does not name every axis once");
    for (std::int64_t& axis : perm) axis = c.axis(axis, rank);
    c.axes(perm, rank);
  }
  return {c.e.transpose(c.in(0), perm)};
}

Values reshape(Call& c) {
  const Value x = c.in(0);
  const Ints dims = c.e.dims(x);
  Ints shape = c.opset < 5 ? c.ints_attr("shape").value_or(Ints{}) : c.known_ints(1, "shape");
  const bool zero_is_zero = c.int_attr("allowzero", 0) != 0;
  std::size_t open = shape.size();
  std::int64_t rest = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0 && !zero_is_zero) {
      if (i >= dims.size())
        refuse("the shape copies axis " + std::to_string(i) + " of a tensor of rank " + std::to_string(dims.size()));
      shape[i] = dims[i];
    }
    if (shape[i] < -1) refuse("the shape has the negative extent " + std::to_string(shape[i]));
    if (shape[i] == -1 && open < shape.size()) refuse("the shape leaves two extents open");
    if (shape[i] == -1) open = i;
    if (shape[i] != -1 && __builtin_mul_overflow(rest, shape[i], &rest)) refuse("the shape is too large");
  }
  if (open < shape.size()) {
    const std::int64_t count = product(dims);
    if (rest == 0 || count % rest != 0) {
      refuse("the extent left open does not come out even: " + std::to_string(count) + " elements over " +
             std::to_string(rest));
    }
    shape[open] = count / rest;
  }
  return {c.e.reshape(x, shape)};
}

Values flatten(Call& c) {
  const Ints dims = c.e.dims(c.in(0));
  const auto rank = static_cast<std::int64_t>(dims.size());
  std::int64_t axis = c.int_attr("axis", 1);
  if (axis < -rank || axis > rank) refuse("axis " + std::to_string(axis) + " is out of range");
  if (axis < 0) axis += rank;
  const Ints head(dims.begin(), dims.begin() + axis), tail(dims.begin() + axis, dims.end());
  return {c.e.reshape(c.in(0), {product(head), product(tail)})};
}

Values squeeze(Call& c) {
  const Ints dims = c.e.dims(c.in(0));
  const auto rank = static_cast<std::int64_t>(dims.size());
  const auto given = c.axes_attr_or_input(1, 13);
  Ints kept;
  const Ints axes = given ? c.axes(*given, rank) : Ints{};
  for (std::int64_t i = 0; i < rank; ++i) {
    const bool named = std::binary_search(axes.begin(), axes.end(), i);
    if (named && dims[i] != 1)
      refuse("axis " + std::to_string(i) + " has the extent " + std::to_string(dims[i]) + ", not 1");
    if (named || (!given && dims[i] == 1)) continue;
    kept.push_back(dims[i]);
  }
  return {c.e.reshape(c.in(0), kept)};
}

Values unsqueeze(Call& c) {
  Ints dims = c.e.dims(c.in(0));
  const auto given = c.axes_attr_or_input(1, 13);
  if (!given) refuse("its axes are missing");
  for (const std::int64_t axis : c.axes(*given, static_cast<std::int64_t>(dims.size() + given->size()))) {
    dims.insert(dims.begin() + axis, 1);
  }
  return {c.e.reshape(c.in(0), dims)};
}

Values concat(Call& c) {
  const std::int64_t axis = c.axis(c.opset < 4 ? c.int_attr("axis", 1) : c.int_attr("axis"), c.e.rank(c.in(0)));
  Values parts;
  for (std::size_t i = 0; i < c.input_count(); ++i) parts.push_back(c.in(i));
  return {c.e.concat(parts, axis)};
}

Values split(Call& c) {
  const Value x = c.in(0);
  const std::int64_t axis = c.axis(c.int_attr("axis", 0), c.e.rank(x));
  const std::int64_t extent = c.e.dims(x)[axis];
  Ints sizes;
  if (const auto given = c.ints_attr("split"))
    sizes = *given;
  else if (c.opset >= 13 && c.has(1))
    sizes = c.known_ints(1, "split");
  if (sizes.empty()) {
    const std::int64_t parts = c.int_attr("num_outputs", c.proto.output_size());
    if (parts < 1 || parts != c.proto.output_size())
      refuse("it splits into " + std::to_string(parts) + " parts, but has " + std::to_string(c.proto.output_size()) +
             " outputs");
    const std::int64_t size = (extent + parts - 1) / parts;
    if (c.opset < 18 && extent % parts != 0)
      refuse("an axis of " + std::to_string(extent) + " does not split into " + std::to_string(parts) + " equal parts");
    for (std::int64_t i = 0; i < parts; ++i) sizes.push_back(std::clamp(extent - i * size, std::int64_t{0}, size));
  }
  Values results;
  std::int64_t start = 0;
  for (const std::int64_t size : sizes) {
    if (size < 0 || size > extent - start) refuse("the parts do not fit an axis of " + std::to_string(extent));
    results.push_back(c.e.slice(x, axis, start, start + size));
    start += size;
  }
  if (start != extent)
    refuse("the parts make up " + std::to_string(start) + " of an axis of " + std::to_string(extent));
  return results;
}

Value slice_axis(Call& c, Value x, std::int64_t axis, std::int64_t start, std::int64_t end, std::int64_t step) {
  const std::int64_t extent = c.e.dims(x)[axis];
  if (step == 0) refuse("a step is 0");
  const auto from_end = [&](std::int64_t i) { return i < 0 ? std::max(i, -extent - 1) + extent : i; };
  if (step > 0) {
    start = std::clamp(from_end(start), std::int64_t{0}, extent);
    end = std::clamp(from_end(end), start, extent);
    return c.e.slice(x, axis, start, std::max(start, end), std::min(step, std::max(extent, std::int64_t{1})));
  }
  // Backwards: the same elements counted from the other end, after a reversal.
  start = std::clamp(from_end(start), std::int64_t{-1}, extent - 1);
  end = std::clamp(from_end(end), std::int64_t{-1}, extent - 1);
  const std::int64_t first = extent - 1 - start;
  const std::int64_t limit = std::max(first, extent - 1 - end);
  const Value reversed = c.e.op("reverse", {x}, {{"axes", Ints{axis}}});
  return c.e.slice(reversed, axis, first, limit,
                   std::min(step < -extent ? extent : -step, std::max(extent, std::int64_t{1})));
}

Values slice(Call& c) {
  Value x = c.in(0);
  const std::int64_t rank = c.e.rank(x);
  Ints starts, ends, axes, steps;
  if (c.opset < 10) {
    starts = c.ints_attr("starts").value_or(Ints{});
    ends = c.ints_attr("ends").value_or(Ints{});
    axes = c.ints_attr("axes").value_or(count_up(static_cast<std::int64_t>(starts.size())));
    steps.assign(starts.size(), 1);
  } else {
    starts = c.known_ints(1, "starts");
    ends = c.known_ints(2, "ends");
    axes = c.has(3) ? c.known_ints(3, "axes") : count_up(static_cast<std::int64_t>(starts.size()));
    steps = c.has(4) ? c.known_ints(4, "steps") : Ints(starts.size(), 1);
  }
  if (starts.size() != ends.size() || axes.size() != starts.size() || steps.size() != starts.size()) {
    refuse("its starts, ends, axes and steps are of different length");
  }
  c.axes(axes, rank);
  // All forward axes in one slice; the few that run backwards one after the other.
  Ints low(static_cast<std::size_t>(rank), 0), high = c.e.dims(x), stride(static_cast<std::size_t>(rank), 1);
  const Ints dims = high;
  bool forward = false;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t axis = c.axis(axes[i], rank);
    if (steps[i] <= 0) {
      x = slice_axis(c, x, axis, starts[i], ends[i], steps[i]);
      high[axis] = c.e.dims(x)[axis];
      continue;
    }
    const std::int64_t extent = dims[axis];
    const auto clamp = [&](std::int64_t v) {
      return std::clamp(v < 0 ? std::max(v, -extent) + extent : v, std::int64_t{0}, extent);
    };
    low[axis] = clamp(starts[i]);
    high[axis] = std::max(low[axis], clamp(ends[i]));
    stride[axis] = std::min(steps[i], std::max(extent, std::int64_t{1}));
    forward = forward || low[axis] != 0 || high[axis] != extent || stride[axis] != 1;
  }
  if (!forward) return {x};
  return {c.e.op("slice", {x}, {{"starts", low}, {"limits", high}, {"strides", stride}})};
}

Values expand(Call& c) {
  const Ints shape = c.known_ints(1, "shape");
  for (const std::int64_t extent : shape) {
    if (extent < 0) refuse("the shape has the negative extent " + std::to_string(extent));
  }
  return {c.e.align(c.in(0), broadcast_dims(c.e.dims(c.in(0)), shape))};
}

Values tile(Call& c) {
  const Value x = c.in(0);
  const Ints dims = c.e.dims(x);
  const auto rank = static_cast<std::int64_t>(dims.size());
  Ints repeats;
  if (c.opset < 6) {
    repeats.assign(dims.size(), 1);
    repeats[c.axis(c.known_int(2, "axis"), rank)] = c.known_int(1, "tiles");
  } else {
    repeats = c.known_ints(1, "repeats");
  }
  if (repeats.size() != dims.size()) refuse("its repeats do not name every axis once");
  Ints wide, axes, result;
  for (std::int64_t i = 0; i < rank; ++i) {
    if (repeats[i] < 0) refuse("a repeat is negative");
    if (repeats[i] != 1) wide.push_back(repeats[i]);
    axes.push_back(static_cast<std::int64_t>(wide.size()));
    wide.push_back(dims[i]);
    std::int64_t extent = 0;
    if (__builtin_mul_overflow(dims[i], repeats[i], &extent)) refuse("the result is too large");
    result.push_back(extent);
  }
  return {c.e.reshape(c.e.broadcast(x, wide, axes), result)};
}

// Indices into an axis of `extent` that is padded by mirroring, repeating its ends, or going round.
Ints padded_indices(const std::string& mode, std::int64_t extent, std::int64_t low, std::int64_t high) {
  if (extent == 0) refuse("an axis without elements cannot be padded with mode '" + mode + "'");
  Ints indices;
  for (std::int64_t i = -low; i < extent + high; ++i) {
    std::int64_t at = i;
    if (mode == "edge") {
      at = std::clamp(i, std::int64_t{0}, extent - 1);
    } else if (mode == "wrap") {
      at = ((i % extent) + extent) % extent;
    } else {
      const std::int64_t period = std::max<std::int64_t>(1, 2 * (extent - 1));
      at = ((i % period) + period) % period;
      at = std::min(at, period - at);
      if (extent == 1) at = 0;
    }
    indices.push_back(at);
  }
  return indices;
}

Values pad(Call& c) {
  Value x = c.in(0);
  const std::int64_t rank = c.e.rank(x);
  const std::string mode = c.string_attr("mode", "constant");
  Ints pads = c.opset < 11 ? c.ints_attr(c.opset < 2 ? "paddings" : "pads").value_or(Ints{}) : c.known_ints(1, "pads");
  Ints axes = count_up(rank);
  if (c.opset >= 18 && c.has(3)) {
    axes = c.known_ints(3, "axes");
    c.axes(axes, rank);
  }
  if (pads.size() != 2 * axes.size()) refuse("its pads do not name both ends of every axis");
  constexpr std::int64_t kLargest = std::int64_t{1} << 40;
  Ints low(static_cast<std::size_t>(rank), 0), high = low;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    for (const std::int64_t pad : {pads[i], pads[i + axes.size()]})
      if (pad < -kLargest || pad > kLargest) refuse("its pads are too large");
    low[c.axis(axes[i], rank)] = pads[i];
    high[c.axis(axes[i], rank)] = pads[i + axes.size()];
  }
  if (mode == "constant") {
    Value value = c.opset < 11 ? c.e.scalar(c.e.dtype(x), c.float_attr("value", 0)) : c.in_or(2, {});
    if (!value.valid()) value = c.e.scalar(c.e.dtype(x), 0);
    return {c.e.op("pad", {x, c.e.reshape(value, {})},
                   {{"low", low}, {"high", high}, {"interior", Ints(static_cast<std::size_t>(rank), 0)}})};
  }
  if (mode != "reflect" && mode != "edge" && mode != "wrap") refuse("mode '" + mode + "' is unknown");
  const Ints dims = c.e.dims(x);
  constexpr std::int64_t kLongest = std::int64_t{1} << 24;  // of an index list
  for (std::int64_t axis = 0; axis < rank; ++axis) {
    if (low[axis] == 0 && high[axis] == 0) continue;
    if (dims[axis] + low[axis] + high[axis] > kLongest)
      unsupported("pads of mode '" + mode + "' beyond 2^24 elements are not supported");
    x = c.e.take(x, padded_indices(mode, dims[axis], low[axis], high[axis]), axis);
  }
  return {x};
}

Values depth_to_space(Call& c) {
  const Value x = c.in(0);
  const Ints d = c.e.dims(x);
  const std::int64_t b = c.int_attr("blocksize");
  if (d.size() != 4 || b < 1 || b > 65536 || d[1] % (b * b) != 0)
    refuse("its block size does not fit " + ops::to_string(c.e.type(x)));
  const std::int64_t depth = d[1] / (b * b);
  if (c.string_attr("mode", "DCR") == "DCR") {
    const Value wide = c.e.reshape(x, {d[0], b, b, depth, d[2], d[3]});
    return {c.e.reshape(c.e.transpose(wide, {0, 3, 4, 1, 5, 2}), {d[0], depth, d[2] * b, d[3] * b})};
  }
  const Value wide = c.e.reshape(x, {d[0], depth, b, b, d[2], d[3]});
  return {c.e.reshape(c.e.transpose(wide, {0, 1, 4, 2, 5, 3}), {d[0], depth, d[2] * b, d[3] * b})};
}

Values space_to_depth(Call& c) {
  const Value x = c.in(0);
  const Ints d = c.e.dims(x);
  const std::int64_t b = c.int_attr("blocksize");
  if (d.size() != 4 || b < 1 || d[2] % b != 0 || d[3] % b != 0)
    refuse("its block size does not fit " + ops::to_string(c.e.type(x)));
  const Value wide = c.e.reshape(x, {d[0], d[1], d[2] / b, b, d[3] / b, b});
  return {c.e.reshape(c.e.transpose(wide, {0, 3, 5, 1, 2, 4}), {d[0], d[1] * b * b, d[2] / b, d[3] / b})};
}

// Crops around the middle what is too long, and pads with zeros what is too short.
Values center_crop_pad(Call& c) {
  const Value x = c.in(0);
  const Ints dims = c.e.dims(x);
  const Ints shape = c.known_ints(1, "shape");
  Ints axes = c.ints_attr("axes").value_or(count_up(static_cast<std::int64_t>(dims.size())));
  c.axes(axes, static_cast<std::int64_t>(dims.size()));
  if (axes.size() != shape.size()) refuse("its shape does not name every axis once");
  Ints low(dims.size(), 0), high(dims.size(), 0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t axis = c.axis(axes[i], static_cast<std::int64_t>(dims.size()));
    if (shape[i] < 0 || shape[i] > (std::int64_t{1} << 40))
      refuse("the shape has the extent " + std::to_string(shape[i]));
    const std::int64_t more = shape[i] - dims[axis];
    low[axis] = more < 0 ? -(-more / 2) : more / 2;
    high[axis] = more - low[axis];
  }
  return {c.e.op("pad", {x, c.e.scalar(c.e.dtype(x), 0)},
                 {{"low", low}, {"high", high}, {"interior", Ints(dims.size(), 0)}})};
}

}  // namespace

std::vector<OperatorRow> movement_operators() {
  return {
      {"Transpose", transpose},
      {"Reshape", reshape},
      {"Flatten", flatten},
      {"Squeeze", squeeze},
      {"Unsqueeze", unsqueeze},
      {"Concat", concat},
      {"Split", split},
      {"Slice", slice},
      {"Expand", expand},
      {"Tile", tile},
      {"Pad", pad},
      {"DepthToSpace", depth_to_space},
      {"SpaceToDepth", space_to_depth},
      {"CenterCropPad", center_crop_pad},
  };
}

}  // namespace fusewright::frontend_onnx
