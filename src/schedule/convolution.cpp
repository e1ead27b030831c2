#include <algorithm>

#include "contraction_maps.hpp"
#include "fusewright/schedule/window.hpp"

namespace fusewright::schedule {

using region::IndexExpr;
using region::IndexMap;
using region::RegionValue;
using region::ValueId;

namespace {

using Ints = std::vector<std::int64_t>;

std::int64_t at(const Ints& dims, std::int64_t axis) { return dims[static_cast<std::size_t>(axis)]; }
std::int64_t positive(std::int64_t n) { return std::max<std::int64_t>(1, n); }

/// Axis numbers and window of a convolution.
struct Window {
  Ints lhs, rhs,
      out;  // [batch, feature, spatial...], [out_feature, in_feature, spatial...], [batch, feature, spatial...]
  Ints strides, low, lhs_dilation, rhs_dilation, reversal;
  std::int64_t groups = 1, batch_groups = 1;

  explicit Window(const RegionValue& v)
      : lhs(v.attrs.get<Ints>("lhs_spec")),
        rhs(v.attrs.get<Ints>("rhs_spec")),
        out(v.attrs.get<Ints>("out_spec")),
        groups(v.attrs.get_or<std::int64_t>("groups", 1)),
        batch_groups(v.attrs.get_or<std::int64_t>("batch_groups", 1)) {
    const std::size_t spatial = lhs.size() - 2;
    strides = v.attrs.get_or<Ints>("strides", Ints(spatial, 1));
    low = v.attrs.get_or<Ints>("pad_low", Ints(spatial, 0));
    lhs_dilation = v.attrs.get_or<Ints>("lhs_dilation", Ints(spatial, 1));
    rhs_dilation = v.attrs.get_or<Ints>("rhs_dilation", Ints(spatial, 1));
    reversal = v.attrs.get_or<Ints>("reversal", Ints(spatial, 0));
  }
  std::size_t spatial() const { return lhs.size() - 2; }
  static Ints tail(const Ints& spec) { return {spec.begin() + 2, spec.end()}; }
};

/// Writes the index maps of one convolution.
class ConvMaps {
 public:
  ConvMaps(const Region& region, ValueId id, Target::Family family)
      : v_(region[id]),
        w_(v_),
        input_(region[v_.operands[0]].dims),
        weights_(region[v_.operands[1]].dims),
        kernel_axes_(Window::tail(w_.rhs)),
        out_axes_(Window::tail(w_.out)) {
    c_.result = id;
    geometry(family);
    Convolution& g = *c_.conv;
    taps_ = product(kernel_axes_, weights_);
    positions_ = product(out_axes_, v_.dims);
    c_.k = g.channels * taps_;
    c_.batch = (g.multiplier > 0 ? 1 : g.groups) * (g.planar ? g.images : 1);
    const std::int64_t pixels = positions_ * (g.planar ? 1 : g.images);
    const std::int64_t features = features_ * (g.multiplier > 0 ? g.groups : 1);
    c_.left = g.planar ? g.weights : g.image;
    c_.right = g.planar ? g.image : g.weights;
    c_.m = g.planar ? features : pixels;
    c_.n = g.planar ? pixels : features;
  }

  Contraction run() {
    const Convolution& g = *c_.conv;
    c_.left_map = map_over({c_.batch, c_.m, c_.k}, (g.planar ? weights_ : input_).size());
    c_.right_map = map_over({c_.batch, c_.k, c_.n}, (g.planar ? input_ : weights_).size());
    weight_map(g.planar ? c_.left_map : c_.right_map, region::index_dim(g.planar ? 1 : 2),
               region::index_dim(g.planar ? 2 : 1));
    if (g.multiplier == 0)
      input_map(g.planar ? c_.right_map : c_.left_map, region::index_dim(g.planar ? 2 : 1),
                region::index_dim(g.planar ? 1 : 2));
    result_map();
    return std::move(c_);
  }

 private:
  void geometry(Target::Family family) {
    Convolution& g = c_.conv.emplace();
    g.groups = w_.groups * w_.batch_groups;
    g.batch_grouped = w_.batch_groups > 1;
    g.images = at(v_.dims, w_.out[0]);
    g.channels = at(weights_, w_.rhs[1]);
    g.image = v_.operands[0];
    g.weights = v_.operands[1];
    features_ = at(weights_, w_.rhs[0]) / positive(g.groups);
    const std::size_t spatial = w_.spatial();
    for (std::size_t s = 0; s < spatial; ++s)
      if (spatial <= 3)
        g.axes[3 - spatial + s] = {at(v_.dims, w_.out[s + 2]),  at(input_, w_.lhs[s + 2]),
                                   at(weights_, w_.rhs[s + 2]), w_.strides[s],
                                   w_.rhs_dilation[s],          w_.low[s],
                                   w_.lhs_dilation[s],          w_.reversal[s] != 0};
    // What lies contiguous in the result is n, and what lies contiguous in the input is innermost in k.
    const auto inner = [](const Ints& spec) {
      return std::any_of(spec.begin() + 2, spec.end(), [&](std::int64_t axis) { return axis > spec[1]; });
    };
    g.planar = product(out_axes_, v_.dims) > 1 && inner(w_.out);
    g.channels_inner = !inner(w_.lhs);
    const bool each_alone = g.channels == 1 && w_.groups > 1 && !g.batch_grouped;
    if (family == Target::Family::kCpu && each_alone && !g.planar) g.multiplier = features_;
    g.image_map = map_over({at(input_, w_.lhs[0]), at(input_, w_.lhs[1]), g.axes[0].in, g.axes[1].in, g.axes[2].in},
                           input_.size());
    for (std::size_t a = 0; a < w_.lhs.size(); ++a)
      if (spatial <= 3)
        g.image_map.results[static_cast<std::size_t>(w_.lhs[a])] =
            simplify(region::index_dim(static_cast<std::int64_t>(a < 2 ? a : a + 3 - spatial)), g.image_map);
  }

  IndexExpr group_of(const IndexMap& map) const {
    const Convolution& g = *c_.conv;
    return simplify(g.planar ? floor_div(region::index_dim(0), positive(g.images)) : region::index_dim(0), map);
  }
  IndexExpr image_of(const IndexMap& map, const IndexExpr& pixel) const {
    const Convolution& g = *c_.conv;
    return simplify(
        g.planar ? floor_mod(region::index_dim(0), positive(g.images)) : floor_div(pixel, positive(positions_)), map);
  }
  IndexExpr position_of(const IndexMap& map, const IndexExpr& pixel) const {
    return simplify(c_.conv->planar ? pixel : floor_mod(pixel, positive(positions_)), map);
  }
  IndexExpr channel_of(const IndexMap& map, const IndexExpr& k) const {
    const Convolution& g = *c_.conv;
    return simplify(g.channels_inner ? floor_mod(k, positive(g.channels)) : floor_div(k, positive(taps_)), map);
  }
  IndexExpr tap_of(const IndexMap& map, const IndexExpr& k) const {
    const Convolution& g = *c_.conv;
    return simplify(g.channels_inner ? floor_div(k, positive(g.channels)) : floor_mod(k, positive(taps_)), map);
  }

  // A position on each of some axes, taken apart from its number.
  static std::vector<IndexExpr> apart(const IndexMap& map, const IndexExpr& number, const Ints& axes,
                                      const Ints& dims) {
    std::vector<IndexExpr> out(axes.size());
    IndexExpr rest = number;
    for (std::size_t s = axes.size(); s-- > 0;) {
      const std::int64_t extent = positive(at(dims, axes[s]));
      out[s] = simplify(s == 0 ? rest : floor_mod(rest, extent), map);
      rest = simplify(floor_div(rest, extent), map);
    }
    return out;
  }

  void weight_map(IndexMap& map, const IndexExpr& feature, const IndexExpr& k) const {
    map.results[static_cast<std::size_t>(w_.rhs[0])] = simplify(group_of(map) * features_ + feature, map);
    map.results[static_cast<std::size_t>(w_.rhs[1])] = channel_of(map, k);
    const std::vector<IndexExpr> tap = apart(map, tap_of(map, k), kernel_axes_, weights_);
    for (std::size_t s = 0; s < tap.size(); ++s) map.results[static_cast<std::size_t>(kernel_axes_[s])] = tap[s];
  }

  // Which element of the input a result element meets at a tap; outside of the input it meets zero.
  void input_map(IndexMap& map, const IndexExpr& pixel, const IndexExpr& k) const {
    const Convolution& g = *c_.conv;
    // feature groups split the input's features, batch groups its images
    const IndexExpr zero = region::index_constant(0), group = group_of(map);
    map.results[static_cast<std::size_t>(w_.lhs[1])] =
        simplify((g.batch_grouped ? zero : group) * g.channels + channel_of(map, k), map);
    map.results[static_cast<std::size_t>(w_.lhs[0])] =
        simplify((g.batch_grouped ? group : zero) * g.images + image_of(map, pixel), map);
    const std::vector<IndexExpr> place = apart(map, position_of(map, pixel), out_axes_, v_.dims);
    const std::vector<IndexExpr> tap = apart(map, tap_of(map, k), kernel_axes_, weights_);
    for (std::size_t s = 0; s < tap.size(); ++s) {
      const std::int64_t last = at(weights_, kernel_axes_[s]) - 1, axis = w_.lhs[s + 2];
      const IndexExpr t = w_.reversal[s] != 0 ? tap[s] * -1 + region::index_constant(last) : tap[s];
      map.results[static_cast<std::size_t>(axis)] = window_position(map, place[s], t, w_.strides[s], w_.rhs_dilation[s],
                                                                    w_.low[s], w_.lhs_dilation[s], at(input_, axis));
    }
  }

  void result_map() {
    const Convolution& g = *c_.conv;
    c_.result_map = map_over({c_.batch, c_.m, c_.n}, v_.dims.size());
    const IndexExpr feature = region::index_dim(g.planar ? 1 : 2), pixel = region::index_dim(g.planar ? 2 : 1);
    c_.result_map.results[static_cast<std::size_t>(w_.out[1])] =
        simplify(group_of(c_.result_map) * features_ + feature, c_.result_map);
    c_.result_map.results[static_cast<std::size_t>(w_.out[0])] = image_of(c_.result_map, pixel);
    spread(c_.result_map, position_of(c_.result_map, pixel), out_axes_, v_.dims);
  }

  const RegionValue& v_;
  const Window w_;
  const Ints& input_;
  const Ints& weights_;
  const Ints kernel_axes_, out_axes_;
  std::int64_t features_ = 1, taps_ = 1, positions_ = 1;  // features of one group
  Contraction c_;
};

std::int64_t pieces(std::int64_t extent, std::int64_t size) { return (extent + size - 1) / positive(size); }

}  // namespace

Contraction of_conv(const Region& region, ValueId id, Target::Family family) {
  return ConvMaps(region, id, family).run();
}

Patch::Patch(const Convolution& conv, std::int64_t channels, std::int64_t height, std::int64_t width) {
  const ConvAxis &d = conv.axes[0], &h = conv.axes[1], &w = conv.axes[2];
  if (conv.planar) {
    height_phases = std::min(h.stride, h.span());
    width_phases = std::min(w.stride, w.span());
    rows = height + (h.span() - 1) / h.stride;
    columns = width + (w.span() - 1) / w.stride;
    plane = rows * columns;
    depth = height_phases * width_phases * plane;
    channel = d.taps * depth;
    elements = channels * channel;
    reach = (height - 1) * columns + width;
  } else {
    rows = (height - 1) * h.stride + h.span();
    columns = (width - 1) * w.stride + w.span();
    plane = rows * columns;
    depth = plane * channels;
    channel = 1;
    elements = d.taps * depth;
  }
}

void cut_positions(CpuTiles& tiles, const Contraction& c, std::int64_t element_bytes, const Target& target) {
  const Convolution& g = *c.conv;
  const std::int64_t high = g.axes[1].out, wide = g.axes[2].out;
  const std::int64_t channels = g.multiplier > 0 ? c.n / g.multiplier : g.channels;
  const std::int64_t others = g.images * g.axes[0].out * (g.multiplier > 0 ? 1 : g.groups);
  const std::int64_t enough = 4 * target.cores;
  constexpr std::int64_t kLeast = 64;  // positions worth a task of their own
  tiles.height = high;
  tiles.width = wide;
  for (std::int64_t n = 1;; ++n) {
    // rows first; one row is cut where that is not enough
    const std::int64_t cut = n - (n < high ? 0 : high - 1);
    tiles.height = n < high ? pieces(high, n) : 1;
    tiles.width = n < high ? wide : pieces(wide, cut);
    const Patch patch(g, channels, tiles.height, tiles.width);
    const std::int64_t tasks = others * pieces(high, tiles.height) * pieces(wide, tiles.width);
    const bool fits = patch.elements * element_bytes <= target.l2_bytes / 2;
    const bool small = tiles.height * tiles.width <= kLeast;
    if ((fits && tasks >= enough) || small) break;
  }
}

}  // namespace fusewright::schedule
