#include <algorithm>
#include <numeric>
#include <set>

#include "contraction.hpp"

namespace fusewright::kernel {

using region::RegionValue;
using region::ValueId;
using schedule::Contraction;
using schedule::ConvAxis;
using schedule::Convolution;
using schedule::Patch;

namespace {

std::int64_t pieces(std::int64_t extent, std::int64_t size) { return (extent + size - 1) / size; }

/// A convolution without im2col: tasks take a piece of the positions, lay out the part of the image that it meets
/// (padded, spread out, strides undone), and multiply straight from there. Planar: positions are the vectors, and rows
/// of the piece run into each other, so that a tile may begin and end anywhere. Else pixels are rows of the tile and
/// features the vectors.
class CpuConv final : public CpuContraction {
 public:
  CpuConv(const LowerInput& in, Contraction c)
      : CpuContraction(in, std::move(c)),
        g_(*c_.conv),
        channels_(g_.multiplier > 0 ? c_.n / g_.multiplier : g_.channels),
        patch_(g_, channels_, tiles_.height, tiles_.width) {
    const std::int64_t taps = g_.axes[0].taps * g_.axes[1].taps * g_.axes[2].taps;
    k_extents_ = g_.channels_inner ? std::vector{taps, g_.channels} : std::vector{g_.channels, taps};
    Operand& weights = g_.planar ? left_ : right_;
    weights.entries = g_.multiplier > 0 ? 1 : g_.groups;
    weights.stride = g_.planar ? g_.images : 1;
    image().from = Operand::From::kImage;
    find_sections();
    cut();
    if (g_.planar && !known_at_load(weights.value) && lies_well(weights, 2))
      weights.from = Operand::From::kMemory;
    else
      place(weights, "weights", g_.planar ? 1 : tiles_.together);
    in_place_ = !g_.planar && reads_in_place();
    if (in_place_)
      image().buffer = buffers_.captures[region_[g_.image].capture];
    else
      image().buffer = b_.buffer("patch", acc_, filled() + tiles_.columns, Space::kLocal);
    tile_ = b_.buffer("tile", acc_, tiles_.rows * tiles_.columns, Space::kLocal);
    if (taps > 1 && !in_a_row()) offsets_ = b_.buffer("offsets", DType::kS64, taps, Space::kLocal);
    sums_ = stored_ = b_.buffer("sums", acc_, tiles_.rows * pitch_ + lanes_, Space::kLocal);
    if (apart()) {
      stored_pitch_ = tiles_.height * tiles_.width + lanes_;
      stored_ = b_.buffer("stored", acc_, tiles_.rows * stored_pitch_, Space::kLocal);
    }
  }

 private:
  /// Where in the image a task is.
  struct Place {
    ExprId image, channel;      // of the whole tensor
    ExprId depth, row, column;  // first result position
  };

  /// Channels of the image that come from one place.
  struct Section {
    std::int64_t first = 0, channels = 1;
    region::IndexMap map;  ///< as Convolution::image_map, channels counted from the section's first
  };

  Operand& image() { return g_.planar ? right_ : left_; }
  // Rows of a piece have columns between them that are not stored.
  bool apart() const { return g_.planar && patch_.columns != tiles_.width && tiles_.height > 1; }
  std::int64_t filled() const { return pieces(patch_.elements, lanes_) * lanes_; }
  std::int64_t pieces_high() const { return pieces(g_.axes[1].out, tiles_.height); }
  std::int64_t pieces_wide() const { return pieces(g_.axes[2].out, tiles_.width); }

  void cut() {
    const std::int64_t high = g_.axes[1].out - (pieces_high() - 1) * tiles_.height,
                       wide = g_.axes[2].out - (pieces_wide() - 1) * tiles_.width;
    const std::int64_t whole = tiles_.height * tiles_.width, last = high * wide;
    if (g_.planar) {
      blocks_ = tiles_.splits;
      share_ = pieces(left_.panels(), tiles_.splits);
      panels_ = pieces(patch_.reach, tiles_.columns);
      least_columns_ = last;
      columns_multiple_ = std::gcd(std::gcd(whole, last), std::gcd(high * tiles_.width, wide * tiles_.height));
    } else {
      blocks_ = pieces(right_.panels(), tiles_.together);
      panels_ = tiles_.together;
      const std::int64_t most = panels_ * tiles_.columns;
      least_columns_ = c_.n - (blocks_ - 1) * most;
      columns_multiple_ = blocks_ == 1 ? c_.n : std::gcd(most, least_columns_);
    }
    pitch_ = stored_pitch_ = panels_ * tiles_.columns;
  }

  std::int64_t tasks() const override {
    return g_.images * (g_.multiplier > 0 ? 1 : g_.groups) * g_.axes[0].out * pieces_high() * pieces_wide() * blocks_;
  }

  Block enter(ExprId task) override {
    ExprId rest = task;
    const auto next = [&](const char* name, std::int64_t extent) {
      const ExprId at = b_.let(name, b_.mod(rest, extent));
      rest = b_.floor_div(rest, extent);
      return at;
    };
    const ExprId part = next("part", blocks_);
    Place place;
    place.column = b_.let("column", b_.mul(next("piece", pieces_wide()), tiles_.width));
    place.row = b_.let("row", b_.mul(next("piece", pieces_high()), tiles_.height));
    place.depth = next("depth", g_.axes[0].out);
    const ExprId image = next("image", g_.images), group = b_.let("group", rest);
    place.image = g_.batch_grouped ? b_.add(b_.mul(group, g_.images), image) : image;
    place.channel = g_.batch_grouped || g_.multiplier > 0 ? b_.index(0) : b_.mul(group, g_.channels);
    place_ = place;

    const ConvAxis &h = g_.axes[1], &w = g_.axes[2];
    const auto within = [&](ExprId at, std::int64_t size, std::int64_t extent) {
      return extent % size == 0 ? b_.index(size) : b_.min(b_.index(size), b_.sub(b_.index(extent), at));
    };
    const ExprId first = b_.add(b_.mul(b_.add(b_.mul(place.depth, h.out), place.row), w.out), place.column);
    const ExprId rows = within(place.row, tiles_.height, h.out), columns = within(place.column, tiles_.width, w.out);
    const ExprId count = b_.let("count", b_.mul(rows, columns));
    Block block;
    block.entry = group;
    if (g_.planar) {
      const std::int64_t all = left_.panels();
      block.batch = b_.let("batch", b_.add(b_.mul(group, g_.images), image));
      block.row_panel0 = b_.let("first_rows", b_.mul(part, share_));
      const ExprId left = b_.min(b_.index(share_), b_.sub(b_.index(all), block.row_panel0));
      block.row_panels = b_.let("row_panels", b_.op(ScalarOp::kMax, DType::kS64, {b_.index(0), left}));
      block.m0 = b_.let("m0", b_.mul(block.row_panel0, tiles_.rows));
      block.rows = b_.let("rows", b_.sub(b_.index(c_.m), block.m0));
      block.n0 = b_.let("n0", first);
      block.columns = count;
      block.panel0 = b_.index(0);
      const ExprId reach = b_.add(b_.mul(b_.sub(rows, b_.index(1)), patch_.columns), columns);
      block.panels = b_.let("panels", b_.floor_div(b_.add(reach, b_.index(tiles_.columns - 1)), tiles_.columns));
    } else {
      block.batch = group;
      block.m0 = b_.let("m0", b_.add(b_.mul(image, g_.positions()), first));
      block.rows = count;
      block.row_panel0 = b_.index(0);
      block.row_panels = b_.let("row_panels", b_.floor_div(b_.add(count, b_.index(tiles_.rows - 1)), tiles_.rows));
      block.panel0 = b_.let("first_panel", b_.mul(part, panels_));
      block.panels = b_.let("panels", b_.min(b_.index(panels_), b_.sub(b_.index(right_.panels()), block.panel0)));
      block.n0 = b_.let("n0", b_.mul(block.panel0, tiles_.columns));
      block.columns = b_.let("columns", b_.min(b_.index(panels_ * tiles_.columns), b_.sub(b_.index(c_.n), block.n0)));
      if (right_.from == Operand::From::kPanels) pack_block(block);
    }
    if (!in_place_) lay_out();
    if (offsets_.valid())
      b_.loop(LoopKind::kSerial, "tap", b_.index(g_.axes[0].taps * g_.axes[1].taps * g_.axes[2].taps),
              [&](ExprId tap) { b_.store(offsets_, tap, tap_offset(tap)); });
    return block;
  }

  // ---- The image ----

  // Where the image is put together of several along its channels, each is laid out by a loop of its own, in which
  // nothing is left to choose.
  void find_sections() {
    std::set<std::int64_t> begins{0};
    const auto graph = region::trace_accesses(region_, {{g_.image, g_.image_map}});
    for (std::size_t i = 0; graph && g_.groups == 1 && i < graph->nodes.size(); ++i)
      for (std::size_t k = 0; k < graph->nodes[i].guards.size(); ++k)
        for (const region::Constraint& c : graph->nodes[i].guards[k]) {
          // channel + offset within bounds, for an offset that shows at channel 0
          const region::IndexExpr rest = simplify(c.expr + region::index_dim(1) * -1, g_.image_map);
          if (rest->kind != region::IndexNode::Kind::kConstant) continue;
          for (const std::int64_t at : {c.low - rest->value, c.high + 1 - rest->value})
            if (at > 0 && at < channels_) begins.insert(at);
        }
    for (auto at = begins.begin(); at != begins.end(); ++at) {
      const std::int64_t end = std::next(at) == begins.end() ? channels_ : *std::next(at);
      region::IndexMap from;
      from.domain = g_.image_map.domain;
      if (begins.size() > 1) from.domain[1] = end - *at;
      for (std::int64_t d = 0; d < 5; ++d)
        from.results.push_back(d == 1 ? region::index_dim(d) + region::index_constant(*at) : region::index_dim(d));
      sections_.push_back({*at, end - *at, begins.size() > 1 ? compose(from, g_.image_map) : g_.image_map});
    }
  }

  // Channels are neighbours, and no result meets a place outside.
  bool reads_in_place() {
    const RegionValue& v = region_[g_.image];
    if (v.kind != RegionValue::Kind::kCapture || v.dtype != acc_) return false;
    const region::IndexExpr offset = linearize(g_.image_map, v.dims);
    for (std::size_t d = 0; d < 5; ++d) {
      const auto stride = region::stride_of(offset, g_.image_map, static_cast<std::int64_t>(d));
      if (!stride) return false;
      strides_[d] = *stride;
    }
    if (g_.multiplier > 0 && c_.n % tiles_.columns != 0) return false;  // vectors would reach beyond the last channel
    return (strides_[1] == 1 || channels_ == 1) &&
           std::all_of(g_.axes.begin(), g_.axes.end(), [](const ConvAxis& axis) { return axis.inside(); });
  }

  // The element of the spread and padded input at `place` (counted from the padding on, at most `most`), and whether
  // there is one.
  std::pair<ExprId, ExprId> element_at(const ConvAxis& axis, ExprId place, std::int64_t most) {
    const std::int64_t shift = axis.low > 0 ? pieces(axis.low, axis.base) : 0;
    const ExprId spread = b_.add(place, b_.index(shift * axis.base - axis.low));
    const ExprId at = b_.sub(b_.floor_div(spread, axis.base), b_.index(shift));
    ExprId there = b_.integer(DType::kPred, 1);
    if (axis.low > 0) there = b_.op(ScalarOp::kGe, DType::kPred, {at, b_.index(0)});
    if (most - axis.low >= axis.in * axis.base) there = b_.both(there, b_.less(at, b_.index(axis.in)));
    if (axis.base > 1) there = b_.both(there, b_.less(b_.mod(spread, axis.base), b_.index(1)));
    return {at, there};
  }

  void store_element(const Section& section, ExprId to, ExprId channel, ExprId depth, ExprId row, ExprId column) {
    b_.store(image().buffer, to,
             operand(g_.image, section.map, {place_.image, b_.add(place_.channel, channel), depth, row, column}));
  }

  void lay_out() {
    const bool padded = !std::all_of(g_.axes.begin(), g_.axes.end(), [](const ConvAxis& a) { return a.inside(); });
    if (padded)
      b_.loop(LoopKind::kSerial, "v", b_.index(filled() / lanes_), [&](ExprId v) {
        b_.loop(LoopKind::kVector, "l", lanes_,
                [&](ExprId l) { b_.store(image().buffer, b_.add(b_.mul(v, lanes_), l), zero_value()); });
      });
    const ConvAxis& d = g_.axes[0];
    b_.loop(LoopKind::kSerial, "tap", b_.index(d.taps), [&](ExprId tap) {
      const ExprId place = b_.add(b_.mul(place_.depth, d.stride), b_.mul(tap, d.dilation));
      const auto [depth, there] = element_at(d, place, (d.out - 1) * d.stride + d.span() - 1);
      const ExprId at = b_.let("depth", depth), to = b_.let("to", b_.mul(tap, patch_.depth));
      b_.when(there, [&] {
        for (const Section& section : sections_)
          g_.planar ? lay_out_planes(section, at, to) : lay_out_pixels(section, at, to);
      });
    });
  }

  void lay_out_planes(const Section& section, ExprId depth, ExprId to_first) {
    const ConvAxis &h = g_.axes[1], &w = g_.axes[2];
    const ExprId to = b_.add(to_first, b_.index(section.first * patch_.channel));
    b_.loop(LoopKind::kSerial, "c", b_.index(section.channels), [&](ExprId c) {
      b_.loop(LoopKind::kSerial, "phase", b_.index(patch_.height_phases), [&](ExprId phase) {
        b_.loop(LoopKind::kSerial, "j", b_.index(patch_.rows), [&](ExprId j) {
          const ExprId place = b_.add(b_.mul(b_.add(place_.row, j), h.stride), phase);
          const auto [row, there] =
              element_at(h, place, ((pieces_high() - 1) * tiles_.height + patch_.rows) * h.stride - 1);
          const ExprId from = b_.let("row", row);
          b_.when(there, [&] {
            for (std::int64_t p = 0; p < patch_.width_phases; ++p) {
              const ExprId plane = b_.add(b_.mul(phase, patch_.width_phases), b_.index(p));
              const ExprId start =
                  b_.let("start", b_.add(b_.add(to, b_.mul(c, patch_.channel)),
                                         b_.add(b_.mul(plane, patch_.plane), b_.mul(j, patch_.columns))));
              across(w, p, w.stride, patch_.columns, [&](ExprId at, ExprId column) {
                store_element(section, b_.add(start, at), c, depth, from, column);
              });
            }
          });
        });
      });
    });
  }

  void lay_out_pixels(const Section& section, ExprId depth, ExprId to_first) {
    const ConvAxis &h = g_.axes[1], &w = g_.axes[2];
    const ExprId to = b_.add(to_first, b_.index(section.first));
    const std::int64_t n = section.channels;
    b_.loop(LoopKind::kSerial, "j", b_.index(patch_.rows), [&](ExprId j) {
      const ExprId place = b_.add(b_.mul(place_.row, h.stride), j);
      const auto [row, there] = element_at(h, place, (pieces_high() - 1) * tiles_.height * h.stride + patch_.rows - 1);
      const ExprId from = b_.let("row", row);
      b_.when(there, [&] {
        pixels(w, [&](ExprId at, ExprId column) {
          const ExprId start = b_.let("start", b_.add(to, b_.mul(b_.add(b_.mul(j, patch_.columns), at), channels_)));
          each_vector({b_.index(n), n, n},
                      [&](ExprId c) { store_element(section, b_.add(start, c), c, depth, from, column); });
        });
      });
    });
  }

  // Columns `at` of a plane that have an element: places (first + at) * stride + phase.
  void across(const ConvAxis& w, std::int64_t phase, std::int64_t stride, std::int64_t columns,
              const std::function<void(ExprId at, ExprId column)>& body) {
    if (w.base > 1) {
      b_.loop(LoopKind::kSerial, "x", b_.index(columns), [&](ExprId x) {
        const ExprId place = b_.add(b_.mul(b_.add(place_.column, x), stride), b_.index(phase));
        const auto [column, there] = element_at(w, place, ((pieces_wide() - 1) * tiles_.width + columns) * stride);
        const ExprId from = b_.let("column", column);
        b_.when(there, [&] { body(x, from); });
      });
      return;
    }
    // low <= place < low + in, so begin <= at < end
    const std::int64_t begin = std::max<std::int64_t>(0, pieces(std::max<std::int64_t>(0, w.low - phase), stride));
    const std::int64_t end = w.in + w.low > phase ? pieces(w.in + w.low - phase, stride) : 0;
    Count count;
    ExprId first = b_.index(std::min(begin, columns));
    if (pieces_wide() == 1) {
      count.least = count.multiple = std::max<std::int64_t>(0, std::min(end, columns) - begin);
      count.value = b_.index(count.least);
    } else {
      const auto clamped = [&](std::int64_t at) {
        return b_.op(ScalarOp::kMax, DType::kS64,
                     {b_.index(0), b_.min(b_.index(columns), b_.sub(b_.index(at), place_.column))});
      };
      first = b_.let("first", clamped(begin));
      count.value = b_.let("count", b_.op(ScalarOp::kMax, DType::kS64, {b_.index(0), b_.sub(clamped(end), first)}));
    }
    each_vector(count, [&](ExprId v) {
      const ExprId at = b_.add(first, v);
      body(at, b_.add(b_.mul(b_.add(place_.column, at), stride), b_.index(phase - w.low)));
    });
  }

  // The same for pixels, one at a time and with nothing left out by strides.
  void pixels(const ConvAxis& w, const std::function<void(ExprId at, ExprId column)>& body) {
    b_.loop(LoopKind::kSerial, "x", b_.index(patch_.columns), [&](ExprId x) {
      const ExprId place = b_.add(b_.mul(place_.column, w.stride), x);
      const auto [column, there] =
          element_at(w, place, (pieces_wide() - 1) * tiles_.width * w.stride + patch_.columns - 1);
      const ExprId from = b_.let("column", column);
      b_.when(there, [&] { body(x, from); });
    });
  }

  // From what a result element meets at the first tap to what it meets at this one.
  ExprId tap_offset(ExprId tap) {
    std::array<ExprId, 3> place;
    ExprId rest = tap;
    for (std::size_t a = 3; a-- > 0;) {
      const ConvAxis& axis = g_.axes[a];
      const ExprId own = a == 0 ? rest : b_.mod(rest, axis.taps);
      rest = b_.floor_div(rest, axis.taps);
      place[a] = axis.reversed ? b_.sub(b_.index(axis.taps - 1), own) : own;
      if (a > 0 || in_place_) place[a] = b_.mul(place[a], axis.dilation);
    }
    const auto sum = [&](std::int64_t by_depth, ExprId row, std::int64_t by_row, ExprId column,
                         std::int64_t by_column) {
      return b_.add(b_.mul(place[0], by_depth), b_.add(b_.mul(row, by_row), b_.mul(column, by_column)));
    };
    if (in_place_) return sum(strides_[2], place[1], strides_[3], place[2], strides_[4]);
    if (!g_.planar) return sum(patch_.depth, place[1], patch_.columns * channels_, place[2], channels_);
    const ConvAxis &h = g_.axes[1], &w = g_.axes[2];
    const ExprId plane = b_.add(b_.mul(b_.mod(place[1], h.stride), patch_.width_phases), b_.mod(place[2], w.stride));
    return b_.add(
        sum(patch_.depth, b_.floor_div(place[1], h.stride), patch_.columns, b_.floor_div(place[2], w.stride), 1),
        b_.mul(plane, patch_.plane));
  }

  ExprId image_index(const Block& block, ExprId panel, ExprId at, ExprId n, const Ks& ks) override {
    const ExprId tap = ks[g_.channels_inner ? 0 : 1];
    const ExprId offset = offsets_.valid() ? b_.load(offsets_, tap) : tap_offset(tap);
    ExprId channel = ks[g_.channels_inner ? 1 : 0];
    if (g_.planar)
      return b_.add(b_.add(b_.add(b_.mul(panel, tiles_.columns), b_.mul(channel, patch_.channel)), offset), at);
    if (g_.multiplier > 0) channel = b_.floor_div(n, g_.multiplier);
    return b_.add(b_.add(pixel(block, panel, at), offset), channel);
  }

  // Where the pixel of this row of the tile begins, at the first tap.
  ExprId pixel(const Block& block, ExprId panel, ExprId at) {
    const ConvAxis &d = g_.axes[0], &h = g_.axes[1], &w = g_.axes[2];
    const ExprId own = b_.min(b_.add(b_.mul(panel, tiles_.rows), at), b_.sub(block.rows, b_.index(1)));
    const ExprId row = b_.floor_div(own, tiles_.width), column = b_.mod(own, tiles_.width);
    if (!in_place_)
      return b_.add(b_.mul(row, h.stride * patch_.columns * channels_), b_.mul(column, w.stride * channels_));
    const ExprId depth = b_.mul(place_.depth, d.stride * strides_[2]);
    const ExprId rows = b_.mul(b_.add(place_.row, row), h.stride * strides_[3]);
    const ExprId columns = b_.mul(b_.add(place_.column, column), w.stride * strides_[4]);
    const ExprId whole = b_.add(b_.mul(place_.image, strides_[0]), b_.mul(place_.channel, strides_[1]));
    const std::int64_t skipped = d.low * strides_[2] + h.low * strides_[3] + w.low * strides_[4];
    return b_.sub(b_.add(whole, b_.add(depth, b_.add(rows, columns))), b_.index(skipped));
  }

  // Sums of a piece's rows lie with gaps between them; each row is copied over the end of the one before.
  void gather_sums() override {
    if (!apart()) return;
    b_.loop(LoopKind::kSerial, "i", b_.index(tiles_.rows), [&](ExprId i) {
      b_.loop(LoopKind::kSerial, "j", b_.index(tiles_.height), [&](ExprId j) {
        b_.loop(LoopKind::kSerial, "v", b_.index(pieces(tiles_.width, lanes_)), [&](ExprId v) {
          b_.loop(LoopKind::kVector, "l", lanes_, [&](ExprId l) {
            const ExprId at = b_.add(b_.mul(v, lanes_), l);
            const ExprId from = b_.add(b_.mul(i, pitch_), b_.add(b_.mul(j, patch_.columns), at));
            const ExprId to = b_.add(b_.mul(i, stored_pitch_), b_.add(b_.mul(j, tiles_.width), at));
            b_.store(stored_, to, b_.load(sums_, from));
          });
        });
      });
    });
  }

  const Convolution& g_;
  std::int64_t channels_;  // that a patch holds
  Patch patch_;
  std::int64_t blocks_ = 1, share_ = 1, panels_ = 1;  // parts of a piece's features; row panels, column panels of one
  std::vector<Section> sections_;
  bool in_place_ = false;
  std::array<std::int64_t, 5> strides_{};  // of the image in place
  BufferId offsets_;                       // of the taps, where they are counted by a loop
  Place place_;
};

}  // namespace

std::unique_ptr<ContractionLowering> cpu_conv(const LowerInput& in, Contraction c) {
  return std::make_unique<CpuConv>(in, std::move(c));
}

}  // namespace fusewright::kernel
