#pragma once

#include "src/interpret/node.hpp"

namespace fusewright::interpret {

/// One window axis: the input indices that each output index covers, and which tap of the window each of them meets.
struct Tap {
  std::int64_t input;
  std::int64_t tap;
};
struct WindowAxis {
  std::int64_t input, output, window;  ///< extents
  std::int64_t stride = 1, pad_low = 0, base_dilation = 1, window_dilation = 1;
};
std::vector<std::vector<Tap>> window_taps(const WindowAxis& axis);

/// Input offsets of the window of one result of reduce_window.
class WindowOffsets {
 public:
  WindowOffsets(std::span<const WindowAxis> axes, std::span<const std::int64_t> input_dims);
  std::vector<std::int64_t> at(std::span<const std::int64_t> output_index) const;

 private:
  std::vector<std::vector<std::vector<Tap>>> taps_;  // by axis, by output index
  Dims strides_;
};

/// The axes of a reduce_window node.
std::vector<WindowAxis> window_axes(const NodeCall& call);

}  // namespace fusewright::interpret
