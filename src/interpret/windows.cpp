#include "src/interpret/windows.hpp"

namespace fusewright::interpret {

std::vector<std::vector<Tap>> window_taps(const WindowAxis& axis) {
  std::vector<std::vector<Tap>> taps(static_cast<std::size_t>(axis.output));
  for (std::int64_t output = 0; output < axis.output; ++output) {
    // Places in the dilated input, of which only every base_dilation-th holds an element, start at `first`.
    const std::int64_t first = output * axis.stride - axis.pad_low;
    std::int64_t tap = first >= 0 ? 0 : (-first + axis.window_dilation - 1) / axis.window_dilation;
    for (; tap < axis.window; ++tap) {
      const std::int64_t place = first + tap * axis.window_dilation;
      if (place / axis.base_dilation >= axis.input) break;
      if (place % axis.base_dilation == 0)
        taps[static_cast<std::size_t>(output)].push_back({place / axis.base_dilation, tap});
    }
  }
  return taps;
}

WindowOffsets::WindowOffsets(std::span<const WindowAxis> axes, std::span<const std::int64_t> input_dims)
    : strides_(strides_of(input_dims)) {
  for (const WindowAxis& axis : axes) taps_.push_back(window_taps(axis));
}

std::vector<std::int64_t> WindowOffsets::at(std::span<const std::int64_t> output_index) const {
  std::vector<std::int64_t> offsets = {0};
  for (std::size_t axis = 0; axis < taps_.size(); ++axis) {
    const std::vector<Tap>& taps = taps_[axis][static_cast<std::size_t>(output_index[axis])];
    std::vector<std::int64_t> longer;
    longer.reserve(offsets.size() * taps.size());
    for (const std::int64_t offset : offsets)
      for (const Tap& tap : taps) longer.push_back(offset + tap.input * strides_[axis]);
    offsets = std::move(longer);
  }
  return offsets;
}

std::vector<WindowAxis> window_axes(const NodeCall& call) {
  const Dims out_dims = call.dims();
  std::vector<WindowAxis> axes;
  for (std::size_t i = 0; i < out_dims.size(); ++i)
    axes.push_back({.input = call.operand(0).dims[i],
                    .output = out_dims[i],
                    .window = call.ints("window")[i],
                    .stride = call.ints("strides")[i],
                    .pad_low = call.ints("pad_low")[i],
                    .base_dilation = call.ints("base_dilation")[i],
                    .window_dilation = call.ints("window_dilation")[i]});
  return axes;
}

}  // namespace fusewright::interpret
