#pragma once

#include <array>
#include <cstdint>
#include <expected>
#include <optional>
#include <vector>

#include "fusewright/region/access.hpp"
#include "fusewright/schedule/schedule.hpp"

namespace fusewright::schedule {

/// One spatial axis of a convolution. In the input spread out by `base` and padded by `low`, result position o meets at
/// tap t the place o * stride + t * dilation.
struct ConvAxis {
  std::int64_t out = 1, in = 1, taps = 1;
  std::int64_t stride = 1, dilation = 1, low = 0, base = 1;
  bool reversed = false;

  std::int64_t span() const { return (taps - 1) * dilation + 1; }  ///< places that one result position reaches over
  /// Every place that is met holds an element of the input.
  bool inside() const { return base == 1 && low <= 0 && (out - 1) * stride + span() - low <= in; }
};

/// What a kernel needs to know of a convolution beyond its index maps.
struct Convolution {
  std::array<ConvAxis, 3> axes;  ///< depth, height, width; extents of 1 where there are fewer
  std::int64_t groups = 1;       ///< feature groups times batch groups
  std::int64_t images = 1;       ///< of one batch group
  std::int64_t channels = 1;     ///< of one group
  bool batch_grouped = false;
  bool planar = false;         ///< result positions are n; else features are n, and images and positions are m
  bool channels_inner = true;  ///< k counts (taps, channels), else (channels, taps)
  /// Lanes over groups of one channel each: n counts the features of all groups, and feature f meets channel
  /// f / multiplier. 0 elsewhere.
  std::int64_t multiplier = 0;
  region::ValueId image, weights;
  region::IndexMap image_map;  ///< (image, channel, depth, height, width) to an element of the image

  std::int64_t positions() const { return axes[0].out * axes[1].out * axes[2].out; }
};

/// A dot or a convolution as a batch of matrix products: result(b, m, n) = sum over k of left(b, m, k) * right(b, k,
/// n), where n is the extent along which the result is contiguous. Convolutions read their input through a map with
/// constraints (padding). With lanes over groups the image also depends on n, and has no map here.
struct Contraction {
  region::ValueId result;
  region::ValueId left, right;  ///< operands of the operator; for NCHW convolutions left is the weights
  std::int64_t batch = 1, m = 1, n = 1, k = 1;
  region::IndexMap left_map;                ///< (b, m, k) to an element of `left`
  region::IndexMap right_map;               ///< (b, k, n) to an element of `right`
  region::IndexMap result_map;              ///< (b, m, n) to an element of `result`
  std::vector<region::AccessRoot> outputs;  ///< each output at (b, m, n)
  std::optional<Convolution> conv;
};

/// Errors: no such operator or several, or something in the region that cannot be computed with it.
std::expected<Contraction, Refusal> analyse_contraction(const Region& region, Target::Family family);

/// How the CPU cuts a contraction: register tiles of rows x columns; a task takes `together` tiles of columns (and,
/// where positions are rows or columns, a piece of `height` x `width` of them: all of the width, or one row) and all
/// rows, or one of `splits` shares of them.
struct CpuTiles {
  std::int64_t rows = 1, columns = 1, together = 1, splits = 1;
  std::int64_t height = 0, width = 0;

  explicit CpuTiles(const std::vector<std::int64_t>& tile)
      : rows(tile[0]), columns(tile[1]), together(tile[2]), splits(tile[3]), height(tile[4]), width(tile[5]) {}
  CpuTiles() = default;
  std::vector<std::int64_t> list() const { return {rows, columns, together, splits, height, width}; }
};

/// A piece of a convolution's input as a task lays it out for itself: padded, spread, and (planar) with the places that
/// strides step over in planes of their own, so that neighbouring results meet neighbouring elements at every tap.
/// Planar: [channel][depth tap][height phase][width phase][row][column], else [depth tap][row][column][channel].
struct Patch {
  std::int64_t height_phases = 1, width_phases = 1;
  std::int64_t rows = 1, columns = 1;
  std::int64_t plane = 1, depth = 1, channel = 1;  ///< elements from one to the next
  std::int64_t elements = 1;
  std::int64_t reach = 0;  ///< planar: columns that a piece is computed in, those between its rows included

  Patch(const Convolution& conv, std::int64_t channels, std::int64_t height, std::int64_t width);
};

}  // namespace fusewright::schedule
